"""START HERE: the life of one request, in one place and in one order.

    Received ─authenticate─▶ Authenticated ─read─▶ Read ─authorize─▶ Authorized ─inspect─▶ Inspected
             ─approve─▶ Approved ─reserve─▶ Reserved ─record intent─▶ Recorded ─dispatch─▶ Reply
             ─inspect each window, settle, record outcome─▶ response

Every arrow is a function from one type to the next, so that none can be left out (`mastio.exchange.values`). Every
arrow may raise a `MastioError`, which ends the exchange: before the intent it is recorded as one event, after it as the
outcome. What is not a `MastioError` becomes a `PluginError`: refused.

Plugins come in as tuples compiled at start; a hook that no plugin has costs nothing. Nothing here knows a protocol,
a store or a framework but ASGI.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from mastio.exchange.errors import (
    AuditError,
    AuthenticationError,
    Blocked,
    ConfigurationError,
    Denied,
    MastioError,
    PluginError,
    Unavailable,
)
from mastio.exchange.inspection import Block, Finding, Layout, Passage, Redact, Texts, Watch, merge
from mastio.exchange.values import (
    OPEN,
    STRANGER,
    Action,
    Allow,
    Approved,
    Authenticated,
    Authorized,
    Credential,
    Decision,
    Deny,
    Entry,
    Inspected,
    Intake,
    Message,
    NeedsApproval,
    Principal,
    Read,
    Received,
    Recorded,
    Reply,
    RequestHead,
    Reservation,
    Reserved,
    Route,
    Timings,
)
from mastio.host import aside
from mastio.host.metrics import Telemetry
from mastio.http.problem import render
from mastio.http.strictjson import JsonError, parse
from mastio.identity.principal import bind
from mastio.identity.restriction import find_excess
from mastio.pipeline.active_exchanges import OpenStreams, bind_again
from mastio.pipeline.admission import Admission, Shares, Ticket
from mastio.pipeline.asgi_io import (
    BODY_SECONDS,
    SMALL,
    STRANGER_BODY_SECONDS,
    ArrivingBody,
    Interruption,
    is_small,
    read_body,
)
from mastio.pipeline.refusal_log import RefusalLog
from mastio.pipeline.refusal_rate import Refusals, network_of
from mastio.pipeline.reply import Answer
from mastio.pipeline.reply_inspection import ReplyInspection, describe
from mastio.plugin.hooks import Hooks
from mastio.plugin.services import ApprovalRequest, Services
from mastio_primitives.asgi import ClientGone, RawHeaders, Receive, Send, send_response

log = logging.getLogger("mastio.pipeline")

Claim = TypeVar("Claim")
MOST_GATHERED = 10 * 1024 * 1024
"""Bytes of a body that goes on as it arrives which are read all the same, where a human has to approve it."""

MOST_PATH = 512
"""Characters of a path that an entry has in full."""

MOST_METHOD = 32

WRITTEN_IN_EVENTS = frozenset({"path", "tool"})
"""Members of a plugin's event that an agent may have written."""

NAMED_BY_ADMINS = frozenset({"Connection", "Appliance"})
"""Types of targets whose names no caller makes up."""

LONG_WORK = 1_000_000
"""Bytes of a body above which it waits for room at its caller's desk."""

SHORT_DIGEST = 256 * 1024
"""Bytes of a body whose digest is made in the event loop: half a millisecond."""

ACTIVE = "See plugins.active in the settings."


class Pipeline:
    """The stages over the hooks of the active plugins, in their order."""

    def __init__(
        self,
        routes: Sequence[Route],
        plugins: Sequence[tuple[str, Hooks]],
        services: Services,
        telemetry: Telemetry,
        max_in_flight: int,
        *,
        admission: Admission | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        self._services = services
        self._telemetry = telemetry
        self._admission = admission or Admission(Shares(agents=max_in_flight))
        self._refusals = RefusalLog(refusals or Refusals(), self.record, services.monotonic)
        hooks = [hook for _, hook in plugins]
        self._authenticators = tuple(h.authenticate for h in hooks if h.authenticate)
        self._body_authenticators = tuple(h.authenticate_body for h in hooks if h.authenticate_body)
        self._authorizers = tuple(h.authorize for h in hooks if h.authorize)
        self._inspectors = tuple(h.inspect for h in hooks if h.inspect)
        self._content_authorizers = tuple(h.authorize_content for h in hooks if h.authorize_content)
        self._reservers = tuple(h.reserve for h in hooks if h.reserve)
        self._maskers = tuple(h.mask for h in hooks if h.mask)
        self._annotators = tuple(h.annotate for h in hooks if h.annotate)
        self._challengers = tuple(h.challenge for h in hooks if h.challenge)
        recorders = [h.record for h in hooks if h.record]
        kinds = {route.kind for route in routes}
        self._intake = {kind: take_in for hook in hooks for kind, take_in in hook.intake.items()}
        self._read = _one_claimant("read", kinds, [(name, h.read) for name, h in plugins])
        self._dispatch = _one_claimant("dispatch", kinds, [(name, h.dispatch) for name, h in plugins])
        for around in reversed([h.around for h in hooks]):
            self._dispatch.update({kind: wrap(self._dispatch[kind]) for kind, wrap in around.items() if kind in kinds})
        if not self._authenticators or not self._authorizers or len(recorders) != 1:
            raise ConfigurationError(
                "The active plugins need one that authenticates, one that authorizes, and exactly one that records.",
                ACTIVE,
            )
        self._record = recorders[0]
        self._digest_key = services.keys.key("audit-digest")
        self._open = OpenStreams(services.directory)
        services.directory.on_change(self._open.look)

    # --- the order ---------------------------------------------------------------------------------------------------

    async def run(self, head: RequestHead, receive: Receive, send: Send) -> None:
        """One exchange, from its head to the last byte of its reply. Raises nothing but cancellation."""
        timings = Timings(perf_counter())
        progress = Progress(head, timings.started)
        try:
            await self._exchange(Received(head), progress, timings, receive, send)
        finally:
            if progress.ticket is not None:
                progress.ticket.end()

    async def refuse(self, head: RequestHead, error: MastioError, send: Send) -> None:
        """An exchange that ends before it begins: refused, and recorded, like any other."""
        await self._refuse(Progress(head, perf_counter()), error, send)

    async def _exchange(
        self, received: Received, progress: Progress, timings: Timings, receive: Receive, send: Send
    ) -> None:
        try:
            inspected = await self._look_into(received, progress, timings, receive)
            approved = await self._approve(inspected, progress)
            reserved = await self._reserve(approved, timings)
            recorded = await self._record_intent(reserved, timings)
        except MastioError as error:
            await self._refuse(progress, error, send)
            return
        except ClientGone:
            return
        except asyncio.CancelledError:
            if not progress.has_left():
                raise  # not the client: the worker is shutting down
            return
        except Exception as error:  # noqa: BLE001 the outer boundary: an undeclared error refuses
            await self._refuse(progress, _undeclared(received.head, error), send)
            return
        await self._carry_out(recorded, timings, receive, send)

    async def _look_into(self, received: Received, progress: Progress, timings: Timings, receive: Receive) -> Inspected:
        """All that may take long and leaves no trace. It ends when the caller of a long body hangs up."""
        try:
            authenticated, body = await self._authenticate(received, receive, progress)
            timings.auth = perf_counter() - timings.started
            read = await self._parse(authenticated, body, receive, progress)
            authorized = await self._authorize(read, progress, timings)
            return await self._inspect(authorized, progress, timings)
        finally:
            if progress.departure is not None:
                progress.departure.stop()
            if progress.ticket is not None:
                progress.ticket.end_work()

    # --- before anything happens --------------------------------------------------------------------------------------

    async def _authenticate(
        self, received: Received, receive: Receive, progress: Progress
    ) -> tuple[Authenticated, bytes | None]:
        """Credentials to one principal, who then has a slot. The body is read here only where it may carry the
        credential."""
        head, at, version = received.head, self._services.now(), self._services.directory.version
        credentials: list[Credential] = []
        for authenticate in self._authenticators:
            credential = authenticate(head)
            if credential is not None:
                credentials.append(credential)
        body = None
        if head.route.requires == OPEN or head.route.credential_in_body:
            progress.ticket = self._admission.admit_stranger(head.route, head.client_address)
        if head.route.credential_in_body:
            body = await read_body(head, receive, head.route.limit, progress.ticket, STRANGER_BODY_SECONDS)
            for authenticate_body in self._body_authenticators:
                credential = authenticate_body(head, body)
                if credential is not None:
                    credentials.append(credential)
        if head.route.requires:
            progress.principal = await self._bind(credentials, head.client_address)
            _verify_role(head.route, progress.principal)
            if progress.ticket is None:
                progress.ticket = self._admission.admit(progress.principal)
            aside.serve("agent" if progress.principal.is_agent else "person", progress.principal.name)
        else:
            aside.serve("network", network_of(head.client_address))
        return Authenticated(received, progress.principal, tuple(credentials), at, version), body

    async def _bind(self, credentials: list[Credential], address: str) -> Principal:
        """The principal. An agent may have been enrolled, renewed or allowed API keys a moment ago through another
        worker, so a proven credential that the hot copy does not know yet is looked up once more in a fresh one."""
        directory, now = self._services.directory, self._services.now()
        try:
            return bind(credentials, directory.agents, now, address)
        except AuthenticationError as error:
            if error.code not in ("agent_unknown", "invalid_certificate", "api_keys_off"):
                raise
        await directory.refresh()
        return bind(credentials, directory.agents, now, address)

    async def _parse(
        self, authenticated: Authenticated, body: bytes | None, receive: Receive, progress: Progress
    ) -> Read:
        head, stream = authenticated.received.head, None
        take_in = self._intake.get(head.route.kind)
        intake = Intake(head.route.limit) if take_in is None else take_in(head, authenticated.principal)
        if intake.streams and not is_small(head):
            body, stream = b"", ArrivingBody(head, receive, intake.limit, self._digest_key, progress.ticket)
        elif body is None:
            seconds = BODY_SECONDS if head.route.requires else STRANGER_BODY_SECONDS
            body = await read_body(head, receive, intake.limit, progress.ticket, seconds)
            authenticated = self._look_again(authenticated)
            progress.principal = authenticated.principal
            if len(body) > SMALL:
                progress.departure = Interruption(receive)  # from here on it is noticed when its caller hangs up
            if len(body) >= LONG_WORK and progress.ticket is not None:
                await progress.ticket.begin_work(len(body))
        reading = self._read[head.route.kind](head, authenticated.principal, body)
        action, message = reading if isinstance(reading, tuple) else await reading
        if stream is not None:
            message = replace(message, stream=stream)
        progress.action, progress.message = action, message
        return Read(authenticated, action, message)

    def _look_again(self, authenticated: Authenticated) -> Authenticated:
        """Bind the credentials again if anything has changed: a body may take a minute, a revocation a second (promise
        5). Raises `AuthenticationError` for a caller who may not go on.
        """
        directory = self._services.directory
        if directory.version == authenticated.version or not authenticated.received.head.route.requires:
            return authenticated
        version, at = directory.version, authenticated.at
        principal = bind_again(authenticated.credentials, directory, at, authenticated.principal.address)
        return replace(authenticated, principal=principal, version=version)

    async def _authorize(self, read: Read, progress: Progress, timings: Timings) -> Authorized:
        started = perf_counter()
        asked = read
        read, decision = await self._choose(asked)
        if asked.message.narrow is not None and not isinstance(decision, Deny):
            narrowed = await asked.message.narrow()
            if narrowed is not None:
                progress.action, progress.message = narrowed
                read, decision = await self._choose(Read(asked.authenticated, *narrowed))
        timings.policy = perf_counter() - started
        if isinstance(decision, Deny):
            raise progress.deny(decision)
        return Authorized(read, decision)

    async def _choose(self, read: Read) -> tuple[Read, Decision]:
        decision = await self._judge(read)
        if read.action.alternatives and not isinstance(decision, Allow):
            return await self._find_other(read, decision, self._judge)
        return read, decision

    async def _find_other(
        self, read: Read, decision: Decision, judge: Callable[[Read], Awaitable[Decision]]
    ) -> tuple[Read, Decision]:
        """The first alternative that is allowed; where none is, the one that a human may allow whose name comes first,
        so that who asks again asks for the same; else nothing but the decision."""
        asked = [(read, decision)] if isinstance(decision, NeedsApproval) else []
        for n, action in enumerate(read.action.alternatives, 1):
            other = replace(read, action=replace(action, alternatives=read.action.alternatives[n:]))
            verdict = await judge(other)
            if isinstance(verdict, Allow):
                return other, verdict
            if isinstance(verdict, NeedsApproval):
                asked.append((other, verdict))
        return min(asked, key=lambda pair: pair[0].action.target, default=(read, decision))

    async def _judge(self, read: Read) -> Decision:
        head, principal = read.authenticated.received.head, read.authenticated.principal
        if head.route.requires == OPEN:
            return Allow("open")
        excess = find_excess(principal.restriction, read.action, head.path)
        if excess is not None:
            return excess
        return await self.decide(principal, read.action) if principal.is_agent else Allow("role")

    async def decide(self, principal: Principal, action: Action) -> Decision:
        """One Deny wins, then one that wants a human to approve; no Allow is a Deny."""
        allowed: Allow | NeedsApproval | None = None
        for authorize in self._authorizers:
            decision = await authorize(principal, action)
            if isinstance(decision, Deny):
                return decision
            if allowed is None or isinstance(decision, NeedsApproval):
                allowed = decision
        return allowed or Deny("default", "No policy permits this action.")

    async def decide_content(
        self, principal: Principal, action: Action, findings: Sequence[Finding], allowed: Allow | NeedsApproval
    ) -> Decision:
        """`decide` said `allowed`, and this is what was found in the content since. Who wanted a human to approve still
        does."""
        for authorize in self._content_authorizers:
            decision = await authorize(principal, action, findings)
            if isinstance(decision, Deny):
                return decision
            if decision is not None and (isinstance(decision, NeedsApproval) or isinstance(allowed, Allow)):
                allowed = decision
        return allowed

    async def permits(self, principal: Principal, action: Action, findings: Sequence[Finding]) -> bool:
        """`services.permits`."""
        if find_excess(principal.restriction, action, None) is not None:
            return False
        decision = await self.decide(principal, action)
        if isinstance(decision, Allow):
            decision = await self.decide_content(principal, action, findings, decision)
        return isinstance(decision, Allow)

    async def _inspect(self, authorized: Authorized, progress: Progress, timings: Timings) -> Inspected:
        """Raises `Blocked`, and `Denied` for what a rule that looks at the findings forbids."""
        read, started = authorized.read, perf_counter()
        message, layout = read.message, read.message.layout
        watches: list[Watch] = []
        if self._inspectors and layout is not None:
            is_short = aside.is_short(message.raw)
            texts, passages = await aside.run(is_short, _find_texts, layout, message)
            progress.findings = merge((*progress.findings, *texts.uninspected))
            changed = dict[int, str]()
            for inspect in self._inspectors:
                verdict = await inspect(read.authenticated.principal, read.action, passages)
                progress.findings = merge((*progress.findings, *verdict.findings))
                if isinstance(verdict, Block):
                    progress.decision = {"effect": "deny", "rule": "inspection"}
                    raise Blocked(verdict.message)
                if verdict.watch is not None:
                    watches.append(verdict.watch)
                if isinstance(verdict, Redact) and verdict.texts:
                    changed.update(verdict.texts)
                    for number, text in verdict.texts.items():
                        passages[number] = passages[number]._replace(text=text)
            if changed:
                try:
                    message = await aside.run(is_short, _with_texts, message, texts, changed)
                except Blocked:
                    progress.decision = {"effect": "deny", "rule": "inspection"}
                    raise
        timings.inspect = perf_counter() - started
        authorized = await self._authorize_content(authorized, progress, timings)
        return Inspected(authorized, message, authorized.decision, progress.findings, tuple(watches))

    async def _authorize_content(self, authorized: Authorized, progress: Progress, timings: Timings) -> Authorized:
        read, decision = authorized.read, authorized.decision
        principal = read.authenticated.principal
        if not self._content_authorizers or not principal.is_agent:
            return authorized
        started = perf_counter()

        async def judge(other: Read) -> Decision:
            verdict = await self._judge(other)
            if isinstance(verdict, Deny):
                return verdict
            return await self.decide_content(principal, other.action, progress.findings, verdict)

        verdict = await self.decide_content(principal, read.action, progress.findings, decision)
        if read.action.alternatives and not isinstance(verdict, Allow):
            read, verdict = await self._find_other(read, verdict, judge)
        timings.policy += perf_counter() - started
        if isinstance(verdict, Deny):
            raise progress.deny(verdict)
        if read is authorized.read and verdict is decision:
            return authorized
        progress.action = read.action
        return Authorized(read, verdict)

    async def _approve(self, inspected: Inspected, progress: Progress) -> Approved:
        """Asks a human for approval where policies require it. Raises `Denied` as long as there is no approval.

        After the wait, the agent and the policies are evaluated again: both may have changed.
        """
        asked = inspected.decision
        if isinstance(asked, Allow):
            return Approved(inspected, asked)
        inspected = await _gather(inspected)
        read = inspected.authorized.read
        head, principal, action = read.authenticated.received.head, read.authenticated.principal, read.action
        raw = read.message.raw
        approval = await self._services.approvals.wait(
            ApprovalRequest(head, principal, action, inspected.message, raw, asked)
        )
        if approval.refusal is not None:
            progress.decision = _describe_decision(asked, hold=approval.hold)
            raise approval.refusal
        read = replace(read, authenticated=self._look_again(read.authenticated))
        progress.principal = principal = read.authenticated.principal
        decision = await self._judge(read)
        if not isinstance(decision, Deny):
            decision = await self.decide_content(principal, action, inspected.findings, decision)
        if isinstance(decision, Deny):
            raise progress.deny(decision)
        inspected = replace(inspected, authorized=Authorized(read, decision), decision=decision)
        if isinstance(decision, Allow):
            return Approved(inspected, decision)
        allowed = Allow(decision.rule, {**decision.notes, "hold": approval.hold, "approved_by": approval.by})
        return Approved(inspected, allowed, approval.hold)

    async def _reserve(self, approved: Approved, timings: Timings) -> Reserved:
        """Raises `Denied` (429) where a limit is spent."""
        if not self._reservers:
            return Reserved(approved, ())
        started = perf_counter()
        inspected = approved.inspected
        read = inspected.authorized.read
        holds: list[Reservation] = []
        with ExitStack() as undo:
            for reserve in self._reservers:
                held = await reserve(read.authenticated.principal, read.action, inspected.message)
                if held is not None:
                    holds.append(held)
                    undo.callback(held.settle, None)
            undo.pop_all()
        timings.policy += perf_counter() - started
        return Reserved(approved, tuple(holds))

    async def _record_intent(self, reserved: Reserved, timings: Timings) -> Recorded:
        with ExitStack() as undo:
            for hold in reserved.holds:
                undo.callback(hold.settle, None)
            if reserved.approved.hold is not None:
                await self._services.approvals.use(reserved.approved.hold)
            receipt = await self._write_intent(reserved.approved, timings)
            undo.pop_all()
        return Recorded(reserved, receipt)

    async def _write_intent(self, approved: Approved, timings: Timings) -> int | None:
        """The index of the entry; None where the route has none."""
        inspected = approved.inspected
        read = inspected.authorized.read
        head, principal = read.authenticated.received.head, read.authenticated.principal
        if head.route.recorded != "all":
            return None
        if head.route.requires == OPEN and not self._refusals.has_left(head.client_address):
            raise Denied(
                "Too many requests from this address were refused.",
                code="rate_limited",
                headers=(("Retry-After", "1"),),
            )
        self._telemetry.find("request", inspected.findings)
        started = perf_counter()
        raw = read.message.raw
        digest = await aside.run(len(raw) <= SHORT_DIGEST, self._services.digest, raw) if raw else None
        receipt = await self._record(
            Entry(
                head.id,
                "intent",
                read.action.kind,
                self.mask_target(principal, read.action),
                _agent(principal),
                principal.credential or None,
                _describe_decision(approved.decision),
                {
                    **self._describe_request(head, principal, read.action, read.message, digest),
                    **describe(inspected.findings),
                },
            )
        )
        timings.audit = perf_counter() - started
        return receipt

    def _describe_request(
        self,
        head: RequestHead,
        principal: Principal,
        action: Action | None,
        message: Message | None,
        digest: str | None = None,
    ) -> dict[str, Any]:
        """The members that describe a request in an audit entry. Text that the agent wrote is masked.

        `digest`: the digest of the body, if it is already known.
        """

        def mask(text: str) -> str:
            return self.mask(principal, action or Action(head.route.kind, "Appliance", "self"), text)

        is_agents = bool(self._maskers) and "agent" in head.route.requires
        path = self._cut(head.path, mask if is_agents and "{" in head.route.path else str)
        method = head.method[:MOST_METHOD]
        said: dict[str, Any] = {"method": mask(method) if is_agents and not method.isalpha() else method, "path": path}
        client_id = head.all(b"x-request-id")
        if client_id:
            shown = client_id[0][:128].decode("latin-1")
            said["client_id"] = mask(shown) if is_agents else shown
        if message is not None:
            if message.stream is None:
                said["bytes"] = len(message.raw)
            elif message.stream.length is not None:
                said["bytes"] = message.stream.length
            if message.raw:
                said["digest"] = digest or self._services.digest(message.raw)
            said.update(message.details)
            said.update({name: mask_all(mask, said[name]) for name in message.written & message.details.keys()})
        return said

    def _cut(self, path: str, mask: Callable[[str], str]) -> str:
        """A path for an entry: a long one is its beginning and a digest."""
        shown = mask(path[:MOST_PATH])
        if len(path) <= MOST_PATH:
            return shown
        digest = self._services.digest(path.encode("utf-8", "surrogateescape"))
        return f"{shown[: MOST_PATH // 2]}... ({len(path)} characters, digest {digest})"

    def mask(self, principal: Principal, action: Action, text: str) -> str:
        """Returns `text`, written by the caller, without the values that the maskers find in it."""
        for mask in self._maskers:
            text = mask(principal, action, text)
        return text

    def mask_target(self, principal: Principal, action: Action) -> str:
        """The target, which is the caller's word where no admin named it."""
        return action.target if action.target_type in NAMED_BY_ADMINS else self.mask(principal, action, action.target)

    # --- carrying it out ----------------------------------------------------------------------------------------------

    async def _carry_out(self, recorded: Recorded, timings: Timings, receive: Receive, send: Send) -> None:
        """Dispatch and answer. Whatever happens from here on, the exchange gets exactly one outcome."""
        answer = Answer(self, recorded, timings, self._digest_key, send)
        body = recorded.message.stream
        watch = Interruption(receive, body) if recorded.head.route.streams or body is not None else None
        if watch is not None:
            self._open.add(recorded, answer, watch)
        try:
            self._look_again(recorded.authenticated)
            started = perf_counter()
            reply = await self._dispatch[recorded.action.kind](recorded)
            timings.upstream = perf_counter() - started
            await answer.give(reply)
        except MastioError as error:
            await answer.fail(error)
        except asyncio.CancelledError:
            if watch is not None and watch.error is not None:
                watch.resume()
                await answer.fail(watch.error)
                return
            await answer.abandon()
            if watch is None or not watch.hung_up:
                raise  # not the client: the worker is shutting down
        except Exception as error:  # noqa: BLE001 the plugin call: an undeclared error refuses
            await answer.fail(_undeclared(recorded.head, error))
        finally:
            answer.settle()
            if watch is not None:
                watch.stop()
                self._open.discard(answer)

    async def record(self, entry: Entry) -> int:
        """The index of the entry, which is durable. Raises `AuditError`."""
        return await self._record(entry)

    def describe_target(self, recorded: Recorded) -> str:
        return self.mask_target(recorded.principal, recorded.action)

    def mask_facts(self, recorded: Recorded, facts: dict[str, Any]) -> dict[str, Any]:
        if not self._maskers or not recorded.principal.is_agent:
            return facts
        masked: dict[str, Any] = mask_all(partial(self.mask, recorded.principal, recorded.action), facts)
        return masked

    async def note(self, entry: Entry, principal: Principal | None = None, action: Action | None = None) -> int:
        """`services.note`: an event that a plugin tells of, perhaps in words of an agent. Raises `AuditError`."""
        said = entry.request or {}
        names = WRITTEN_IN_EVENTS & said.keys() if self._maskers and entry.agent is not None else ()
        if names and entry.agent is not None:
            whose = principal or Principal(entry.agent, frozenset({"agent"}))
            mask = partial(self.mask, whose, action or Action(entry.kind, "Appliance", "self"))
            masked = {name: mask_all(mask, said[name]) for name in names}
            entry = replace(entry, request={**said, **masked})
        return await self._record(entry)

    def watch(self, recorded: Recorded) -> ReplyInspection | None:
        """Returns the state that runs the inspectors' watches over the reply; None if there are none."""
        layout, watches = recorded.message.layout, recorded.inspected.watches
        return ReplyInspection(layout, watches) if watches and layout is not None and layout.sees_reply else None

    def annotate(self, recorded: Recorded, reply: Reply) -> RawHeaders:
        return [pair for annotate in self._annotators for pair in _raw(annotate(recorded, reply))]

    def refusal(self, recorded: Recorded, error: MastioError) -> tuple[int, RawHeaders, bytes]:
        status, headers, body = render(recorded.head.dialect, error, recorded.head.id)
        return status, [*headers, *self._challenge(recorded.head, error)], body

    def count(self, recorded: Recorded, status: int, code: str, seconds: float) -> None:
        route = recorded.head.route
        if status >= 400 and route.requires == OPEN and route.recorded == "all":
            self._refusals.spend(recorded.head.client_address)
        self._telemetry.count(recorded.head.route.kind, status, code, seconds)

    def found(self, findings: Sequence[Finding]) -> None:
        self._telemetry.find("response", findings)

    # --- refusing -----------------------------------------------------------------------------------------------------

    async def _refuse(self, progress: Progress, error: MastioError, send: Send) -> None:
        """End an exchange before its intent: one event in the log, then the error in the caller's dialect."""
        head = progress.head
        self._telemetry.find("request", progress.findings)
        receipt: int | None = None
        if (
            head.route.recorded != "none"
            and not isinstance(error, AuditError | Unavailable)
            and self._has_entry(progress)
        ):
            try:
                receipt = await self._record(self._describe_refusal(progress, error))
            except AuditError as failure:
                error = failure
        status, headers, body = render(head.dialect, error, head.id)
        headers.append((b"x-request-id", head.id.encode("ascii")))
        if receipt is not None:
            headers.append((b"mastio-receipt", b"%d" % receipt))
        headers.extend(self._challenge(head, error))
        self._telemetry.count(head.route.kind, status, error.code, perf_counter() - progress.started)
        await send_response(send, status, headers, body)

    def _has_entry(self, progress: Progress) -> bool:
        """True if this refusal gets an audit entry of its own. Refusals of unknown callers beyond the rate are only
        counted."""
        return bool(progress.principal.roles) or self._refusals.takes(progress.head.client_address)

    async def close(self) -> None:
        """Record what was only counted. Call when no request comes any more."""
        await self._refusals.close()

    def _challenge(self, head: RequestHead, error: MastioError) -> RawHeaders:
        """The `WWW-Authenticate` headers of a 401 (RFC 9110 §15.5.2), at whatever stage it was raised.

        Empty if the error carries its own challenge.
        """
        if not isinstance(error, AuthenticationError) or any(name == "WWW-Authenticate" for name, _ in error.headers):
            return []
        return [pair for challenge in self._challengers for pair in _raw(challenge(head, error))]

    def _describe_refusal(self, progress: Progress, error: MastioError) -> Entry:
        notes = getattr(error, "__notes__", [])
        decision = progress.decision or ({"effect": "deny", "rule": notes[0]} if notes else None)
        head, principal, action = progress.head, progress.principal, progress.action
        request = self._describe_request(head, principal, action, progress.message)
        request.update(describe(progress.findings))
        return Entry(
            head.id, "event", action.kind if action else head.route.kind,
            self.mask_target(principal, action) if action else None,
            _agent(principal), principal.credential or None, decision, request,
            {"status": error.status}, {"status": "refused", "code": error.code},
        )  # fmt: skip


class Progress:
    """The state of an exchange that can still be refused, as far as it is known."""

    __slots__ = ("action", "decision", "departure", "findings", "head", "message", "principal", "started", "ticket")

    def __init__(self, head: RequestHead, started: float) -> None:
        self.head = head
        self.started = started
        self.principal = STRANGER
        self.action: Action | None = None
        self.message: Message | None = None
        self.findings: tuple[Finding, ...] = ()
        self.decision: dict[str, Any] | None = None
        self.ticket: Ticket | None = None
        """The exchange's slot, once it has one."""
        self.departure: Interruption | None = None
        """Ends the exchange when its caller hangs up, while a long body is looked into."""

    def has_left(self) -> bool:
        """True if this task was cancelled because the caller has hung up. The cancellation is then undone
        (`uncancel`)."""
        if self.departure is None or not self.departure.hung_up:
            return False
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        return True

    def deny(self, decision: Deny) -> Denied:
        """The refusal, with the decision kept for the entry."""
        self.decision = _describe_decision(decision)
        return Denied(decision.message, code=decision.code, headers=decision.headers)


def _verify_role(route: Route, principal: Principal) -> None:
    """Raises `AuthenticationError` for a stranger and `Denied` for a principal without one of the route's roles."""
    if not principal.roles:
        raise AuthenticationError("This needs a credential.")
    if not route.requires & principal.roles:
        raise Denied("The role does not cover this route.", code="role_required")


async def _gather(inspected: Inspected) -> Inspected:
    """With its body in hand: a human approves all of it or nothing. Raises `BadRequest` (413) for one too large."""
    if (stream := inspected.message.stream) is None:
        return inspected
    message = replace(inspected.message, raw=await stream.gather(MOST_GATHERED), stream=None)
    authorized = inspected.authorized
    return replace(
        inspected, message=message, authorized=replace(authorized, read=replace(authorized.read, message=message))
    )


def _find_texts(layout: Layout, message: Message) -> tuple[Texts, list[Passage]]:
    """Raises `Blocked`, and `BadRequest` for more of them than can be looked into."""
    texts = layout.request(message.raw, message.document)
    return texts, list(texts.passages)


def _with_texts(message: Message, texts: Texts, changed: Mapping[int, str]) -> Message:
    raw = texts.replace(changed)
    if message.document is None:  # it is no JSON, and need not become any
        return replace(message, raw=raw)
    try:
        return replace(message, raw=raw, document=parse(raw))
    except JsonError as error:  # two names may have become one
        raise Blocked("What is to be redacted stands where the message needs it.") from error


def mask_all(mask: Callable[[str], str], value: Any) -> Any:
    """A value of an entry, each of its texts masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list | tuple):
        return [mask_all(mask, item) for item in value]
    return {name: mask_all(mask, item) for name, item in value.items()} if isinstance(value, dict) else value


def _describe_decision(decision: Decision, **more: Any) -> dict[str, Any]:
    return {"effect": decision.effect, "rule": decision.rule, **decision.notes, **more}


def _agent(principal: Principal) -> str | None:
    return principal.name if principal.is_agent else None


def _raw(headers: Mapping[str, str]) -> RawHeaders:
    return [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def _undeclared(head: RequestHead, error: Exception) -> PluginError:
    """A defect. The cause goes to the appliance's own log, never to the caller."""
    log.error("exchange %s refused: an undeclared error", head.id, exc_info=error)
    return PluginError("A part of the appliance failed, so the request was refused.")


def _one_claimant(
    stage: str, kinds: Collection[str], claims: Iterable[tuple[str, Mapping[str, Claim]]]
) -> dict[str, Claim]:
    """Exactly one plugin for each kind. Raises `ConfigurationError` for none and for two."""
    claimed: dict[str, Claim] = {}
    for name, mapping in claims:
        for kind, hook in mapping.items():
            if kind in claimed:
                raise ConfigurationError(f"The plugin {name} claims {stage} of {kind}, which another has.", ACTIVE)
            claimed[kind] = hook
    missing = sorted(set(kinds) - claimed.keys())
    if missing:
        raise ConfigurationError(f"No active plugin claims {stage} of {', '.join(missing)}.", ACTIVE)
    return claimed
