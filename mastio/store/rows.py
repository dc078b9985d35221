"""Rows of the tables as the values of `mastio.exchange.records`, and back."""

from __future__ import annotations

import logging
from dataclasses import fields
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter
from sqlalchemy import Row

from mastio.exchange.records import Admin, Agent, ApiKey, Enrollment, EnrollmentToken, Hold, SigningKey
from mastio.store.secrets.sealed import Sealer, SealError
from mastio.store.sql.damage import DAMAGE, AnyRow, show_key

log = logging.getLogger("mastio.store")

D = TypeVar("D")

_AGENT, _ADMIN, _API_KEY = TypeAdapter(Agent), TypeAdapter(Admin), TypeAdapter(ApiKey)


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
