"""All witnesses as one place: a checkpoint is anchored when as many of them as the quorum asks for have signed it.

It is kept with their signatures as `DATA/log/cosigned`. Of appliances that share a log one asks; the others copy.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from mastio_audit.anchors.cosignatures import find_cosigners
from mastio_audit.anchors.memory import Memory
from mastio_audit.anchors.metrics import AnchorMetrics
from mastio_audit.anchors.publisher import Pace
from mastio_audit.anchors.target import AnchorError
from mastio_audit.anchors.witness import ForkError, Log, Witness
from mastio_audit.log.chain import ChainError, Head
from mastio_audit.log.store import LogReader, StoreError
from mastio_primitives.files import write_public
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import NoteError

PACE = Pace()
_log = logging.getLogger(__name__)


class Witnesses:
    """See `Place`. `file` is where the cosigned checkpoint is kept; `reader` is for these witnesses alone."""

    def __init__(
        self,
        witnesses: Sequence[Witness],
        quorum: int,
        origin: str,
        file: Path,
        memory: Memory,
        reader: LogReader,
        sign: Callable[[Head], bytes],
        figures: AnchorMetrics,
        now: Callable[[], float],
    ) -> None:
        self._witnesses = witnesses
        self._quorum = quorum
        self._origin = origin
        self._file = file
        self._memory = memory
        self._reader = reader
        self._sign = sign
        self._figures = figures
        self._now = now
        self._patience = {witness.name: Patience() for witness in witnesses}

    async def lead(self) -> bool:
        if await self._memory.open():
            return True
        for witness in self._witnesses:
            self._figures.left(witness.name, self._now())
        note = await self._memory.published()
        if note is not None and self._measure(note) > await self.size():
            await self._write(note)
        return False

    async def size(self) -> int:
        try:
            return self._measure(await asyncio.to_thread(self._file.read_bytes))
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise AnchorError(f"the cosigned checkpoint cannot be read ({error.strerror})") from error

    async def keep(self, head: Head) -> None:
        checkpoint = self._sign(head)
        try:
            await self._reader.open()
            log = Log(self._reader, asyncio.Lock())
            due = [witness for witness in self._witnesses if self._patience[witness.name].is_due()]
            lines = await asyncio.gather(*(self._ask(witness, head, checkpoint, log) for witness in due))
        finally:
            await self._reader.close()
        signed = [line for line in lines if line is not None]
        if len(signed) < self._quorum:
            raise AnchorError(f"{len(signed)} of {len(self._witnesses)} witnesses signed, not {self._quorum}")
        cosigned = checkpoint + b"".join(signed)
        await self._write(cosigned)
        await self._memory.publish(cosigned)

    async def close(self) -> None:
        await self._memory.close()

    async def _ask(self, witness: Witness, head: Head, checkpoint: bytes, log: Log) -> bytes | None:
        """The signature line. None: there is none, the others go on."""
        patience = self._patience[witness.name]
        try:
            line = await witness.cosign(head, checkpoint, log)
        except (AnchorError, StoreError, ChainError) as error:
            self._figures.failed(witness.name)
            if patience.fail(str(error)) and not isinstance(error, ForkError):
                _log.warning("the witness %s does not sign: %s", witness.name, error)
            return None
        self._figures.kept(witness.name, head.size, self._now())
        if patience.succeed():
            _log.warning("the witness %s signs again", witness.name)
        return line

    def _measure(self, note: bytes) -> int:
        """The size of a checkpoint of this log that the quorum has signed; 0 for anything else."""
        try:
            checkpoint = notes.parse_checkpoint(notes.parse_note(note).text)
            signers = find_cosigners(note, [witness.verifier for witness in self._witnesses], self._now())
        except NoteError:
            return 0
        return checkpoint.size if checkpoint.origin == self._origin and len(signers) >= self._quorum else 0

    async def _write(self, note: bytes) -> None:
        try:
            self._file.parent.mkdir(mode=0o755, exist_ok=True)
            await asyncio.to_thread(write_public, self._file, note)
        except OSError as error:
            raise AnchorError(f"the cosigned checkpoint cannot be kept ({error.strerror})") from error


class Patience:
    """The time of the next request to a witness that failed, and the last logged state."""

    def __init__(self, pace: Pace = PACE) -> None:
        self._pace = pace
        self._pause = pace.first
        self._due = 0.0
        self._said: str | None = None

    def is_due(self) -> bool:
        return asyncio.get_running_loop().time() >= self._due

    def fail(self, reason: str) -> bool:
        """True if the reason is new."""
        self._due = asyncio.get_running_loop().time() + self._pause
        self._pause = min(2 * self._pause, self._pace.most)
        said, self._said = self._said, reason
        return said != reason

    def succeed(self) -> bool:
        """True if it had failed."""
        self._pause, self._due = self._pace.first, 0.0
        said, self._said = self._said, None
        return said is not None
