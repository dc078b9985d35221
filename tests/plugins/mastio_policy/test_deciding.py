"""Two times of deciding, what is remembered, what is observed, what waits for a human."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from mastio.cedar.schema import FACTS
from mastio.exchange.inspection import Finding
from mastio.exchange.values import Action, Allow, Decision, Deny, NeedsApproval, Principal
from mastio_policy import facts
from mastio_policy.collection import STARTER, PolicyRow
from mastio_policy.deciding import Rulebook
from mastio_policy.facts import READ, Reading, Subject, readings_of, write_context
from mastio_policy.plugin import Policies, Settings
from mastio_policy.rules import CedarRequest, Policy, PolicySet, encode_agent, parse_rules
from support.collections import Described

ALICE = Principal(
    "alice", frozenset({"agent"}), frozenset({"team"}), {"level": 3}, credential={"type": "token"}, version=1,
    address="10.1.2.3", credential_since=1000.0,
)  # fmt: skip
CHAT = Action("llm.chat", "Model", "stub/gpt", {"request.bytes": 100, "tools.names": ("deleteUser", "look_up")})
CALL = Action("mcp.call", "Tool", "files/read")
INJECTED, NAMED = Finding("injection.override", 80), Finding("pii.EMAIL_ADDRESS", 100, 2)


class Directory(Described):
    def __init__(self, *policies: PolicyRow) -> None:
        self.policies = {policy.name: policy for policy in policies}


def policies_of(*sources: str, observed: Sequence[str] = (), now: float = 5000.0) -> Policies:
    rows = [PolicyRow(f"p{n}", source) for n, source in enumerate(sources)]
    rows += [PolicyRow(f"o{n}", source, mode="observe") for n, source in enumerate(observed)]
    made = Policies(Directory(STARTER, *rows), Settings(), lambda: now)  # type: ignore[arg-type]
    assert made.problem is None, made.problem
    return made


async def ask(
    policies: Policies, action: Action = CHAT, findings: Sequence[Finding] = (), principal: Principal = ALICE
) -> tuple[Decision | None, Decision | None]:
    """What is said before content is known and after, as the pipeline asks."""
    first = await policies.authorize(principal, action)
    if isinstance(first, Deny):
        return first, None
    return first, await policies.authorize_content(principal, action, findings)


def test_every_fact_of_the_schema_is_read() -> None:
    assert list(READ) == list(FACTS)


async def test_what_does_not_look_at_content_is_said_once() -> None:
    first, second = await ask(policies_of())
    assert (first, second) == (Allow("starter"), None)


@pytest.mark.parametrize(("findings", "allowed"), [((), True), ((NAMED,), True), ((INJECTED,), False)])
async def test_a_forbid_on_content_forbids_when_it_is_known(findings: tuple[Finding, ...], allowed: bool) -> None:
    policies = policies_of("forbid(principal, action, resource) when { context.content.scores.injection >= 50 };")
    first, second = await ask(policies, findings=findings)
    assert isinstance(first, Allow)
    assert isinstance(second, Allow) is allowed


async def test_who_is_forbidden_in_any_case_is_refused_before_content() -> None:
    policies = policies_of(
        "forbid(principal, action, resource) when { context.content.found > 5 };",
        "forbid(principal, action, resource) when { context.request.bytes > 50 };",
    )
    assert (await ask(policies))[0] == Deny("p1", "The policy p1 forbids this action.")


async def test_a_permit_on_content_permits_for_now_only_whom_it_could() -> None:
    policies = policies_of(
        'permit(principal in Group::"team", action, resource is Tool) when '
        '{ context.content.found == 0 && resource.server == "files" };'
    )
    assert await ask(policies, CALL) == (Allow("p0"), Allow("p0"))
    first, second = await ask(policies, CALL, [NAMED])
    assert isinstance(first, Allow) and isinstance(second, Deny)
    elsewhere, nobody = replace(CALL, target="other/read"), replace(ALICE, groups=frozenset(), version=2)
    assert isinstance((await ask(policies, elsewhere))[0], Deny)
    assert isinstance((await ask(policies, CALL, principal=nobody))[0], Deny)


async def test_what_is_observed_is_noted_and_decides_nothing() -> None:
    policies = policies_of(observed=["forbid(principal, action, resource) when { context.request.bytes > 50 };"])
    assert await ask(policies) == (Allow("starter", {"observed": {"effect": "deny", "rule": "o0"}}), None)
    small = replace(CHAT, attributes={"request.bytes": 5})
    assert await ask(policies, small) == (Allow("starter", {"observed": {"effect": "allow", "rule": "starter"}}), None)


async def test_what_is_observed_of_content_is_noted_when_it_is_known() -> None:
    policies = policies_of(observed=["forbid(principal, action, resource) when { context.content.found > 0 };"])
    first, second = await ask(policies, findings=[NAMED])
    assert first == Allow("starter")
    assert second == Allow("starter", {"observed": {"effect": "deny", "rule": "o0"}})


HOLD = (
    '@hold("15m") @reason("It deletes") forbid(principal, action, resource) '
    'when { context.tools.risks.contains("delete") };'
)


async def test_a_hold_waits_where_nothing_else_forbids() -> None:
    asked = NeedsApproval("p0", "The policy p0 forbids this action: It deletes.", 900, 20.0)
    assert await ask(policies_of(HOLD)) == (asked, None)
    short = HOLD.replace("15m", "1m")
    both = (await ask(policies_of(HOLD, short)))[0]
    assert isinstance(both, NeedsApproval) and (both.rule, both.seconds) == ("p1", 60)


async def test_a_hold_permits_nothing_that_nobody_permits() -> None:
    policies = policies_of(HOLD.replace('context.tools.risks.contains("delete")', "true"))
    assert isinstance((await ask(policies, CALL))[0], Deny)


async def test_a_forbid_wins_over_a_hold() -> None:
    first, _ = await ask(policies_of(HOLD, "forbid(principal, action, resource) when { context.request.bytes > 50 };"))
    assert first == Deny("p1", "The policy p1 forbids this action.")
    _, second = await ask(
        policies_of(HOLD, "forbid(principal, action, resource) when { context.content.found > 0 };"), findings=[NAMED]
    )
    assert isinstance(second, Deny)


async def test_a_hold_on_content() -> None:
    policies = policies_of('@hold("5m") forbid(principal, action, resource) when { context.content.found > 1 };')
    first, second = await ask(policies, findings=[NAMED])
    assert isinstance(first, Allow) and isinstance(second, NeedsApproval)
    assert isinstance((await ask(policies, findings=[INJECTED]))[1], Allow)


async def test_time_and_age_are_of_now() -> None:
    night = "forbid(principal, action, resource) when { context.time.hour == 1 };"
    for now, allowed in ((3599.0, True), (3600.0, False), (7199.0, False), (7200.0, True)):
        assert isinstance((await ask(policies_of(night, now=now)))[0], Allow) is allowed
    old = "forbid(principal, action, resource) when { context.credential.age > 60 };"
    for now, allowed in ((1060.0, True), (1061.0, False)):
        assert isinstance((await ask(policies_of(old, now=now)))[0], Allow) is allowed
    thursday = "forbid(principal, action, resource) when { context.time.weekday != 4 };"
    assert isinstance((await ask(policies_of(thursday, now=0.0)))[0], Allow)
    assert isinstance((await ask(policies_of(thursday, now=86_400.0)))[0], Deny)


# --- remembered decisions are those that would be made ---------------------------------------------------------------

CONDITIONS = (
    "context.request.bytes > 10",
    "context.request.bytes >= 100 && context.request.stream",
    "20 > context.request.bytes",
    "context.request.bytes == 50",
    "context.request.bytes * 2 < 60",
    'context.tools.names.contains("a")',
    'context.tools.names.containsAny(["b", "c"])',
    'context.tools.names.containsAll(["a", "b"])',
    'context.tools.names == ["a"]',
    '["a", "b"].containsAll(context.tools.names)',
    'context.tools.risks.contains("delete")',
    "context.content.scores.injection > 50",
    "context.content.counts.pii >= 2",
    'context.content.labels.contains("pii.IBAN_CODE")',
    'context.content.classes.containsAny(["financial", "health"])',
    'context.content.found == 0 && context.request.bytes < 90',
    'principal has level && principal.level > 2',
    'context.content.found > 0 && principal has level && principal.level == 3',
    'if context.content.found > 1 then context.request.bytes > 30 else context.request.stream',
    'context.network.ip.isInRange(ip("10.0.0.0/8"))',
    "context.request has max_tokens && context.request.max_tokens > 100",
)  # fmt: skip


def some_source(chance: random.Random) -> str:
    picked = chance.sample(CONDITIONS, chance.randint(0, 2))
    clauses = [f"{chance.choice(('when', 'unless'))} {{ {condition} }}" for condition in picked]
    effect = chance.choice(("permit", "permit", "forbid", '@hold("1m") forbid'))
    action = chance.choice(("action", 'action == Action::"llm.chat"', 'action in [Action::"mcp.call"]'))
    principal = chance.choice(("principal", 'principal in Group::"team"', 'principal == Agent::"bob"'))
    return f"{effect}({principal}, {action}, resource) {' '.join(clauses)};"


def some_request(chance: random.Random) -> tuple[Principal, Action, tuple[Finding, ...]]:
    attributes: dict[str, Any] = {
        "request.bytes": chance.choice((0, 10, 11, 20, 29, 30, 31, 50, 89, 90, 100)),
        "request.stream": chance.random() < 0.5,
        "tools.names": tuple(chance.sample(("a", "b", "c", "deleteIt"), chance.randint(0, 3))),
        "request.max_tokens": chance.choice((None, 100, 101)),
    }
    found = chance.sample(
        (INJECTED, NAMED, Finding("pii.IBAN_CODE", 90), Finding("injection.x", 30)), chance.randint(0, 3)
    )
    principal = chance.choice((ALICE, replace(ALICE, name="bob", groups=frozenset(), attributes={}, version=2)))
    return principal, Action("llm.chat", "Model", "stub/gpt", attributes), tuple(found)


def say_at_once(everything: Sequence[Policy], subject: Subject) -> Decision:
    """By all policies and the whole context, without slices, times, shares or memory."""
    context = orjson.dumps(
        write_context([Reading(path, READ[path], lambda value: value) for path in FACTS], subject)
    ).decode()
    action, calm = subject.action, [policy for policy in everything if policy.hold is None]
    question = CedarRequest(
        ("Agent", subject.principal.name), ("Action", action.kind), ("Model", action.target), context
    )
    verdict, without = (PolicySet(p).judge(question, encode_agent(subject.principal)) for p in (everything, calm))
    if verdict.allowed:
        return Allow("all")
    held = verdict.deciding and not verdict.broken and all(policy.hold for policy in verdict.deciding)
    return NeedsApproval("all", "", 60) if held and without.allowed else Deny("all", "")


@pytest.mark.parametrize("seed", range(60))
async def test_two_times_and_memory_say_what_one_says(seed: int) -> None:
    chance = random.Random(seed)
    sources = [some_source(chance) for _ in range(chance.randint(1, 7))]
    policies = Policies(
        Directory(PolicyRow("all", "\n".join(sources))),
        Settings(hold_wait=0),
        lambda: 5000.0,  # type: ignore[arg-type]
    )
    assert policies.problem is None, policies.problem
    everything = parse_rules([("all", "\n".join(sources))])
    for _ in range(100):
        principal, action, findings = some_request(chance)
        first, second = await ask(policies, action, findings, principal)
        expected = say_at_once(everything, Subject(principal, action, lambda: 5000.0, findings))
        final = second or first
        assert final is not None and final.effect == expected.effect, (sources, action.attributes, findings)


async def test_numbers_that_policies_cannot_tell_apart_are_one_decision() -> None:
    policies = policies_of("forbid(principal, action, resource) when { context.request.bytes > 1000 };")
    for size in (*range(0, 1001), 1001, *range(5000, 5100)):
        first, _ = await ask(policies, replace(CHAT, attributes={"request.bytes": size}))
        assert isinstance(first, Allow) is (size <= 1000)
    assert len(policies._decisions) == 3  # below, exactly, above


async def test_the_context_is_what_policies_look_at() -> None:
    (rule,) = parse_rules([("p", "forbid(principal, action, resource) when { context.request.bytes > 1000 };")])
    assert write_context(readings_of([rule]), Subject(ALICE, CHAT, lambda: 0.0)) == {"request": {"bytes": 100}}
    (rule,) = parse_rules([("p", "forbid(principal, action, resource) when { context has request };")])
    assert [reading.path for reading in readings_of([rule])] == [path for path in FACTS if path.startswith("request.")]


# --- what is wrong never passes ---------------------------------------------------------------------------------------


async def test_an_invalid_set_keeps_the_last_good_one_and_alarms() -> None:
    directory, alarms = Directory(STARTER), list[str | None]()
    policies = Policies(directory, Settings(), lambda: 0.0, alarms.append)  # type: ignore[arg-type]
    directory.policies = {"starter": STARTER, "half": PolicyRow("half", "forbid(principal, action")}
    policies.reload()
    assert (await ask(policies))[0] == Allow("starter")
    assert policies.problem is not None and "half" in policies.problem and "half" in str(await policies.ready())
    directory.policies = {"half": PolicyRow("half", "forbid(principal, action")}
    policies.reload()
    assert (await ask(policies))[0] == Allow("starter"), "the last good set stands whole, or not at all"
    directory.policies = {}
    policies.reload()
    assert isinstance((await ask(policies))[0], Deny)
    assert (policies.problem, await policies.ready()) == (None, None)
    assert len(alarms) == 2 and alarms[0] and alarms[1] is None


@pytest.mark.parametrize(
    "damaged",
    [
        PolicyRow("half", "forbid(principal, action"),
        PolicyRow("half", STARTER.cedar, mode="enforced"),  # type: ignore[arg-type]
        PolicyRow("half", b"\xff"),  # type: ignore[arg-type]
        PolicyRow("half", None),  # type: ignore[arg-type]
    ],
)
async def test_a_damaged_row_keeps_the_last_good_set_and_is_named(damaged: PolicyRow) -> None:
    directory = Directory(STARTER)
    policies = Policies(directory, Settings(), lambda: 0.0)  # type: ignore[arg-type]
    assert policies.in_force() is None
    stop = PolicyRow("stop", "forbid(principal, action, resource);")
    directory.policies = {"starter": STARTER, "half": damaged, "stop": stop}
    assert "half" in str(policies.in_force()) and "half" in str(await policies.ready())
    assert (await ask(policies))[0] == Allow("starter")
    directory.policies = {"starter": STARTER, "half": replace(damaged, enabled=False), "stop": stop}
    assert policies.in_force() is None and await policies.ready() is None
    assert isinstance((await ask(policies))[0], Deny)


async def test_without_a_good_set_from_the_start_everything_is_denied() -> None:
    directory = Directory(PolicyRow("half", "permit(principal, action, resource) when { context.x };"))
    policies = Policies(directory, Settings(), lambda: 0.0)  # type: ignore[arg-type]
    assert isinstance((await ask(policies))[0], Deny)
    assert policies.problem is not None


async def test_attributes_that_cedar_cannot_hold_deny() -> None:
    odd = replace(ALICE, attributes={"level": 1.5}, version=9)
    assert (await ask(policies_of(), principal=odd))[0] == Deny(
        "attributes", "The agent's attributes cannot be expressed in Cedar."
    )


# --- what a decision costs --------------------------------------------------------------------------------------------


def test_policies_about_others_cost_nothing() -> None:
    """However many there are: the slice that is asked is the same, and so is what is read for it."""
    base = ["permit(principal, action, resource) when { context.request.bytes < 9 };"]
    others = [
        f'forbid(principal in Group::"g{n}", action, resource) when {{ context.tools.count > {n} }};'
        for n in range(300)
    ]
    others += [f'forbid(principal == Agent::"a{n}", action, resource);' for n in range(100)]
    others += ['forbid(principal, action == Action::"mcp.call", resource) when { context.time.hour == 1 };'] * 100
    for sources in (base, base + others):
        book = Rulebook(parse_rules((f"p{n}", source) for n, source in enumerate(sources)))
        found = book.find(ALICE, "llm.chat", "Model")
        assert [policy.name for policy in found.whole.policies.policies] == ["p0"]
        assert [reading.path for reading in found.whole.readings] == ["request.bytes"]


def test_a_source_that_did_not_change_is_not_parsed_again() -> None:
    directory = Directory(STARTER, PolicyRow("p", "forbid(principal, action, resource is Tool);"))
    policies = Policies(directory, Settings(), lambda: 0.0)  # type: ignore[arg-type]
    before = dict(policies._parsed)
    directory.policies = {"starter": STARTER, "q": PolicyRow("q", "forbid(principal, action, resource is Host);")}
    policies.reload()
    assert policies._parsed["starter", STARTER.cedar] is before["starter", STARTER.cedar]
    assert [name for name, _ in policies._parsed] == ["starter", "q"], "what is gone is forgotten"


@pytest.mark.parametrize("calls", ["names", "calls"])
async def test_long_facts_are_found_beside_the_event_loop_and_once(calls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """permit(principal, action, resource);
        forbid(principal, action, resource) when { context.tools.called_risks.contains("payment") };
        forbid(principal, action, resource) when { context.tools.risks.contains("admin") };"""
    policies = Policies(Directory(PolicyRow("all", source)), Settings(hold_wait=0), lambda: 5000.0)  # type: ignore[arg-type]
    found: list[int] = []
    classify = facts.classify

    def watch(name: str, arguments: object = None) -> frozenset[str]:
        found.append(threading.get_ident())
        return classify(name, arguments)

    monkeypatch.setattr(facts, "classify", watch)
    many = tuple(f"grant_{number}_{calls}" for number in range(3000))
    memo: dict[str, frozenset[str]] = {}
    attributes = {
        "tools.names": many if calls == "names" else (),
        "tools.calls": tuple((name, {"amount": 1}) for name in many) if calls == "calls" else (),
        "request.bytes": 100_000,
        "memo": memo,
    }
    for _ in range(3):
        decision = await policies.authorize(ALICE, Action("llm.chat", "Model", "stub/gpt", attributes))
        assert decision is not None and decision.effect == "deny"
    assert len(found) == len(many) and threading.get_ident() not in found
