"""A count in memory that several workers share, which can be made to fail, and workers on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from mastio.exchange.budgets import BudgetWindow, Claim, Grant, Usage, decide
from mastio.exchange.errors import Unavailable
from mastio.exchange.values import Action, Principal
from mastio_limits.budget import BudgetRow
from mastio_limits.lease_manager import LeaseManager

NOON = 1_800_014_400.0
"""A day's middle, UTC."""

ALICE = Principal("alice", frozenset({"agent"}), groups=frozenset({"team"}), version=1)
CHAT = Action("llm.chat", "Model", "p/m-1", alias="fast")


def budget(**members: object) -> BudgetRow:
    return replace(BudgetRow("b", "tokens", 1000, "day", "s"), **members)  # type: ignore[arg-type]


@dataclass
class Count:
    """Every budget's count. `claims` is how often somebody asked; `down`: it does not answer; `lost`: it does, but its
    answers do not arrive."""

    limits: dict[str, int] = field(default_factory=lambda: {"s": 1000})
    spent: dict[tuple[str, int], int] = field(default_factory=dict)
    leases: dict[str, tuple[tuple[str, int], int, int, int]] = field(default_factory=dict)
    claims: int = 0
    down: bool = False
    lost: bool = False
    slow: float = 0.0
    asked: bool = False

    async def claim(self, claims: Sequence[Claim], now: float) -> list[Grant | None]:
        self.claims += 1
        await asyncio.sleep(self.slow)
        if self.down:
            raise Unavailable("down", code="store_unavailable")
        grants = [self._claim(claim) for claim in claims]
        if self.lost:
            raise Unavailable("lost", code="store_unavailable")
        return grants

    def _claim(self, claim: Claim) -> Grant | None:
        limit = self.limits.get(claim.series)
        if limit is None:
            return None
        place = (claim.series, claim.window.start)
        _, _, _, reported = self.leases.get(claim.lease, (place, 0, 0, claim.used))
        spent = self.spent[place] = self.spent.get(place, 0) + claim.used - reported
        others = [lease for name, lease in self.leases.items() if name != claim.lease and lease[0] == place]
        elsewhere = sum(held for _, held, _, _ in others)
        held, met = decide(limit, spent, elsewhere, claim, self.asked)
        self.asked = met < sum(claim.needs) or (self.asked and not claim.needs)
        self.leases[claim.lease] = (place, held, held - claim.reserved - met, claim.used)
        return Grant(held, limit, spent, elsewhere, sum(idle for _, _, idle, _ in others), self.asked)

    async def take_over(self, now: float) -> None:
        return None

    async def sweep(self, now: float) -> None:
        return None

    async def usage(self, places: Iterable[tuple[str, BudgetWindow]]) -> Mapping[str, Usage]:
        return {}

    def held(self) -> int:
        return sum(held for _, held, _, _ in self.leases.values())

    def total(self) -> int:
        return sum(self.spent.values())


class Seen:
    """`keeper.Watch`."""

    def __init__(self) -> None:
        self.refusals = 0

    def counted(self, budget: BudgetRow, spent: int) -> None:
        return None

    def refused(self, budget: BudgetRow) -> None:
        self.refusals += 1


class Clock:
    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> float:
        return self.time


@dataclass
class Worker:
    keeper: LeaseManager
    clock: Clock
    seen: Seen


@asynccontextmanager
async def open_worker(count: Count, name: str = "w") -> AsyncIterator[Worker]:
    clock, seen, ending = Clock(), Seen(), asyncio.Event()
    keeper = LeaseManager(count, name, clock, seen)
    running = asyncio.create_task(keeper.run(ending))
    try:
        yield Worker(keeper, clock, seen)
    finally:
        ending.set()
        await running
