"""What the numbers mean: medians, ratios, residual growth of memory. Pure functions over plain values."""

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
