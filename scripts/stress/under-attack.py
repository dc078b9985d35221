#!/usr/bin/env python3
"""Is a well-behaved agent served while others try to use up slots, memory and the event loop?

    python scripts/stress/under-attack.py                          # about seven minutes: what counts
    python scripts/stress/under-attack.py --rounds 3 --seconds 15  # twenty-five minutes, steadier
    python scripts/stress/under-attack.py --only lines,tables --seconds 5

Runs an appliance of its own, all at its default, with stub providers. One agent makes small chat calls at a fixed
rate, by certificate; a call's time begins when it is due. Each attack is measured beside a phase without it, by turns,
and then all attacks at once; a phase begins when the attackers have their connections. Meanwhile `/readyz` is asked on
new connections, and an agent is revoked. The attackers are processes of their own; what they use of the processor is
reported, and with `--nice` (19) they get it after the appliance.

Passes when during each attack the agent's 99th percentile is at most three times that of the phases without attack,
all its calls and all probes are answered 200, and the revocation is in force within a second. The longest hold of the
event loop and the growth of the worker's memory are printed and warned of (50 ms, 64 MB).
Exit status: 0 within the pass line, 1 not, 2 cannot run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    from lib import connections, report
    from lib.attacks import ATTACKS, READY, SLOW
    from lib.bystander import Bystander, Overseer, judge
    from lib.generators import STRESS
    from lib.machine import CannotRun, Process, ProcessorTime, describe_machine, read_processor_seconds, read_rss
    from lib.own import Own, another_stub, run_own, said
except ModuleNotFoundError as missing:
    print(f"The Python module {missing.name} is missing.", file=sys.stderr)
    print("Run this with the project's Python environment.", file=sys.stderr)
    sys.exit(2)

MOST_RATIO = 3.0
GATHER_SECONDS = 60.0
"""How long the attackers have to open their connections; what came of it is in the result (`most_open`)."""

RAMP_SECONDS = 1.0
SETTLE_SECONDS = 2.0
ALL = "all at once"
AGENTS = ("mallory", "forbidden")
POLICIES = {
    "forbidden": 'forbid (principal == Agent::"forbidden", action == Action::"llm.chat", resource);',
    "classified": 'forbid (principal, action == Action::"llm.chat", resource)'
    ' when { context.tools.risks.contains("delete") && context.tools.names.contains("never") };',
}


def prepare(own: Own, slow: str, quick: str) -> None:
    """What the attacks are on: an inspected connection, slow streams, and policies that look at arguments."""
    with own.admin() as admin:
        said(admin.post("/v1/admin/providers", json={
            "name": SLOW, "kind": "openai", "base_url": f"{slow}/v1", "api_key": "sk-stub",
            "allow_addresses": ["127.0.0.1/32"],
        }))  # fmt: skip
        connection = {
            "name": "looked",
            "base_url": quick,
            "allow_addresses": ["127.0.0.0/8"],
            "inspect": {"request": True},
        }
        said(admin.post("/v1/admin/connections", json=connection))
        permit = connections.PERMIT.replace("{name}", "looked")
        for name, cedar in {**POLICIES, "looked": permit}.items():
            said(admin.post("/v1/admin/policies", json={"name": name, "cedar": cedar}))
    time.sleep(connections.SEEN_SECONDS)


class Attackers:
    """The processes of the attacks of one phase. `spent` is the processor time that they used, in seconds."""

    def __init__(self, names: list[str], target: Path, nice: int) -> None:
        self._names = names
        self._target = target
        self._nice = nice
        self._started: list[tuple[str, subprocess.Popen[bytes], Path]] = []

    def __enter__(self) -> Attackers:
        for name in self._names:
            out = self._target.with_name(f"{name}.report")
            out.unlink(missing_ok=True)
            out.with_suffix(READY).unlink(missing_ok=True)
            command = [sys.executable, str(STRESS / "lib" / "attacks.py"), name, str(self._target), str(out)]
            if self._nice:
                command = ["nice", "-n", str(self._nice), *command]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(STRESS), *sys.path])}
            self._started.append((name, subprocess.Popen(command, env=environment), out))
        return self

    async def gather(self) -> float:
        """Wait until all are at their full strength. Returns the seconds that it took."""
        began = time.monotonic()
        while time.monotonic() - began < GATHER_SECONDS:
            if all(out.with_suffix(READY).exists() for _, _, out in self._started):
                break
            await asyncio.sleep(0.25)
        return round(time.monotonic() - began, 1)

    def spent(self) -> float:
        return sum(read_processor_seconds(process.pid) for _, process, _ in self._started)

    def __exit__(self, *_: object) -> None:
        for _, process, _ in self._started:
            process.terminate()
        for _, process, _ in self._started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)

    def told(self) -> dict[str, Any]:
        """What became of the requests of each, after the end."""
        found: dict[str, Any] = {}
        for name, _, out in self._started:
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                found[name] = json.loads(out.read_text())
        return found


class Measurement:
    """Phases without and with attacks, by turns."""

    def __init__(self, own: Own, args: argparse.Namespace, target: Path, folders: Mapping[str, Path]) -> None:
        self._own = own
        self._args = args
        self._target = target
        self._folders = folders
        self._bystander = Bystander(own, folders["alice"], args.rate)
        self._overseer = Overseer(own)
        self._doomed = iter(sorted(name for name in folders if name.startswith("doomed-")))
        self._processes = own.processes()

    async def measure(self, name: str, attacks: list[str]) -> dict[str, Any]:
        alone = await self._bystander.watch(self._args.seconds)
        stall_before, memory_before = await self._overseer.worst_stall(), self._memory()
        doomed = next(self._doomed)
        with Attackers(attacks, self._target, self._args.nice) as attackers:
            gathered = await attackers.gather()
            await asyncio.sleep(RAMP_SECONDS)
            used, began = attackers.spent(), time.monotonic()
            with ProcessorTime(self._processes) as spent:
                watching = asyncio.create_task(self._bystander.watch(self._args.seconds))
                await asyncio.sleep(self._args.seconds / 2)
                revoked = await self._overseer.revoke(doomed, self._folders[doomed])
                attacked = await watching
            cores = spent.cores() | {"attackers": round((attackers.spent() - used) / (time.monotonic() - began), 3)}
            cores["elsewhere"] = round(cores["elsewhere"] - cores["attackers"], 3)
            memory, stall = self._memory(), await self._overseer.worst_stall()
        await asyncio.sleep(SETTLE_SECONDS)
        return {
            "attack": name, "alone": alone.describe(), "attacked": attacked.describe(), "revocation": revoked,
            "stall_ms": round(stall, 1), "stall_is_of_before": stall <= stall_before, "cores_used": cores,
            "memory_growth": memory - memory_before, "gathered_seconds": gathered, "attackers": attackers.told(),
        }  # fmt: skip

    def _memory(self) -> int:
        return sum(read_rss(process.pid) or 0 for process in self._processes if is_worker(process))


def is_worker(process: Process) -> bool:
    return process.group == "app"


def print_table(rows: list[dict[str, Any]]) -> None:
    names = (
        "attack", "p50_ms", "p99_ms", "ratio", "max_ms", "stall_ms", "growth_mb", "revoked_ms", "app_cores",
        "attackers_cores",
    )  # fmt: skip
    lines = [names, *(tuple("=" if row[name] is None else str(row[name]) for name in names) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(names))]
    for line in lines:
        print("  ".join(word.ljust(widths[0]) if n == 0 else word.rjust(widths[n]) for n, word in enumerate(line)))
    print("stall_ms `=`: not beyond what the last minute before the attack already had")


@contextmanager
def open_scene(args: argparse.Namespace, phases: int) -> Iterator[tuple[Own, Path, dict[str, Path]]]:
    slow_words = ("--latency", "1s", "--chunks", "600", "--response-tokens", "600")
    with (
        tempfile.TemporaryDirectory() as folder,
        another_stub(*slow_words) as slow,
        another_stub("--latency", "0") as quick,
        run_own(["--latency", "0"], args.workers) as own,
    ):
        prepare(own, slow, quick)
        names = ["alice", *AGENTS, *(f"doomed-{n:03}" for n in range(phases))]
        folders = dict(zip(names, own.enroll(names), strict=True))
        target = Path(folder) / "target.json"
        identities = {name: str(folders[name]) for name in AGENTS}
        described = {"base_url": own.base_url, "ca_file": str(own.ca_file), "proof": args.proof}
        target.write_text(json.dumps({**described, "identities": identities}))
        yield own, target, folders


def run(args: argparse.Namespace) -> int:
    now = time.gmtime()
    names = args.only or [*ATTACKS, ALL]
    results: dict[str, Any] = {
        "scenario": "under-attack", "question": (__doc__ or "").splitlines()[0],
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", now), "machine": describe_machine(),
        "load": {name: value for name, value in vars(args).items() if not isinstance(value, Path)},
    }  # fmt: skip
    found: list[dict[str, Any]] = []
    with open_scene(args, len(names) * args.rounds) as (own, target, folders):
        results["versions"] = report.describe_versions(own.base_url, own.ca_file, own.processes())
        results["settings"] = report.read_settings(own.data)
        measurement = Measurement(own, args, target, folders)
        for number in range(1, args.rounds + 1):
            for name in names:
                attacks = list(ATTACKS) if name == ALL else [name]
                found.append({"round": number, **asyncio.run(measurement.measure(name, attacks))})
                one = found[-1]
                times = f"p99 {one['alone']['p99_ms']} ms alone, {one['attacked']['p99_ms']} ms attacked"
                line = f"round {number} {name}: {times}, stall {one['stall_ms']} ms, {one['attackers']}"
                print(line, file=sys.stderr, flush=True)
    rows, failures, warnings = judge(found, args.max_ratio)
    results |= {"rounds": found, "rows": rows, "failures": failures, "warnings": warnings, "passed": not failures}
    file = args.out or STRESS / "results" / f"under-attack-{time.strftime('%Y-%m-%dT%H%M%SZ', now)}.json"
    report.write_results(results, file)
    print_table(rows)
    said_lines = [*(f"  WARNING  {line}" for line in warnings), *(f"  FAIL     {line}" for line in failures)]
    print("\n".join([*said_lines, "passed" if not failures else "FAILED", str(file)]))
    return 1 if failures else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50.0, help="calls a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each phase (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--proof", action="store_true", help="attackers with tokens and proofs instead of certificates")
    parser.add_argument("--nice", type=int, default=19, help="of the attackers; 0: as the rest (default: %(default)s)")
    known = ", ".join([*ATTACKS, ALL])
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="A,B", help=f"of: {known}")
    parser.add_argument(
        "--max-ratio", type=float, default=MOST_RATIO, metavar="R", help="of the p99s (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: results/under-attack-DATE.json")
    args = parser.parse_args()
    if unknown := set(args.only or ()) - {*ATTACKS, ALL}:
        parser.error(f"no attack is called {', '.join(sorted(unknown))}")
    if args.rounds < 1 or args.seconds < 2 or args.rate < 5:
        parser.error("at least one round, two seconds and five calls a second")
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
