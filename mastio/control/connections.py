"""Connections to other APIs, as an admin describes them. Their secrets go in and never come out."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from mastio.connection_secrets import CredentialError, destinations, verify_options, verify_secret, verify_whole
from mastio.control.connection_models import (
    ConnectionAnswer,
    ConnectionBody,
    ConnectionPatch,
    ConnectionPut,
    CredentialBody,
    CredentialMembers,
    CredentialPatch,
    InspectAnswer,
    LimitsAnswer,
)
from mastio.control.context import Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import Page
from mastio.control.paging import PagingQuery, answer_page
from mastio.control.reachable import Handling, Places, verify_places
from mastio.errors import BadRequest
from mastio.store.base import ConnectionCredential, ConnectionLimits, ConnectionRow, CredentialKind
from mastio.store.rows import SecretFileError, read_secret_file


class ConnectionsRouter:
    """`/v1/admin/connections`."""

    def __init__(self, context: Context) -> None:
        self._connections = context.store.connections
        self._secret_folders = context.store.secret_folders
        self._examine = context.examine

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/connections", "/v1/admin/connections/{name}"
        return {
            ("GET", collection): Endpoint(self.list_connections),
            ("POST", collection): Endpoint(self.create_connection, status=201),
            ("GET", item): Endpoint(self.read_connection),
            ("PUT", item): Endpoint(self.replace_connection),
            ("PATCH", item): Endpoint(self.change_connection),
            ("DELETE", item): Endpoint(self.delete_connection, status=204),
        }

    async def list_connections(self, paging: PagingQuery) -> Page[ConnectionAnswer]:
        """In the order of their names."""
        page = await self._connections.list(paging.limit, paging.after)
        return answer_page(page, lambda connection: connection.name, answer_connection)

    async def create_connection(self, body: ConnectionBody, handling: Handling) -> ConnectionAnswer:
        """Agents reach it below `/v1/egress/{name}/` once a policy permits it."""
        row = self._row(body.name, body)
        await verify_places(self._examine, find_places(row), row.allow_addresses, handling)
        return answer_connection(await self._connections.create(row))

    async def read_connection(self, name: str) -> ConnectionAnswer:
        """One connection, without its secret."""
        return answer_connection(await self._connections.get(name))

    async def replace_connection(self, name: str, body: ConnectionPut, handling: Handling) -> ConnectionAnswer:
        """Everything anew, the secret too: what is left out is not there any more."""
        if body.name is not None and body.name != name:
            raise BadRequest("name: it must be the one in the path.", code="invalid_body")
        row = self._row(name, body)
        await verify_places(self._examine, find_places(row), row.allow_addresses, handling)
        return answer_connection(await self._connections.replace(row))

    async def change_connection(self, name: str, body: ConnectionPatch, handling: Handling) -> ConnectionAnswer:
        """What is left out stays; `{"credential": {"secret": …}}` is a rotation."""
        given = None if body.credential is None else self._given_secret(body.credential)
        row = await self._connections.get(name)
        changed = changed_connection(row, body, given)
        if (find_places(changed), changed.allow_addresses) != (find_places(row), row.allow_addresses):
            await verify_places(self._examine, find_places(changed), changed.allow_addresses, handling)
        return answer_connection(await self._connections.change(name, lambda row: changed_connection(row, body, given)))

    async def delete_connection(self, name: str) -> None:
        """It is gone for the next request, and what is under way is broken off."""
        await self._connections.delete(name)

    def _row(self, name: str, body: ConnectionPut) -> ConnectionRow:
        credential = None
        if body.credential is not None:
            credential = make_credential(body.credential, self._given_secret(body.credential))
        row = ConnectionRow(
            name=name,
            base_url=body.base_url,
            credential=credential,
            methods=tuple(body.methods),
            paths=tuple(body.paths),
            allow_addresses=tuple(body.allow_addresses),
            redirects=body.redirects,
            redirect_hosts=tuple(body.redirect_hosts),
            inspect_request=body.inspect.request,
            inspect_response=body.inspect.response,
            limits=ConnectionLimits(**body.limits.model_dump()),
            timeouts=body.timeouts.model_dump(exclude_none=True),
            keep_headers=tuple(body.keep_headers),
            request_headers=tuple(body.request_headers),
            ca=body.ca,
            pin=body.pin,
        )
        return _verified(row)

    def _given_secret(self, body: CredentialMembers) -> str | None:
        """The secret, from the body or the file that it names. Raises `BadRequest` (invalid_body)."""
        if body.secret_file is None:
            return body.secret
        try:
            return read_secret_file(body.secret_file, self._secret_folders)
        except SecretFileError as error:
            raise BadRequest(f"credential.secret_file: {error}", code="invalid_body") from error


def find_places(row: ConnectionRow) -> Places:
    """The endpoints of the connection: for its calls and for its tokens."""
    places = [("base_url", row.base_url)]
    if row.credential is not None and row.credential.kind == "oauth":
        places.append(("credential.token_url", row.credential.options["token_url"]))
    return tuple(places)


def make_credential(body: CredentialBody, secret: str | None) -> ConnectionCredential:
    """Raises `BadRequest` (invalid_body)."""
    return _credential(body.kind, secret, body.secret_file, body.given_options())


def changed_connection(row: ConnectionRow, body: ConnectionPatch, secret: str | None) -> ConnectionRow:
    """The row with the changes; `secret` is the new one, if there is one.

    A stored secret is not sent to another server than the one that it was given for. Raises `BadRequest`
    (invalid_body).
    """
    given = body.model_fields_set
    changes: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in body.model_dump(exclude={"credential", "inspect", "limits", "timeouts"}).items()
        if name in given and (value is not None or name in ("ca", "pin"))
    }
    if body.inspect is not None:
        changes |= {f"inspect_{name}": value for name, value in body.inspect.model_dump(exclude_none=True).items()}
    if body.limits is not None:
        changes["limits"] = replace(row.limits, **body.limits.model_dump(exclude_none=True))
    if body.timeouts is not None:
        wanted = {**row.timeouts, **body.timeouts.model_dump(exclude_unset=True)}
        changes["timeouts"] = {name: seconds for name, seconds in wanted.items() if seconds is not None}
    if "credential" in given:
        changes["credential"] = None if body.credential is None else _changed(row.credential, body.credential, secret)
    changed = _verified(replace(row, **changes))
    is_new = body.credential is not None and body.credential.has_secret
    if changed.credential is not None and row.credential is not None and not is_new:
        _verify_kept(row, changed)
    return changed


def _changed(present: ConnectionCredential | None, body: CredentialPatch, secret: str | None) -> ConnectionCredential:
    """The credential with the changes; one of another kind has nothing of the present one."""
    kind = body.kind or (present.kind if present is not None else None)
    if kind is None:
        raise BadRequest("credential.kind: there is none yet, so it must be given.", code="invalid_body")
    if present is None or kind != present.kind:
        if not body.has_secret:
            raise BadRequest("credential.secret: a credential of another kind needs its own.", code="invalid_body")
        return _credential(kind, secret, body.secret_file, body.given_options())
    options = {**present.options, **body.given_options()}
    if body.has_secret:
        return _credential(kind, secret, body.secret_file, options)
    return _credential(kind, present.secret, present.secret_file, options)


def _verify_kept(row: ConnectionRow, changed: ConnectionRow) -> None:
    assert row.credential is not None
    if row.credential.secret is None and row.credential.secret_file is None:
        raise BadRequest("credential.secret: give it again, because the stored one cannot be had.", code="invalid_body")
    if destinations(row) != destinations(changed):
        raise BadRequest(
            "credential.secret: give it again, because it would be sent to another server.", code="invalid_body"
        )


def _credential(
    kind: CredentialKind, secret: str | None, secret_file: str | None, options: dict[str, str]
) -> ConnectionCredential:
    try:
        whole = verify_options(kind, options)
        if secret is not None:
            verify_secret(kind, secret)
    except CredentialError as error:
        member = "secret_file" if error.member == "secret" and secret_file is not None else error.member
        raise BadRequest(f"credential.{member}: {error}.", code="invalid_body") from error
    return ConnectionCredential(kind, secret, whole, secret_file)


def _verified(row: ConnectionRow) -> ConnectionRow:
    try:
        verify_whole(row)
    except CredentialError as error:
        raise BadRequest(f"{error.member}: {error}.", code="invalid_body") from error
    return row


def answer_connection(row: ConnectionRow) -> ConnectionAnswer:
    credential = row.credential
    return ConnectionAnswer(
        name=row.name,
        base_url=row.base_url,
        credential=None
        if credential is None
        else {"kind": credential.kind, **credential.options, "secret_set": credential.secret is not None},
        methods=list(row.methods),
        paths=list(row.paths),
        allow_addresses=list(row.allow_addresses),
        redirects=row.redirects,
        redirect_hosts=list(row.redirect_hosts),
        inspect=InspectAnswer(request=row.inspect_request, response=row.inspect_response),
        limits=LimitsAnswer(**asdict(row.limits)),
        timeouts=row.timeouts,
        keep_headers=list(row.keep_headers),
        request_headers=list(row.request_headers),
        ca=row.ca,
        pin=row.pin,
    )
