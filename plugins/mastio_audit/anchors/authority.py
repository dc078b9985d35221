"""A time-stamping authority: says that a checkpoint was there at a time, and keeps nothing itself.

The checkpoint and the reply are kept side by side, `<size>.checkpoint` and `<size>.tsr`, so that `openssl ts -verify`
takes them as they are.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography import x509

from mastio.exchange.errors import DispatchError
from mastio.plugin.services import Upstream
from mastio_audit.anchors.memory import Memory
from mastio_audit.anchors.target import AnchorError
from mastio_audit.anchors.timestamps import TimestampError, verify_reply, write_request
from mastio_audit.log.chain import Head
from mastio_primitives.files import write_public

PATIENCE = 20.0
"""Seconds for request and reply."""

MAX_REPLY = 64 * 1024
_QUERY, _REPLY = "application/timestamp-query", "application/timestamp-reply"


class Authority:
    """The authority at `upstream`, whose certificates lead to one of `trusted`. See `Place`."""

    def __init__(
        self,
        name: str,
        upstream: Upstream,
        trusted: Sequence[x509.Certificate],
        folder: Path,
        memory: Memory,
        sign: Callable[[Head], bytes],
        now: Callable[[], float],
    ) -> None:
        self._name = name
        self._upstream = upstream
        self._trusted = trusted
        self._folder = folder
        self._memory = memory
        self._sign = sign
        self._now = now

    async def lead(self) -> bool:
        return await self._memory.open()

    async def size(self) -> int:
        return await self._memory.recall(self._name) or 0

    async def keep(self, head: Head) -> None:
        checkpoint, nonce = self._sign(head), secrets.randbits(63) | 1
        try:
            async with asyncio.timeout(PATIENCE):
                reply = await self._post(write_request(checkpoint, nonce))
            verify_reply(reply, checkpoint, nonce, self._trusted, self._now())
        except (TimeoutError, DispatchError) as error:
            raise AnchorError("it cannot be reached, or does not answer") from error
        except TimestampError as error:
            raise AnchorError(f"its answer is not taken: {error}") from error
        try:
            await asyncio.to_thread(self._write, head.size, checkpoint, reply)
        except OSError as error:
            raise AnchorError(f"the time stamp cannot be kept ({error.strerror})") from error
        await self._memory.remember(self._name, head.size)

    async def close(self) -> None:
        await self._memory.close()

    async def _post(self, request: bytes) -> bytes:
        headers = [("content-type", _QUERY), ("accept", _REPLY)]
        async with self._upstream.send("POST", "", headers, request) as reply:
            content = await reply.read(MAX_REPLY)
            types = [value.decode("latin-1") for name, value in reply.headers if name == b"content-type"]
        if reply.status != 200:
            raise AnchorError(f"it answers with status {reply.status}")
        if not types or types[0].partition(";")[0].strip().lower() != _REPLY:
            raise AnchorError("it does not answer with a time stamp")
        return content

    def _write(self, size: int, checkpoint: bytes, reply: bytes) -> None:
        """First what was stamped: without it the stamp says nothing."""
        self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_public(self._folder / f"{size}.checkpoint", checkpoint)
        write_public(self._folder / f"{size}.tsr", reply)
