"""The collection `connections`: other APIs that agents reach below `/v1/egress/<name>/`. Their secrets go in and never
come out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from mastio.exchange.errors import BadRequest
from mastio.plugin.collection import Collection, Places, Secret, Secrets, Serializer
from mastio.plugin.fields import Answer
from mastio_egress.connections.connection import ConnectionCredential, ConnectionLimits, ConnectionRow, CredentialKind
from mastio_egress.connections.models import (
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
from mastio_egress.connections.secrets import CredentialError, destinations, verify_options, verify_secret, verify_whole

log = logging.getLogger("mastio.egress")


class ConnectionSerializer(Serializer[ConnectionRow]):
    """The bodies of `/v1/admin/connections`."""

    body, put, patch, answer = ConnectionBody, ConnectionPut, ConnectionPatch, ConnectionAnswer
    names_places = True

    def make(self, name: str, body: ConnectionPut) -> ConnectionRow:
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

    def change(self, present: ConnectionRow, patch: ConnectionPatch) -> ConnectionRow:
        """`{"credential": {"secret": …}}` is a rotation."""
        given = None if patch.credential is None else self._given_secret(patch.credential)
        return changed_connection(present, patch, given)

    async def show(self, rows: Sequence[ConnectionRow]) -> list[Answer]:
        return [answer_connection(row) for row in rows]

    def find_places(self, row: ConnectionRow) -> tuple[Places, tuple[str, ...]]:
        return find_places(row), row.allow_addresses

    def _given_secret(self, body: CredentialMembers) -> str | None:
        """The secret, from the body or the file that it names. Raises `BadRequest` (invalid_body)."""
        if body.secret_file is None:
            return body.secret
        try:
            return self.desk.read_secret(body.secret_file)
        except ValueError as error:
            raise BadRequest(f"credential.secret_file: {error}", code="invalid_body") from error


def _take_secret(row: ConnectionRow) -> tuple[ConnectionRow, Secret]:
    credential = row.credential
    if credential is None:
        return row, Secret(None)
    without = replace(credential, secret=None, secret_file=None)
    return replace(row, credential=without), Secret(credential.secret, credential.secret_file)


def _put_secret(row: ConnectionRow, secret: Secret) -> ConnectionRow:
    """Without a secret that cannot be had, or is not one of its kind: nothing is sent then."""
    if row.credential is None:
        return row
    value = secret.value
    try:
        if value is not None:
            verify_secret(row.credential.kind, value)
    except CredentialError as error:
        log.error("the secret of connection %s cannot be had: %s", row.name, error)
        value = None
    return replace(row, credential=replace(row.credential, secret=value, secret_file=secret.file))


CONNECTIONS = Collection(
    name="connections",
    noun="connection",
    nouns="connections",
    row=ConnectionRow,
    serializer=ConnectionSerializer,
    secrets=Secrets(_take_secret, _put_secret),
    transient=frozenset(),
    target_type="Connection",
)


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
