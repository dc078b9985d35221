"""The evaluation of measurements: medians, ratios, residual growth of memory. Pure functions over plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

DRIFT_FAILS = 0.10
DRIFT_WARNS = 0.01


def parse_seconds(text: str) -> float:
    """A k6 duration such as `90s`, `60m` or `1h30m`."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"not a duration: {text!r}; write 20s, 10m or 1h")
    seconds = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * seconds[unit] for number, unit in parts)


def medians(rounds: Sequence[Mapping[str, object]]) -> dict[str, float]:
    """The median of every number that all rounds have."""
    shared = set.intersection(*(set(entry) for entry in rounds)) if rounds else set()
    names = [name for name in rounds[0] if name in shared] if rounds else []
    found: dict[str, float] = {}
    for name in names:
        values = [value for entry in rounds if isinstance(value := entry[name], int | float)]
        if len(values) == len(rounds) and not any(isinstance(value, bool) for value in values):
            found[name] = round(median(values), 4)
    return found


def judge_hits(direct: Mapping[str, float], measured: Sequence[Mapping[str, float]]) -> list[str]:
    """What is wrong where an answer from memory is not faster than the call that it saves, at the median."""
    saved = direct["p50_ms"]
    times = [figures["hit_p50_ms"] for figures in measured if "hit_p50_ms" in figures]
    return [f"a hit takes {time:.1f} ms, the call itself {saved:.1f} ms" for time in times if time >= saved]


# ---------------------------------------------------------------------------------------- added latency


@dataclass(frozen=True, slots=True)
class AddedLines:
    """The pass line of what the appliance adds, in milliseconds, and of the dialects against each other."""

    mean_ms: float = 0.7
    p99_ms: float = 2.0
    after_first_ms: float = 0.3
    """After a stream's first event nothing more is to be added; so much is what the machine's own noise may be."""
    dialect_ratio: float = 0.95


CUTS = ("mean_ms", "p50_ms", "p95_ms", "p99_ms")
STREAM_PARTS = {"to the first event": "first_event_", "to the end": "", "after the first": "after_first_"}
ENOUGH_FOR_P99 = 10_000


def added(
    ours: Sequence[Mapping[str, object]], reference: Sequence[Mapping[str, object]], part: str = ""
) -> dict[str, float]:
    """What ours takes more than the reference: medians of the differences within each round, in milliseconds.

    `part` is the beginning of the figures' names: a stream has several.
    """
    differences: list[dict[str, float]] = []
    for mine, other in zip(ours, reference, strict=True):
        pairs = {cut: (mine.get(part + cut), other.get(part + cut)) for cut in CUTS}
        differences.append(
            {cut: a - b for cut, (a, b) in pairs.items() if isinstance(a, int | float) and isinstance(b, int | float)}
        )
    return medians(differences)


def judge_added(what: str, found: Mapping[str, float], max_mean: float, max_p99: float | None) -> list[str]:
    """What is wrong with what was added; nothing to be compared is wrong too."""
    lines = {"mean_ms": max_mean} | ({} if max_p99 is None else {"p99_ms": max_p99})
    failures = []
    for name, line in lines.items():
        value = found.get(name)
        if value is None:
            failures.append(f"{what}: nothing to compare, {name} is missing")
        elif value > line:
            failures.append(f"{what}: added {name.removesuffix('_ms')} {value:.2f} ms, wanted {line:g}")
    return failures


def rate_ratios(rates: Mapping[str, Sequence[float]], against: str) -> dict[str, float]:
    """Each dialect's rate by that of one of them: the median of the rounds' ratios."""
    others = {name: values for name, values in rates.items() if name != against}
    return {
        name: round(median(rate / base if base else 0.0 for rate, base in zip(values, rates[against], strict=True)), 4)
        for name, values in others.items()
    }


def judge_ratios(ratios: Mapping[str, float], against: str, least: float) -> list[str]:
    return [
        f"{name} at {ratio:.3f} of the rate of {against}, wanted {least:g}"
        for name, ratio in ratios.items()
        if ratio < least
    ]


# ---------------------------------------------------------------------------------------- streams


def cluster(times: Sequence[float], apart: float) -> list[float]:
    """The beginnings of what came in one go: a time belongs to the one before it when it is less than `apart` later."""
    starts = []
    last = None
    for time in times:
        if last is None or time - last >= apart:
            starts.append(time)
        last = time
    return starts


def judge_arrivals(who: str, times: Sequence[float], chunks: int, latency: float) -> list[str]:
    """What is wrong with a stream of so many chunks, each a latency after the one before. Seconds.

    Neither sooner, which would be a stub that does not wait, nor all at once, which would be a buffer on the way.
    """
    come = cluster(times, latency / 2)
    if len(come) != chunks:
        return [f"{who} sends its {chunks} chunks in {len(come)} goes: it does not stream"]
    early = [number for number, time in enumerate(come, 1) if time < number * (latency - 0.001)]
    late = [number for number, time in enumerate(come, 1) if time > (number + 0.5) * latency + 0.05]
    return [f"{who} sends chunk {number} too early" for number in early[:1]] + [
        f"{who} sends chunk {number} after {come[number - 1]:.3f} s, {number * latency:g} s are due"
        for number in late[:1]
    ]


@dataclass(frozen=True, slots=True)
class Residence:
    """Resident memory of one worker in bytes: before the streams, at most while they are open, and afterwards."""

    before: int
    highest: int
    after: int


def judge_open_streams(
    wanted: int,
    at_once: int,
    ends: Mapping[str, int],
    memory: Mapping[str, Residence],
    max_bytes: int,
    *,
    back: bool = True,
) -> list[str]:
    """What is wrong with so many streams opened at once. `ends`: how many ended how; `whole` is the only good one.

    `back`: memory has to be back to what it was before.
    """
    failures = [f"{count} streams ended otherwise: {how}" for how, count in sorted(ends.items()) if how != "whole"]
    if at_once < wanted:
        failures.append(f"at most {at_once} of {wanted} streams were open at the same moment")
    if not memory:
        failures.append("no worker's memory is known")
    for name, found in memory.items():
        if found.highest > max_bytes:
            failures.append(f"{name}: {found.highest / 1e6:.0f} MB with the streams open, wanted {max_bytes / 1e6:.0f}")
        if back and found.after > found.before * (1 + DRIFT_FAILS):
            grown = found.after / found.before - 1
            failures.append(f"{name}: memory is {grown:.0%} above what it was before; limit {DRIFT_FAILS:.0%}")
    return failures


def judge_descriptors(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    """What is wrong where a process has more files and connections open than before."""
    return [
        f"{name}: {after[name]} descriptors open, {before[name]} before"
        for name in before
        if after[name] > before[name]
    ]


# ---------------------------------------------------------------------------------------- budgets

UNITS = {
    "tokens": ("input_tokens", "output_tokens"),
    "usd": ("cost_nano_usd",),
    "requests": (),
}
"""What of an entry's `usage` a budget in this unit counts; a request counts as one."""
NANO = 10**9
FREE_WITHIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Race:
    """What came out of calls racing for one budget. Amounts in its smallest unit: 10⁻⁹ USD, a token, a call."""

    limit: int
    spent: int
    reserved: int
    free_after: float | None
    """Seconds after the last call until nothing was reserved any more; None: not seen."""
    logged: int
    """What the audit log says was used."""
    arrived: int
    """Calls that the stub's own journal has."""
    arrived_unlogged: int
    arrived_uncounted: int
    """Of them: without an outcome in the log, and with one that says nothing of what was used."""
    arrived_twice: int
    ends: Mapping[str, int]

    @property
    def overspend(self) -> int:
        return max(0, self.spent - self.limit, self.logged - self.limit)


def amount(usage: Mapping[str, int] | None, unit: str) -> int:
    """What one exchange counts for a budget in this unit."""
    return 1 if unit == "requests" else sum((usage or {}).get(name, 0) for name in UNITS[unit])


def judge_race(race: Race) -> list[str]:
    failures = []
    if race.overspend:
        failures.append(f"overspent by {race.overspend} of {race.limit}")
    if race.spent != race.logged:
        failures.append(f"the budget says {race.spent}, the audit log {race.logged}")
    if race.free_after is None or race.free_after > FREE_WITHIN_SECONDS:
        failures.append(f"{race.reserved} still reserved {FREE_WITHIN_SECONDS:g} s after the last call")
    for count, what in (
        (race.arrived_unlogged, "reached the provider and are not in the audit log"),
        (race.arrived_uncounted, "reached the provider and count as nothing"),
        (race.arrived_twice, "reached the provider more than once"),
    ):
        if count:
            failures.append(f"{count} calls {what}")
    known = {"answered", "refused", "cut"}
    failures += [
        f"{count} calls ended otherwise: {how}" for how, count in sorted(race.ends.items()) if how not in known
    ]
    failures += [f"nothing was {how}: no race" for how in sorted(known) if not race.ends.get(how)]
    return failures


# ---------------------------------------------------------------------------------------- memory


def residual_drift(samples: Sequence[float]) -> float | None:
    """Growth that remains after warming up: the last quarter's median against the second's, as a share.

    The first quarter is warming up and left out. None with fewer than eight samples: too few to say anything.
    """
    if len(samples) < 8:
        return None
    quarter = len(samples) // 4
    settled = median(samples[quarter : 2 * quarter])
    return median(samples[-quarter:]) / settled - 1


@dataclass
class MemoryVerdict:
    """For each process its memory and drift; what fails; what is only worth a warning."""

    table: dict[str, dict[str, object]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def judge_memory(samples: Mapping[str, Sequence[int]], lost: set[str]) -> MemoryVerdict:
    verdict = MemoryVerdict(failures=[f"{name}: the process ended during the run" for name in sorted(lost)])
    for name, values in samples.items():
        drift = residual_drift(values)
        verdict.table[name] = {
            "first_bytes": values[0],
            "last_bytes": values[-1],
            "highest_bytes": max(values),
            "residual_drift": None if drift is None else round(drift, 5),
            "samples": list(values),
        }
        if drift is None:
            verdict.failures.append(f"{name}: {len(values)} memory samples are too few to judge")
        elif drift > DRIFT_WARNS:
            found = verdict.failures if drift > DRIFT_FAILS else verdict.warnings
            found.append(f"{name}: memory grew by {drift:.1%} after warming up; limit {DRIFT_FAILS:.0%}")
    return verdict
