"""One witness: gives it the newest checkpoint with a proof, and gets its cosignature, or learns of a fork."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mastio.exchange.errors import DispatchError, MastioError
from mastio.exchange.values import JSON
from mastio.plugin.services import Upstream
from mastio_audit.anchors.cosignatures import Cosigned, Fork, Remembers, find_cosignature, judge
from mastio_audit.anchors.memory import Memory
from mastio_audit.anchors.metrics import AnchorMetrics
from mastio_audit.anchors.target import AnchorError
from mastio_audit.log.chain import ChainError, Head
from mastio_audit.log.store import LogReader
from mastio_audit.log.tiles import read_proof, read_root
from mastio_primitives.transparency import merkle
from mastio_primitives.transparency.merkle import ProofError
from mastio_primitives.transparency.notes import NoteError, Verifier, parse_note, write_extension

PATIENCE = 20.0
"""Seconds for the whole exchange with a witness about one checkpoint."""

MAX_REPLY = 16 * 1024
TRIES = 4
"""The most sizes that a witness may name before it is left alone until the next checkpoint."""

_HEADERS = [("content-type", "text/plain; charset=utf-8"), ("accept", "*/*")]
Record = Callable[[str, dict[str, JSON]], Awaitable[object]]
"""Writes an event of a kind, with its `request`, into the log. Raises `MastioError`."""

_log = logging.getLogger(__name__)


class ForkError(AnchorError):
    """The witness remembers another log."""


@dataclass(frozen=True, slots=True)
class Log:
    """The log for proofs to witnesses. All witnesses share one reader, so there is one read at a time."""

    reader: LogReader
    lock: asyncio.Lock

    async def prove(self, old: int, head: Head) -> list[bytes]:
        """A verified proof that the tree of `head` begins with that of `old` entries. Raises `ChainError`,
        `StoreError`."""
        if old in (0, head.size):
            return []
        async with self.lock:
            proof = await read_proof(self.reader, merkle.consistency(old, head.size), head.size)
            before = await read_root(self.reader, old)
        try:
            merkle.verify_consistency(old, head.size, before, merkle.root(head.frontier), proof)
        except ProofError as error:
            raise ChainError(f"no proof can be made from {old} entries: {error}") from error
        return proof

    async def size(self) -> int:
        """The present size of the log. Raises `StoreError`."""
        async with self.lock:
            head = (await self.reader.extent()).head
        return 0 if head is None else head.size


class Witness:
    """The witness at `upstream` with the key `verifier`. `record` writes an event into the log."""

    def __init__(
        self,
        name: str,
        verifier: Verifier,
        upstream: Upstream,
        memory: Memory,
        record: Record,
        figures: AnchorMetrics,
        now: Callable[[], float],
    ) -> None:
        self.name = name
        self.verifier = verifier
        self._upstream = upstream
        self._memory = memory
        self._record = record
        self._figures = figures
        self._now = now
        self._last: tuple[bytes, bytes] | None = None
        self._said = False

    async def cosign(self, head: Head, checkpoint: bytes, log: Log) -> bytes:
        """The witness's signature line. Raises `AnchorError`, `ForkError`, `StoreError`, `ChainError`."""
        text = parse_note(checkpoint).text
        if self._last is not None and self._last[0] == text:
            return self._last[1]
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._submit(head, checkpoint, log)
                if isinstance(answer, Fork):
                    raise await self._alarm(head, answer)
                line, _ = find_cosignature(text, answer.signatures, self.verifier, self._now())
        except (TimeoutError, DispatchError) as error:
            raise AnchorError("it cannot be reached, or does not answer") from error
        except NoteError as error:
            raise AnchorError(str(error)) from error
        await self._memory.remember(self.name, head.size)
        await self._calm()
        self._last = (text, line)
        return line

    async def _submit(self, head: Head, checkpoint: bytes, log: Log) -> Cosigned | Fork:
        old = await self._memory.recall(self.name) or 0
        if old > head.size:
            old = 0  # the log is not what this memory is of: the witness says what it has
        for _ in range(TRIES):
            body = write_extension(old, await log.prove(old, head), checkpoint)
            answer = await self._post(body, old, head.size)
            if not isinstance(answer, Remembers):
                return answer
            if answer.size > head.size:
                if await log.size() < answer.size:
                    return Fork(answer.size)
                raise AnchorError("it has a newer checkpoint already")
            old = answer.size
        raise AnchorError("it names another size each time")

    async def _post(self, body: bytes, old: int, size: int) -> Cosigned | Remembers | Fork:
        async with self._upstream.send("POST", "/add-checkpoint", _HEADERS, body) as reply:
            content = await reply.read(MAX_REPLY)
            types = [value.decode("latin-1") for name, value in reply.headers if name == b"content-type"]
        return judge(reply.status, types[0] if types else "", content, old, size)

    # --- the fork alarm ----------------------------------------------------------------------------------------------

    async def _alarm(self, head: Head, fork: Fork) -> ForkError:
        """Log and record the fork once, until the witness signs again. The record comes first: a crash repeats it
        rather than losing it."""
        if not self._said:
            _log.error(
                "FORK: the witness %s signed a log of %d entries which this log of %d entries does not begin with",
                *(self.name, fork.size, head.size),
            )
        self._said = True
        self._figures.forked(self.name, True)
        if not await self._memory.recall(self._mark):
            seen: dict[str, JSON] = {"seen": fork.size, "size": head.size, "root": merkle.root(head.frontier).hex()}
            try:
                await self._record("audit.fork", {"anchor": self.name, "witness": str(self.verifier), **seen})
            except MastioError:
                _log.error("the fork cannot be recorded at present")
            else:
                await self._memory.remember(self._mark, 1)
        return ForkError("it remembers another log than this one")

    async def _calm(self) -> None:
        self._said = False
        self._figures.forked(self.name, False)
        if await self._memory.recall(self._mark):
            await self._memory.remember(self._mark, 0)

    @property
    def _mark(self) -> str:
        return f"{self.name}.fork"
