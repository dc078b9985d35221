"""The operators' part of enrolment: decisions on requests, and one-time tokens that decide in advance."""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import Body, Query

from mastio.control.context import Caller, Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import EnrollmentAnswer, NewTokenAnswer, Reason, TokenAnswer, TokenBody
from mastio.control.paging import PagingQuery, answer_page
from mastio.exchange.records import Enrollment, EnrollmentStatus, EnrollmentToken
from mastio.plugin.fields import Page, encode_time

ReasonBody = Annotated[Reason | None, Body()]


class EnrollmentsRouter:
    """`/v1/admin/enrollments` and `/v1/admin/enrollment-tokens`."""

    def __init__(self, context: Context) -> None:
        self._enrollments = context.store.enrollments
        self._tokens = context.store.tokens
        self._context = context

    def endpoints(self) -> Endpoints:
        requests, tokens = "/v1/admin/enrollments", "/v1/admin/enrollment-tokens"
        return {
            ("GET", requests): Endpoint(self.list_requests),
            ("GET", requests + "/{id}"): Endpoint(self.read_request),
            ("POST", requests + "/{id}/approve"): Endpoint(self.approve),
            ("POST", requests + "/{id}/reject"): Endpoint(self.reject),
            ("GET", tokens): Endpoint(self.list_tokens),
            ("POST", tokens): Endpoint(self.create_token, status=201),
            ("DELETE", tokens + "/{id}"): Endpoint(self.delete_token, status=204),
        }

    async def list_requests(
        self, paging: PagingQuery, status: Annotated[EnrollmentStatus | None, Query()] = None
    ) -> Page[EnrollmentAnswer]:
        """The oldest first; `status` selects."""
        page = await self._enrollments.list(paging.limit, paging.after_number(), self._context.now(), status)
        return answer_page(page, lambda item: str(item.place), answer_enrollment)

    async def read_request(self, id: str) -> EnrollmentAnswer:
        """One request, decided or not."""
        return answer_enrollment(await self._enrollments.get(id, self._context.now()))

    async def approve(self, id: str, caller: Caller, body: ReasonBody = None) -> EnrollmentAnswer:
        """Issues the leaf at once; the agent picks it up."""
        reason = body.reason if body else None
        issued = await self._enrollments.approve(id, caller.name, reason, self._context.now(), self._context.issue)
        return answer_enrollment(issued)

    async def reject(self, id: str, caller: Caller, body: ReasonBody = None) -> EnrollmentAnswer:
        """The agent is told so, with the reason."""
        reason = body.reason if body else None
        return answer_enrollment(await self._enrollments.reject(id, caller.name, reason, self._context.now()))

    async def list_tokens(self, paging: PagingQuery) -> Page[TokenAnswer]:
        """The oldest first, without the tokens themselves."""
        page = await self._tokens.list(paging.limit, paging.after_number())
        return answer_page(page, lambda item: str(item.place), answer_token)

    async def create_token(self, body: TokenBody, caller: Caller) -> NewTokenAnswer:
        """`token` is shown this once."""
        now = self._context.now()
        made, text = await self._tokens.create(body.name, body.uses, now + body.ttl_seconds, caller.name, now)
        return NewTokenAnswer(token=text, **answer_token(made).model_dump())

    async def delete_token(self, id: str) -> None:
        """The token is good for nothing any more."""
        await self._tokens.delete(id)


def answer_enrollment(enrollment: Enrollment) -> EnrollmentAnswer:
    return EnrollmentAnswer(
        id=enrollment.id,
        name=enrollment.name,
        status=enrollment.status,
        reason=enrollment.reason,
        key_sha256=hashlib.sha256(enrollment.public_key).hexdigest(),
        dpop_jwk=enrollment.dpop_jwk,
        created_at=encode_time(enrollment.created_at),
        expires_at=encode_time(enrollment.expires_at),
        decided_at=None if enrollment.decided_at is None else encode_time(enrollment.decided_at),
        decided_by=enrollment.decided_by,
        decision_reason=enrollment.decision_reason,
    )


def answer_token(token: EnrollmentToken) -> TokenAnswer:
    return TokenAnswer(
        id=token.id,
        name=token.name,
        uses_left=token.uses_left,
        created_at=encode_time(token.created_at),
        created_by=token.created_by,
        expires_at=encode_time(token.expires_at),
    )
