"""A process that records exchanges one after the other and prints each index when it has been confirmed.

    python log_writer.py ADDRESS OWNER WRITERS [COUNT]

ADDRESS is a data folder or a PostgreSQL URL. Each writer makes COUNT exchanges, or goes on until it is killed; those
that were refused are printed and do not count.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from pathlib import Path

from mastio.exchange.errors import AuditError
from mastio.exchange.values import Entry, Phase
from mastio_audit.log.postgres import PostgresStore
from mastio_audit.log.sequencer import Sequencer
from mastio_audit.log.sqlite import SqliteStore
from mastio_audit.log.store import AuditStore

PHASES: tuple[Phase, ...] = ("intent", "outcome")


async def write(sequencer: Sequencer, name: str, count: int | None) -> None:
    made = 0
    for number in itertools.count():
        if made == count:
            return
        try:
            for phase in PHASES:
                index = await sequencer.record(Entry(id=f"{name}-{number}", phase=phase, kind="test"))
                print_line(f"{index} {phase} {name}-{number}")
        except AuditError:
            print_line(f"refused {time.time()} {name}-{number}")
            await asyncio.sleep(0.02)
        else:
            made += 1


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(address: str, owner: str, writers: int, count: int | None) -> None:
    store: AuditStore
    if address.startswith("postgresql"):
        store = PostgresStore(address, owner)
    else:
        store = SqliteStore(Path(address) / "db" / "audit.sqlite", inline=owner == "alone/0")
    sequencer = Sequencer(store, owner, time.time, lambda kind: Entry(id="process", phase="event", kind=kind))
    await sequencer.open(lambda name: name == owner)
    unique = time.monotonic_ns()
    await asyncio.gather(*(write(sequencer, f"{owner}-{unique}-{n}", count) for n in range(writers)))
    await sequencer.close()


if __name__ == "__main__":
    _, address, owner, writers, *rest = sys.argv
    asyncio.run(main(address, owner, int(writers), int(rest[0]) if rest else None))
