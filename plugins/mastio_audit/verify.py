"""Recomputes a whole log from the stored bytes, beside a running appliance and without disturbing it.

Only entries and head are believed to be what they are; everything else is recomputed. Memory grows with the number of
open intents and with nothing else. The log may grow meanwhile: what is verified is what the head covered at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mastio.errors import ConfigurationError
from mastio_audit.chain import ChainError, Verifier
from mastio_audit.postgres import PostgresReader
from mastio_audit.sqlite import SqliteReader
from mastio_audit.store import DamageError, Extent, LogReader

PAGE = 2000
_BEFORE_ALL = -(2**63)

Progress = Callable[[int, int], None]
"""Told how many entries are verified, and of how many."""


@dataclass(frozen=True, slots=True)
class Report:
    """What holds: the first `size` entries, up to the leaf hash `head`. `first_bad` is None when that is all of it."""

    size: int
    head: str
    open_intents: int
    first_bad: int | None = None
    problem: str | None = None


def sqlite_reader(data: Path) -> LogReader:
    """The log in an appliance's data folder."""
    return SqliteReader(data / "db" / "audit.sqlite")


def database_reader(url: str) -> LogReader:
    """The log in a PostgreSQL database. Raises `ConfigurationError` for another kind of URL."""
    if url.partition("://")[0].partition("+")[0] != "postgresql":
        hint = "Write postgresql+asyncpg://user@host:port/name; for a log in SQLite name the data folder."
        raise ConfigurationError("The database URL is not one of PostgreSQL.", hint)
    return PostgresReader(url)


async def verify_log(reader: LogReader, progress: Progress) -> Report:
    """Open the log, verify all of it, close it. Raises `StoreError` when it cannot be read."""
    verifier = Verifier()
    try:
        await reader.open()
        await _verify(reader, verifier, progress)
    except ChainError as error:
        return _report(verifier, error.index, error.message)
    except DamageError as error:
        return _report(verifier, verifier.head.size, str(error))
    finally:
        await reader.close()
    return _report(verifier, None, None)


async def _verify(reader: LogReader, verifier: Verifier, progress: Progress) -> None:
    """Raises `ChainError` or `DamageError` at the first thing that is not as it was written."""
    extent = await reader.extent()
    size = extent.end if extent.head is None else extent.head.size
    first = await reader.read(_BEFORE_ALL, 1)
    if first and first[0][0] < 0:
        raise ChainError(f"row {first[0][0]} stands before it", 0)
    start = 0
    while verifier.head.size < size and (rows := await reader.read(start, PAGE)):
        for seq, entry in rows[: size - verifier.head.size]:
            verifier.add(seq, entry)
        start = rows[-1][0] + 1
        progress(verifier.head.size, size)
    if extent.head is not None and extent.head.last_hash != verifier.head.last_hash:
        # whether the last entry or the head was altered: an entry after it, if there is one, knows
        for seq, entry in await reader.read(size, 1):
            verifier.add(seq, entry)
    verifier.finish(extent.head)
    _verify_end(verifier.head.size, await reader.extent())


def _verify_end(size: int, now: Extent) -> None:
    """The log may have grown since, but head and entries still end together."""
    end = 0 if now.head is None else now.head.size
    if end < size:
        raise ChainError("the head went back behind it", max(end, 0))
    if end != now.end:
        raise ChainError("the head does not cover it" if end < now.end else "it is missing", min(end, now.end))


def _report(verifier: Verifier, first_bad: int | None, problem: str | None) -> Report:
    head = verifier.head
    size = head.size if first_bad is None else min(head.size, first_bad)
    return Report(size, head.last_hash.hex(), len(verifier.open), first_bad, problem)
