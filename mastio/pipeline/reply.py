"""The second half of an exchange: the reply goes out, and its outcome is on stable storage before its end does.

`mastio.pipeline.order` makes one `Answer` for each dispatched exchange. Whatever becomes of it (a reply, an error
before or after the first byte, a hang-up), exactly one outcome is recorded, and it is recorded before the caller can
hold a complete answer: an outcome that cannot be made durable withholds the reply (promises 1 and 2).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Sequence
from time import perf_counter
from typing import Any, Protocol

from mastio.exchange.errors import AuditError, MastioError
from mastio.exchange.inspection import Finding
from mastio.exchange.values import Entry, Recorded, Reply, Stream, Timings, Window
from mastio.http.problem import error_event
from mastio.pipeline.reply_inspection import ReplyInspection, describe
from mastio_primitives.asgi import RawHeaders, Send, send_body, send_response, send_start


class Stages(Protocol):
    """The parts of the pipeline that an answer uses."""

    async def record(self, entry: Entry) -> int: ...

    def describe_target(self, recorded: Recorded) -> str: ...

    def mask_facts(self, recorded: Recorded, facts: dict[str, Any]) -> dict[str, Any]: ...

    def watch(self, recorded: Recorded) -> ReplyInspection | None: ...

    def annotate(self, recorded: Recorded, reply: Reply) -> RawHeaders: ...

    def refusal(self, recorded: Recorded, error: MastioError) -> tuple[int, RawHeaders, bytes]: ...

    def count(self, recorded: Recorded, status: int, code: str, seconds: float) -> None: ...

    def found(self, findings: Sequence[Finding]) -> None: ...


class Answer:
    """One reply on its way to the caller."""

    __slots__ = (
        "_digest_key", "_recorded", "_reply", "_send", "_settled", "_stages", "_started", "_timings", "_tried",
        "_watching",
    )  # fmt: skip

    def __init__(self, stages: Stages, recorded: Recorded, timings: Timings, digest_key: bytes, send: Send) -> None:
        self._stages = stages
        self._recorded = recorded
        self._timings = timings
        self._digest_key = digest_key
        self._send = send
        self._reply: Reply | None = None
        self._watching = stages.watch(recorded)
        self._started = False
        self._settled = not recorded.reserved.holds
        self._tried = False  # an outcome whose commit is in doubt may be in the log: never write a second one

    @property
    def is_ending(self) -> bool:
        """True if writing the outcome entry has begun: what is sent from now on is the end of the reply."""
        return self._tried

    def settle(self) -> None:
        """Settles the reservations, once: counts the usage and gives back the rest. Called before the caller has the
        end."""
        if not self._settled:
            self._settled = True
            used = self._recorded.meter.usage
            for hold in self._recorded.reserved.holds:
                hold.settle({} if used is None else used)

    async def give(self, reply: Reply) -> None:
        """Send `reply`. Raises `MastioError` when it cannot be completed; then call `fail`."""
        self._reply = reply
        if isinstance(reply.body, bytes):
            if self._watching is not None:
                reply.headers = await self._watching.head(reply.headers)
                reply.body = await self._inspect(reply.body, self._watching)
            digest = hmac.digest(self._digest_key, reply.body, hashlib.sha256).hex() if reply.body else None
            status = "ok" if reply.status < 400 else "failed"
            await self._record({"status": status}, self._describe(reply, len(reply.body), digest))
            await send_response(self._send, reply.status, self._headers(reply), reply.body)
            self._count(reply.status, "ok")
        else:
            self._count(reply.status, await self._stream(reply, reply.body))

    async def _stream(self, reply: Reply, windows: AsyncIterator[Window]) -> str:
        """Sends the reply as a stream. Returns its result as a word for the metrics."""
        digest = hmac.new(self._digest_key, digestmod=hashlib.sha256)
        size, watching = 0, self._watching
        try:
            if watching is not None:
                reply.headers = await watching.head(reply.headers)
            async for window in windows:
                data = window.data if watching is None else await watching.window(window)
                digest.update(data)
                size += len(data)
                if window.last:
                    await self._record(_describe_end(window), self._describe(reply, size, digest.hexdigest()))
                await self._start(reply)
                await send_body(self._send, data, more=not window.last)
                if window.last:
                    return window.failure or "ok"
            data = b"" if watching is None else await watching.end()
            digest.update(data)
            await self._record({"status": "ok"}, self._describe(reply, size + len(data), digest.hexdigest()))
            await self._start(reply)
            await send_body(self._send, data, more=False)
            return "ok"
        finally:
            await reply.close()

    async def _inspect(self, body: bytes, watching: ReplyInspection) -> bytes:
        started = perf_counter()
        data = await watching.whole(body)
        self._timings.inspect += perf_counter() - started
        return data

    async def _start(self, reply: Reply) -> None:
        if not self._started:
            self._started = True
            await send_start(self._send, reply.status, self._headers(reply))

    async def fail(self, error: MastioError) -> None:
        """End with `error`: a response when nothing was sent yet, else the dialect's event, else by breaking off."""
        try:
            if self._recorded.head.route.recorded == "refusals":
                await self._record_refusal(error)
            await self._record({"status": "failed", "code": error.code}, {"status": error.status, **self._facts()})
        except AuditError as failure:
            error = failure
        status, headers, body = self._stages.refusal(self._recorded, error)
        self._count(status, error.code)
        if not self._started:
            await send_response(self._send, status, [*headers, *self._own_headers()], body)
        elif self._reply is not None and (encode := self._reply.encode_break) is not None:
            await send_body(self._send, encode(error))
        elif self._reply is not None and _is_event_stream(self._reply):
            await send_body(self._send, error_event(self._recorded.head.dialect, error, self._recorded.head.id))

    async def abandon(self) -> None:
        """The client has gone: the outcome says so."""
        try:
            await self._record({"status": "cancelled"}, self._facts() or None)
        except AuditError:
            return  # the log has closed itself; at its reopening the intent is closed as unknown
        finally:
            self._count(499, "cancelled")

    def _facts(self) -> dict[str, Any]:
        """The facts of a reply for the outcome entry, also of one that did not complete, such as the provider that
        answered."""
        facts = {} if self._reply is None else self._stages.mask_facts(self._recorded, dict(self._reply.facts))
        return {**facts, **({} if self._watching is None else describe(self._watching.findings()))}

    async def _record(self, outcome: dict[str, Any], response: dict[str, Any] | None) -> None:
        """Write the one outcome; later calls write nothing."""
        self.settle()
        if self._tried or self._recorded.receipt is None:
            return
        self._tried = True
        started = perf_counter()
        recorded = self._recorded
        agent = recorded.principal.name if recorded.principal.is_agent else None
        await self._stages.record(
            Entry(
                recorded.head.id, "outcome", recorded.action.kind, self._stages.describe_target(recorded), agent,
                request=_describe_stream(recorded.message.stream), response=response, outcome=outcome,
                usage=recorded.meter.usage,
            )
        )  # fmt: skip
        self._timings.audit += perf_counter() - started

    async def _record_refusal(self, error: MastioError) -> None:
        """On a route whose successes are not recorded there was no intent: the refusal is one event."""
        recorded = self._recorded
        await self._stages.record(
            Entry(
                recorded.head.id, "event", recorded.action.kind, recorded.action.target,
                request={"method": recorded.head.method, "path": recorded.head.path},
                response={"status": error.status}, outcome={"status": "refused", "code": error.code},
            )
        )  # fmt: skip

    def _describe(self, reply: Reply, size: int, digest: str | None) -> dict[str, Any]:
        said: dict[str, Any] = {"status": reply.status, "bytes": size}
        if digest is not None:
            said["digest"] = digest
        said.update(self._facts())
        return said

    def _headers(self, reply: Reply) -> RawHeaders:
        return [*reply.headers, *self._own_headers(), *self._stages.annotate(self._recorded, reply)]

    def _own_headers(self) -> RawHeaders:
        headers = [
            (b"x-request-id", self._recorded.head.id.encode("ascii")),
            (b"server-timing", encode_timings(self._timings)),
        ]
        if self._recorded.receipt is not None:
            headers.append((b"mastio-receipt", b"%d" % self._recorded.receipt))
        return headers

    def _count(self, status: int, code: str) -> None:
        self._stages.count(self._recorded, status, code, perf_counter() - self._timings.started)
        if self._watching is not None:
            self._stages.found(self._watching.findings())


def _describe_stream(stream: Stream | None) -> dict[str, Any] | None:
    """A body that went on as it arrived was not known when the intent was written."""
    if stream is None or not stream.size:
        return None
    return {"bytes": stream.size, "digest": stream.digest()}


def _describe_end(window: Window) -> dict[str, Any]:
    return {"status": "ok"} if window.failure is None else {"status": "failed", "code": window.failure}


def _is_event_stream(reply: Reply) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in reply.headers)


def encode_timings(timings: Timings) -> bytes:
    """`Server-Timing` (W3C), durations in milliseconds, so far."""
    total = perf_counter() - timings.started
    return (
        b"auth;dur=%.2f, policy;dur=%.2f, inspect;dur=%.2f, audit;dur=%.2f, upstream;dur=%.2f, total;dur=%.2f"
        % (
            timings.auth * 1e3, timings.policy * 1e3, timings.inspect * 1e3, timings.audit * 1e3,
            timings.upstream * 1e3, total * 1e3,
        )
    )  # fmt: skip
