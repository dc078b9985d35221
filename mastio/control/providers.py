"""Upstream providers, as an admin describes them. Their secrets go in and never come out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mastio.control.context import Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import Page, ProviderAnswer, ProviderBody, ProviderPatch, ProviderPut
from mastio.control.paging import PagingQuery, answer_page
from mastio.control.reachable import Handling, Places, verify_places
from mastio.errors import BadRequest
from mastio.provider_secrets import EntraApplication, SecretError, ServiceAccount, parse_secret
from mastio.store.base import ProviderKind, ProviderRow
from mastio.store.rows import SecretFileError, read_secret_file
from mastio.target import parse_base_url

PLACE_MEMBERS = frozenset({"base_url", "allow_addresses", "kind", "api_key"})
"""Members that change where the appliance connects to, or whether it may."""


class ProvidersRouter:
    """`/v1/admin/providers`."""

    def __init__(self, context: Context) -> None:
        self._providers = context.store.providers
        self._secret_folders = context.store.secret_folders
        self._examine = context.examine

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/providers", "/v1/admin/providers/{name}"
        return {
            ("GET", collection): Endpoint(self.list_providers),
            ("POST", collection): Endpoint(self.create_provider, status=201),
            ("GET", item): Endpoint(self.read_provider),
            ("PUT", item): Endpoint(self.replace_provider),
            ("PATCH", item): Endpoint(self.change_provider),
            ("DELETE", item): Endpoint(self.delete_provider, status=204),
        }

    async def list_providers(self, paging: PagingQuery) -> Page[ProviderAnswer]:
        """In the order of their names."""
        page = await self._providers.list(paging.limit, paging.after)
        return answer_page(page, lambda provider: provider.name, answer_provider)

    async def create_provider(self, body: ProviderBody, handling: Handling) -> ProviderAnswer:
        """`base_url` has the version segment, as the vendor documents it."""
        row = self._row(body.name, body)
        await verify_places(self._examine, find_places(row), row.allow_addresses, handling)
        return answer_provider(await self._providers.create(row))

    async def read_provider(self, name: str) -> ProviderAnswer:
        """One provider, without its secret."""
        return answer_provider(await self._providers.get(name))

    async def replace_provider(self, name: str, body: ProviderPut, handling: Handling) -> ProviderAnswer:
        """Everything anew, the secret too: what is left out is not there any more."""
        if body.name is not None and body.name != name:
            raise BadRequest("name: it must be the one in the path.", code="invalid_body")
        row = self._row(name, body)
        await verify_places(self._examine, find_places(row), row.allow_addresses, handling)
        return answer_provider(await self._providers.replace(row))

    async def change_provider(self, name: str, body: ProviderPatch, handling: Handling) -> ProviderAnswer:
        """Members that are left out, or null, stay as they are; a secret that is null is removed."""
        self._verify_secret_file(body.api_key_file)
        if body.model_fields_set & PLACE_MEMBERS:
            changed = changed_provider(await self._providers.get(name), body)
            await verify_places(self._examine, find_places(changed), changed.allow_addresses, handling)
        return answer_provider(await self._providers.change(name, lambda row: changed_provider(row, body)))

    async def delete_provider(self, name: str) -> None:
        """Its models are gone from the next request on."""
        await self._providers.delete(name)

    def _row(self, name: str, body: ProviderPut) -> ProviderRow:
        self._verify_secret_file(body.api_key_file)
        verify_secret(body.kind, body.base_url, body.api_key)
        return ProviderRow(
            name=name,
            kind=body.kind,
            base_url=body.base_url,
            api_key=body.api_key,
            models=tuple(body.models),
            aliases=dict(body.aliases),
            allow_addresses=tuple(body.allow_addresses),
            weight=body.weight,
            timeouts=body.timeouts.model_dump(exclude_none=True),
            api_key_file=body.api_key_file,
        )

    def _verify_secret_file(self, path: str | None) -> None:
        if path is None:
            return
        try:
            read_secret_file(path, self._secret_folders)
        except SecretFileError as error:
            raise BadRequest(f"api_key_file: {error}", code="invalid_body") from error


def find_places(row: ProviderRow) -> Places:
    """The endpoints of the provider: for its calls and for its tokens."""
    places = [("base_url", row.base_url)]
    if row.api_key is not None and row.api_key_file is None:
        secret = parse_secret(row.kind, row.base_url, row.api_key)
        if isinstance(secret, EntraApplication | ServiceAccount):
            places.append(("api_key", secret.tokens))
    return tuple(places)


def changed_provider(row: ProviderRow, body: ProviderPatch) -> ProviderRow:
    """The row with the changes. A stored secret is not sent to another server than the one that it was given for.

    Raises `BadRequest` (invalid_body).
    """
    changes: dict[str, Any] = {}
    if body.kind is not None:
        changes["kind"] = body.kind
    if body.base_url is not None:
        changes["base_url"] = body.base_url
    if body.models is not None:
        changes["models"] = tuple(body.models)
    if body.aliases is not None:
        changes["aliases"] = dict(body.aliases)
    if body.allow_addresses is not None:
        changes["allow_addresses"] = tuple(body.allow_addresses)
    if body.weight is not None:
        changes["weight"] = body.weight
    if body.timeouts is not None:
        changes["timeouts"] = body.timeouts.model_dump(exclude_none=True)
    if body.model_fields_set & {"api_key", "api_key_file"}:
        changes |= {"api_key": body.api_key, "api_key_file": body.api_key_file, "is_sealed_off": False}
    elif row.is_sealed_off:
        raise BadRequest("api_key: give it again, because the stored one cannot be had.", code="invalid_body")
    elif body.base_url is not None and _has_secret(row) and _origin(body.base_url) != _origin(row.base_url):
        raise BadRequest("api_key: give the secret again, because base_url names another server.", code="invalid_body")
    changed = replace(row, **changes)
    if changed.api_key_file is None:
        verify_secret(changed.kind, changed.base_url, changed.api_key)
    return changed


def verify_secret(kind: ProviderKind, base_url: str, secret: str | None) -> None:
    """Raises `BadRequest` (invalid_body) for a secret that is not one of its kind."""
    if secret is None:
        return
    try:
        parse_secret(kind, base_url, secret)
    except SecretError as error:
        raise BadRequest(f"api_key: {error}.", code="invalid_body") from error


def _has_secret(row: ProviderRow) -> bool:
    return row.api_key is not None or row.api_key_file is not None


def _origin(url: str) -> tuple[str, str, int]:
    target = parse_base_url(url)
    return target.scheme, target.host, target.port


def answer_provider(row: ProviderRow) -> ProviderAnswer:
    return ProviderAnswer(
        name=row.name,
        kind=row.kind,
        base_url=row.base_url,
        models=list(row.models),
        aliases=row.aliases,
        allow_addresses=list(row.allow_addresses),
        weight=row.weight,
        timeouts=row.timeouts,
        api_key_set=_has_secret(row),
    )
