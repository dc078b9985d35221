"""Limits: budgets of requests, tokens and USD, exact on any number of workers and replicas; concurrency of agents.

What an exchange may use is set aside before its intent, and what it did use is counted when it is over. README.md has
the map.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from mastio.exchange.budgets import Usage, window_at
from mastio.exchange.errors import ConfigurationError, Unavailable
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_limits.budget import BudgetRow
from mastio_limits.collection import BUDGETS
from mastio_limits.lease_manager import LeaseManager
from mastio_limits.limits import Limits
from mastio_limits.metrics import BudgetMetrics

SHOW = 5.0
"""Seconds between two looks of control at what all workers have spent, for `/metrics`."""


class Settings(PluginSettings):
    """`concurrent_per_agent`: how many LLM calls of one agent may be under way at once in each worker; 0: any number.
    Budgets are objects of the control plane: `docs/limits.md`."""

    concurrent_per_agent: int = Field(default=0, ge=0, le=100_000)


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    try:
        await services.leases.take_over(services.now())
    except Unavailable as error:
        raise ConfigurationError("The counts of the budgets do not answer.", "See the database's own log.") from error
    figures, ending = BudgetMetrics(), asyncio.Event()
    keeper = LeaseManager(
        services.leases, f"{services.worker.node}/{services.worker.incarnation}", services.now, figures
    )
    limits = Limits(services.directory, keeper, settings.concurrent_per_agent)
    services.directory.on_change(limits.reload)
    keeping = asyncio.create_task(keeper.run(ending), name="budget-leases")
    showing = asyncio.create_task(show(services, figures), name="budget-figures")
    try:
        yield Hooks(reserve=limits.reserve, in_force={BUDGETS.name: limits.in_force}, ready=limits.ready)
    finally:
        showing.cancel()
        ending.set()
        await asyncio.wait((keeping, showing))


async def show(services: Services, figures: BudgetMetrics) -> None:
    """Control shows what there is, also of budgets that nobody uses just now."""
    shown: dict[str, BudgetRow] = {}
    while services.plane == "control":
        now, budgets = (
            services.now(),
            {n: row for n, row in BUDGETS.find_rows(services.directory).items() if not row.is_damaged},
        )
        if budgets or shown:
            try:
                usage = await services.leases.usage(
                    (budget.series, window_at(budget.period, now)) for budget in budgets.values()
                )
            except Unavailable:
                usage = None  # the exchanges that need it say so already
            if usage is not None:
                for budget in [shown[name] for name in shown.keys() - budgets.keys()]:
                    figures.vanished(budget)
                for budget in budgets.values():
                    figures.appeared(budget)
                    figures.counted(budget, usage.get(budget.series, Usage()).spent)
                shown = budgets
        await asyncio.sleep(SHOW)


plugin = Plugin(name="limits", settings=Settings, setup=setup, collections=(BUDGETS,))
