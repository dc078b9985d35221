"""The actions that wait for approval, and the decision on them."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Body, Query, Request

from mastio.control.admin.four_eyes import HOLDS, note_facts
from mastio.control.context import Caller, Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import Approved, HoldAnswer, Reason, Result
from mastio.control.paging import PagingQuery, answer_page
from mastio.exchange.errors import MastioError, Unavailable
from mastio.exchange.records import Hold, HoldStatus
from mastio.plugin.fields import Page, encode_time

ReasonBody = Annotated[Reason | None, Body()]
CarryOut = Callable[[Hold], Awaitable[tuple[int, Any]]]


class HoldsRouter:
    """`/v1/admin/holds`. `carry_out` answers the stored request."""

    def __init__(self, context: Context, carry_out: CarryOut) -> None:
        self._context = context
        self._holds = context.store.holds
        self._carry_out = carry_out

    def endpoints(self) -> Endpoints:
        return {
            ("GET", HOLDS): Endpoint(self.list_holds),
            ("GET", HOLDS + "/{id}"): Endpoint(self.read_hold),
            ("POST", HOLDS + "/{id}/approve"): Endpoint(self.approve),
            ("POST", HOLDS + "/{id}/reject"): Endpoint(self.reject),
        }

    async def list_holds(
        self, paging: PagingQuery, status: Annotated[HoldStatus | None, Query()] = None
    ) -> Page[HoldAnswer]:
        """The oldest first; `status` selects."""
        page = await self._holds.list(paging.limit, paging.after_number(), self._context.now(), status)
        return answer_page(page, lambda hold: str(hold.place), answer_hold)

    async def read_hold(self, id: str) -> HoldAnswer:
        """One hold, decided or not. `parameters` is the whole request."""
        return answer_hold(await self._holds.get(id, self._context.now()))

    async def approve(self, id: str, caller: Caller, request: Request, body: ReasonBody = None) -> Approved:
        """Carries an admin's request out, once, as it stands; `result` is its answer, an error of it the answer here.

        An agent's may then be made by the agent, once: `result` is null.
        """
        hold = await self._holds.approve(id, caller.name, body.reason if body else None, self._context.now())
        if hold.agent is not None:
            note_facts(request, hold=hold.id, requested_by=hold.agent, approved_by=caller.name, action=hold.action)
            return Approved(id=hold.id, result=None)
        try:
            status, document = await self._carry_out(hold)
        except MastioError:
            with contextlib.suppress(Unavailable):  # then it stays `approved`, and the log says that it failed
                await self._holds.fail(id)
            raise
        note_facts(
            request, hold=hold.id, requested_by=hold.requested_by, approved_by=caller.name, action=hold.action,
            change=f"{hold.method} {hold.path}", result=status,
        )  # fmt: skip
        return Approved(id=hold.id, result=Result(status=status, body=document))

    async def reject(self, id: str, caller: Caller, request: Request, body: ReasonBody = None) -> HoldAnswer:
        """Nothing will come of it. Who asked may reject too: to take it back."""
        hold = await self._holds.reject(id, caller.name, body.reason if body else None, self._context.now())
        note_facts(request, hold=hold.id, requested_by=hold.requested_by)
        return answer_hold(hold)


def answer_hold(hold: Hold) -> HoldAnswer:
    return HoldAnswer(
        id=hold.id,
        exchange=hold.exchange,
        agent=hold.agent,
        requested_by=hold.requested_by,
        action=hold.action,
        parameters=hold.parameters,
        status=hold.status,
        created_at=encode_time(hold.created_at),
        expires_at=encode_time(hold.expires_at),
        decided_at=None if hold.decided_at is None else encode_time(hold.decided_at),
        decided_by=hold.decided_by,
        reason=hold.reason,
    )
