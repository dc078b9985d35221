"""How many durable entries does one worker record in a second, and what does one record cost a single caller?

Runs the real sequencer on the real stores with 1 and 64 writers, each recording intent and outcome in turn, and then
verifies the log. Prints one JSON line for each run, with what it was measured beside: the time of one sync on the same
disk. Pin it to one core, and give PostgreSQL the other:

    taskset -c 0 python scripts/stress/audit-lane.py --database postgresql+asyncpg://user@host:port/name
    taskset -c 0 python scripts/stress/audit-lane.py --verify 1000000
    taskset -c 0 python scripts/stress/audit-lane.py --growth 10000,100000,1000000

The tables of the database are used as they are: name an empty one.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import os
import platform
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from mastio.exchange.values import Entry
from mastio_audit.log import chain, tiles
from mastio_audit.log.postgres import PostgresReader, PostgresStore
from mastio_audit.log.sequencer import Sequencer
from mastio_audit.log.sqlite import SqliteReader, SqliteStore
from mastio_audit.log.store import AuditStore, Batch, LogReader
from mastio_audit.verification.store import verify_log
from mastio_primitives.transparency import merkle

CHUNK = 5_000
PROOFS = 300


def intent(exchange: str) -> Entry:
    return Entry(
        id=exchange,
        phase="intent",
        kind="llm.chat",
        target='Model::"stub/gpt-5-mini"',
        agent="payments",
        credential={"kind": "dpop", "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"},
        decision={"result": "allow", "rule": "starter"},
        request={"method": "POST", "path": "/v1/chat/completions", "bytes": 500, "digest": "5e" * 32},
    )


def outcome(exchange: str) -> Entry:
    return Entry(
        id=exchange,
        phase="outcome",
        kind="llm.chat",
        target='Model::"stub/gpt-5-mini"',
        agent="payments",
        response={"status": 200, "bytes": 812, "digest": "a7" * 32},
        outcome={"status": "ok"},
        usage={"input": 120, "output": 10},
    )


async def writer(sequencer: Sequencer, name: int, until: float, times: list[float]) -> None:
    number = 0
    while time.perf_counter() < until:
        exchange = f"{name:04x}-{number:012x}"
        for entry in (intent(exchange), outcome(exchange)):
            started = time.perf_counter()
            await sequencer.record(entry)
            times.append(time.perf_counter() - started)
        number += 1


async def measure(label: str, store: AuditStore, reader: LogReader, seconds: float, sync: float) -> None:
    announce = Entry(id="bench", phase="event", kind="appliance.start")
    sequencer = Sequencer(store, "bench/0", time.time, lambda kind: announce)
    await sequencer.open(lambda owner: True)
    for writers in (1, 64):
        times: list[float] = []
        await asyncio.gather(*(writer(sequencer, n, time.perf_counter() + 0.5, []) for n in range(writers)))
        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(writer(sequencer, n, started + seconds, times) for n in range(writers)))
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        times.sort()
        line = {
            "store": label,
            "writers": writers,
            "entries": len(times),
            "entries_per_second": round(len(times) / wall),
            "p50_ms": round(times[len(times) // 2] * 1e3, 3),
            "p99_ms": round(times[len(times) * 99 // 100] * 1e3, 3),
            "cpu_us_per_entry": round(cpu / len(times) * 1e6, 1),
            "sync_ms": round(sync * 1e3, 3),
            "inline": getattr(store, "inline", False),
        }
        print(json.dumps(line), flush=True)
    await sequencer.close()
    report = await verify_log(reader, lambda done, size: None)
    if report.problem is not None:
        sys.exit(f"{label}: entry {report.first_bad}: {report.problem}")


async def fill(store: AuditStore, first: int, size: int) -> None:
    """Let the log grow from `first` entries to `size`."""
    await store.open()
    for start in range(first, size, CHUNK):
        drafts: list[chain.Draft] = []
        for exchange in range(start, min(start + CHUNK, size), 2):
            drafts += [chain.draft(intent(f"{exchange:016x}")), chain.draft(outcome(f"{exchange:016x}"))]
        await store.append(functools.partial(stamped, drafts))
    await store.close()


async def measure_growth(label: str, store: AuditStore, reader: LogReader, sizes: list[int]) -> None:
    """What a proof costs, and a start, when the log is so long."""
    announce = Entry(id="bench", phase="event", kind="appliance.start")
    draw, before = random.Random(1), 0
    for size in sizes:
        await fill(store, before, size)
        before = size
        times: dict[str, list[float]] = {"inclusion": [], "consistency": [], "start": []}
        await reader.open()
        for _ in range(PROOFS):
            index = draw.randrange(size)
            for kind, ranges in (
                ("inclusion", merkle.inclusion(index, size)),
                ("consistency", merkle.consistency(index + 1, size)),
            ):
                started = time.perf_counter()
                await tiles.read_proof(reader, ranges, size)
                times[kind].append(time.perf_counter() - started)
        await reader.close()
        for _ in range(5):
            sequencer = Sequencer(store, "bench/0", time.time, lambda kind: announce)
            started = time.perf_counter()
            await sequencer.open(lambda owner: True)
            times["start"].append(time.perf_counter() - started)
            await sequencer.close()
            before += 1
        p50 = {f"{kind}_p50_ms": round(statistics.median(found) * 1e3, 3) for kind, found in times.items()}
        print(json.dumps({"store": label, "size": size, **p50}), flush=True)


async def measure_verify(label: str, store: AuditStore, reader: LogReader, size: int) -> None:
    await fill(store, 0, size)
    started = time.perf_counter()
    report = await verify_log(reader, lambda done, size: None)
    seconds = time.perf_counter() - started
    if report.problem is not None or report.size < size:
        sys.exit(f"{label}: {report}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    line = {"store": label, "verified": report.size, "seconds": round(seconds, 2), "peak_mib": peak}
    print(json.dumps(line), flush=True)


def stamped(drafts: list[chain.Draft], head: chain.Head) -> Batch:
    made = chain.append(head, drafts, time.time())
    return Batch(made.rows, made.head, made.nodes)


def measure_sync(folder: Path) -> float:
    """Median seconds of one page appended and synced."""
    times = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
        for _ in range(200):
            started = time.perf_counter()
            probe.write(bytes(4096))
            os.fdatasync(probe.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


async def main(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        sync = measure_sync(Path(folder))
        path = Path(folder) / "audit.sqlite"
        lanes: list[tuple[str, AuditStore, LogReader]] = [
            ("sqlite", SqliteStore(path, inline=not args.thread), SqliteReader(path))
        ]
        if args.database:
            lanes.append(("postgresql", PostgresStore(args.database, "bench/0"), PostgresReader(args.database)))
        for label, store, reader in lanes:
            if args.growth:
                await measure_growth(label, store, reader, [int(size) for size in args.growth.split(",")])
            elif args.verify:
                await measure_verify(label, store, reader, args.verify)
            else:
                await measure(label, store, reader, args.seconds, sync)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", metavar="URL", help="an empty PostgreSQL database to measure as well")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each run")
    parser.add_argument("--folder", type=Path, default=None, help="where the SQLite file goes (default: temporary)")
    parser.add_argument("--thread", action="store_true", help="SQLite commits in a thread, as with several workers")
    parser.add_argument("--verify", type=int, default=0, metavar="N", help="instead: time verifying N entries")
    parser.add_argument("--growth", metavar="N,N…", help="instead: time proofs and starts at these sizes")
    print(json.dumps({"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}))
    uvloop.run(main(parser.parse_args()))
