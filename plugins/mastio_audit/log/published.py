"""The published state of the log: its newest signed checkpoint and its public keys.

`DATA/log/checkpoint` is the newest signed checkpoint, written at most a second after the newest entry, and read again
before anything is appended: a log that does not begin with what was signed is not continued. So the database cannot be
put back to an older copy unnoticed, unless that file is put back as well; against that, keep checkpoints elsewhere.
`DATA/log/vkey` has every public key that the log ever had, a line each, the newest last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from mastio.exchange.errors import AuditError
from mastio.exchange.values import Entry
from mastio_audit.log.chain import ChainError, Head
from mastio_audit.log.keys import LogKeys, successions
from mastio_audit.log.store import LogReader, StoreError
from mastio_audit.log.tiles import read_root
from mastio_primitives.files import write_public
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.merkle import root
from mastio_primitives.transparency.notes import Checkpoint, NoteError

EVERY = 0.5  # seconds
HINT = (
    "Find out why before you go on. If an older copy was put back on purpose, move {path} away: "
    "whoever holds it can prove that the log was cut."
)

_log = logging.getLogger(__name__)


def sign_head(head: Head, keys: LogKeys, now: float) -> bytes:
    """The signed checkpoint of the log as it ends there."""
    return notes.sign(Checkpoint(keys.origin, head.size, root(head.frontier)), keys.signers(now))


async def verify_beginning(reader: LogReader, signed: Checkpoint, who: str) -> None:
    """Verifies that the log begins as signed; `who`: the holder of `signed`, for messages. Raises `ChainError`,
    `StoreError`."""
    head = (await reader.extent()).head
    size = 0 if head is None else head.size
    if size < signed.size:
        raise ChainError(f"it is missing: {who} a checkpoint of size {signed.size}", size)
    if await read_root(reader, signed.size) != signed.root:
        raise ChainError(f"it is not the log of which {who} a checkpoint of size {signed.size}", 0)


class History:
    """The newest checkpoint that was signed here, in a folder of the appliance."""

    def __init__(self, data: Path) -> None:
        self.folder = data / "log"
        self.path = self.folder / "checkpoint"

    async def verify(self, reader: LogReader) -> None:
        """Verifies that the log begins as signed. Raises `ChainError`, `StoreError`."""
        signed = self._read()
        if signed is None:
            return
        await verify_beginning(reader, signed, "this appliance signed")

    def _read(self) -> Checkpoint | None:
        """None: nothing was signed yet. Raises `ChainError` for what is no checkpoint."""
        try:
            return notes.parse_checkpoint(notes.parse_note(self.path.read_bytes()).text)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"the last checkpoint cannot be read ({error.strerror})") from error
        except NoteError as error:
            raise ChainError("the file of the last checkpoint holds none") from error

    def keep(self, checkpoint: bytes, vkeys: Sequence[str]) -> None:
        """Write both files, whole and durably. Raises `OSError`."""
        self.folder.mkdir(mode=0o755, exist_ok=True)
        self._keep_keys(vkeys)
        write_public(self.path, checkpoint)

    def _keep_keys(self, vkeys: Sequence[str]) -> None:
        """Add those that are not there: what they signed is verified long after they are forgotten."""
        path = self.folder / "vkey"
        known = path.read_text("utf-8").splitlines() if path.exists() else []
        more = [vkey for vkey in vkeys if vkey not in known]
        if more:
            write_public(path, "".join(f"{vkey}\n" for vkey in [*known, *more]).encode())


class Publisher:
    """Signs and keeps a checkpoint whenever the log has grown, and tells the log of new keys. One for each node."""

    def __init__(
        self,
        reader: LogReader,
        keys: LogKeys,
        history: History,
        record: Callable[[Entry], Awaitable[int]],
        now: Callable[[], float],
        incarnation: str,
    ) -> None:
        self._reader = reader
        self._keys = keys
        self._history = history
        self._record = record
        self._now = now
        self._incarnation = incarnation
        self._announced: set[str] = set()
        self._problem: str | None = None
        self._kept: tuple[int, tuple[str, ...]] | None = None

    async def run(self) -> None:
        """Until cancelled. What fails is tried again."""
        while True:
            try:
                await self._announce()
                await self.publish()
            except (AuditError, StoreError, ChainError, OSError) as error:
                if self._problem != str(error):
                    _log.error("no checkpoint could be kept: %s", error)
                self._problem = str(error)
            else:
                self._problem = None
            await asyncio.sleep(EVERY)

    async def publish(self) -> None:
        """Keep a checkpoint, unless the last one is still the newest. Raises `StoreError`, `OSError`."""
        head = (await self._reader.extent()).head
        keys = tuple(str(key.signer.verifier) for key in self._keys.all())
        if head is None or self._kept == (head.size, keys):
            return
        checkpoint = sign_head(head, self._keys, self._now())
        await asyncio.to_thread(self._history.keep, checkpoint, keys)
        self._kept = head.size, keys

    async def _announce(self) -> None:
        """An entry for each key that followed another, once for each start: to say it twice does no harm."""
        for key, note in successions(self._keys.all()):
            if str(key) not in self._announced:
                request = {"vkey": str(key), "note": note}
                await self._record(Entry(id=self._incarnation, phase="event", kind="audit.key", request=request))
                self._announced.add(str(key))
