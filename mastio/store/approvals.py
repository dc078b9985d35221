"""Approvals by humans: one request for each agent action, a wait for the answer, one use.

The pipeline asks here when policies say `NeedsApproval`. A hold is bound to the agent and to its very request, by a
keyed digest: the same request again finds the same hold, on every worker and replica, and another request never does.
The request is its path, query, body and the headers that go upstream, without headers that only trace it. A human sees
its path, query and headers, names and sizes. The hold is taken in the moment before the intent is written; after a
crash in between it is used and nothing was done.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import orjson

from mastio.exchange.errors import Denied
from mastio.exchange.records import Directory, Hold
from mastio.exchange.values import Message, NeedsApproval
from mastio.outbound.request_headers import TRACING
from mastio.plugin.services import Approval, ApprovalRequest
from mastio.store.holds import CONTENT, HoldStore, new_hold_id

LOOK_EVERY = 0.5
"""Seconds between two looks whether somebody has decided."""

MAX_WAITING = 64
"""Requests of one worker that wait; those beyond are told at once to come back."""

RETRY_AFTER = "10"
MAX_CONTENT = 32 * 1024
MAX_NAMES = 100
MAX_VALUE = 2048
"""Characters of a query or of a header's value."""


class StoredApprovals:
    """`services.approvals` over the store of holds. `key`: that of the log's digests, the same on every replica."""

    def __init__(self, holds: HoldStore, directory: Directory, key: bytes, now: Callable[[], float]) -> None:
        self._holds = holds
        self._directory = directory
        self._key = hmac.digest(key, b"holds", hashlib.sha256)
        self._now = now
        self._waiting = 0

    async def wait(self, wanted: ApprovalRequest) -> Approval:
        hold = await self._holds.ask(self._describe(wanted))
        if hold.status == "pending" and wanted.asked.wait > 0 and self._waiting < MAX_WAITING:
            self._waiting += 1
            try:
                hold = await self._watch(hold, self._now() + wanted.asked.wait)
            finally:
                self._waiting -= 1
        if hold.status == "approved":
            return Approval(hold.id, by=hold.decided_by)
        return Approval(hold.id, refusal=refuse(hold, wanted.asked))

    async def use(self, hold: str) -> None:
        if await self._holds.use(hold, self._now()) is None:
            raise Denied(f"What was approved as {hold} has been used.", code="hold_expired")

    async def _watch(self, hold: Hold, until: float) -> Hold:
        while hold.status == "pending" and (left := until - self._now()) > 0:
            await asyncio.sleep(min(LOOK_EVERY, left))
            hold = await self._holds.get(hold.id, self._now())
        return hold

    def _describe(self, wanted: ApprovalRequest) -> Hold:
        head, principal, action, now = wanted.head, wanted.principal, wanted.action, self._now()
        agent = self._directory.agents[principal.name]
        sent = hashlib.sha256(wanted.raw).hexdigest()
        bound = [
            principal.name, agent.created_at, action.kind, action.target_type, action.target,
            head.method, head.path, head.query.decode("latin-1"), sent, *_bound(wanted.message),
        ]  # fmt: skip
        return Hold(
            id=new_hold_id(),
            exchange=head.id,
            requested_by=principal.name,
            agent=principal.name,
            action=action.kind,
            method=head.method,
            path=head.path,
            body=b"",
            parameters=describe(wanted),
            created_at=now,
            expires_at=now + wanted.asked.seconds,
            binding=hmac.digest(self._key, orjson.dumps(bound), hashlib.sha256).hex(),
        )


def describe(wanted: ApprovalRequest) -> dict[str, Any]:
    """The approver's view of an action: names, numbers, and content only where the settings allow it."""
    action, attributes = wanted.action, wanted.action.attributes
    said: dict[str, Any] = {
        "target": f'{action.target_type}::"{action.target}"',
        "method": wanted.head.method,
        "path": wanted.head.path,
        **_describe_head(wanted),
        "policy": wanted.asked.rule,
        "why": wanted.asked.message,
        "bytes": len(wanted.raw),
        **wanted.message.details,
    }
    offered = sorted({str(name) for name in attributes.get("tools.names", ())})
    called = sorted({str(name) for name, _ in attributes.get("tools.calls", ())})
    for name, names in (("tools", offered), ("tools_called", called)):
        if names:
            said[name] = [plain(one) for one in names[:MAX_NAMES]]
    if wanted.asked.shows_content:
        said[CONTENT] = wanted.message.raw[:MAX_CONTENT].decode("utf-8", "replace")
    return said


def _bound(message: Message) -> list[object]:
    """Everything else that goes upstream and may change the effect: headers of a connection or of a call to a model."""
    headers = sorted(pair for pair in message.headers if pair[0].encode() not in TRACING)
    context = sorted(message.question.context) if message.question is not None else []
    return [headers, [part.decode("latin-1") for part in context]]


def _describe_head(wanted: ApprovalRequest) -> dict[str, Any]:
    """The query and the headers that go upstream. A cookie is a secret of the agent's: its length alone."""
    said: dict[str, Any] = {}
    if wanted.head.query:
        said["query"] = plain(wanted.head.query.decode("latin-1"), MAX_VALUE)
    headers = [(name, value) for name, value in wanted.message.headers if name.encode() not in TRACING]
    if headers:
        said["headers"] = [
            f"{name}: " + (f"({len(value)} characters)" if name == "cookie" else plain(value, MAX_VALUE))
            for name, value in headers[:MAX_NAMES]
        ]
    return said


def plain(text: str, most: int = 128) -> str:
    """The caller wrote it: on one line, cut to `most` characters, which it says."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text[:most])
    return shown if len(text) <= most else f"{shown}… ({len(text)} characters)"


def refuse(hold: Hold, asked: NeedsApproval) -> Denied:
    match hold.status:
        case "pending":
            text = f"{asked.message} A human has to approve it: {hold.id}."
            return Denied(text, code="hold_pending", headers=(("Retry-After", RETRY_AFTER),))
        case "rejected":
            return Denied(f"A human refused this request: {hold.id}.", code="hold_rejected")
        case _:
            return Denied(f"Nobody approved the request in time: {hold.id}.", code="hold_expired")
