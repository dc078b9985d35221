"""Measures each test module: wall time and CPU time of its set-up, calls and teardown, child processes included.

A pytest plugin. `--costs FILE` writes the figures and the outcome of each test as JSON; under pytest-xdist the
controller writes them for all workers. CPU time is that of the test process and of every process below it. It is read
after each phase that took longer than `LOOK` and at the end of a module; the cost of shorter phases is charged to the
next phase that is looked at.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LOOK = 0.05
"""Seconds a phase must take before the processes below this one are looked at; a look costs about a millisecond."""

TICKS = os.sysconf("SC_CLK_TCK")
PHASES = ("setup", "call", "teardown")


def children_of(pid: int) -> Iterator[int]:
    """The processes below `pid`, all generations."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        found = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return
    for child in found:
        yield child
        yield from children_of(child)


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and of those children that it has waited for; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def cpu_seconds() -> float:
    """CPU seconds of this process and of every process below it, ended or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(map(cpu_of, children_of(os.getpid())))
    return time.process_time() + ended.ru_utime + ended.ru_stime + living


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", metavar="FILE", help="write outcomes, wall and CPU time of each module as JSON")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--costs")
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Meter())
    elif file:
        config.pluginmanager.register(Meter())
        config.pluginmanager.register(Ledger(Path(file)))


class Meter:
    """Puts CPU seconds on each report. Runs where the tests run."""

    def __init__(self) -> None:
        self._seen = cpu_seconds()
        self._is_last = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        self._is_last = nextitem is None or nextitem.path != item.path

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Any:
        report = yield
        report.cpu = 0.0
        if call.duration >= LOOK or (call.when == "teardown" and self._is_last):
            now = cpu_seconds()
            report.cpu, self._seen = max(0.0, now - self._seen), now
        return report


class Ledger:
    """Adds up the reports and writes the file. Runs where the results are collected."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began = time.time()
        self._wall: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._cpu: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._tests: Counter[str] = Counter()
        self._durations: Counter[str] = Counter()
        self._outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        node = report.nodeid
        module = node.partition("::")[0]
        self._tests[module] += report.when == "call"
        self._wall[module][report.when] += report.duration
        self._cpu[module][report.when] += getattr(report, "cpu", 0.0)
        self._durations[node] += report.duration
        if report.failed or report.when == "call" or report.skipped:
            worse = self._outcomes.get(node) == "failed"
            self._outcomes[node] = "failed" if worse else report.outcome
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = (crash.message if crash is not None else str(report.longrepr)).splitlines()
            print(f"\nFAILED {node} ({report.when}): {reason[0] if reason else ''}", flush=True)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        modules = {
            name: {
                "tests": self._tests[name],
                "wall": {phase: round(self._wall[name][phase], 3) for phase in PHASES},
                "cpu": {phase: round(self._cpu[name][phase], 3) for phase in PHASES},
            }
            for name in sorted(self._wall)
        }
        result = {
            "status": int(exitstatus),
            "seconds": round(time.time() - self._began, 1),
            "outcomes": Counter(self._outcomes.values()),
            "failed": sorted(node for node, outcome in self._outcomes.items() if outcome == "failed"),
            "modules": modules,
            "slowest": [[node, round(seconds, 2)] for node, seconds in self._durations.most_common(100)],
        }
        self._file.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
