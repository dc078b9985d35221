"""Keeps checkpoints outside the appliance, so that control over the appliance is not enough to rewrite its history.

| file | content |
|---|---|
| `settings.py` | the settings `[[audit.anchors]]` |
| `publisher.py` | the times at which a place gets the newest checkpoint, also after a failure |
| `target.py` | the interface of a place, and the meaning of its errors |
| `file.py` | an append-only file: detects an older copy of the data folder |
| `cosignatures.py` | the meaning of a witness's answers. Pure |
| `witness.py`, `witnesses.py` | one witness, and the quorum of them: detect two logs with one name |
| `authority.py` | a time-stamping authority: detects a log rewritten with all keys after the time stamp |
| `timestamps.py`, `der.py` | time-stamp requests, and the verification of the answers. Pure |
| `memory.py`, `postgres.py` | the memory of an anchor, and the choice of the appliance that serves it |

This module connects them. Every worker compares the log with the files when it starts; control hands checkpoints over.
"""

from __future__ import annotations

import importlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography import x509

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.values import JSON, Entry
from mastio.plugin.services import Services, Upstream
from mastio_audit.anchors.authority import Authority
from mastio_audit.anchors.file import FileAnchor
from mastio_audit.anchors.memory import FileMemory, Memory
from mastio_audit.anchors.metrics import AnchorMetrics
from mastio_audit.anchors.publisher import Publisher
from mastio_audit.anchors.settings import (
    WITNESSES,
    AnchorSettings,
    FileAnchorSettings,
    TimestampSettings,
    WitnessSettings,
)
from mastio_audit.anchors.target import AnchorTarget
from mastio_audit.anchors.witness import Witness
from mastio_audit.anchors.witnesses import Witnesses
from mastio_audit.log.chain import Head
from mastio_audit.log.keys import LogKeys
from mastio_audit.log.published import sign_head
from mastio_audit.log.store import LogReader
from mastio_audit.outside import refuse_own

TIMEOUTS = {"connect": 5.0, "read": 10.0, "total": 15.0}
"""Seconds for one request to a service outside."""


def cosigned_file(data: Path) -> Path:
    """The file with the newest checkpoint that the quorum of witnesses has signed."""
    return data / "log" / "cosigned"


class Anchors:
    """The anchors of the settings. `quorum`: the number of witnesses that have to sign; `every`: seconds between two
    rounds of them. Raises `ConfigurationError`."""

    def __init__(
        self,
        settings: Sequence[AnchorSettings],
        services: Services,
        keys: LogKeys,
        *,
        quorum: int | None = None,
        every: float = 60,
    ) -> None:
        self._services = services
        self._keys = keys
        self._quorum = quorum
        self._every = every
        self._verified = False
        self._files: list[tuple[FileAnchorSettings, FileAnchor]] = []
        self._witnesses: list[tuple[WitnessSettings, Upstream]] = []
        self._authorities: list[tuple[TimestampSettings, Authority]] = []
        for one in settings:
            if isinstance(one, FileAnchorSettings):
                refuse_own(f"The audit anchor {one.name}", one.path, services.data)
                self._files.append((one, FileAnchor(one.name, one.path, keys.origin, self._sign)))
                continue
            upstream = services.upstreams.open(one.url, one.allow_addresses, TIMEOUTS, _tls(one.name, one.ca_file))
            if isinstance(one, WitnessSettings):
                self._witnesses.append((one, upstream))
            else:
                self._authorities.append((one, self._open_authority(one, upstream)))

    async def verify(self, reader: LogReader) -> None:
        """Verify that the log begins with the checkpoints in the files. Done only at the start: a file that fails later
        delays no exchange.

        Raises `ConfigurationError`, `StoreError`.
        """
        if not self._verified:
            for _, place in self._files:
                await place.verify(reader)
            self._verified = True

    @asynccontextmanager
    async def keep(
        self, open_reader: Callable[[], LogReader], record: Callable[[Entry], Awaitable[int]]
    ) -> AsyncIterator[None]:
        """Hand checkpoints over while this is open; each place gets a reader of its own."""
        if self._services.plane != "control":
            yield
            return
        figures, now = AnchorMetrics(), self._services.now
        alone: list[tuple[FileAnchorSettings | TimestampSettings, AnchorTarget]] = [*self._files, *self._authorities]
        keepers = [Publisher(one.name, place, open_reader(), figures, now, one.every) for one, place in alone]
        if self._witnesses:
            witnesses = self._gather(open_reader(), record, figures)
            keepers.append(Publisher(WITNESSES, witnesses, open_reader(), figures, now, self._every))
        for keeper in keepers:
            keeper.start()
        try:
            yield
        finally:
            for keeper in keepers:
                await keeper.stop()

    def _gather(
        self, reader: LogReader, record: Callable[[Entry], Awaitable[int]], figures: AnchorMetrics
    ) -> Witnesses:
        services = self._services
        memory = self._open_memory(WITNESSES)

        async def write(kind: str, request: dict[str, JSON]) -> None:
            await record(Entry(id=services.worker.incarnation, phase="event", kind=kind, request=request))

        witnesses = []
        for one, upstream in self._witnesses:
            figures.begin(one.name, self._every, services.now())
            witnesses.append(Witness(one.name, one.verifier, upstream, memory, write, figures, services.now))
        assert self._quorum is not None  # the settings were verified
        return Witnesses(
            witnesses,
            self._quorum,
            *(self._keys.origin, cosigned_file(services.data), memory, reader, self._sign, figures, services.now),
        )

    def _open_authority(self, one: TimestampSettings, upstream: Upstream) -> Authority:
        data, trusted = self._services.data, _read_trusted(one.name, one.tsa_ca_file)
        folder, memory = data / "log" / "timestamps" / one.name, self._open_memory(one.name)
        return Authority(one.name, upstream, trusted, folder, memory, self._sign, self._services.now)

    def _open_memory(self, name: str) -> Memory:
        if self._services.database_url.startswith("sqlite"):
            return FileMemory(self._services.data / "anchors")
        # As for the store: its driver would cost a worker on SQLite memory for nothing.
        postgres = importlib.import_module("mastio_audit.anchors.postgres")
        memory: Memory = postgres.TableMemory(self._services.database_url, name)
        return memory

    def _sign(self, head: Head) -> bytes:
        return sign_head(head, self._keys, self._services.now())


def _tls(name: str, ca_file: Path | None) -> ssl.SSLContext | None:
    """A TLS context that trusts these authorities alone; None without a file. Raises `ConfigurationError`."""
    if ca_file is None:
        return None
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigurationError(
            f"The audit anchor {name} has a ca_file that cannot be used.",
            "Name a PEM file that the appliance may read.",
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _read_trusted(name: str, file: Path) -> list[x509.Certificate]:
    """The certificates in the file. Raises `ConfigurationError`."""
    try:
        return x509.load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The audit anchor {name} has a tsa_ca_file that cannot be used.",
            "Name a PEM file with the certificates that the authority's own leads to.",
        ) from error
