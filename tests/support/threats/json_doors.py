"""Endpoints that take JSON, each with a right body."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from mastio_client.proofs import make_csr, make_key
from support.threats.judge import BODY, CHAT, By

TOKENS = "/v1/admin/enrollment-tokens"
ENROLL = "/v1/enrollments"
MIB = 1024 * 1024


@dataclass(frozen=True)
class Door:
    """An endpoint with a right body. `status` of the right answer; `by`: who refuses a body there."""

    path: str
    status: int
    by: By
    limit: int

    def right(self) -> dict[str, Any]:
        if self.path == CHAT:
            return dict(BODY)
        if self.path == TOKENS:
            return {"name": "json-*", "ttl_seconds": 60, "uses": 1}
        name = f"json-{time.monotonic_ns()}"
        return {"csr": make_csr(make_key(), name), "name": name}

    def with_member(self, fragment: bytes, name: bytes = b"x") -> bytes:
        """The right body with one more member, whose value is `fragment`, whatever that is."""
        return json.dumps(self.right()).encode()[:-1] + b',"' + name + b'":' + fragment + b"}"


DOORS = {
    "chat": Door(CHAT, 200, "app", 10 * MIB),
    "admin": Door(TOKENS, 201, "control", 64 * 1024),
    "enrol": Door(ENROLL, 202, "control", 64 * 1024),
}
