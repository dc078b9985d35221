#!/usr/bin/env python3
"""What do a thousand open streams cost a worker in memory, and does it get it back?

    python scripts/stress/open-streams.py
    python scripts/stress/open-streams.py --streams 1000 --by proof --agents 20 --dialect gemini

Runs an appliance of its own, everything at its default, in front of a stub provider whose chunks are far apart. Opens
all streams at once, each on a connection of its own (HTTP/1.1, the smallest generator), and reads them to their end.
Resident memory of the workers is sampled before (after some plain calls, so that what every worker loads once is no
growth), while the streams are open, and after they have ended, in each round. `after` is held against what was left
after the first round, which tells a leak from memory that the allocator once had and keeps; or, with
`--baseline before`, against the first `before`. Passes when all streams came whole, all were open at the same moment,
no worker was above the line, each is back within 10 %, and none has more descriptors open than before.
Exit status: 0 within the pass line, 1 not, 2 cannot run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

try:
    import aiohttp
    from lib import report, verdicts
    from lib.agent import Agent, Identity, ProofKey, Statements
    from lib.generators import STRESS, Exchange
    from lib.machine import CannotRun, MemorySampler, Process, describe_machine
    from lib.own import Own, run_own
    from lib.streams import DIALECTS, Span, is_whole, most_at_once

    from mastio_client import Identity as Client
except ModuleNotFoundError as missing:
    print(f"The Python module {missing.name} is missing.", file=sys.stderr)
    print("Run this with the project's Python environment.", file=sys.stderr)
    sys.exit(2)

MAX_MB = 250
SAMPLE_SECONDS = 0.1
STILL_SECONDS = 1.0
SETTLE_SECONDS = 130.0
"""Idle connections to providers are kept for 60 seconds, and looked for every 60: after a shorter rest, descriptors are
not judged."""
WARM_UP_CALLS = 200
EXTRA_SECONDS = 60.0


class Crowd:
    """Agents, and their streams. Each has a session of its own, which shows its certificate or none."""

    def __init__(self, own: Own, folders: list[Path], args: argparse.Namespace) -> None:
        self._own = own
        self._args = args
        self._folders = folders
        self.ends: Counter[str] = Counter()
        self.spans: list[Span] = []

    async def warm_up(self) -> None:
        """Plain calls, one after the other's answer in twenty lanes, so that there is nothing left to be loaded."""
        exchange = Exchange.of_dialect("openai")
        async with self._session(self._folders[0], certificate=True) as session:

            async def lane(first: int) -> None:
                for number in range(first, WARM_UP_CALLS, 20):
                    body = exchange.filled(f"warm-{number}")
                    async with session.post(
                        self._own.base_url + exchange.path, data=body, headers=exchange.headers
                    ) as reply:
                        if reply.status != 200:
                            raise CannotRun(f"A plain call is answered {reply.status}.", "See out.log.")
                        await reply.read()

            await asyncio.gather(*map(lane, range(20)))

    async def open_all(self) -> None:
        by_proof = self._args.by == "proof"
        signers = [Signer(self._own, folder) if by_proof else None for folder in self._folders]
        sessions = [self._session(folder, certificate=not by_proof) for folder in self._folders]
        try:
            await asyncio.gather(
                *(
                    self._one(sessions[number % len(sessions)], signers[number % len(signers)], number)
                    for number in range(self._args.streams)
                )
            )
        finally:
            await asyncio.gather(*(session.close() for session in sessions))

    def _session(self, folder: Path, *, certificate: bool) -> aiohttp.ClientSession:
        context = Client.load(folder).tls(certificate=certificate)
        total = self._args.latency * self._args.chunks + EXTRA_SECONDS
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=context),
            timeout=aiohttp.ClientTimeout(total=total),
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
            trust_env=False,
        )

    async def _one(self, session: aiohttp.ClientSession, signer: Signer | None, number: int) -> None:
        dialect = self._args.dialects[number % len(self._args.dialects)]
        exchange = Exchange.of_dialect(dialect, streamed=True)
        headers = {**exchange.headers, **(signer.headers(exchange) if signer else {})}
        body = exchange.filled(f"{number}-{time.time_ns()}")
        try:
            async with session.post(self._own.base_url + exchange.path, data=body, headers=headers) as reply:
                begun = time.perf_counter()
                content = await reply.read()
            if reply.status != 200:
                self.ends[str(reply.status)] += 1
                return
            self.spans.append(Span(begun, time.perf_counter()))
            self.ends["whole" if is_whole(content, dialect, self._args.chunks) else "cut short"] += 1
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self.ends[type(error).__name__] += 1


class Signer:
    """Proofs of one agent: all of them with the nonce and in the minute of the opening."""

    def __init__(self, own: Own, folder: Path) -> None:
        identity = Identity.read(folder)
        self._agent = Agent(identity, own.base_url, own.ca_file)
        self._key = ProofKey(identity.proof_jwk)
        self._token = self._agent.mint()
        self._agent.call(Exchange.of_self())
        self._known: dict[str, Statements] = {}

    def headers(self, exchange: Exchange) -> dict[str, str]:
        if exchange.path not in self._known:
            self._known[exchange.path] = self._agent.statements(exchange)
        proof = self._key.prove(self._known[exchange.path].proof)
        return {"Authorization": f"DPoP {self._token}", "DPoP": proof}


def sample(processes: list[Process], seconds: float) -> dict[str, list[int]]:
    sampler = MemorySampler(processes, SAMPLE_SECONDS)
    sampler.start()
    time.sleep(seconds)
    sampler.stop()
    return sampler.samples


def count_descriptors(processes: list[Process]) -> dict[str, int]:
    return {process.name: sum(1 for _ in Path(f"/proc/{process.pid}/fd").iterdir()) for process in processes}


def measure(own: Own, args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    crowd = Crowd(own, own.enroll([f"crowd-{number}" for number in range(args.agents)]), args)
    asyncio.run(crowd.warm_up())
    workers = [process for process in own.processes() if process.group == "app"]
    rounds, failures = [], []
    first: dict[str, list[int]] = {}
    for number in range(1, args.rounds + 1):
        crowd.ends.clear()
        crowd.spans.clear()
        before, open_before = sample(workers, STILL_SECONDS), count_descriptors(workers)
        first = first or before
        sampler = MemorySampler(workers, SAMPLE_SECONDS)
        sampler.start()
        asyncio.run(crowd.open_all())
        sampler.stop()
        time.sleep(args.settle)
        after, open_after = sample(workers, STILL_SECONDS), count_descriptors(workers)
        memory = {
            name: verdicts.Residence(first[name][-1], max(sampler.samples[name]), after[name][-1])
            for name in before
            if name in sampler.samples and name in after
        }
        at_once = most_at_once(crowd.spans)
        back = number > 1 or args.baseline == "before"
        most = args.max_rss * 1_000_000
        found = verdicts.judge_open_streams(args.streams, at_once, crowd.ends, memory, most, back=back)
        failures += [f"round {number}: {line}" for line in found]
        if args.settle >= SETTLE_SECONDS:
            failures += [f"round {number}: {line}" for line in verdicts.judge_descriptors(open_before, open_after)]
        if number == 1 and args.baseline == "first-round":
            first = after
        failures += [f"round {number}: {name} ended" for name in sorted(sampler.lost)]
        taken = {name: asdict(residence) for name, residence in memory.items()}
        descriptors = {"before": open_before, "after": open_after}
        entry = {"round": number, "at_once": at_once, "ends": dict(crowd.ends), "memory_bytes": taken}
        rounds.append(entry | {"descriptors": descriptors})
        print(f"round {number}: {at_once} open at once, {dict(crowd.ends)}", file=sys.stderr, flush=True)
    return {"rounds": rounds, "processes": {process.name: process.pid for process in own.processes()}}, failures


def run(args: argparse.Namespace) -> int:
    now = time.gmtime()
    results: dict[str, Any] = {
        "scenario": "open-streams",
        "question": (__doc__ or "").splitlines()[0],
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
        "machine": describe_machine(),
        "load": {name: value for name, value in vars(args).items() if not isinstance(value, Path)},
    }
    stub = ["--latency", f"{args.latency:g}s", "--chunks", str(args.chunks), "--response-tokens", str(4 * args.chunks)]
    with run_own(stub, args.workers) as own:
        results["versions"] = report.describe_versions(own.base_url, own.ca_file, own.processes())
        results["settings"] = report.read_settings(own.data)
        measured, failures = measure(own, args)
    results |= measured | {"failures": failures, "passed": not failures}
    file = args.out or STRESS / "results" / f"open-streams-{time.strftime('%Y-%m-%dT%H%M%SZ', now)}.json"
    report.write_results(results, file)
    print("\n".join(render(results)))
    print(file)
    return 1 if failures else 0


def render(results: dict[str, Any]) -> list[str]:
    lines = [f"open-streams: {results['question']}"]
    for entry in results["rounds"]:
        lines.append(f"  round {entry['round']}: {entry['at_once']} open at once, {entry['ends']}")
        for name, taken in entry["memory_bytes"].items():
            shown = "   ".join(f"{phase} {value / 1e6:.1f} MB" for phase, value in taken.items())
            lines.append(f"    {name:12} {shown}")
    lines += [f"  FAIL     {line}" for line in results["failures"]]
    return [*lines, "passed" if results["passed"] else "FAILED"]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000, help="opened at once (default: %(default)s)")
    parser.add_argument("--agents", type=int, default=10, help="whose streams they are (default: %(default)s)")
    parser.add_argument("--by", choices=("certificate", "proof"), default="certificate")
    parser.add_argument("--dialect", choices=(*DIALECTS, "all"), default="all", help="all: by turns (default)")
    parser.add_argument(
        "--latency", type=verdicts.parse_seconds, default=2.0, metavar="T", help="before each chunk (2s)"
    )
    parser.add_argument("--chunks", type=int, default=10, help="of each stream (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="of the appliance (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="default: %(default)s")
    parser.add_argument(
        "--settle", type=verdicts.parse_seconds, default=SETTLE_SECONDS, metavar="T", help="after it (130s)"
    )
    parser.add_argument(
        "--baseline", choices=("before", "first-round"), help="what is gone back to (default: with one round before)"
    )
    parser.add_argument("--max-rss", type=int, default=MAX_MB, metavar="MB", help="of a worker (default: %(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: results/open-streams-DATE.json")
    args = parser.parse_args()
    if args.baseline is None:
        args.baseline = "first-round" if args.rounds > 1 else "before"
    if args.baseline == "first-round" and args.rounds < 2:
        parser.error("the first round is a baseline for others: at least two rounds")
    if min(args.streams, args.agents, args.workers, args.rounds) < 1 or args.chunks < 2 or args.latency <= 0:
        parser.error("at least one stream, agent, worker and round, two chunks, and some latency")
    args.dialects = list(DIALECTS) if args.dialect == "all" else [args.dialect]
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
