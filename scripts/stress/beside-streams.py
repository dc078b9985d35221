#!/usr/bin/env python3
"""Do five hundred slow streams to a connection slow down a client that asks for little?

    python scripts/stress/beside-streams.py
    python scripts/stress/beside-streams.py --streams 500 --calls 1000 --rounds 3

Runs an appliance of its own, all at its default, with two stub providers as its connections. One client asks one of
them for its list of models again and again on one kept connection (HTTP/1.1, by certificate): alone, then beside
streams of the other one whose chunks are a second apart, by turns. Passes when the median of the rounds' 99th
percentiles beside them is at most twice the one without, every call is answered, all streams were open meanwhile and
came whole.
Exit status: 0 within the pass line, 1 not, 2 cannot run.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

try:
    import aiohttp
    from lib import connections, report
    from lib.generators import STRESS, Exchange
    from lib.machine import CannotRun, describe_machine
    from lib.own import Own, another_stub, run_own
    from lib.streams import is_whole

    from mastio_client import Identity as Client
except ModuleNotFoundError as missing:
    print(f"The Python module {missing.name} is missing.", file=sys.stderr)
    print("Run this with the project's Python environment.", file=sys.stderr)
    sys.exit(2)

MOST_RATIO = 2.0
WARM_UP_CALLS = 200
OPENING_SECONDS = 5.0
EXTRA_SECONDS = 60.0


class Clients:
    """The fast one, and those with the streams."""

    def __init__(self, own: Own, fast: Path, crowd: list[Path], args: argparse.Namespace) -> None:
        self._own = own
        self._args = args
        self._fast = fast
        self._crowd = crowd
        self.ends: Counter[str] = Counter()

    async def measure(self) -> dict[str, Any]:
        """One round. Times are in milliseconds."""
        async with self._session(self._fast) as session:
            await self._call(session, WARM_UP_CALLS)
            alone = await self._call(session, self._args.calls)
            sessions = [self._session(folder) for folder in self._crowd]
            streams = [
                asyncio.create_task(self._stream(sessions[number % len(sessions)], number))
                for number in range(self._args.streams)
            ]
            await asyncio.sleep(OPENING_SECONDS)
            beside = await self._call(session, self._args.calls)
            still_open = sum(not stream.done() for stream in streams)
            await asyncio.gather(*streams)
            await asyncio.gather(*(one.close() for one in sessions))
        return {"open_meanwhile": still_open, "alone": describe(alone), "beside": describe(beside)}

    def _session(self, folder: Path) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=Client.load(folder).tls(certificate=True)),
            timeout=aiohttp.ClientTimeout(total=self._args.chunks + EXTRA_SECONDS),
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
            trust_env=False,
        )

    async def _call(self, session: aiohttp.ClientSession, calls: int) -> list[float]:
        taken = []
        for _ in range(calls):
            begun = time.perf_counter()
            async with session.get(f"{self._own.base_url}/v1/egress/{connections.QUICK}/v1/models") as reply:
                await reply.read()
                if reply.status != 200:
                    raise CannotRun(f"A call is answered {reply.status}.", "See out.log.")
            taken.append((time.perf_counter() - begun) * 1000)
        return taken

    async def _stream(self, session: aiohttp.ClientSession, number: int) -> None:
        exchange = Exchange.of_dialect("openai", streamed=True).behind(f"/v1/egress/{connections.NAME}")
        body = exchange.filled(f"{number}-{time.time_ns()}")
        try:
            async with session.post(self._own.base_url + exchange.path, data=body, headers=exchange.headers) as reply:
                content = await reply.read()
            is_right = reply.status == 200 and is_whole(content, "openai", self._args.chunks)
            self.ends["whole" if is_right else f"{reply.status}, cut short"] += 1
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self.ends[type(error).__name__] += 1


def describe(taken: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(taken, n=100)
    return {"mean_ms": statistics.fmean(taken), "p50_ms": cuts[49], "p95_ms": cuts[94], "p99_ms": cuts[98]}


def run(args: argparse.Namespace) -> int:
    now = time.gmtime()
    results: dict[str, Any] = {
        "scenario": "beside-streams",
        "question": (__doc__ or "").splitlines()[0],
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
        "machine": describe_machine(),
        "load": {name: value for name, value in vars(args).items() if not isinstance(value, Path)},
    }
    stub = ["--latency", "1s", "--chunks", str(args.chunks), "--response-tokens", str(4 * args.chunks)]
    with another_stub("--latency", "0") as quick, run_own(stub, 1) as own:
        results["versions"] = report.describe_versions(own.base_url, own.ca_file, own.processes())
        results["settings"] = report.read_settings(own.data)
        try:
            for name, url in ((connections.NAME, own.stub_url), (connections.QUICK, quick)):
                connections.describe_connection(own.base_url, own.ca_file, own.data, url, name)
        except RuntimeError as error:
            raise CannotRun(f"The connection cannot be described: {error}", "Is the plugin egress active?") from error
        fast, *crowd = own.enroll(["fast", *(f"crowd-{number}" for number in range(10))])
        clients = Clients(own, fast, crowd, args)
        rounds = []
        for number in range(1, args.rounds + 1):
            rounds.append({"round": number, **asyncio.run(clients.measure())})
            print(f"round {number}: {rounds[-1]}", file=sys.stderr, flush=True)
    alone, beside = (statistics.median(one[kind]["p99_ms"] for one in rounds) for kind in ("alone", "beside"))
    ratio = beside / alone
    failures = [] if ratio <= args.max_ratio else [f"p99 beside streams {ratio:.2f} times that without"]
    if clients.ends != {"whole": args.streams * args.rounds}:
        failures.append(f"the streams ended as {dict(clients.ends)}")
    failures += [f"round {one['round']}: only {one['open_meanwhile']} streams were open"
                 for one in rounds if one["open_meanwhile"] < args.streams]  # fmt: skip
    results |= {
        "rounds": rounds,
        "medians": {"alone_p99_ms": alone, "beside_p99_ms": beside, "ratio": round(ratio, 3)},
        "failures": failures,
        "passed": not failures,
    }
    file = args.out or STRESS / "results" / f"beside-streams-{time.strftime('%Y-%m-%dT%H%M%SZ', now)}.json"
    report.write_results(results, file)
    print(f"beside-streams: p99 {alone:.2f} ms alone, {beside:.2f} ms beside {args.streams} streams: {ratio:.2f} times")
    print("\n".join([*(f"  FAIL     {line}" for line in failures), "passed" if not failures else "FAILED", str(file)]))
    return 1 if failures else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=500, help="open at once (default: %(default)s)")
    parser.add_argument(
        "--calls", type=int, default=2000, help="of the fast client in each half (default: %(default)s)"
    )
    parser.add_argument("--chunks", type=int, default=30, help="of a stream, a second apart (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument(
        "--max-ratio", type=float, default=MOST_RATIO, metavar="R", help="of the p99s (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: results/beside-streams-DATE.json")
    args = parser.parse_args()
    if min(args.streams, args.rounds) < 1 or args.calls < 100 or args.chunks < 2:
        parser.error("at least one stream and round, a hundred calls, and two chunks")
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
