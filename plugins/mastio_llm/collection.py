"""The collection `providers`: upstream LLM providers. Their secrets go in and never come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import BeforeValidator, Field, model_validator

from mastio.exchange.errors import BadRequest
from mastio.exchange.target import parse_base_url
from mastio.plugin.collection import Collection, Places, Secret, Secrets, Serializer
from mastio.plugin.fields import Answer, BaseUrl, Body, ModelName, Name, Networks, Seconds, SecretFile
from mastio.plugin.fields import Secret as SecretText
from mastio_llm.first_providers import read_first_providers
from mastio_llm.provider import ProviderRow
from mastio_llm.provider_secrets import EntraApplication, ProviderKind, SecretError, ServiceAccount, parse_secret

KINDS = get_args(ProviderKind)


def _kind(kind: object) -> object:
    if kind not in KINDS:
        raise ValueError(f"the kind must be one of {', '.join(KINDS)}")
    return kind


Kind = Annotated[ProviderKind, BeforeValidator(_kind)]


class Timeouts(Body):
    """Seconds. `first`: until the reply begins; `read`: between two pieces of it."""

    connect: Seconds | None = None
    first: Seconds | None = None
    read: Seconds | None = None
    total: Seconds | None = None


Models = Annotated[list[ModelName], Field(min_length=1, max_length=200)]
Aliases = Annotated[dict[ModelName, ModelName], Field(max_length=200)]
Weight = Annotated[int, Field(ge=0, le=1000)]


class SecretBody(Body):
    """Secrets are write-only: in the body, or in a file that the operator laid down."""

    api_key: SecretText | None = None
    api_key_file: SecretFile | None = None

    @model_validator(mode="after")
    def one_secret(self) -> Self:
        if self.api_key is not None and self.api_key_file is not None:
            raise ValueError("give api_key or api_key_file, not both")
        return self


class ProviderPut(SecretBody):
    name: Name | None = None
    kind: Kind
    base_url: BaseUrl
    models: Models = Field(default_factory=lambda: ["*"])
    aliases: Aliases = Field(default_factory=dict)
    allow_addresses: Networks = Field(default_factory=list)
    weight: Weight = 1
    timeouts: Timeouts = Timeouts()


class ProviderBody(ProviderPut):
    name: Name


class ProviderPatch(SecretBody):
    """Members that are left out, or null, stay as they are; a secret that is null is removed."""

    kind: Kind | None = None
    base_url: BaseUrl | None = None
    models: Models | None = None
    aliases: Aliases | None = None
    allow_addresses: Networks | None = None
    weight: Weight | None = None
    timeouts: Timeouts | None = None


class ProviderAnswer(Answer):
    """Without the secret; `api_key_set` says whether there is one."""

    name: str
    kind: str
    base_url: str
    models: list[str]
    aliases: Mapping[str, str]
    allow_addresses: list[str]
    weight: int
    timeouts: Mapping[str, float]
    api_key_set: bool


class ProviderSerializer(Serializer[ProviderRow]):
    """The bodies of `/v1/admin/providers`. `base_url` has the version segment, as the vendor documents it."""

    body, put, patch, answer = ProviderBody, ProviderPut, ProviderPatch, ProviderAnswer
    names_places = True

    def make(self, name: str, body: ProviderPut) -> ProviderRow:
        filed = self._read_secret(body.api_key_file)
        verify_secret(body.kind, body.base_url, body.api_key)
        return ProviderRow(
            name=name,
            kind=body.kind,
            base_url=body.base_url,
            api_key=filed or body.api_key,
            models=tuple(body.models),
            aliases=dict(body.aliases),
            allow_addresses=tuple(body.allow_addresses),
            weight=body.weight,
            timeouts=body.timeouts.model_dump(exclude_none=True),
            api_key_file=body.api_key_file,
        )

    def change(self, present: ProviderRow, patch: ProviderPatch) -> ProviderRow:
        """A secret that is null is removed."""
        filed = self._read_secret(patch.api_key_file)
        changed = changed_provider(present, patch)
        return changed if filed is None else replace(changed, api_key=filed)

    async def show(self, rows: Sequence[ProviderRow]) -> list[Answer]:
        return [answer_provider(row) for row in rows]

    def find_places(self, row: ProviderRow) -> tuple[Places, tuple[str, ...]]:
        return find_places(row), row.allow_addresses

    def _read_secret(self, path: str | None) -> str | None:
        """The key in the file. Raises `BadRequest` (invalid_body)."""
        try:
            return None if path is None else self.desk.read_secret(path)
        except ValueError as error:
            raise BadRequest(f"api_key_file: {error}", code="invalid_body") from error


def _take_secret(row: ProviderRow) -> tuple[ProviderRow, Secret]:
    return replace(row, api_key=None, api_key_file=None), Secret(row.api_key, row.api_key_file)


def _put_secret(row: ProviderRow, secret: Secret) -> ProviderRow:
    """Without a key that cannot be had: the provider then refuses the call."""
    is_sealed_off = secret.is_lost and secret.file is None
    return replace(row, api_key=secret.value, api_key_file=secret.file, is_sealed_off=is_sealed_off)


def _first(environment: Mapping[str, str]) -> list[tuple[ProviderRow, str]]:
    found = read_first_providers(environment, lambda path: Path(path).read_text("ascii"))
    return [
        (row, f"{variable} is set: it is the key of the provider {row.name}, {row.base_url}") for variable, row in found
    ]


PROVIDERS = Collection(
    name="providers",
    noun="provider",
    nouns="providers",
    row=ProviderRow,
    serializer=ProviderSerializer,
    secrets=Secrets(_take_secret, _put_secret),
    transient=frozenset({"is_sealed_off"}),
    limit=64 * 1024,
    first=_first,
)


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
        api_key_set=row.api_key is not None,
    )
