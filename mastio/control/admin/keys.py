"""The appliance's own keys: which generations there are, and the next one, with overlap or at once.

`token` signs access tokens, `audit` the log's checkpoints, `intermediate` and `root` are the certificate authority,
`edge` is the server certificate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cryptography import x509

from mastio.control.context import Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import KeyAnswer, KeyBody, KeyName
from mastio.exchange.errors import BadRequest, Unavailable
from mastio.exchange.records import SigningKey
from mastio.identity.rotation import state_of
from mastio.pki.certificates import encode_serial
from mastio.pki.ring import Generation
from mastio.pki.rotate import rotate_intermediate, rotate_root
from mastio.plugin.fields import Page, encode_time

PUBLISH_SECONDS = 5.0
"""Between the moment that a token key is trusted and that it signs: every worker looks four times a second."""

EDGE_SECONDS = 10.0
"""The same for certificates: the edge looks every two seconds, and then reloads."""

OVERLAP = {"token": 660.0, "audit": 7 * 86_400.0}
"""Seconds that the generation before is trusted: a token lives 600 at most, and a minute for clocks; checkpoints are
signed by both for a week, so that whoever looks in once a week sees the change announced by a key that he knows."""

ALGORITHMS = {"token": "ES256", "audit": "Ed25519"}

ROOT_OVERLAP = 30 * 86_400.0
"""Seconds that clients with the former root are still served, unless leaves live longer."""

NAMES: tuple[KeyName, ...] = ("token", "audit", "intermediate", "root", "edge")


class KeysRouter:
    """`/v1/admin/keys`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._authority = context.authority
        self._shared = context.store.signing_keys

    def endpoints(self) -> Endpoints:
        keys = "/v1/admin/keys"
        return {
            ("GET", keys): Endpoint(self.list_keys),
            ("GET", keys + "/{name}"): Endpoint(self.read_keys),
            ("POST", keys): Endpoint(self.rotate_key, status=201, second=True),
        }

    async def list_keys(self) -> Page[KeyAnswer]:
        """Every generation of every key, the oldest first."""
        return Page(items=[one for name in NAMES for one in await self._list(name)], next_cursor=None)

    async def read_keys(self, name: str) -> Page[KeyAnswer]:
        """The generations of one key."""
        for known in NAMES:
            if name == known:
                return Page(items=await self._list(known), next_cursor=None)
        raise BadRequest("There is no key of this name.", code="not_found")

    async def rotate_key(self, body: KeyBody) -> KeyAnswer:
        """Make the next generation of a key. What the one before signed stays good as long as it would have been.

        With `immediately`, for a key that is known to others: the one before is refused from now on, and what it
        signed with it.
        """
        now, name = self._context.now(), body.name
        if name in OVERLAP:
            await self._rotate_shared(name, now, immediately=body.immediately)
        elif name == "edge":
            await asyncio.to_thread(self._issue_edge, now)
        else:
            await self._rotate_authority(name, now, immediately=body.immediately)
        return (await self._list(name))[-1]

    async def _rotate_shared(self, name: KeyName, now: float, *, immediately: bool) -> None:
        begin = now if immediately else now + PUBLISH_SECONDS
        await self._shared.rotate(name, now, begin, now if immediately else begin + OVERLAP[name])

    async def _rotate_authority(self, name: KeyName, now: float, *, immediately: bool) -> None:
        context = self._context
        begin = now if immediately else now + EDGE_SECONDS
        end = max(begin + context.leaf_seconds, await context.store.agents.last_not_after())
        rotate = rotate_intermediate
        if name == "root":
            rotate, end = rotate_root, max(end, begin + ROOT_OVERLAP)
        folder, domain = self._authority.folder, context.trust_domain
        try:
            await asyncio.to_thread(rotate, folder, domain, now, begin, now if immediately else end)
            self._authority.refresh(now)
            await asyncio.to_thread(self._authority.publish)
        except OSError as error:
            raise Unavailable("The certificate authority's folder cannot be written.", code="not_ready") from error

    def _issue_edge(self, now: float) -> None:
        try:
            self._authority.issue_server(self._context.server_names, now, self._context.server_seconds)
        except OSError as error:
            raise Unavailable("The edge's certificate cannot be written.", code="not_ready") from error

    async def _list(self, name: KeyName) -> list[KeyAnswer]:
        now = self._context.now()
        match name:
            case "token" | "audit":
                keys = await self._shared.list(name)
                return [_answer_shared(name, key, keys, now) for key in keys]
            case "edge":
                leaf = self._authority.server_certificate()
                return [] if leaf is None else [_answer_edge(leaf, now)]
            case "root":
                return [_answer_authority("root", one, self._authority.ring.roots, now)
                        for one in self._authority.ring.roots]  # fmt: skip
        generations = self._authority.ring.intermediates
        return [_answer_authority("intermediate", one, generations, now) for one in generations]


def _answer_shared(name: KeyName, key: SigningKey, keys: Sequence[SigningKey], now: float) -> KeyAnswer:
    return KeyAnswer(
        name=name,
        id=key.id,
        state=state_of(key, keys, now),
        algorithm=ALGORITHMS[name],
        created_at=encode_time(key.created_at),
        active_from=encode_time(key.active_from),
        retire_at=None if key.retire_at is None else encode_time(key.retire_at),
        not_after=None,
    )


def _answer_authority(name: KeyName, one: Generation, all_: Sequence[Generation], now: float) -> KeyAnswer:
    return KeyAnswer(
        name=name,
        id=one.id,
        state=state_of(one, all_, now),
        algorithm="ECDSA P-256",
        created_at=encode_time(one.created_at),
        active_from=encode_time(one.active_from),
        retire_at=None if one.retire_at is None else encode_time(one.retire_at),
        not_after=encode_time(one.certificate.not_valid_after_utc.timestamp()),
    )


def _answer_edge(leaf: x509.Certificate, now: float) -> KeyAnswer:
    begun, end = leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()
    return KeyAnswer(
        name="edge",
        id=encode_serial(leaf.serial_number),
        state="active" if now < end else "retired",
        algorithm="ECDSA P-256",
        created_at=encode_time(begun),
        active_from=encode_time(begun),
        retire_at=None,
        not_after=encode_time(end),
    )
