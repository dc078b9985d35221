"""By what an answer is found again: a keyed digest over everything that may change it, and over who may have it.

Pure. Every field goes in with its length before it, so that no two different sequences of fields are the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

from mastio.exchange.records import Agent
from mastio.exchange.values import AnswerInputs

Share = Literal["agent", "group", "all"]
"""The agents that may get a cached answer: the same agent, agents of the same groups, every agent."""


class Policy(Protocol):
    """The part of a Cedar policy that an answer depends on."""

    name: str
    cedar: str
    enabled: bool
    mode: str


class Provider(Protocol):
    """The part of a provider that an answer depends on."""

    name: str
    kind: str
    base_url: str


def derive(secret: bytes, purpose: str) -> bytes:
    """A key of its own for each use of the appliance's key `cache`."""
    return hmac.digest(secret, purpose.encode(), hashlib.sha256)


def digest(key: bytes, fields: Iterable[bytes]) -> bytes:
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for field in fields:
        mac.update(len(field).to_bytes(8, "big"))
        mac.update(field)
    return mac.digest()


def pack(*fields: bytes) -> bytes:
    """Several fields as one."""
    return b"".join(len(field).to_bytes(8, "big") + field for field in fields)


def tenant_of(agent: Agent, share: Share) -> bytes:
    """Those who are the same tenant share answers. Whoever gets an agent's name later is another one, by `created_at`.

    An agent without groups shares with nobody under `group`: having none is nothing that agents have in common.
    """
    if share == "all":
        return pack(b"all")
    if share == "group" and agent.groups:
        return pack(b"group", *(group.encode() for group in sorted(agent.groups)))
    return pack(b"agent", agent.name.encode(), struct.pack(">d", agent.created_at))


def version_of(policies: Mapping[str, Policy], providers: Mapping[str, Provider]) -> bytes:
    """The policies in force, and where the providers are: when either changes, nothing from before is an answer."""
    rules = (
        pack(row.name.encode(), row.mode.encode(), row.cedar.encode())
        for _, row in sorted(policies.items())
        if row.enabled
    )
    places = (pack(row.name.encode(), row.kind.encode(), row.base_url.encode()) for _, row in sorted(providers.items()))
    return hashlib.sha256(pack(pack(*rules), pack(*places))).digest()


def key_of(secret: bytes, tenant: bytes, version: bytes, place: bytes, question: AnswerInputs, body: bytes) -> bytes:
    """32 bytes. `place`: what was asked for, and of whom; `body`: as it goes upstream."""
    return digest(secret, (b"v1", tenant, version, place, pack(*question.context), body))
