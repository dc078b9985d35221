"""A budget, as the hot copy has it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mastio.exchange.budgets import Period

Unit = Literal["usd", "tokens", "requests"]


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A limit on what agents use in a period. `limit` in the unit: tokens, requests, or 10^-9 USD.

    `scope` says whose: of one agent, of all members of a group, of a model (a glob on `provider/model`, a model's own
    name, or an alias), named by `subject`; None: of everybody together. `series` names the count: it is another one
    whenever the budget begins to count something else. `is_damaged` as in `RedactionRow`.
    """

    name: str
    unit: Unit
    limit: int
    period: Period
    series: str
    scope: Literal["agent", "group", "model"] | None = None
    subject: str | None = None
    is_damaged: bool = False

    def __post_init__(self) -> None:
        if self.limit < 0 or (self.scope is None) != (self.subject is None):
            raise ValueError("a limit below zero, or half of a subject")
