"""The environment of a measurement: the machine, the appliance's processes, their memory and processor time.

Read from /proc and from the pid files of the appliance's data folder. Memory is in bytes, time in seconds.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class CannotRun(Exception):
    """The measurement cannot be made: one sentence and a hint. Exit status 2."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


# ---------------------------------------------------------------------------------------- the machine


def describe_machine() -> dict[str, object]:
    processor = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return {
        "processor": processor[1] if processor else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
    }


def first_line(*command: str) -> str | None:
    """The first line that a command prints, or None where it is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (FileNotFoundError, PermissionError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0] if lines else None


# ---------------------------------------------------------------------------------------- processes


@dataclass(frozen=True, slots=True)
class Process:
    """One running process. `name` is that of its pid file; a child has the number of its place behind it."""

    name: str
    pid: int

    @property
    def group(self) -> str:
        """`app`, `edge`, `stub` or `other`: what its processor time is counted as."""
        for group, prefix in (("app", "worker"), ("edge", "edge"), ("stub", "stub")):
            if self.name.startswith(prefix):
                return group
        return "other"


def find_processes(data: Path | None, stub_pid: int | None) -> list[Process]:
    """The appliance's processes by its pid files, with their children, and the stub provider."""
    found = []
    for file in sorted((data / "run").glob("*.pid")) if data else []:
        pid = int(file.read_text().strip() or 0)
        if is_alive(pid):
            found += with_children(file.stem, pid)
    if stub_pid and stub_pid not in {process.pid for process in found}:
        found.append(Process("stub", stub_pid))
    known: dict[int, Process] = {}
    for process in sorted(found, key=lambda process: process.name.count("/")):
        known.setdefault(process.pid, process)
    return list(known.values())


def with_children(name: str, pid: int) -> list[Process]:
    found = [Process(name, pid)]
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return found
    for place, child in enumerate(children):
        found += with_children(f"{name}/{place}", int(child))
    return found


def is_alive(pid: int) -> bool:
    return pid > 0 and Path(f"/proc/{pid}").exists()


def read_rss(pid: int) -> int | None:
    """Resident memory, or None when the process is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (FileNotFoundError, ProcessLookupError):
        return None


def read_processor_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def read_busy_seconds() -> float:
    """Time that all cores together were not idle since the machine started, with what its host took away."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first_words(Path("/proc/stat"))[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND


def first_words(file: Path) -> list[str]:
    return file.read_text().split("\n", 1)[0].split()


class ProcessorTime:
    """The processor time of each group of processes during a `with` block.

    The generator is what this process started and waited for. `elsewhere` is the rest of the machine and what
    its host took away: where it is not near nothing, the figures are those of a disturbed machine.
    """

    def __init__(self, processes: list[Process]) -> None:
        self._processes = processes

    def __enter__(self) -> ProcessorTime:
        self._before, self._started = self._read(), time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._wall = time.monotonic() - self._started
        self._seconds = {group: after - self._before[group] for group, after in self._read().items()}

    def cores(self) -> dict[str, float]:
        """How many cores' worth of time each group used: 1.0 is one core, busy all the time."""
        return {group: round(seconds / self._wall, 3) for group, seconds in self._seconds.items()}

    def per(self, exchanges: object) -> dict[str, float]:
        """Microseconds for each exchange."""
        count = max(1, int(str(exchanges)))
        return {group: round(seconds / count * 1e6, 1) for group, seconds in self._seconds.items()}

    def _read(self) -> dict[str, float]:
        children = os.times()
        seconds = {"generator": children.children_user + children.children_system}
        for process in self._processes:
            seconds[process.group] = seconds.get(process.group, 0.0) + read_processor_seconds(process.pid)
        ours = os.times()
        known = sum(seconds.values()) + ours.user + ours.system
        return {**seconds, "elsewhere": read_busy_seconds() - known}


# ---------------------------------------------------------------------------------------- pinning

APP_CORE, OTHER_CORE = 0, 1


@contextlib.contextmanager
def pinned(processes: list[Process]) -> Iterator[dict[str, object]]:
    """Workers on core 0; edge, stub, this process and its generators on core 1; undone at the end."""
    if (os.cpu_count() or 1) < 2:
        raise CannotRun("Pinning needs two cores, and this machine has one.", "Leave --pin out.")
    if not any(process.group == "app" for process in processes):
        raise CannotRun("Pinning needs the workers' pid files.", "Give --data DIR of a running appliance.")
    wanted = {process.pid: APP_CORE if process.group == "app" else OTHER_CORE for process in processes}
    wanted[os.getpid()] = OTHER_CORE
    before: dict[int, set[int]] = {}
    try:
        for pid, core in wanted.items():
            before |= pin(pid, core)
        names: dict[int, list[str]] = {APP_CORE: [], OTHER_CORE: ["runner", "generator"]}
        for process in processes:
            names[wanted[process.pid]].append(process.name)
        yield {"core 0": names[APP_CORE], "core 1": names[OTHER_CORE]}
    finally:
        for thread, cores in before.items():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)


def pin(pid: int, core: int) -> dict[int, set[int]]:
    """Bind every thread of the process to one core; gives what each was bound to."""
    before: dict[int, set[int]] = {}
    for thread in (int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()):
        with contextlib.suppress(ProcessLookupError):
            before[thread] = os.sched_getaffinity(thread)
            os.sched_setaffinity(thread, {core})
    return before


# ---------------------------------------------------------------------------------------- memory over time


@dataclass
class MemorySampler:
    """Samples the memory of processes in a thread of its own, from `start` to `stop`."""

    processes: list[Process]
    interval: float
    samples: dict[str, list[int]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def start(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            for process in self.processes:
                rss = read_rss(process.pid)
                if rss is None:
                    self.lost.add(process.name)
                else:
                    self.samples.setdefault(process.name, []).append(rss)
            if self._ended.wait(self.interval):
                return
