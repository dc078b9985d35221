"""The verb `shim`: a plain-HTTP listener on the loopback whose callers act as the agent.

    caller ── HTTP ─▶ judged (`rules`) ─▶ its credentials out, token and proof in (`token_cache`) ── TLS ─▶ appliance
           ◀──────────────────────── status, headers, every piece as it arrives ────────────────────────

A body of up to 1 MiB is kept until the reply has begun. So the shim can send it again after a challenge (RFC 9449 §8)
or with a new token, and the caller does not notice. A longer body is streamed, once the nonce is surely good.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mastio_client.credentials import read_challenge
from mastio_client.enroll import Refused
from mastio_client.identity import Identity
from mastio_client.renewal import due, renew_if_due
from mastio_client.shim.caller import Answer, HangUp, LongBody, encode_piece, read_start
from mastio_client.shim.event_loop import run as run_loop
from mastio_client.shim.rules import (
    ShimRefusal,
    build_head,
    declared_length,
    encode_error,
    forward,
    host_names,
    is_plain_target,
    verify_caller,
)
from mastio_client.shim.token_cache import Grant, NoToken, TokenCache, read_header
from mastio_client.shim.transport import BrokenOff, Connection, Pool, RawHeaders, Unreachable
from mastio_primitives.asgi import ClientGone, Receive, Send
from mastio_primitives.errors import ConfigurationError
from mastio_primitives.http_protocol import HttpProtocol
from mastio_primitives.serving import Server, make_config, tcp_url

KEEP_ALIVE = 120
"""Seconds that an idle caller's connection is kept: longer than an SDK's own pool keeps it."""

DRAIN = 10
"""Seconds that open exchanges have to end after SIGTERM."""

LOOK_EVERY = 60.0
"""Seconds between two checks whether the certificate is due."""

BACKLOG = 1024
COLLECT = (50_000, 20, 100)
"""Calls make few reference cycles and many short-lived objects, so a rarer collection costs no memory here."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a caller, judged. `headers` are those that the appliance gets; `length` as declared."""

    method: str
    path: str
    target: bytes
    headers: RawHeaders
    length: int | None


def read_call(scope: Any, hosts: frozenset[bytes]) -> Call:
    """Raises `ShimRefusal`."""
    headers = scope["headers"]
    verify_caller(headers, hosts)
    path, query = scope["raw_path"], scope["query_string"]
    target = path + b"?" + query if query else path
    if not is_plain_target(target):
        raise ShimRefusal("The path has characters in it that must be encoded.", "bad_request")
    return Call(scope["method"], path.decode("ascii"), target, forward(headers), declared_length(headers))


class Shim:
    """The ASGI application. `hosts` are the values of `Host` that it answers to."""

    def __init__(self, pool: Pool, tokens: TokenCache, hosts: frozenset[bytes]) -> None:
        self._pool = pool
        self._tokens = tokens
        self._hosts = hosts

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = Answer(send)
        try:
            call = read_call(scope, self._hosts)
            await self._carry(call, receive, answer)
        except ClientGone:
            return
        except ShimRefusal as error:
            await answer.refuse(scope["raw_path"], error.code, str(error))
        except NoToken as error:
            code = "invalid_client" if error.refused else "appliance_unreachable"
            await answer.refuse(scope["raw_path"], code, f"The appliance gave no access token: {error}")
        except Unreachable as error:
            await answer.refuse(scope["raw_path"], "appliance_unreachable", f"No connection to the appliance: {error}.")
        except BrokenOff as error:
            await answer.refuse(scope["raw_path"], "appliance_unreachable", str(error))

    async def _carry(self, call: Call, receive: Receive, answer: Answer) -> None:
        body, whole = await read_start(receive, call.length)
        if not whole:
            await self._carry_long(call, body, receive, answer)
            return
        hang_up = HangUp(receive)
        try:
            connection = await self._ask(call, body)
            try:
                await answer.give(connection)
            finally:
                self._pool.give_back(connection)
        except asyncio.CancelledError:
            if not hang_up.happened:
                raise
        finally:
            hang_up.stop()

    # --- a body that is kept ------------------------------------------------------------------------------------------

    async def _ask(self, call: Call, body: bytes) -> Connection:
        """A connection on which the reply has begun; the caller gives it back. Answers each kind of challenge once."""
        framing = [(b"content-length", b"%d" % len(body))] if body or call.length is not None else []
        grant = await self._tokens.grant()
        answered: set[str] = set()
        while True:
            connection = await self._send(call, grant, framing, body)
            grant.remember(connection.headers)
            wanted = self._wanted(connection)
            if wanted is None or wanted in answered:
                return connection
            try:
                while await connection.read():
                    pass
            finally:
                self._pool.give_back(connection)  # which closes it where the reply was not read to its end
            answered.add(wanted)
            if wanted == "invalid_token":
                grant = await self._tokens.grant(bad=grant)
                answered = {"invalid_token"}  # the new one may lead to another host, and to its nonce

    async def _send(self, call: Call, grant: Grant, framing: RawHeaders, body: bytes) -> Connection:
        """Send, and send again when a kept connection was dead and a second request does no harm (RFC 9110 §9.2.2)."""
        while True:
            connection = await self._pool.take()
            signed = self._tokens.sign(grant, call.method, call.path)
            head = build_head(call.method, call.target, [*signed, *call.headers, *framing])
            try:
                connection.start(head + body, head_only=call.method == "HEAD")
                self._tokens.prepare(grant, call.method, call.path)
                await connection.read_head()
            except BrokenOff as error:
                connection.abort()
                if error.begun or not connection.used or call.method not in _SAFE:
                    raise
            except asyncio.CancelledError:
                connection.abort()
                raise
            else:
                return connection

    def _wanted(self, connection: Connection) -> str | None:
        if connection.status != 401:
            return None
        return read_challenge(connection.status, read_header(connection.headers, b"www-authenticate"))

    # --- a body that is streamed --------------------------------------------------------------------------------------

    async def _carry_long(self, call: Call, first: bytes, receive: Receive, answer: Answer) -> None:
        grant = await self._tokens.grant()
        await self._tokens.freshen(grant)
        chunked = call.length is None
        framing = (b"transfer-encoding", b"chunked") if chunked else (b"content-length", b"%d" % (call.length or 0))
        connection = await self._pool.take()
        signed = self._tokens.sign(grant, call.method, call.path)
        head = build_head(call.method, call.target, [*signed, *call.headers, framing])
        connection.start(head + encode_piece(first, chunked), head_only=False)
        body = LongBody(receive, connection, chunked)
        hang_up = HangUp(body.send)
        try:
            await connection.read_head()
            grant.remember(connection.headers)
            await answer.give(connection)
        except asyncio.CancelledError:
            if not hang_up.happened:
                raise
        finally:
            hang_up.stop()
            if body.sent:
                self._pool.give_back(connection)
            else:  # the reply came before the end of the body: what is left of the request must not become another
                connection.abort()


class ShimProtocol(HttpProtocol):
    """For `uvicorn.Config(http=…)`."""

    malformed = (b"application/json", encode_error(b"/", "bad_request", "The request is not well-formed.")[1])


# --- the process ------------------------------------------------------------------------------------------------------


def run(identity: Identity, address: str, port: int, say: Say) -> None:
    """Serve until SIGTERM or SIGINT. Raises `ConfigurationError` when the address cannot be used."""
    with open_listener(address, port) as listener:
        run_loop(serve(identity, listener, say))


async def serve(identity: Identity, listener: socket.socket, say: Say) -> None:
    address, port = listener.getsockname()[:2]
    pool = Pool(identity.base_url, identity.tls(certificate=False))
    tokens = TokenCache(identity, pool, say)
    shim = Shim(pool, tokens, host_names(address, port))
    config = make_config(shim, ShimProtocol, backlog=BACKLOG, keep_alive=KEEP_ALIVE, drain=DRAIN)
    beside = [asyncio.create_task(warm_up(tokens, say)), asyncio.create_task(keep_renewed(identity, say))]
    gc.freeze()  # what lives now lives as long as the shim
    gc.set_threshold(*COLLECT)
    try:
        await Server(config, lambda: say(introduce(identity, tcp_url(listener)))).serve([listener])
    finally:
        for task in beside:
            task.cancel()
        tokens.close()
        pool.close()


def open_listener(address: str, port: int) -> socket.socket:
    """Raises `ConfigurationError`."""
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    if sys.platform == "win32":  # SO_REUSEADDR would let another process listen at the same port there
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"The shim cannot listen on {address} port {port}: {error.strerror}.", "Choose another port; 0 picks one."
        ) from error
    return listener


def introduce(identity: Identity, url: str) -> str:
    """The start message: the shim's address, and the variables for the software that uses it."""
    return "\n".join(
        (
            f"{url} is the agent {identity.name} of {identity.base_url}",
            f"  export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=shim",
            f"  export ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN=shim",
            f"  export GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY=shim",
        )
    )


async def warm_up(tokens: TokenCache, say: Say) -> None:
    """Fetch a token before the first call, and tell the operator when the appliance gives none."""
    try:
        await tokens.grant()
    except (NoToken, Unreachable, BrokenOff) as error:
        say(f"no access token yet: {error}")


async def keep_renewed(identity: Identity, say: Say) -> None:
    """Renew the certificate when it is due, as long as the shim runs. A failure is printed, and tried again."""
    while True:
        try:
            if due(identity, time.time()) and await asyncio.to_thread(renew_if_due, identity):
                say("the certificate was renewed")
        except Refused as error:
            say(f"the certificate could not be renewed: {error.message}")
        except ConfigurationError as error:
            say(f"the certificate could not be renewed: {error.message}")
        await asyncio.sleep(LOOK_EVERY)
