"""Four eyes: what an endpoint with `second` would do is held until another admin approves it.

`guard` stands around such an endpoint. FastAPI has validated the request by then, so what is held is a request that
was found good. An approval lets the same application answer the stored request again, as the requester's, with the
mark `hold` in its state; only this module sets it, and no request from outside can.

The approver gets the answer of what was approved. So no token is in it: where one would be, the requester is given a
one-time code when the request is held, and who has the code gives the new admin a token later.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.responses import JSONResponse

from mastio.control.context import CLAIM, Context
from mastio.control.endpoints import Endpoint
from mastio.control.inprocess import Application, call_application
from mastio.control.models import PendingChange
from mastio.exchange.presented_credentials import digest_secret
from mastio.exchange.records import Hold
from mastio.exchange.values import Principal
from mastio.identity.principal import ROLES
from mastio.plugin.fields import encode_time
from mastio.store.admins import new_claim
from mastio.store.holds import new_hold_id

HOLDS = "/v1/admin/holds"
MARK = "hold"
REQUEST = "request_of_four_eyes"

Judge = Callable[[bytes], Awaitable[None]]


class FourEyes:
    """`seconds` is how long an approval is waited for."""

    def __init__(self, context: Context, seconds: float) -> None:
        self._context = context
        self._seconds = seconds

    def guard(self, kind: str, endpoint: Endpoint) -> Endpoint:
        """The endpoint, for routes of this kind, with a second admin before it where it needs one."""
        if not endpoint.second:
            return endpoint

        async def guarded(**values: Any) -> Any:
            request: Request = values.pop(REQUEST)
            state = request.scope["state"]
            if MARK in state or (endpoint.alone is not None and await endpoint.alone(state["principal"], values)):
                return await endpoint.call(**values)
            if endpoint.find is not None:
                await endpoint.find(values)
            return await self._hold(kind, request, claims=endpoint.claims)

        functools.update_wrapper(guarded, endpoint.call)
        guarded.__signature__ = _with_request(endpoint.call)  # type: ignore[attr-defined]
        return Endpoint(guarded, endpoint.status, {**endpoint.more, 202: PendingChange}, endpoint.takes)

    async def _hold(self, kind: str, request: Request, *, claims: bool) -> Response:
        """Keep the request, and say who has to do what. Raises `Unavailable`: it cannot be kept, nothing is done."""
        now, scope = self._context.now(), request.scope
        principal: Principal = scope["state"]["principal"]
        body, raw = await request.json(), await request.body()
        parameters = {"method": scope["method"], "path": scope["path"], "body": body}
        claim = None
        if claims and not (isinstance(body, dict) and body.get("token_sha256")):
            claim = new_claim()
            parameters[CLAIM] = digest_secret(claim.encode("ascii"))
        hold = await self._context.store.holds.create(
            Hold(
                id=new_hold_id(),
                exchange=scope["state"]["request_id"],
                requested_by=principal.name,
                action=kind,
                method=scope["method"],
                path=scope["path"],
                body=raw,
                parameters=parameters,
                created_at=now,
                expires_at=now + self._seconds,
            )
        )
        note_facts(request, hold=hold.id)
        answer = PendingChange(
            id=hold.id,
            action=kind,
            expires_at=encode_time(hold.expires_at),
            approve=f"{HOLDS}/{hold.id}/approve",
            claim=claim,
        )
        return JSONResponse(answer.model_dump(mode="json", exclude_none=True), 202)


def _with_request(call: Callable[..., Any]) -> inspect.Signature:
    """The signature that FastAPI reads: the endpoint's own parameters, and the request itself."""
    own = inspect.signature(call, eval_str=True)
    more = inspect.Parameter(REQUEST, inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    return own.replace(parameters=[*own.parameters.values(), more])


async def carry_out(application: Application, judges: Mapping[str, Judge], hold: Hold) -> tuple[int, Any]:
    """Status and JSON of the stored request, answered as the requester's. Its `MastioError`s pass through.

    `judges`: by the kind of action, what a body needs before it is validated (`Collection.judge`).
    """
    requester = Principal(hold.requested_by, ROLES["admin"], credential={"type": "admin", "name": hold.requested_by})
    headers = [(b"content-type", b"application/json")] if hold.body else []
    if (judge := judges.get(hold.action)) is not None:
        await judge(hold.body)  # perhaps another worker has judged it, and long ago
    state = {"principal": requester, "request_id": hold.exchange, MARK: hold.id, CLAIM: hold.parameters.get(CLAIM)}
    reply = await call_application(application, hold.method, hold.path, headers, hold.body, state)
    return reply.status, orjson.loads(reply.body) if isinstance(reply.body, bytes) and reply.body else None


def note_facts(request: Request, **facts: str | int) -> None:
    """Adds facts to the outcome entry of this exchange: names and numbers, never content."""
    request.scope["state"].setdefault("facts", {}).update(facts)
