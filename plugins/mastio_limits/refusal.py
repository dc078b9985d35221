"""The refusal of an exchange that would exceed a limit. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from mastio.exchange.budgets import BudgetWindow
from mastio.exchange.errors import Denied
from mastio_limits.budget import BudgetRow

LONGEST = 3600
"""The longest `Retry-After`, in seconds. A longer wait would keep the caller from noticing that an admin has raised the
budget."""

NANO = 10**9


@dataclass(frozen=True, slots=True)
class Shortage:
    """A request for `amount` in a window in which `spent` is used for good and `reserved` is set aside."""

    amount: int
    limit: int
    spent: int
    reserved: int

    @property
    def left(self) -> int:
        return max(0, self.limit - self.spent - self.reserved)

    @property
    def will_pass(self) -> bool:
        """True if only exchanges that are still under way stand before it."""
        return self.spent + self.amount <= self.limit


class Short(Denied):
    """A budget has not so much left as was asked for."""

    shortage: Shortage


def refuse_budget(budget: BudgetRow, window: BudgetWindow, shortage: Shortage, now: float) -> Short:
    """`rate_limited` for so many requests a minute or hour, else `budget_exceeded`."""
    rate = budget.unit == "requests" and budget.period in ("minute", "hour")
    unit = "USD" if budget.unit == "usd" else budget.unit
    left, limit = write_amount(budget, shortage.left), write_amount(budget, shortage.limit)
    said = f"The budget {budget.name} has {left} of {limit} {unit} left"
    if shortage.left:
        said += f", and this request may use {write_amount(budget, shortage.amount)}"
    seconds = None if window.end is None else max(1, math.ceil(window.end - now))
    headers = [
        ("Retry-After", str(_wait(seconds, shortage))),
        (f"x-ratelimit-limit-{budget.unit}", limit),
        (f"x-ratelimit-remaining-{budget.unit}", left),
    ]
    if window.end is None or seconds is None:
        said += "; it does not renew."
    else:
        said += f"; it renews at {datetime.fromtimestamp(window.end, UTC):%Y-%m-%dT%H:%M:%SZ}."
        headers.append((f"x-ratelimit-reset-{budget.unit}", f"{seconds}s"))
    if not rate and not shortage.will_pass:
        headers.append(("x-should-retry", "false"))  # the SDKs would try twice more within seconds
    denied = Short(said, code="rate_limited" if rate else "budget_exceeded", headers=tuple(headers))
    denied.shortage = shortage
    denied.add_note(f"budget/{budget.name}")
    return denied


def refuse_priceless(budget: BudgetRow) -> Denied:
    """Waiting would not help, so it is no 429."""
    denied = Denied(f"What this model costs is not known, so the budget {budget.name} cannot be kept with it.")
    denied.add_note(f"budget/{budget.name}")
    return denied


def refuse_slot(slots: int) -> Denied:
    denied = Denied(
        f"{slots} requests of this agent are under way, and no more may be at once.",
        code="rate_limited",
        headers=(("Retry-After", "1"),),
    )
    denied.add_note("limits/concurrent_per_agent")
    return denied


def write_amount(budget: BudgetRow, count: int) -> str:
    """The amount in the unit that the budget was given in."""
    if budget.unit != "usd":
        return str(count)
    return format((Decimal(count) / NANO).normalize(), "f")


def _wait(seconds: int | None, shortage: Shortage) -> int:
    if shortage.will_pass:
        return 1
    return LONGEST if seconds is None else min(seconds, LONGEST)
