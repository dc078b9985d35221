"""The shim's token and nonces: one token for all callers, replaced before a caller has to wait.

Every token comes with the newest nonce that was given for it. Each host of an appliance has nonces of its own, and a
balancer may keep a token's calls on one host.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

import orjson

from mastio_client.credentials import Token, TokenReplyError, read_challenge, read_token, token_form
from mastio_client.identity import Identity
from mastio_client.proofs import Prover
from mastio_client.shim.rules import build_head
from mastio_client.shim.transport import BrokenOff, Connection, Pool, Unreachable

MINT_PATH = "/oauth/token"
SELF_PATH = "/v1/agents/self"
FRESH = 20.0
"""Seconds for which a nonce is surely good: the appliance takes one for at least 30."""

AGAIN_AFTER = 2.0
"""Seconds between two attempts to replace a token in the background."""

KEEP_PROOF = 10.0
"""Seconds that a proof may wait: the appliance takes one for 60."""

MOST_KINDS = 64
"""Pairs of method and path for which a proof is kept."""

LARGEST_REPLY = 64 * 1024


class NoToken(Exception):
    """The appliance gave no token. `refused`: it does not accept the agent; the text is its reason."""

    def __init__(self, message: str, *, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


class Grant:
    """A token, and the newest nonce for calls with it."""

    __slots__ = ("authorization", "nonce", "nonce_at", "token", "used")

    def __init__(self, token: Token, nonce: str | None) -> None:
        self.token = token
        self.authorization = b"DPoP " + token.value.encode("ascii")
        self.nonce = nonce
        self.nonce_at = 0.0
        self.used = False

    def remember(self, headers: list[tuple[bytes, bytes]]) -> None:
        nonce = read_header(headers, b"dpop-nonce")
        if nonce:
            self.nonce, self.nonce_at = nonce, time.monotonic()


class Stock:
    """Proofs that are signed while the appliance is thinking, so that the next call of the same kind need not wait.

    A proof names method, path, token and nonce, so one kept here fits the next call unless token or nonce have changed.
    """

    def __init__(self) -> None:
        self._proofs: dict[tuple[str, str], tuple[Grant, str | None, float, str] | None] = {}

    def take(self, grant: Grant, method: str, path: str, now: float) -> str | None:
        """The proof that was kept for such a call, if it is still good. It is removed."""
        found = self._proofs.get((method, path))
        if found is None:
            return None
        self._proofs[method, path] = None
        owner, nonce, made, proof = found
        return proof if owner is grant and nonce == grant.nonce and now - made < KEEP_PROOF else None

    def wants(self, method: str, path: str) -> bool:
        """True if there was such a call before, and the next one has no proof yet."""
        name = (method, path)
        if name in self._proofs:
            return self._proofs[name] is None
        if len(self._proofs) >= MOST_KINDS:
            del self._proofs[next(iter(self._proofs))]
        self._proofs[name] = None
        return False

    def put(self, grant: Grant, method: str, path: str, now: float, proof: str) -> None:
        self._proofs[method, path] = (grant, grant.nonce, now, proof)


class TokenCache:
    """Signs every call. One for each shim; not for several threads. `say` gets one line for the operator."""

    def __init__(self, identity: Identity, pool: Pool, say: Callable[[str], None]) -> None:
        self._identity = identity
        self._pool = pool
        self._say = say
        self._prover = Prover(identity.dpop_key)
        self._host = urlsplit(identity.base_url).netloc.encode("ascii")
        self._stock = Stock()
        self._grant: Grant | None = None
        self._token_nonce: str | None = None
        self._fetching: asyncio.Task[Grant] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def grant(self, bad: Grant | None = None) -> Grant:
        """The grant to call with now, other than `bad`. Raises `NoToken`, `Unreachable` and `BrokenOff`."""
        grant = self._grant
        if grant is not None and grant is not bad and time.time() < grant.token.ends:
            grant.used = True
            return grant
        grant = await asyncio.shield(self._fetch())
        grant.used = True
        return grant

    def sign(self, grant: Grant, method: str, path: str) -> list[tuple[bytes, bytes]]:
        """The three lines that make a request the agent's; `path` without its query."""
        now = time.time()
        proof = self._stock.take(grant, method, path, now) or self._prove(grant, method, path, now)
        return [(b"host", self._host), (b"authorization", grant.authorization), (b"dpop", proof.encode("ascii"))]

    def prepare(self, grant: Grant, method: str, path: str) -> None:
        """Sign the next call like this one. Call it while the appliance works."""
        if self._stock.wants(method, path):
            now = time.time()
            self._stock.put(grant, method, path, now, self._prove(grant, method, path, now))

    def _prove(self, grant: Grant, method: str, path: str, now: float) -> str:
        return self._prover.prove(method, self._identity.base_url + path, now, grant.nonce, grant.token.ath)

    async def freshen(self, grant: Grant) -> None:
        """Make sure that the nonce is good for a call that cannot be repeated. Raises `Unreachable`, `BrokenOff`."""
        if grant.nonce is not None and time.monotonic() - grant.nonce_at < FRESH:
            return
        head = build_head("GET", SELF_PATH.encode(), self.sign(grant, "GET", SELF_PATH))
        status, headers, _ = await self._ask(head)
        grant.remember(headers)
        if read_challenge(status, read_header(headers, b"www-authenticate")) is None:
            grant.nonce_at = time.monotonic()  # the proof was taken, so its nonce is good, whatever else was said

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._fetching is not None:
            self._fetching.cancel()

    # --- getting a token ----------------------------------------------------------------------------------------------

    def _fetch(self) -> asyncio.Task[Grant]:
        """The one fetch that is under way."""
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._replace())
            self._fetching.add_done_callback(_retrieve)
        return self._fetching

    async def _replace(self) -> Grant:
        token = await self._new_token()
        grant = Grant(token, self._token_nonce)
        await self.freshen(grant)
        self._grant = grant
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(
            max(0.0, token.renew_at - time.time()), self._replace_early, grant
        )
        return grant

    def _replace_early(self, grant: Grant) -> None:
        """In the background. A token that nobody used is not replaced: its next caller fetches one."""
        if grant is self._grant and grant.used and time.time() < grant.token.ends:
            self._fetch().add_done_callback(lambda task: self._after_early(grant, task))

    def _after_early(self, grant: Grant, task: asyncio.Task[Grant]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        self._say(f"the access token could not be renewed: {error}")
        self._timer = asyncio.get_running_loop().call_later(AGAIN_AFTER, self._replace_early, grant)

    async def _new_token(self) -> Token:
        for _ in range(2):  # the second time with the nonce that the first refusal gave
            status, headers, body = await self._ask(self._token_request())
            self._token_nonce = read_header(headers, b"dpop-nonce") or self._token_nonce
            if status != 400:
                break
        try:
            document = orjson.loads(body)
            if status == 200:
                return read_token(document, time.time())
            reason = str(document["error_description"])
        except (TokenReplyError, ValueError, KeyError, TypeError):
            reason = f"The token endpoint answered {status}."
        raise NoToken(reason, refused=status == 401)

    def _token_request(self) -> bytes:
        identity, now = self._identity, time.time()
        form = urlencode(token_form(identity.dpop_key, identity.name, identity.base_url, now)).encode("ascii")
        proof = self._prover.prove("POST", identity.base_url + MINT_PATH, now, self._token_nonce, None)
        lines = [
            (b"host", self._host),
            (b"dpop", proof.encode("ascii")),
            (b"content-type", b"application/x-www-form-urlencoded"),
            (b"content-length", b"%d" % len(form)),
        ]
        return build_head("POST", MINT_PATH.encode(), lines) + form

    async def _ask(self, request: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """A small exchange, whole; once more where a kept connection turned out to be dead."""
        while True:
            connection = await self._pool.take()
            try:
                return await _exchange(connection, request)
            except BrokenOff as error:
                if error.begun or not connection.used:
                    raise
            finally:
                self._pool.give_back(connection)


def _retrieve(task: asyncio.Task[Grant]) -> None:
    """Take the error of a fetch whose caller has gone, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()


async def _exchange(connection: Connection, request: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    connection.start(request, head_only=False)
    await connection.read_head()
    pieces, size = [], 0
    while piece := await connection.read():
        size += len(piece)
        if size > LARGEST_REPLY:
            raise Unreachable("its answer is too long for that of a token endpoint")
        pieces.append(piece)
    return connection.status, connection.headers, b"".join(pieces)


def read_header(headers: list[tuple[bytes, bytes]], name: bytes) -> str:
    """The first value of a header, in lower case its name; empty where there is none."""
    for key, value in headers:
        if key == name:
            return value.decode("latin-1")
    return ""
