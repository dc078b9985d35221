"""The usage of model calls for `/metrics`: tokens and USD by model, and by the rank of agents.

Control reads the outcomes that were added to the log, every few seconds and beside the event loop. So the figures are
exact over all workers, and no exchange does any work for them.

The labels are bounded. A model has its own name if an admin wrote it, as a model or as the target of an alias. All
other models of a provider are `PROVIDER/*`, so no text of a caller becomes a label. Agents have only their rank as a
label, from 1 to `RANKS`, and `other` for the rest together; `mastio usage` names them.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge

from mastio.exchange.errors import ConfigurationError, Unavailable
from mastio.host import aside
from mastio_audit.log.chain import ChainError, Row, timestamp
from mastio_audit.log.store import Extent, LogReader, StoreError
from mastio_audit.search import find_first
from mastio_audit.spending import AT_ONCE, SCAN, SPELLINGS, is_call, model_of

EVERY = 5.0
"""Seconds between two looks at the log."""

PAUSE = 0.01
"""Seconds between two pieces of work, so that a long log takes a share of a thread and no more."""

RANKS = 10
HOURS = 24
"""The number of hours that the ranks cover, the present one included."""

OTHER = "other"
PROVIDER = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""The form of providers' names. Only an admin makes one, so there are not many."""

NANO = 10**9

BROKEN = (StoreError, ChainError, ConfigurationError)
"""The errors that reading the log raises."""

log = logging.getLogger("mastio.audit")


class Used(NamedTuple):
    """The usage of one call. `hour`: the hour of its end, as `2026-01-31T12`."""

    seq: int
    hour: str
    agent: str
    model: str
    read: int
    written: int
    nano_usd: int


def read_used(rows: Iterable[Row]) -> list[Used]:
    """The calls of models among the entries that used something."""
    found = []
    for seq, entry in rows:
        one = orjson.loads(entry)
        used = one["usage"]
        if used and is_call(one):
            tokens = used.get("input_tokens", 0), used.get("output_tokens", 0)
            found.append(
                Used(seq, one["time"][:13], one["agent"] or "", model_of(one), *tokens, used.get("cost_nano_usd", 0))
            )
    return found


class Provider(Protocol):
    """The part of a provider that names its models."""

    models: tuple[str, ...]
    aliases: Mapping[str, str]


def label_model(model: str, providers: Mapping[str, Provider]) -> str:
    """The name of a model where an admin wrote it, else its provider's."""
    provider, _, name = model.partition("/")
    if not PROVIDER.fullmatch(provider):
        return OTHER
    row = providers.get(provider)
    if row is not None and (name in row.models or name in row.aliases.values()):
        return model
    return f"{provider}/*"


def hour_of(unix: float) -> str:
    """The hour of a moment, as entries have it."""
    return timestamp(unix)[:13].decode("ascii")


class Ranking:
    """The usage of agents in the last hours, from which their ranks follow."""

    def __init__(self) -> None:
        self._by_hour: dict[str, dict[str, list[int]]] = {}

    def add(self, used: Used) -> None:
        counts = self._by_hour.setdefault(used.hour, {}).setdefault(used.agent, [0, 0])
        counts[0] += used.nano_usd
        counts[1] += used.read + used.written

    def forget_before(self, hour: str) -> None:
        self._by_hour = {one: agents for one, agents in self._by_hour.items() if one >= hour}

    def rank(self) -> dict[str, tuple[int, int]]:
        """Nano-USD and tokens by rank, from the agent that spent most. Every rank is there."""
        totals: dict[str, list[int]] = {}
        for agents in self._by_hour.values():
            for agent, counts in agents.items():
                total = totals.setdefault(agent, [0, 0])
                total[0] += counts[0]
                total[1] += counts[1]
        ordered = sorted(totals.values(), reverse=True)
        found = {str(n + 1): (0, 0) for n in range(RANKS)}
        found |= {str(n + 1): (usd, tokens) for n, (usd, tokens) in enumerate(ordered[:RANKS])}
        rest = ordered[RANKS:]
        return {**found, OTHER: (sum(usd for usd, _ in rest), sum(tokens for _, tokens in rest))}


class UsageMetrics:
    """The metrics of model usage on `/metrics`."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._tokens = Counter(
            "mastio_llm_tokens", "Tokens that calls of models used.", ("model", "direction"), registry=registry
        )
        self._usd = Counter("mastio_llm_cost_usd", "US dollars that they cost.", ("model",), registry=registry)
        self._agent_tokens = Gauge(
            "mastio_agent_tokens", f"Tokens that an agent used in the last {HOURS} hours, by rank.", ("rank",),
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._agent_usd = Gauge(
            "mastio_agent_cost_usd", f"US dollars that an agent spent in the last {HOURS} hours, by rank.", ("rank",),
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip

    def count(self, model: str, used: Used) -> None:
        self._tokens.labels(model, "input").inc(used.read)
        self._tokens.labels(model, "output").inc(used.written)
        self._usd.labels(model).inc(used.nano_usd / NANO)

    def show(self, ranks: Mapping[str, tuple[int, int]]) -> None:
        for rank, (nano_usd, tokens) in ranks.items():
            self._agent_usd.labels(rank).set(nano_usd / NANO)
            self._agent_tokens.labels(rank).set(tokens)


class UsageFigures:
    """Reads the log and keeps the figures. `reader` is its own."""

    def __init__(
        self,
        reader: LogReader,
        providers: Callable[[], Mapping[str, Provider]],
        now: Callable[[], float],
        figures: UsageMetrics,
    ) -> None:
        self._reader = reader
        self._providers = providers
        self._now = now
        self._figures = figures
        self._ranking = Ranking()
        self._next: int | None = None
        self._counted_from = 0
        self._is_open = False

    async def run(self) -> None:
        """Read the log at each interval until cancelled."""
        try:
            while True:
                try:
                    await self.look()
                except (*BROKEN, Unavailable) as error:
                    log.warning("what calls of models used cannot be read just now: %s", error)
                    await self.close()
                await asyncio.sleep(EVERY)
        finally:
            await self.close()

    async def close(self) -> None:
        self._is_open = False
        await self._reader.close()

    async def begin(self) -> None:
        """Find the present end of the log. Entries added from here on are counted; earlier entries of the last hours
        only make up the ranks. Raises `StoreError`, `ChainError`, `ConfigurationError`: then the first look does it."""
        extent = await self._ask_extent()
        if extent.head is not None:
            since = self._now() - (HOURS - 1) * 3600
            there = range(extent.start, extent.head.size)
            self._next = await find_first(self._reader, there, since - since % 3600)
            self._counted_from = there.stop

    async def _ask_extent(self) -> Extent:
        if not self._is_open:
            await self._reader.open()
            self._is_open = True
        return await self._reader.extent()

    async def look(self) -> None:
        """Read the entries that were added to the log."""
        if self._next is None:
            await self.begin()
        extent = await self._ask_extent()
        if extent.head is None or self._next is None:
            return
        end = extent.head.size
        while self._next < end:
            part = range(self._next, min(self._next + SCAN, end))
            rows = await self._reader.find(part, AT_ONCE, SPELLINGS, False)
            self._take(await aside.run(False, read_used, rows))
            self._next = rows[-1][0] + 1 if len(rows) == AT_ONCE else part.stop
            await asyncio.sleep(PAUSE)
        self._ranking.forget_before(hour_of(self._now() - (HOURS - 1) * 3600))
        self._figures.show(self._ranking.rank())

    def _take(self, found: Sequence[Used]) -> None:
        providers = self._providers()
        for used in found:
            self._ranking.add(used)
            if used.seq >= self._counted_from:
                self._figures.count(label_model(used.model, providers), used)
