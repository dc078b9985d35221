"""Figures of the budgets for `/metrics`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from mastio_limits.budget import BudgetRow

NANO = 10**9
LIMIT = "mastio_budget_limit"
SPENT = "mastio_budget_spent"


class BudgetMetrics:
    """This worker's metrics of the budgets. Amounts in the unit of the budget's limit; USD as such."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        labels = ("budget", "unit")
        self._limit = Gauge(
            LIMIT, "What the budget allows in its period; 0 when it is not there any more.", labels,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._spent = Gauge(
            SPENT, "What was spent of it in the present period.", labels,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._refusals = Counter(
            "mastio_budget_refusals", "Exchanges that were refused because of the budget.", ("budget",),
            registry=registry,
        )  # fmt: skip

    def appeared(self, budget: BudgetRow) -> None:
        self._limit.labels(budget.name, budget.unit).set(_amount(budget, budget.limit))
        self._refusals.labels(budget.name)

    def vanished(self, budget: BudgetRow) -> None:
        self._limit.labels(budget.name, budget.unit).set(0)
        self._spent.labels(budget.name, budget.unit).set(0)

    def counted(self, budget: BudgetRow, spent: int) -> None:
        self._spent.labels(budget.name, budget.unit).set(_amount(budget, spent))

    def refused(self, budget: BudgetRow) -> None:
        self._refusals.labels(budget.name).inc()


def _amount(budget: BudgetRow, count: int) -> float:
    return count / NANO if budget.unit == "usd" else float(count)
