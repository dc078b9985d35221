"""The access key of AWS, with which `mastio.outbound.sigv4` signs. Values only. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An access key of AWS, for requests to one region."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None
    region: str
