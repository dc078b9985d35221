"""The usage of model calls: the sums over the outcomes in a log, by agent, model, day or group.

The outcome of an exchange has its settled usage, the very numbers that budgets count. Outcomes are durable and common
to all workers, so the sums are exact for any number of workers and after any restart. A call that several providers
were tried for counts as one of the provider that answered.

`add_up` bounds the work: it asks for few entries at a time, and stops after `MOST_SECONDS` or `MOST_ROWS`; the sums of
the rest are another question.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

import orjson

from mastio_audit.log.chain import Row, timestamp

DEFAULT_SECONDS: Final = 30 * 86_400
"""Seconds before now at which a report begins by default."""

LATEST: Final = 253_402_300_799.0
"""The last second that entries have a time for: the end of the year 9999."""

AT_ONCE = 500
"""Entries that are added up in one piece of work."""

SCAN = 20_000
"""Indexes that one question to the database covers at most."""

MOST_SECONDS = 5.0
MOST_ROWS = 10_000

Dimension = Literal["agent", "model", "day", "group"]
DIMENSIONS: Final[tuple[Dimension, ...]] = ("agent", "model", "day", "group")
COUNTS: Final = (
    "requests", "failed", "uncounted", "input_tokens", "output_tokens", "cached_tokens", "estimated", "unpriced",
    "cost_nano_usd",
)  # fmt: skip
"""The names of the counts. `failed`: requests without a good end. `uncounted`: requests with unknown usage, because a
crash interrupted them. `estimated`: requests counted with the most that they may have used, since the provider did not
report it. `unpriced`: requests that used tokens without a known price."""

LISTS = "llm.models"
"""The one kind with the prefix `llm.` that is not a model call."""

SPELLINGS = (b'"kind":"llm.', b'"phase":"outcome"')
"""Bytes that the outcome of every call of a model has."""

_USED = ("input_tokens", "output_tokens", "cached_tokens", "cost_nano_usd")

Key = tuple[str, ...]
Groups = Callable[[str], Collection[str]]
Find = Callable[[range, int, Sequence[bytes]], Awaitable[Sequence[Row]]]


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """The question that a usage report answers: `since` (included) and `until` (not included) in Unix time, by what,
    and of whom alone (None: of all). `groups`: the groups of an agent, for a report by group."""

    since: float
    until: float
    by: tuple[Dimension, ...] = ("agent",)
    agent: str | None = None
    model: str | None = None
    groups: Groups | None = None

    @property
    def spellings(self) -> tuple[bytes, ...]:
        """Bytes that every entry in question has."""
        own = () if self.agent is None else (b'{"agent":%b,' % orjson.dumps(self.agent),)
        return (*own, *SPELLINGS)


def make_period(since: float | None, until: float | None, now: float) -> tuple[float, float]:
    """Both ends in Unix time, with the defaults, as entries can have them. Raises `ValueError` where the end comes
    first."""
    end = min(now if until is None else until, LATEST)
    begin = end - DEFAULT_SECONDS if since is None else min(since, LATEST)
    if begin > end:
        raise ValueError("the period ends before it begins")
    return max(begin, 0.0), max(end, 0.0)


@dataclass(slots=True)
class Sums:
    """Counts in the order of `COUNTS`, by key. `total` counts each request once, also where keys share it."""

    by_key: dict[Key, list[int]] = field(default_factory=dict)
    total: list[int] = field(default_factory=lambda: [0] * len(COUNTS))

    def add(self, key: Key, counts: Sequence[int]) -> None:
        own = self.by_key.get(key)
        self.by_key[key] = list(counts) if own is None else [a + b for a, b in zip(own, counts, strict=True)]

    def add_to_total(self, counts: Sequence[int]) -> None:
        self.total = [a + b for a, b in zip(self.total, counts, strict=True)]


@dataclass(frozen=True, slots=True)
class Part:
    """The sums over a part of the log, and the index where the rest begins (None: there is no rest)."""

    sums: Sums
    following: int | None


async def add_up(
    find: Find,
    question: UsageQuery,
    within: range,
    run: Callable[[Callable[[], None]], Awaitable[None]],
    clock: Callable[[], float] = time.monotonic,
    most_rows: int = MOST_ROWS,
) -> Part:
    """Add up what is in `within`. `run` does a piece of work of a few milliseconds. Raises what `find` does."""
    sums, deadline, at = Sums(), clock() + MOST_SECONDS, within.start
    spellings = question.spellings
    while at < within.stop:
        scanned = range(at, min(at + SCAN, within.stop))
        rows = await find(scanned, AT_ONCE, spellings)
        await run(partial(count, rows, question, sums))
        at = rows[-1][0] + 1 if len(rows) == AT_ONCE else scanned.stop
        if at < within.stop and (clock() >= deadline or len(sums.by_key) >= most_rows):
            return Part(sums, at)
    return Part(sums, None)


def count(rows: Iterable[Row], question: UsageQuery, sums: Sums) -> None:
    """Add the outcomes among `rows` that the question is about."""
    first, end = (timestamp(moment).decode("ascii") for moment in (question.since, question.until))
    for _, entry in rows:
        one = orjson.loads(entry)
        if not is_call(one):
            continue
        if not first <= one["time"] < end or question.agent not in (None, one["agent"]):
            continue
        model = model_of(one)
        if question.model not in (None, model):
            continue
        counts = _count_one(one)
        sums.add_to_total(counts)
        for key in _find_keys(question, one["agent"] or "", model, one["time"][:10]):
            sums.add(key, counts)


def is_call(entry: Mapping[str, Any]) -> bool:
    """True if an entry is the outcome of a model call."""
    kind: str = entry["kind"]
    return entry["phase"] == "outcome" and kind.startswith("llm.") and kind != LISTS


def model_of(entry: Mapping[str, Any]) -> str:
    """The model that answered, as `provider/model`."""
    return (entry["response"] or {}).get("target") or entry["target"] or ""


def _count_one(entry: Mapping[str, Any]) -> list[int]:
    status, used = entry["outcome"]["status"], entry["usage"] or {}
    tokens, written, cached, cost = (used.get(name, 0) for name in _USED)
    is_unpriced = bool(tokens or written) and "cost_nano_usd" not in used
    is_estimated = bool(used.get("estimated"))
    return [1, status != "ok", status == "unknown", tokens, written, cached, is_estimated, is_unpriced, cost]


def _find_keys(question: UsageQuery, agent: str, model: str, day: str) -> list[Key]:
    keys: list[Key] = [()]
    for dimension in question.by:
        if dimension == "group":
            values = sorted(question.groups(agent)) if question.groups is not None else []
        else:
            values = [{"agent": agent, "model": model, "day": day}[dimension]]
        keys = [(*key, value) for key in keys for value in values or [""]]
    return keys


def describe(counts: Sequence[int]) -> dict[str, Any]:
    """Counts by name, with the cost in USD as well."""
    named: dict[str, Any] = dict(zip(COUNTS, map(int, counts), strict=True))
    return {**named, "usd": named["cost_nano_usd"] / 10**9}


def describe_rows(sums: Sums, by: Sequence[Dimension]) -> list[dict[str, Any]]:
    """A row for each key: in the order of days where these come first, else what cost most first."""

    def order(item: tuple[Key, list[int]]) -> tuple[Any, ...]:
        key, counts = item
        cost = (-counts[-1], -(counts[3] + counts[4]), -counts[0])
        return (key[0], *cost, key) if by[:1] == ("day",) else (*cost, key)

    rows = sorted(sums.by_key.items(), key=order)
    return [{**dict(zip(by, key, strict=True)), **describe(counts)} for key, counts in rows]
