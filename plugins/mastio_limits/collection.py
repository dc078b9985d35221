"""The collection `budgets`: limits of what agents use in a period, and what is spent of them.

They are in force all together or not at all. A damaged one is shown as one that lets nothing pass.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from mastio.exchange.budgets import Period, Usage, window_at
from mastio.plugin.collection import Collection, Serializer
from mastio.plugin.fields import AgentName, Answer, Body, Group, ModelName, Name, encode_time
from mastio.plugin.last_good import verify_whole
from mastio_limits.budget import BudgetRow, Unit

NANO = 10**9
MAX_LIMIT = 10**15
_DECIMAL = re.compile(r"\d{1,16}(\.\d{1,9})?", re.ASCII)

MOST_BUDGETS = 20_000
"""More than of other objects: there may be one for each agent, and they are found by its name."""


def _nano_usd(value: Any) -> int:
    """USD as a number or a decimal string to 10^-9 USD, exactly. A number is taken as it would be written shortest."""
    text = value if isinstance(value, str) else repr(value)
    try:
        amount = Decimal(text) if isinstance(value, float) or _DECIMAL.fullmatch(text) else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    nano = amount * NANO
    if isinstance(value, float) and len(amount.as_tuple().digits) > 15:
        raise ValueError("it has more digits than a JSON number surely keeps; write it as a string")
    if not nano.is_finite() or nano != nano.to_integral_value() or not 0 <= nano <= MAX_LIMIT * 100:
        raise ValueError("it must be an amount in USD from 0 to 100000000 with nine decimals at most")
    return int(nano)


NanoUsd = Annotated[int, BeforeValidator(_nano_usd, json_schema_input_type=float | str)]
Limit = Annotated[int, Field(ge=0, le=MAX_LIMIT)]


class BudgetMembers(Body):
    """The scope of a budget (one agent, group or model; none: all calls together), and its limit (one of three
    units)."""

    agent: AgentName | None = None
    group: Group | None = None
    model: ModelName | None = None
    limit_usd: NanoUsd | None = None
    limit_tokens: Limit | None = None
    limit_requests: Limit | None = None

    @model_validator(mode="after")
    def not_two(self) -> Self:
        if len([1 for it in (self.agent, self.group, self.model) if it is not None]) > 1:
            raise ValueError("give one of agent, group and model, or none of them")
        if len([1 for it in (self.limit_usd, self.limit_tokens, self.limit_requests) if it is not None]) > 1:
            raise ValueError("give one of limit_usd, limit_tokens and limit_requests")
        return self

    def given_limit(self) -> tuple[Unit, int] | None:
        if self.limit_usd is not None:
            return "usd", self.limit_usd
        if self.limit_tokens is not None:
            return "tokens", self.limit_tokens
        return None if self.limit_requests is None else ("requests", self.limit_requests)

    def given_scope(self) -> tuple[Literal["agent", "group", "model"], str] | None:
        if self.agent is not None:
            return "agent", self.agent
        if self.group is not None:
            return "group", self.group
        return None if self.model is None else ("model", self.model)


class BudgetPut(BudgetMembers):
    name: Name | None = None
    period: Period

    @model_validator(mode="after")
    def with_limit(self) -> Self:
        if self.given_limit() is None:
            raise ValueError("give one of limit_usd, limit_tokens and limit_requests")
        return self


class BudgetBody(BudgetPut):
    name: Name


class BudgetPatch(BudgetMembers):
    """Members that are left out, or null, stay as they are; a limit or a subject takes the place of the present one."""

    period: Period | None = None


class BudgetAnswer(Answer):
    """`spent`, `reserved` (set aside by exchanges under way) and `left` are of the present period, in the limit's unit.

    `left` is negative where more was used than could be foreseen. `renews_at` is null where the period has no end.
    """

    name: str
    agent: str | None
    group: str | None
    model: str | None
    limit_usd: float | None
    limit_tokens: int | None
    limit_requests: int | None
    period: Period
    spent: int | float
    reserved: int | float
    left: int | float
    renews_at: datetime | None


class BudgetSerializer(Serializer[BudgetRow]):
    """The bodies of `/v1/admin/budgets`. The count goes on where only the limit is another."""

    body, put, patch, answer = BudgetBody, BudgetPut, BudgetPatch, BudgetAnswer

    def make(self, name: str, body: BudgetPut) -> BudgetRow:
        return budget_row(name, body)

    def replace(self, present: BudgetRow, new: BudgetRow) -> BudgetRow:
        return continued(present, new)

    def change(self, present: BudgetRow, patch: BudgetPatch) -> BudgetRow:
        return changed_budget(present, patch)

    async def show(self, rows: Sequence[BudgetRow]) -> list[Answer]:
        """With what is spent and set aside in the present period. Raises `Unavailable`."""
        now = self.desk.now()
        placed = [(row, window_at(row.period, now)) for row in rows]
        usage = await self.desk.usage((row.series, window) for row, window in placed)
        return [answer_budget(row, window.end, usage.get(row.series, Usage())) for row, window in placed]


def _damaged(name: str, members: Mapping[str, Any]) -> BudgetRow:
    del members
    return BudgetRow(name, "requests", 0, "total", "", is_damaged=True)


def _inherit(row: BudgetRow, agent: str) -> BudgetRow:
    """A budget of this agent goes on to hold, and counts nothing of what who had the name before has spent."""
    if row.is_damaged or row.scope != "agent" or row.subject != agent:
        return row
    return replace(row, series=secrets.token_hex(16))


BUDGETS = Collection(
    name="budgets",
    noun="budget",
    nouns="budgets",
    row=BudgetRow,
    serializer=BudgetSerializer,
    damaged=_damaged,
    most=MOST_BUDGETS,
    limit=16 * 1024,
    needs_second=True,
    key=lambda row: row.series,
    inherit=_inherit,
)


def budget_row(name: str, body: BudgetPut) -> BudgetRow:
    """With a count of its own."""
    limited = body.given_limit()
    if limited is None:
        raise TypeError("the model must see to it that there is a limit")
    scope, subject = body.given_scope() or (None, None)
    unit, limit = limited
    return BudgetRow(name, unit, limit, body.period, secrets.token_hex(16), scope, subject)


def changed_budget(old: BudgetRow, body: BudgetPatch) -> BudgetRow:
    verify_whole(old)
    unit, limit = body.given_limit() or (old.unit, old.limit)
    scope, subject = body.given_scope() or (old.scope, old.subject)
    period, series = body.period or old.period, secrets.token_hex(16)
    return continued(old, BudgetRow(old.name, unit, limit, period, series, scope, subject))


def continued(old: BudgetRow, new: BudgetRow) -> BudgetRow:
    """`new`, going on with the count of `old` where it counts the same."""
    same = replace(new, limit=old.limit, series=old.series) == old
    return replace(new, series=old.series) if same else new


def answer_budget(row: BudgetRow, renews_at: int | None, usage: Usage) -> BudgetAnswer:
    """Amounts in the unit of the limit; of USD, the nearest number with nine decimals."""

    def amount(count: int) -> int | float:
        return count / NANO if row.unit == "usd" else count

    return BudgetAnswer(
        name=row.name,
        agent=row.subject if row.scope == "agent" else None,
        group=row.subject if row.scope == "group" else None,
        model=row.subject if row.scope == "model" else None,
        limit_usd=amount(row.limit) if row.unit == "usd" else None,
        limit_tokens=row.limit if row.unit == "tokens" else None,
        limit_requests=row.limit if row.unit == "requests" else None,
        period=row.period,
        spent=amount(usage.spent),
        reserved=amount(usage.leased),
        left=amount(row.limit - usage.spent - usage.leased),
        renews_at=None if renews_at is None else encode_time(renews_at),
    )
