"""Rows of the tables as the values of `base.py`, and back."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter
from sqlalchemy import Row

from mastio.store.base import (
    Admin,
    Agent,
    AllowedTool,
    ApiKey,
    BudgetRow,
    ClassRule,
    DetectorRow,
    Enrollment,
    EnrollmentToken,
    Hold,
    PolicyRow,
    ProviderRow,
    RedactionRow,
    SigningKey,
    TypeRule,
)
from mastio.store.damage import DAMAGE, AnyRow, DamagedRow, show_key, verify_name
from mastio.store.keys import PURPOSES
from mastio.store.sealed import Sealer, SealError

log = logging.getLogger("mastio.store")

D = TypeVar("D")

_REDACTION, _DETECTORS, _BUDGET = TypeAdapter(RedactionRow), TypeAdapter(DetectorRow), TypeAdapter(BudgetRow)
_AGENT, _ADMIN, _API_KEY = TypeAdapter(Agent), TypeAdapter(Admin), TypeAdapter(ApiKey)
_KEPT_APART = frozenset({"name", "is_damaged"})
"""Members of an object that are not in its document."""

BUDGET_MEMBERS = ("name", "unit", "limit", "period", "series", "scope", "subject")
MAX_SECRET = 16 * 1024
OWN_FILES = frozenset({"admin-token", *(f"{purpose}.key" for purpose in PURPOSES)})
"""The appliance's own secrets: never a provider's or a connection's, wherever they lie."""


def decode_agent(row: Row[Any]) -> Agent:
    """Raises one of `DAMAGE` for a damaged row."""
    return _decode_columns(row, _AGENT, Agent)


def _decode_columns(row: Row[Any], adapter: TypeAdapter[D], kind: type[D]) -> D:
    """The value of a row with a column for each member. Raises one of `DAMAGE` where a type, or a word, is another."""
    members = {member.name: row._mapping[member.name] for member in fields(kind)}  # type: ignore[arg-type]
    return adapter.validate_json(orjson.dumps(members), strict=True)


def encode_agent(agent: Agent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "spiffe_id": agent.spiffe_id,
        "status": agent.status,
        "status_reason": agent.status_reason,
        "groups": sorted(agent.groups),
        "attributes": dict(agent.attributes),
        "cert_sha256": agent.cert_sha256,
        "not_after": agent.not_after,
        "previous_cert_sha256": agent.previous_cert_sha256,
        "previous_until": agent.previous_until,
        "dpop_jkt": agent.dpop_jkt,
        "public_jwks": [dict(jwk) for jwk in agent.public_jwks],
        "api_keys": agent.api_keys,
        "created_at": agent.created_at,
    }


def decode_admin(row: Row[Any]) -> Admin:
    """Raises one of `DAMAGE` for a damaged row."""
    return _decode_columns(row, _ADMIN, Admin)


def encode_admin(admin: Admin) -> dict[str, Any]:
    return {field.name: getattr(admin, field.name) for field in fields(Admin)}


def decode_enrollment(row: Row[Any], now: float) -> Enrollment:
    """A request that nobody decided in time is `expired`, whatever the table says yet."""
    values = {field.name: row._mapping[field.name] for field in fields(Enrollment)}
    if values["status"] == "pending" and values["expires_at"] <= now:
        values["status"] = "expired"
    return Enrollment(**values)


def encode_enrollment(enrollment: Enrollment) -> dict[str, Any]:
    return {field.name: getattr(enrollment, field.name) for field in fields(Enrollment)}


def decode_token(row: Row[Any]) -> EnrollmentToken:
    return EnrollmentToken(**{field.name: row._mapping[field.name] for field in fields(EnrollmentToken)})


def encode_token(token: EnrollmentToken) -> dict[str, Any]:
    return {field.name: getattr(token, field.name) for field in fields(EnrollmentToken)}


def decode_hold(row: Row[Any], now: float) -> Hold:
    """A hold that nobody decided in time is `expired`, whatever the table says."""
    values = {field.name: row._mapping[field.name] for field in fields(Hold)}
    if values["status"] == "pending" and values["expires_at"] <= now:
        values["status"] = "expired"
    return Hold(**values)


def encode_hold(hold: Hold) -> dict[str, Any]:
    return {field.name: getattr(hold, field.name) for field in fields(Hold)}


def decode_policy(row: AnyRow) -> PolicyRow:
    """A damaged row has no source, and so keeps every change of policies out."""
    if isinstance(row, DamagedRow) or not isinstance(row.name, str):
        return PolicyRow(show_key(row.name), None, True)  # type: ignore[arg-type]
    return PolicyRow(row.name, row.cedar, row.enabled, row.mode)


def encode_policy(policy: PolicyRow) -> dict[str, Any]:
    return {"name": policy.name, "cedar": policy.cedar, "enabled": policy.enabled, "mode": policy.mode}


def decode_redaction(row: AnyRow) -> RedactionRow:
    try:
        members = _read_document(row, RedactionRow)
        for rule in members["types"].values():
            _verify_members(rule, TypeRule)
        return _REDACTION.validate_json(orjson.dumps({**members, "name": row.name}), strict=True)
    except DAMAGE:
        return RedactionRow(show_key(row.name), {}, is_damaged=True)


def _read_document(row: AnyRow, kind: type[Any]) -> dict[str, Any]:
    """The members of a row that are in one JSON document. Raises one of `DAMAGE`."""
    members = orjson.loads(row.document)  # type: ignore[union-attr]
    _verify_members(members, kind, _KEPT_APART)
    return dict(members)


def _verify_members(members: Iterable[str], kind: type[Any], apart: frozenset[str] = frozenset()) -> None:
    """Raises `ValueError` unless the members are those that are written, because a name that was damaged would leave
    a default, and so another rule. Each version so far has written all of them."""
    if set(members) != {member.name for member in fields(kind)} - apart:
        raise ValueError("other members than those that are written")


def encode_redaction(redaction: RedactionRow) -> dict[str, Any]:
    document = asdict(redaction)
    del document["is_damaged"]
    return {"name": document.pop("name"), "document": orjson.dumps(document).decode()}


def decode_detectors(row: AnyRow) -> DetectorRow:
    try:
        members = _read_document(row, DetectorRow)
        for rule in members["classes"].values():
            _verify_members(rule, ClassRule)
        for tool in members["tools"]:
            _verify_members(tool, AllowedTool)
        return _DETECTORS.validate_json(orjson.dumps({**members, "name": row.name}), strict=True)
    except DAMAGE:
        return DetectorRow(show_key(row.name), is_damaged=True)


def encode_detectors(row: DetectorRow) -> dict[str, Any]:
    document = asdict(row)
    del document["is_damaged"]
    return {"name": document.pop("name"), "document": orjson.dumps(document).decode()}


def decode_budget(row: AnyRow) -> BudgetRow:
    """A damaged one is shown as one that lets nothing pass."""
    try:
        names = {"limit": "amount"}
        members = {name: row._mapping[names.get(name, name)] for name in BUDGET_MEMBERS}  # type: ignore[union-attr]
        budget = _BUDGET.validate_json(orjson.dumps(members), strict=True)
        if budget.limit < 0 or (budget.scope is None) != (budget.subject is None):
            raise ValueError("a limit below zero, or half of a subject")
    except DAMAGE:
        return BudgetRow(show_key(row.name), "requests", 0, "total", "", is_damaged=True)
    return budget


def encode_budget(budget: BudgetRow) -> dict[str, Any]:
    return {
        "name": budget.name,
        "unit": budget.unit,
        "amount": budget.limit,
        "period": budget.period,
        "scope": budget.scope,
        "subject": budget.subject,
        "series": budget.series,
    }


def decode_api_key(row: Row[Any]) -> ApiKey:
    """Raises one of `DAMAGE` for a damaged row."""
    return _decode_columns(row, _API_KEY, ApiKey)


def encode_api_key(key: ApiKey) -> dict[str, Any]:
    values = {field.name: getattr(key, field.name) for field in fields(ApiKey)}
    return {**values, **{name: list(values[name]) for name in ("kinds", "models", "paths")}}


def decode_signing_key(row: AnyRow, sealer: Sealer) -> SigningKey | None:
    """None for a key that does not open, and for a damaged row: it then neither signs nor verifies."""
    try:
        secret = bytes.fromhex(sealer.unseal(row.secret, f"signing_keys/{row.id}"))  # type: ignore[union-attr]
        key = SigningKey(row.id, row.purpose, secret, row.created_at, row.active_from, row.retire_at)  # type: ignore[union-attr]
        times = (key.created_at, key.active_from, key.active_from if key.retire_at is None else key.retire_at)
        if not isinstance(key.id, str) or not all(isinstance(time, int | float) for time in times):
            raise ValueError("a member of another type")
    except (SealError, *DAMAGE) as error:
        problem = error if isinstance(error, SealError) else "its row is damaged"
        log.error("the signing key %s cannot be had: %s", show_key(row[0]), problem)
        return None
    return key


def encode_signing_key(key: SigningKey, sealer: Sealer) -> dict[str, Any]:
    return {
        "id": key.id,
        "purpose": key.purpose,
        "secret": sealer.seal(key.secret.hex(), f"signing_keys/{key.id}"),
        "created_at": key.created_at,
        "active_from": key.active_from,
        "retire_at": key.retire_at,
    }


class ProviderCodec:
    """Providers carry a secret: sealed in the table, or in a file that the operator laid down.

    Only files below `secret_folders` are read, because whoever may describe a provider also says to whom its key is
    sent: any other file of the appliance would be theirs for the asking.
    """

    def __init__(self, sealer: Sealer, secret_folders: tuple[Path, ...]) -> None:
        self._sealer = sealer
        self._folders = secret_folders

    def decode(self, row: Row[Any]) -> ProviderRow:
        """With the key in the clear, or without one when it cannot be had: the provider then refuses us."""
        secret = self._secret(row)
        return ProviderRow(
            name=verify_name(row),
            kind=row.kind,
            base_url=row.base_url,
            api_key=secret,
            models=tuple(row.models),
            aliases=row.aliases,
            allow_addresses=tuple(row.allow_addresses),
            weight=row.weight,
            timeouts=row.timeouts,
            api_key_file=row.api_key_file,
            is_sealed_off=secret is None and row.api_key is not None and row.api_key_file is None,
        )

    def encode(self, provider: ProviderRow) -> dict[str, Any]:
        sealed = None
        if provider.api_key is not None and provider.api_key_file is None:
            sealed = self._sealer.seal(provider.api_key, f"providers/{provider.name}")
        return {
            "name": provider.name,
            "kind": provider.kind,
            "base_url": provider.base_url,
            "api_key": sealed,
            "api_key_file": provider.api_key_file,
            "models": list(provider.models),
            "aliases": dict(provider.aliases),
            "allow_addresses": list(provider.allow_addresses),
            "weight": provider.weight,
            "timeouts": dict(provider.timeouts),
        }

    def _secret(self, row: Row[Any]) -> str | None:
        try:
            if row.api_key_file is not None:
                return read_secret_file(row.api_key_file, self._folders)
            if row.api_key is not None:
                return self._sealer.unseal(row.api_key, f"providers/{row.name}")
        except (SealError, SecretFileError) as error:
            log.error("the api key of provider %s cannot be had: %s", row.name, error)
        return None


class SecretFileError(ValueError):
    """A secret file may not be, or cannot be, read. The text names neither path nor content."""


Written = tuple[int, int, int] | None
"""The identity of the file at a path and its time of writing; None: it cannot be found."""


def look_at_file(path: str) -> Written:
    """Another value when the file was written again, or another one was put in its place."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def read_secret_file(path: str, folders: tuple[Path, ...]) -> str:
    """The secret in the file, without surrounding white space. Raises `SecretFileError`."""
    try:
        real = Path(path).resolve(strict=True)
        if real.name in OWN_FILES or not any(real.is_relative_to(folder.resolve()) for folder in folders):
            raise SecretFileError("The file is not one that a secret may be read from.")
        with real.open("rb") as file:
            secret = file.read(MAX_SECRET + 1).decode().strip()
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, SecretFileError):
            raise
        raise SecretFileError("The file cannot be read.") from error
    if not secret or len(secret) > MAX_SECRET:
        raise SecretFileError("The file is empty or too long.")
    return secret
