"""Budgets, as an admin describes them, and what is spent of them.

They are in force all together or not at all, as in `policies`. A damaged one is shown as one that lets nothing pass."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace

from mastio.budgets import Usage, window_at
from mastio.control.context import Context, verify_whole
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import (
    NANO,
    BudgetAnswer,
    BudgetBody,
    BudgetPatch,
    BudgetPut,
    Page,
    encode_time,
)
from mastio.control.paging import PagingQuery, answer_page
from mastio.errors import BadRequest
from mastio.store.base import BudgetRow


class BudgetsRouter:
    """`/v1/admin/budgets`."""

    def __init__(self, context: Context) -> None:
        self._budgets = context.store.budgets
        self._usage = context.store.usage
        self._now = context.now
        self._verifiers = context.verifiers

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/budgets", "/v1/admin/budgets/{name}"
        return {
            ("GET", collection): Endpoint(self.list_budgets),
            ("POST", collection): Endpoint(self.create_budget, status=201, second=True),
            ("GET", item): Endpoint(self.read_budget),
            ("PUT", item): Endpoint(self.replace_budget, second=True),
            ("PATCH", item): Endpoint(self.change_budget, second=True),
            ("DELETE", item): Endpoint(self.delete_budget, status=204, second=True),
        }

    async def list_budgets(self, paging: PagingQuery) -> Page[BudgetAnswer]:
        """In the order of their names."""
        page = await self._budgets.list(paging.limit, paging.after)
        answers = {answer.name: answer for answer in await self._answer(page.items)}
        return answer_page(page, lambda budget: budget.name, lambda budget: answers[budget.name])

    async def create_budget(self, body: BudgetBody) -> BudgetAnswer:
        """In force on every worker and replica within a second; it counts from then on."""
        return await self._changed(await self._budgets.create(budget_row(body.name, body)))

    async def read_budget(self, name: str) -> BudgetAnswer:
        """One budget, with what is spent and set aside in the present period."""
        return await self._answer_one(await self._budgets.get(name))

    async def replace_budget(self, name: str, body: BudgetPut) -> BudgetAnswer:
        """Everything anew. The count goes on where only the limit is another."""
        if body.name is not None and body.name != name:
            raise BadRequest("name: it must be the one in the path.", code="invalid_body")
        row = budget_row(name, body)
        return await self._changed(await self._budgets.change(name, lambda old: continued(old, row)))

    async def change_budget(self, name: str, body: BudgetPatch) -> BudgetAnswer:
        """Members that are left out, or null, stay as they are. The count goes on where only the limit is another."""
        return await self._changed(await self._budgets.change(name, lambda old: changed_budget(old, body)))

    async def delete_budget(self, name: str) -> None:
        """What it limited is free within a second."""
        await self._budgets.delete(name)
        self._verifiers.verify_in_force("budgets")

    async def _changed(self, row: BudgetRow) -> BudgetAnswer:
        self._verifiers.verify_in_force("budgets")
        return await self._answer_one(row)

    async def _answer_one(self, row: BudgetRow) -> BudgetAnswer:
        return (await self._answer([row]))[0]

    async def _answer(self, rows: Iterable[BudgetRow]) -> list[BudgetAnswer]:
        now = self._now()
        placed = [(row, window_at(row.period, now)) for row in rows]
        usage = await self._usage.read((row.series, window) for row, window in placed)
        return [answer_budget(row, window.end, usage.get(row.series, Usage())) for row, window in placed]


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
