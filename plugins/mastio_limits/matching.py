"""The budgets that apply to an exchange. Pure over the budgets; cached until they change."""

from __future__ import annotations

from collections.abc import Iterable

from mastio.exchange.matching import covers_model
from mastio.exchange.values import Action, Principal
from mastio_limits.budget import BudgetRow

REMEMBER = 50_000

NOT_LIMITED = frozenset({"Appliance", "Token"})
"""Target types without a budget: such actions cost nothing, and a spent budget must not prevent them."""


class Matching:
    """The budgets in force, by what they are looked up with."""

    def __init__(self, budgets: Iterable[BudgetRow] = ()) -> None:
        ordered = sorted(budgets, key=lambda budget: budget.name)
        self._everybody = [budget for budget in ordered if budget.scope is None]
        self._models = [budget for budget in ordered if budget.scope == "model"]
        self._agents = _by_subject(budget for budget in ordered if budget.scope == "agent")
        self._groups = _by_subject(budget for budget in ordered if budget.scope == "group")
        self._remembered: dict[tuple[str, int, str, str, str | None], tuple[BudgetRow, ...]] = {}
        self.is_empty = not ordered

    def find(self, principal: Principal, action: Action) -> tuple[BudgetRow, ...]:
        """In the order of their names."""
        key = (principal.name, principal.version, action.target_type, action.target, action.alias)
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= REMEMBER:
                self._remembered.clear()
            found = self._remembered[key] = self._look(principal, action)
        return found

    def _look(self, principal: Principal, action: Action) -> tuple[BudgetRow, ...]:
        found = [*self._everybody, *self._agents.get(principal.name, ())]
        for group in principal.groups:
            found += self._groups.get(group, ())
        if action.target_type == "Model":
            found += [budget for budget in self._models if covers_model(budget.subject or "", action)]
        return tuple(sorted(found, key=lambda budget: budget.name))


def _by_subject(budgets: Iterable[BudgetRow]) -> dict[str, list[BudgetRow]]:
    found: dict[str, list[BudgetRow]] = {}
    for budget in budgets:
        found.setdefault(budget.subject or "", []).append(budget)
    return found
