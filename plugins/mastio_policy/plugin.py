"""Authorizes every action of an agent with Cedar policies: parsed once, default deny, one forbid wins.

The policies come from the control plane's hot copy. An invalid set keeps the last good one in force, makes the
appliance not ready and raises an alarm; without a good one from the start, everything is denied.

A decision depends on the principal, the action's kind and target, and what the policies that concern it look at; it is
remembered by exactly these until any policy changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from cedarpy import Entities
from pydantic import Field

from mastio.cedar.source import count_policies
from mastio.exchange.errors import AuditError, BadRequest, Unavailable
from mastio.exchange.inspection import Finding
from mastio.exchange.records import Directory
from mastio.exchange.values import Action, Decision, Deny, Entry, NeedsApproval, Principal
from mastio.host import aside
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_policy.collection import POLICIES, PolicyRow
from mastio_policy.deciding import Rulebook, Shares, Slice
from mastio_policy.facts import NONE, Subject, work_out
from mastio_policy.metrics import PolicyMetrics
from mastio_policy.rules import Policy, RulesError, encode_agent, parse_rules

log = logging.getLogger("mastio.policy")

REMEMBER = 50_000
REMEMBER_AGENTS = 10_000
SHORT_SOURCE = 500
"""Characters of a policy that is parsed in the event loop."""

FEW_RULES = 200
"""Cedar policies that are made ready in the event loop: some five milliseconds."""

MOST_RULES = 5000
"""Cedar policies that may be stored and enabled. A decision that is not remembered takes a millisecond for each
thousand of them that concern it."""

Parsed = dict[tuple[str, str], tuple[Policy, ...]]
"""Policies by the name and text of their source."""

Alarm = Callable[[str | None], None]


class Settings(PluginSettings):
    """Policies are objects of the control plane. `hold_wait`: seconds that a request waits for a human before it is
    told to come back. `hold_content`: whether who decides is shown the content of the request, after redaction; else
    its sizes and names alone.
    """

    hold_wait: float = Field(default=20.0, ge=0, le=120)
    hold_content: bool = False


class Policies:
    """The rules in force in this worker, kept up with the directory. `alarm` is told what is wrong; None: nothing."""

    def __init__(
        self, directory: Directory, settings: Settings, now: Callable[[], float], alarm: Alarm = lambda problem: None
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._now = now
        self._alarm = alarm
        self._rows: Mapping[str, PolicyRow] = {}
        self._book: Rulebook | None = None
        self._slices: dict[tuple[str, int, str, str, frozenset[str]], Slice] = {}
        self._entities: dict[tuple[str, int], Entities] = {}
        self._decisions: dict[tuple[object, ...], Decision] = {}
        self._last: tuple[Principal | None, Action | None, Slice | None, Shares] = (None, None, None, ())
        self._parsed: Parsed = {}
        self._ready: list[tuple[Mapping[str, PolicyRow], Rulebook]] = []
        """Rulebooks of rows that are about to be in force: two at most, where one change follows the other."""
        self.problem: str | None = None
        self.reload()

    def reload(self) -> None:
        """Take the directory's policies, unless they are the ones in force or are not valid."""
        rows = dict(POLICIES.find_rows(self._directory))
        if self._book is not None and self.problem is None and rows == self._rows:
            return
        try:
            made = next((book for ready, book in self._ready if ready == rows), None)
            self._book = made or read_book(list(rows.values()), self._parsed)
        except RulesError as error:
            self._say(str(error))
            return
        self._rows = rows
        names = [(row.name, row.cedar) for row in rows.values() if row.enabled]
        self._parsed = {name: self._parsed[name] for name in names if name in self._parsed}
        self._ready = [pair for pair in self._ready if pair[0] != rows]
        self._last = (None, None, None, ())
        self._slices.clear()
        self._entities.clear()
        self._decisions.clear()
        self._say(None)

    async def prepare(self, rows: Mapping[str, PolicyRow]) -> None:
        """Parse, and make ready, beside the event loop what `reload` will need."""
        for row in list(rows.values()):
            if row.enabled and isinstance(row.cedar, str) and (row.name, row.cedar) not in self._parsed:
                try:
                    name = (row.name, row.cedar)
                    self._parsed[name] = await aside.run(len(row.cedar) < SHORT_SOURCE, parse_rules, [name])
                except (RulesError, Unavailable):
                    return  # `reload` says so
        wanted = dict(rows)
        with contextlib.suppress(RulesError, Unavailable):
            few = sum(map(len, self._parsed.values())) <= FEW_RULES
            book = await aside.run(few, read_book, list(wanted.values()), dict(self._parsed))
            self._ready = [*self._ready[-1:], (wanted, book)]

    def verify(self, row: PolicyRow) -> None:
        """Raises `BadRequest` (invalid_body) for more Cedar policies than may be in force together."""
        if not row.enabled:
            return
        others = (
            other for other in POLICIES.find_rows(self._directory).values() if other.enabled and other.name != row.name
        )
        count = sum(self._count(other) for other in (row, *others))
        if count > MOST_RULES:
            message = f"cedar: {count} Cedar policies would be enabled, and there may be {MOST_RULES}. Disable others."
            raise BadRequest(message, code="invalid_body")

    def _count(self, row: PolicyRow) -> int:
        parsed = self._parsed.get((row.name, row.cedar))
        if parsed is not None:
            return len(parsed)
        return count_policies(row.cedar) if isinstance(row.cedar, str) else 0

    def _say(self, problem: str | None) -> None:
        if problem == self.problem:
            return
        self.problem = problem
        if problem is not None:
            log.error("policies not loaded, the last good ones stay in force: %s", problem)
        self._alarm(problem)

    async def authorize(self, principal: Principal, action: Action) -> Decision | None:
        """Returns the decision that is possible before the content is inspected."""
        if not principal.is_agent or action.target_type == "Token":
            return None  # people have roles; a token carries no more than its agent has
        known = await self._find(principal, action)
        if known is None:
            return Deny("default", "No valid policies are loaded, so everything is denied.")
        subject = Subject(principal, action, self._now)
        if known.long and action.attributes.get("request.bytes", 0) > aside.SHORT:
            await aside.run(False, work_out, known.long, subject)
        shares = known.share(subject)
        self._last = (principal, action, known, shares)
        return self._decide(known, subject, shares, None)

    async def authorize_content(
        self, principal: Principal, action: Action, findings: Sequence[Finding]
    ) -> Decision | None:
        """Returns the decision of all policies if one of them reads content; None if the first decision holds."""
        if not principal.is_agent or action.target_type == "Token":
            return None
        known = await self._find(principal, action)
        if known is None or known.is_final:
            return None
        subject = Subject(principal, action, self._now, tuple(findings))
        last = self._last  # mostly nobody else was judged in between
        is_same = last[0] is principal and last[1] is action and last[2] is known
        shares = last[3] if is_same else known.share(subject)
        return self._decide(known, subject, shares, known.share_content(subject))

    async def _find(self, principal: Principal, action: Action) -> Slice | None:
        """The policies that concern an action, made ready; None: there are no valid ones."""
        needs: frozenset[str] = action.attributes.get("needs", NONE)
        name = (principal.name, principal.version, action.kind, action.target_type, needs)
        known, book = self._slices.get(name), self._book
        if known is not None or book is None:
            return known
        is_short = len(book.enforced) + len(book.observed) <= FEW_RULES
        known = await aside.run(is_short, book.find, principal, action.kind, action.target_type, needs)
        if book is self._book:  # else other policies came into force meanwhile
            if len(self._slices) >= REMEMBER:
                self._slices.clear()
            self._slices[name] = known
        return known

    def _decide(self, known: Slice, subject: Subject, shares: Shares, content: Shares | None) -> Decision:
        """`content`: None before it was looked into."""
        principal, action = subject.principal, subject.action
        needs = action.attributes.get("needs", NONE)
        # with the slice itself: other policies may have come into force while this one was made ready
        name = (
            known, principal.name, principal.version, action.kind, action.target_type, action.target, needs, shares,
            content,
        )  # fmt: skip
        decision = self._decisions.get(name)
        if decision is None:
            decision = self._ask(known, subject, final=content is not None or known.is_final)
            if len(self._decisions) >= REMEMBER:
                self._decisions.clear()
            self._decisions[name] = decision
        return decision

    def _ask(self, known: Slice, subject: Subject, *, final: bool) -> Decision:
        try:
            entities = self._encode(subject.principal)
            decision = known.decide(subject, entities) if final else known.decide_first(subject, entities)
        except ValueError:
            return Deny("attributes", "The agent's attributes cannot be expressed in Cedar.")
        if isinstance(decision, NeedsApproval):
            return replace(decision, wait=self._settings.hold_wait, shows_content=self._settings.hold_content)
        return decision

    def _encode(self, principal: Principal) -> Entities:
        name = (principal.name, principal.version)
        known = self._entities.get(name)
        if known is None:
            if len(self._entities) >= REMEMBER_AGENTS:
                self._entities.clear()
            known = self._entities[name] = encode_agent(principal)
        return known

    def in_force(self) -> str | None:
        """None when the directory's policies are those in force; else why not."""
        self.reload()
        return self.problem

    async def ready(self) -> str | None:
        return f"policy: {self.problem}" if self.problem else None


def read_book(rows: Sequence[PolicyRow], parsed: Parsed | None = None) -> Rulebook:
    """The policies that are turned on, in the order of their names. `parsed` keeps what need not be parsed again.

    Raises `RulesError`.
    """
    known = {} if parsed is None else parsed
    found: dict[str, list[Policy]] = {"enforce": [], "observe": []}
    for row in sorted((row for row in rows if row.enabled), key=lambda row: str(row.name)):
        if not isinstance(row.cedar, str) or row.mode not in found:
            raise RulesError(f"The policy {row.name} is not valid: its row in the database is damaged.")
        name = (row.name, row.cedar)
        if name not in known:
            known[name] = parse_rules([name])
        found[row.mode] += known[name]
    return Rulebook(found["enforce"], found["observe"])


async def _note(services: Services, entry: Entry) -> None:
    try:
        await services.note(entry)
    except AuditError as error:  # the log is closed: then nothing is permitted anyway
        log.error("the event %s cannot be recorded: %s", entry.kind, error.message)


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    figures, tasks = PolicyMetrics(), set[asyncio.Task[None]]()

    def alarm(problem: str | None) -> None:
        """Every process counts it; control writes it down."""
        figures.tell(problem is not None)
        if services.plane == "control":
            said = {"problem": (problem or "none")[:500]}
            kind = f"policy.{'invalid' if problem else 'valid'}"
            task = asyncio.create_task(_note(services, Entry(services.worker.incarnation, "event", kind, request=said)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    policies = Policies(services.directory, settings, services.now, alarm)
    if policies.problem is None:
        figures.tell(False)
    services.directory.before(POLICIES.name, policies.prepare)
    services.directory.on_change(policies.reload)
    yield Hooks(
        authorize=policies.authorize, authorize_content=policies.authorize_content, ready=policies.ready,
        verify={POLICIES.name: policies.verify}, in_force={POLICIES.name: policies.in_force},
    )  # fmt: skip
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


plugin = Plugin(name="policy", settings=Settings, setup=setup, collections=(POLICIES,))
