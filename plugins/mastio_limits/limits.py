"""The `reserve` hook: an exchange gets a slot and its part of every budget that concerns it, or none of it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from mastio.exchange.records import Directory
from mastio.exchange.values import Action, Bound, Message, Principal, Reservation, Usage
from mastio.host import aside
from mastio.plugin.last_good import LastGood
from mastio_limits.budget import BudgetRow, Unit
from mastio_limits.collection import BUDGETS
from mastio_limits.lease_manager import LeaseManager
from mastio_limits.ledger import Lease
from mastio_limits.matching import NOT_LIMITED, Matching
from mastio_limits.refusal import Short, Shortage, refuse_priceless, refuse_slot

TRIES = 3
"""The number of times that an exchange asks again for the smaller amount that was left: others ask meanwhile."""


class BudgetReservation:
    """The reservation of one exchange, until it is settled. `granted`: less than its bound."""

    __slots__ = ("_limits", "_parts", "_slot", "granted")

    def __init__(self, limits: Limits, bound: Bound | None) -> None:
        self._limits = limits
        self.granted = bound
        self._parts: list[tuple[Lease, Unit, int]] = []
        self._slot: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self._parts and self._slot is None

    def take_slot(self, agent: str) -> None:
        self._limits.take_slot(agent)
        self._slot = agent

    def add(self, lease: Lease, unit: Unit, amount: int) -> None:
        self._parts.append((lease, unit, amount))

    def keep_to(self, unit: Unit, amount: int) -> None:
        """It may use no more than this."""
        assert self.granted is not None
        if unit == "tokens":
            self.granted = replace(self.granted, tokens=min(self.granted.tokens, amount))
        elif unit == "usd" and self.granted.nano_usd is not None:
            self.granted = replace(self.granted, nano_usd=min(self.granted.nano_usd, amount))

    def settle(self, usage: Usage | None) -> None:
        """`exchange.Settle`."""
        for lease, unit, amount in self._parts:
            lease.settle(amount, 0 if usage is None else used(unit, usage))
        if self._slot is not None:
            self._limits.give_slot(self._slot)

    def undo(self) -> None:
        self.settle(None)


class Limits:
    """One worker's. `slots`: how many exchanges of one agent may be under way here at once; 0: any number."""

    def __init__(self, directory: Directory, keeper: LeaseManager, slots: int) -> None:
        self._directory = directory
        self._keeper = keeper
        self._slots = slots
        self._taken: dict[str, int] = {}
        self._matching = Matching()
        self._good: LastGood[BudgetRow] = LastGood("budget", "budgets")
        self.reload()

    def reload(self) -> None:
        """Take the directory's budgets, unless they are those in force or one of them is damaged."""
        if self._good.take(BUDGETS.find_rows(self._directory)):
            self._matching = Matching(BUDGETS.find_rows(self._directory).values())
            self._keeper.reload(BUDGETS.find_rows(self._directory))

    def in_force(self) -> str | None:
        """None when the directory's budgets are those in force; else why not."""
        self.reload()
        return self._good.problem

    async def ready(self) -> str | None:
        return f"budgets: {self._good.problem}" if self._good.problem else None

    async def reserve(self, principal: Principal, action: Action, message: Message) -> Reservation | None:
        """`hooks.Reserve`. Raises `Denied` (429), or `Unavailable` when it cannot be known what is left."""
        if self._matching.is_empty and not self._slots and self._good.problem is None:
            return None
        if not principal.is_agent or action.target_type in NOT_LIMITED:
            return None
        self._good.verify_any()
        budgets = self._matching.find(principal, action)
        if not budgets and not self._slots:
            return None
        # a long body is searched for all that it may make its model read
        bound = await aside.run(aside.is_short(message.raw), lambda: message.bound) if budgets else None
        held = BudgetReservation(self, bound)
        with ExitStack() as undo:
            undo.callback(held.undo)
            if self._slots:
                held.take_slot(principal.name)
            for budget in budgets:
                await self._take(held, budget, bound)
            undo.pop_all()
        if held.is_empty:
            return None
        return Reservation(held.settle, None if held.granted is bound else held.granted)

    async def _take(self, held: BudgetReservation, budget: BudgetRow, bound: Bound | None) -> None:
        amount = foreseen(budget, bound)
        if amount is None:
            return
        for tries_left in range(TRIES, -1, -1):
            try:
                lease = await self._keeper.reserve(budget, amount)
                break
            except Short as short:
                less = find_less(budget, bound, short.shortage)
                if less is None or less >= amount or not tries_left:
                    self._keeper.refused(budget)
                    raise
                amount = less
                held.keep_to(budget.unit, less)
        if lease is not None:
            held.add(lease, budget.unit, amount)

    def take_slot(self, agent: str) -> None:
        """Raises `Denied` (rate_limited)."""
        taken = self._taken.get(agent, 0)
        if taken >= self._slots:
            raise refuse_slot(self._slots)
        self._taken[agent] = taken + 1

    def give_slot(self, agent: str) -> None:
        taken = self._taken[agent] - 1
        if taken:
            self._taken[agent] = taken
        else:
            del self._taken[agent]


def foreseen(budget: BudgetRow, bound: Bound | None) -> int | None:
    """The most that an exchange may use; None: it uses nothing of this. Raises `Denied` when nobody knows."""
    if budget.unit == "requests":
        return 1
    if bound is None:
        return None
    if budget.unit == "tokens":
        return max(0, bound.tokens)
    if bound.nano_usd is None:
        raise refuse_priceless(budget)
    return max(0, bound.nano_usd)


def find_less(budget: BudgetRow, bound: Bound | None, shortage: Shortage) -> int | None:
    """The amount that is left, if the exchange can be limited to it; None: it is refused.

    While others have much set aside, what is left may be little for a moment only: then it has to be enough.
    """
    if budget.unit == "requests" or bound is None:
        return None
    less = bound.enough if shortage.reserved else bound.least
    if less is None:
        return None
    wanted = foreseen(budget, less)
    return shortage.left if wanted is not None and shortage.left >= wanted else None


def used(unit: Unit, usage: Usage) -> int:
    """The amount that a completed exchange has used."""
    if unit == "requests":
        return 1
    if unit == "tokens":
        return usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    return usage.get("cost_nano_usd", 0)
