"""One call to a connection: what it is, whether the connection takes it, and how it is carried out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from mastio.exchange.destination import find_destination
from mastio.exchange.errors import BadRequest, Denied, DispatchError
from mastio.exchange.inspection import Finding
from mastio.exchange.values import JSON, Action, Entry, Intake, Message, Principal, Recorded, Reply, RequestHead
from mastio.host import aside
from mastio.http.strictjson import Allowance, JsonError, TooManyValues, parse
from mastio.plugin.services import NoteEvent, UpstreamReply
from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.connections.credentials import Outgoing
from mastio_egress.connections.paths import find_upstream_path, is_allowed
from mastio_egress.connections.registry import ConnectionRegistry, OpenConnection
from mastio_egress.header_policy import declared_length, left_out, outgoing
from mastio_egress.redirects import MOST_REDIRECTS, Hop, follow
from mastio_egress.replies import Answered, answer
from mastio_egress.texts import open_layout

Permits = Callable[[Principal, Action, Sequence[Finding]], Awaitable[bool]]
Close = Callable[[], Awaitable[None]]
Sending = AbstractAsyncContextManager[UpstreamReply]

KIND = "egress.http"
REDIRECT = "egress.redirect"
"""An event in the log: a redirect of this exchange is about to be followed."""
WRITTEN = frozenset({"headers_left_out"})
"""Details of an entry that the caller wrote."""

MOST_WHOLE = 10 * 1024 * 1024
"""Bytes of a body that has to be read whole, because it is inspected or signed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`path` is behind the base URL, with the query. `headers` go upstream, besides the credential."""

    opened: OpenConnection
    path: str
    headers: list[tuple[str, str]]


class Calls:
    """The hooks of `egress.http`."""

    def __init__(self, registry: ConnectionRegistry, permits: Permits, note: NoteEvent) -> None:
        """`permits` and `note`: those of `Services`."""
        self._registry = registry
        self._permits = permits
        self._note = note

    def take_in(self, head: RequestHead, principal: Principal) -> Intake:
        """Raises `BadRequest` and `Denied`."""
        opened = self._find(head)
        row = opened.row
        is_whole = row.inspect_request or opened.injection.needs_whole_body
        if is_whole:
            return Intake(min(row.limits.request_bytes, MOST_WHOLE))
        return Intake(row.limits.request_bytes, streams=True)

    async def read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        """Raises `BadRequest` and `Denied`."""
        opened = self._find(head)
        row = opened.row
        plan = self._plan(opened, head)
        destination = find_destination(row.base_url)
        attributes = {
            "request.method": head.method,
            "request.path": plan.path.partition("?")[0],
            "request.bytes": len(body) or _most(head, row),
            "destination.host": destination.host,
            "destination.kind": "http",
            "destination.local": destination.local,
            "headers": plan.headers,
        }
        details: dict[str, JSON] = {"connection": row.name, "host": destination.host}
        unsent = left_out(head.headers, plan.headers)
        if unsent:
            details["headers_left_out"] = unsent
        layout = open_layout(row, head, plan.headers) if row.inspect_request or row.inspect_response else None
        document = await aside.run(aside.is_short(body), _read_json, head, body) if row.inspect_request else None
        action = Action(KIND, "Connection", row.name, attributes)
        return action, Message(body, document, details, plan, layout=layout, headers=plan.headers, written=WRITTEN)

    def _find(self, head: RequestHead) -> OpenConnection:
        opened = self._registry.find(head.params["connection"])
        if opened is None:
            raise BadRequest("There is no such connection.", code="not_found")
        return opened

    def _plan(self, opened: OpenConnection, head: RequestHead) -> Plan:
        row, rest = opened.row, head.params.get("path", "")
        path = find_upstream_path(row, rest, head.query)
        if not is_allowed(row, head.method, "/" + rest):
            raise Denied(
                "The connection does not take this method and path.",
                hint="Ask an admin to add them to the connection's methods and paths.",
            )
        headers = outgoing(head.headers, row.keep_headers, _may_ask_for_parts(opened), row.request_headers)
        return Plan(opened, path, headers)

    async def dispatch(self, recorded: Recorded) -> Reply:
        """Raises `DispatchError`."""
        plan: Plan = recorded.message.plan
        opened = plan.opened
        if self._registry.find(opened.row.name) is not opened:  # changed meanwhile: it may have waited for a human
            plan = self._plan(self._find(recorded.head), recorded.head)
            if (_judged(plan.opened.row), plan.headers) != (_judged(opened.row), recorded.message.headers):
                raise DispatchError("The connection was changed meanwhile; ask again.")
            opened = plan.opened
        if opened.injection.needs_whole_body and recorded.message.stream is not None:
            raise DispatchError("The connection was changed meanwhile; ask again.")
        opened.begin()
        is_stream = False
        try:
            reply = await self._carry_out(opened, plan, recorded, opened.leave)
            is_stream = not isinstance(reply.body, bytes)
            return reply
        finally:
            if not is_stream:
                await opened.leave()

    async def _carry_out(self, opened: OpenConnection, plan: Plan, recorded: Recorded, close: Close) -> Reply:
        """The request; again with a new token where the upstream refused the old one, and once for each redirect."""
        row = opened.row
        asked = Outgoing(recorded.head.method, plan.path, plan.headers, _body(recorded))
        hop, renewed, followed = Hop(opened.origin, asked), False, list[JSON]()
        for _ in range(MOST_REDIRECTS + 2):
            started = time.monotonic()
            sending, sent = await _send(opened, hop, recorded)
            needles = opened.needles  # now: tokens change
            is_stream = False
            try:
                upstream = await sending.__aenter__()
                if not renewed and _may_renew(opened, hop, sent, upstream):
                    renewed = True
                    continue
                locations = [value for name, value in upstream.headers if name == b"location"]
                further = follow(row, hop, upstream.status, locations)
                # what has the credential in it leads nowhere; what no policy permits is the caller's to ask for
                if (
                    further is not None
                    and not needles.find(locations[0])
                    and await self._is_permitted(recorded, further)
                ):
                    await self._record_hop(recorded, further)
                    followed.append(further.asked.path.partition("?")[0])
                    hop = further
                    continue

                async def leave(sending: Sending = sending) -> None:
                    try:
                        await sending.__aexit__(None, None, None)
                    finally:
                        await close()

                answered = Answered(upstream, row, needles, hop, started)
                reply = await answer(answered, leave)
                if followed:
                    reply.facts["followed"] = followed
                is_stream = not isinstance(reply.body, bytes)
                return reply
            finally:
                if not is_stream:  # whatever happened: the upstream must not go on working for nobody
                    await sending.__aexit__(None, None, None)
        raise DispatchError("The upstream redirected too often.")

    async def _is_permitted(self, recorded: Recorded, hop: Hop) -> bool:
        """True if policies permit what a redirect asks for, as if the agent had asked for it. What a human would have
        to approve does not count."""
        asked = hop.asked
        attributes = {
            **recorded.action.attributes,
            "request.method": asked.method,
            "request.path": asked.path.partition("?")[0],
            "destination.host": urlsplit(hop.origin).hostname or "",
            "headers": asked.headers,
        }
        action = replace(recorded.action, attributes=attributes)
        return await self._permits(recorded.principal, action, recorded.inspected.findings)

    async def _record_hop(self, recorded: Recorded, hop: Hop) -> None:
        """Have on stable storage what is about to be asked for: the intent names the first request only."""
        request: dict[str, JSON] = {
            "connection": recorded.action.target,
            "host": urlsplit(hop.origin).hostname or "",
            "method": hop.asked.method,
            "path": hop.asked.path.partition("?")[0],
        }
        await self._note(
            Entry(
                recorded.head.id, "event", REDIRECT, recorded.action.target, recorded.principal.name,
                decision={"effect": "allow"}, request=request,
            ),
            recorded.principal,
            recorded.action,
        )  # fmt: skip


def _judged(row: ConnectionRow) -> tuple[str, bool, bool]:
    """The settings by which a request was judged, inspected and recorded."""
    return row.base_url, row.inspect_request, row.inspect_response


def _may_ask_for_parts(opened: OpenConnection) -> bool:
    """True if nothing is looked for in replies."""
    return not opened.row.inspect_response and not opened.injection.is_shown


async def _send(opened: OpenConnection, hop: Hop, recorded: Recorded) -> tuple[Sending, Outgoing]:
    """With what is sent: with the credential, where it goes to the connection's own origin."""
    is_own = hop.origin == opened.origin
    asked = await opened.injection.apply(hop.asked) if is_own else hop.asked
    headers = list(asked.headers)
    body: bytes | AsyncIterator[bytes] = asked.body or b""
    stream = recorded.message.stream
    if asked.body is None and stream is not None:
        body = aiter(stream)
        if stream.length is not None:
            headers.append(("content-length", str(stream.length)))
    return opened.find_pool(hop.origin).send(asked.method, asked.path, headers, body), asked


def _body(recorded: Recorded) -> bytes | None:
    """None: it goes on as it arrives."""
    return recorded.message.raw if recorded.message.stream is None else None


def _may_renew(opened: OpenConnection, hop: Hop, sent: Outgoing, upstream: UpstreamReply) -> bool:
    """True if the upstream refused a token that another may be had for, and the body is still there."""
    if upstream.status != 401 or hop.origin != opened.origin:
        return False
    return opened.injection.forget(sent) and hop.asked.body is not None


def _most(head: RequestHead, row: ConnectionRow) -> int:
    """The bytes of a body that goes on as it arrives: those that it says, or all that it may have."""
    declared = declared_length(head.headers)
    if declared is None:
        return row.limits.request_bytes if head.all(b"transfer-encoding") else 0
    return declared


def _read_json(head: RequestHead, body: bytes) -> JSON:
    """The value of a body that says that it is JSON; None for any other. Raises `BadRequest` (invalid_json,
    too_many_parts)."""
    kind = (head.header(b"content-type") or b"").split(b";")[0].strip().lower()
    if not body or not (kind == b"application/json" or kind.endswith(b"+json")):
        return None
    try:
        return parse(body, Allowance())
    except TooManyValues as error:
        raise BadRequest(str(error), code="too_many_parts") from error
    except JsonError as error:
        raise BadRequest(str(error), code="invalid_json") from error
