#!/usr/bin/env python3
"""Do ten thousand calls at once, over four workers, overspend one budget by anything?

    python scripts/stress/budget-race.py
    python scripts/stress/budget-race.py --unit usd --database postgresql+asyncpg://user@host:port/name

Runs an appliance of its own with one budget that is everybody's, of which all calls together would use more than there
is. Agents call in all three dialects by turns; a third of the calls are streams, a tenth is cut off by the caller, at
any moment from the handshake on. What the budget says was spent is compared with its limit, with what the audit
log says was used, and with the stub provider's own journal: a call that arrived there is in the log, once, and counts.
Passes when nothing was overspent, all three agree, nothing is reserved 2 s after the last call, and every call was
answered whole, refused with 429, or cut. The tables of the database are used as they are: name an empty one.
Exit status: 0 within the pass line, 1 not, 2 cannot run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

try:
    import aiohttp
    from lib import report, verdicts
    from lib.generators import STRESS, Exchange
    from lib.machine import CannotRun, describe_machine
    from lib.own import Own, run_own, said
    from lib.streams import DIALECTS, is_whole

    from mastio_client import Identity as Client
except ModuleNotFoundError as missing:
    print(f"The Python module {missing.name} is missing.", file=sys.stderr)
    print("Run this with the project's Python environment.", file=sys.stderr)
    sys.exit(2)

STUB = ("--latency", "20ms", "--chunks", "3")
CHUNKS = 3
BUDGET = "/v1/admin/budgets/race"
EXCHANGES = {
    (dialect, streamed): Exchange.of_dialect(dialect, streamed=streamed, bounded=True)
    for dialect in DIALECTS
    for streamed in (False, True)
}
LIMIT_SHARE = 0.6
"""The budget, of what all calls together would use."""
IN_FORCE_SECONDS = 1.5
CALL_SECONDS = 60.0


class Crowd:
    """Agents that call at once, by certificate, and what became of their calls."""

    def __init__(self, own: Own, folders: list[Path], seed: int) -> None:
        self._own = own
        self._folders = folders
        self._chance = random.Random(seed)
        self.ends: Counter[str] = Counter()
        self.began: Counter[str] = Counter()

    async def call(self, requests: int, at_once: int) -> None:
        gate = asyncio.Semaphore(at_once)
        sessions = [open_session(folder) for folder in self._folders]
        try:
            await asyncio.gather(*(self._one(gate, sessions[n % len(sessions)], n) for n in range(requests)))
        finally:
            await asyncio.gather(*(session.close() for session in sessions))

    async def _one(self, gate: asyncio.Semaphore, session: aiohttp.ClientSession, number: int) -> None:
        dialect, streamed = list(DIALECTS)[number % 3], self._chance.random() < 1 / 3
        cut_after = 10 ** self._chance.uniform(-3, 0) if self._chance.random() < 0.1 else CALL_SECONDS
        async with gate:
            self.began[f"{dialect} {'stream' if streamed else 'plain'}"] += 1
            try:
                async with asyncio.timeout(cut_after):
                    end = await self._ask(session, dialect, streamed, number)
            except TimeoutError:
                end = "cut" if cut_after < CALL_SECONDS else "no answer"
            except (aiohttp.ClientError, OSError) as error:
                end = type(error).__name__
        self.ends[end] += 1

    async def _ask(self, session: aiohttp.ClientSession, dialect: str, streamed: bool, number: int) -> str:
        exchange = EXCHANGES[dialect, streamed]
        url, body = self._own.base_url + exchange.path, exchange.filled(f"{number:06d}")
        async with session.post(url, data=body, headers=exchange.headers) as reply:
            content = await reply.read()
        if reply.status == 429:
            return "refused" if b"budget" in content else "429 without a budget"
        if reply.status != 200:
            return str(reply.status)
        return "answered" if not streamed or is_whole(content, dialect, CHUNKS) else "cut short"


def open_session(folder: Path) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=Client.load(folder).tls(certificate=True)),
        timeout=aiohttp.ClientTimeout(total=None),
        skip_auto_headers=("User-Agent", "Accept-Encoding"),
        trust_env=False,
    )


async def probe(own: Own, folder: Path, unit: str) -> float:
    """What one call uses on average: one in each dialect."""
    used = []
    async with open_session(folder) as session:
        for dialect in DIALECTS:
            exchange = EXCHANGES[dialect, False]
            url, body = own.base_url + exchange.path, exchange.filled("000000")
            async with session.post(url, data=body, headers=exchange.headers) as reply:
                if reply.status != 200:
                    raise CannotRun(f"A call is answered {reply.status}: {await reply.text()}", "See out.log.")
                usage = {
                    "input_tokens": int(reply.headers["X-Tokens-Input"]),
                    "output_tokens": int(reply.headers["X-Tokens-Output"]),
                    "cost_nano_usd": int(Decimal(reply.headers["X-Cost-USD"]) * verdicts.NANO),
                }
            used.append(verdicts.amount(usage, unit))
    return sum(used) / len(used)


def smallest(value: Any, unit: str) -> int:
    """An amount of the admin API in the budget's smallest unit."""
    return round(Decimal(str(value)) * (verdicts.NANO if unit == "usd" else 1))


def make_budget(own: Own, unit: str, limit: int) -> None:
    amount: int | str = str(Decimal(limit) / verdicts.NANO) if unit == "usd" else limit
    with own.admin() as admin:
        said(admin.post("/v1/admin/budgets", json={"name": "race", f"limit_{unit}": amount, "period": "total"}))
    time.sleep(IN_FORCE_SECONDS)


def settle(own: Own) -> tuple[dict[str, Any], float | None]:
    """The budget when nothing is reserved any more, and after how many seconds that was; None: not in time."""
    ended = time.monotonic()
    with own.admin() as admin:
        while True:
            waited = time.monotonic() - ended
            found = said(admin.get(BUDGET))
            if smallest(found["reserved"], "usd") == 0:
                return found, waited
            if waited > verdicts.FREE_WITHIN_SECONDS:
                return found, None
            time.sleep(0.02)


def read_log(own: Own) -> dict[str, dict[str, int] | None]:
    """What each exchange used, by its id: those that were carried out, whatever became of them."""
    file = own.data.parent / "export"
    own.export(file)
    with file.open() as lines:
        *entries, _checkpoint = [json.loads(line) for line in lines]
    return {
        entry["id"]: entry["usage"] for entry in entries if entry["phase"] == "outcome" and entry["kind"] == "llm.chat"
    }


def read_journal(own: Own) -> Counter[str]:
    """The calls that reached the stub, by the id that the appliance gave them."""
    lines = [json.loads(line) for line in own.journal.read_text().splitlines()]
    return Counter(line["request_id"] for line in lines if line["method"] == "POST" and "event" not in line)


def measure(own: Own, args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    [prober, *folders] = own.enroll(["prober", *(f"racer-{number}" for number in range(args.agents))])
    mean = asyncio.run(probe(own, prober, args.unit))
    before = read_log(own)
    limit = int(args.requests * mean * LIMIT_SHARE)
    make_budget(own, args.unit, limit)
    crowd = Crowd(own, folders, args.seed)
    started = time.monotonic()
    asyncio.run(crowd.call(args.requests, args.at_once))
    took = time.monotonic() - started
    found, free_after = settle(own)
    log = {name: usage for name, usage in read_log(own).items() if name not in before}
    arrivals = Counter({name: count for name, count in read_journal(own).items() if name not in before})
    race = verdicts.Race(
        limit=limit,
        spent=smallest(found["spent"], args.unit),
        reserved=smallest(found["reserved"], args.unit),
        free_after=free_after,
        logged=sum(verdicts.amount(usage, args.unit) for usage in log.values()),
        arrived=len(arrivals),
        arrived_unlogged=len(arrivals.keys() - log.keys()),
        arrived_uncounted=sum(not verdicts.amount(log.get(name), args.unit) for name in arrivals if name in log),
        arrived_twice=sum(count > 1 for count in arrivals.values()),
        ends=dict(crowd.ends),
    )
    figures = {**asdict(race), "overspend": race.overspend, "seconds": round(took, 2), "asked": dict(crowd.began)}
    return figures, verdicts.judge_race(race)


def run(args: argparse.Namespace) -> int:
    now = time.gmtime()
    results: dict[str, Any] = {
        "scenario": "budget-race",
        "question": (__doc__ or "").splitlines()[0],
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
        "machine": describe_machine(),
        "load": {"requests": args.requests, "at_once": args.at_once, "agents": args.agents, "workers": args.workers}
        | {"unit": args.unit, "seed": args.seed, "database": "postgresql" if args.database else "sqlite"},
    }
    with run_own(list(STUB), args.workers, args.database) as own:
        results["versions"] = report.describe_versions(own.base_url, own.ca_file, own.processes())
        results["settings"] = report.read_settings(own.data)
        results["race"], failures = measure(own, args)
    results |= {"failures": failures, "passed": not failures}
    file = args.out or STRESS / "results" / f"budget-race-{time.strftime('%Y-%m-%dT%H%M%SZ', now)}.json"
    report.write_results(results, file)
    print("\n".join(render(results)))
    print(file)
    return 1 if failures else 0


def render(results: dict[str, Any]) -> list[str]:
    race, load = results["race"], results["load"]
    unit = "nano-USD" if load["unit"] == "usd" else load["unit"]
    ends = "   ".join(f"{how} {count}" for how, count in sorted(race["ends"].items()))
    free = "not in time" if race["free_after"] is None else f"after {race['free_after']:.2f} s"
    return [
        f"budget-race: {results['question']}",
        f"  {load['requests']} calls, {load['at_once']} at once, {load['workers']} workers, {load['database']}",
        f"  {ends}",
        f"  spent {race['spent']} of {race['limit']} {unit}   overspend {race['overspend']}"
        f"   audit log {race['logged']}   reached the stub {race['arrived']}",
        f"  reserved {race['reserved']}, nothing any more {free}",
        *(f"  FAIL     {line}" for line in results["failures"]),
        "passed" if results["passed"] else "FAILED",
    ]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000, help="default: %(default)s")
    parser.add_argument("--at-once", type=int, default=1000, help="under way at the same time (default: %(default)s)")
    parser.add_argument("--agents", type=int, default=24, help="who call (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="of the appliance (default: %(default)s)")
    parser.add_argument("--unit", choices=verdicts.UNITS, default="tokens", help="of the budget (default: %(default)s)")
    parser.add_argument("--database", default="", metavar="URL", help="an empty PostgreSQL database; default: SQLite")
    parser.add_argument(
        "--seed", type=int, default=7, help="of which calls are streams and are cut (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: results/budget-race-DATE.json")
    args = parser.parse_args()
    if min(args.requests, args.at_once, args.agents, args.workers) < 1:
        parser.error("at least one request, agent and worker")
    return args


def main() -> int:
    try:
        return run(parse_arguments())
    except CannotRun as error:
        print(f"{error}\n{error.hint}", file=sys.stderr)
    except KeyboardInterrupt:
        print("Interrupted; nothing was written.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
