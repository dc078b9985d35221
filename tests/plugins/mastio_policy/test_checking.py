"""What is odd about policies, what would have been said of the past, and those that come with the appliance."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from mastio_policy.checking import Known, check
from mastio_policy.collection import STARTER
from mastio_policy.replaying import Directory, Replay
from mastio_policy.rules import parse_rules
from mastio_policy.shipped import CATALOGUES, read_shipped

KNOWN = Known({"alice": ("team",), "bob": ()}, ("stub/*",))
ALL = "(principal, action, resource)"
OF_TEAM = 'permit(principal in Group::"team", action, resource);'
OF_ALICE = 'permit(principal == Agent::"alice", action, resource);'
OF_BOB = 'permit(principal == Agent::"bob", action, resource);'
TO_MODEL = 'permit(principal, action, resource == Model::"stub/x");'


def remarks_of(*sources: str, known: Known = KNOWN) -> set[tuple[str, str]]:
    policies = parse_rules((f"p{number}", source) for number, source in enumerate(sources))
    return {(remark.policy, remark.oddity) for remark in check(policies, known)}


@pytest.mark.parametrize(
    ("sources", "remarks"),
    [
        ([STARTER.cedar], set()),
        (['permit(principal == Agent::"alice", action, resource == Model::"stub/x");'], set()),
        (['permit(principal == Agent::"carol", action, resource);'], {("p0", "unused")}),
        (['permit(principal in Group::"ops", action, resource);'], {("p0", "unused")}),
        (['permit(principal, action, resource == Model::"openai/x");'], {("p0", "unused")}),
        ([f'forbid{ALL} when {{ principal in Group::"ops" }};'], {("p0", "unknown")}),
        ([f"permit{ALL};", OF_BOB], {("p1", "shadowed")}),
        ([f"forbid{ALL};", OF_BOB], {("p1", "shadowed")}),
        ([f"permit{ALL};", f"permit{ALL};"], {("p1", "shadowed")}),
        ([f"permit{ALL};", f"forbid{ALL};"], {("p0", "contradicts")}),
        (
            [f"permit{ALL} when {{ context.request.stream }};", f"forbid{ALL} when {{ context.request.stream }};"],
            {("p0", "contradicts")},
        ),
        ([f"permit{ALL};", f"forbid{ALL} when {{ context.request.stream }};"], set()),
        (
            [
                f"permit{ALL} when {{ context.request.stream && context.request.bytes > 5 }};",
                f"forbid{ALL} when {{ context.request.bytes > 5 }};",
            ],
            {("p0", "shadowed")},
        ),
        ([f'@hold("1m") forbid{ALL};', "permit(principal, action, resource is Model);"], set()),
        ([f'@hold("1m") forbid{ALL};', "forbid(principal, action, resource is Model);"], set()),
        ([f"forbid{ALL};", '@hold("1m") forbid(principal, action, resource is Model);'], {("p1", "shadowed")}),
        (
            [OF_TEAM, OF_ALICE],
            {("p1", "shadowed")},
        ),
        (
            [OF_TEAM, OF_BOB],
            set(),
        ),
        (["permit(principal, action, resource is Model);", TO_MODEL], {("p1", "shadowed")}),
        (["permit(principal, action, resource is Tool);", TO_MODEL], set()),
    ],
)  # fmt: skip
def test_what_is_odd(sources: list[str], remarks: set[tuple[str, str]]) -> None:
    assert remarks_of(*sources) == remarks


def test_what_is_observed_shadows_nothing() -> None:
    known = Known({"alice": ()}, ("stub/*",), frozenset({"p0"}))
    assert remarks_of(f"forbid{ALL};", f"permit{ALL};", known=known) == set()


def test_what_is_not_known_is_not_said() -> None:
    assert remarks_of('permit(principal == Agent::"carol", action, resource);', known=Known()) == set()


# --- those that come with the appliance -------------------------------------------------------------------------------


def test_shipped_policies_are_valid_mapped_and_agree() -> None:
    shipped = read_shipped()
    assert len(shipped) >= 23
    policies = parse_rules((one.name, one.cedar) for one in shipped)
    assert {policy.effect for policy in policies} == {"forbid"}, "none of them permits anything"
    assert check(policies) == []
    for one in shipped:
        assert one.maps and all(clause.startswith(CATALOGUES) for clause in one.maps), one.name
    for catalogue in CATALOGUES:
        assert any(clause.startswith(catalogue) for one in shipped for clause in one.maps)
    for number in range(1, 11):
        if number not in (3, 4, 5, 8, 9):  # what no decision about an action could help against
            assert any(f"OWASP LLM{number:02}" in one.maps for one in shipped), number


# --- the past ---------------------------------------------------------------------------------------------------------

ENTRY: dict[str, Any] = {
    "seq": 7,
    "phase": "intent",
    "kind": "llm.chat",
    "agent": "alice",
    "target": "stub/gpt",
    "time": "2026-01-01T10:00:00.000000Z",
    "credential": {"type": "token"},
    "decision": {"effect": "allow", "rule": "starter"},
    "request": {"bytes": 100, "stream": False},
}
INJECTED = {"label": "injection.override", "confidence": 80, "times": 1}
TODAY = Directory({"alice": (("team",), {"level": 3})}, {"stub": {"destination.local": True}})
NOBODY = Directory()


def replay(source: str, *entries: Mapping[str, Any], directory: Directory = TODAY) -> Replay:
    made = Replay(parse_rules([("starter", STARTER.cedar), ("p", source)]), directory)
    for entry in entries:
        made.look(entry)
    return made


def with_request(**more: Any) -> dict[str, Any]:
    return {**ENTRY, "request": {**ENTRY["request"], **more}}


def denied(rule: str = "p", **more: Any) -> dict[str, Any]:
    return {**ENTRY, "phase": "event", "decision": {"effect": "deny", "rule": rule}, **more}


@pytest.mark.parametrize(
    ("condition", "entry", "change"),
    [
        ("context.request.bytes > 50", ENTRY, "newly_denied"),
        ("context.request.bytes > 500", ENTRY, "same"),
        ("context.request.bytes > 50", denied(), "same"),
        ("context.request.bytes > 500", denied(), "newly_allowed"),
        ("context.time.hour == 10 && context.time.weekday == 4", ENTRY, "newly_denied"),
        ('context.credential.kind == "token"', ENTRY, "newly_denied"),
        ("context.content.scores.injection > 50", with_request(findings=[INJECTED]), "newly_denied"),
        ("context.content.scores.injection > 50", ENTRY, "same"),
        ("context.content.scores.injection > 50", denied(), "unknown"),
        ('principal in Group::"team"', ENTRY, "newly_denied"),
        ("principal has level && principal.level > 2", ENTRY, "newly_denied"),
        ("context.destination.local", ENTRY, "newly_denied"),
        ("context.tools.count > 3", ENTRY, "unknown"),
        ("context.tools.count > 3 && context.request.bytes > 500", ENTRY, "same"),
        ('context.network.ip.isInRange(ip("10.0.0.0/8"))', ENTRY, "unknown"),
    ],
)
def test_what_would_have_been_said(condition: str, entry: dict[str, Any], change: str) -> None:
    tally = replay(f"forbid{ALL} when {{ {condition} }};", entry).tally
    assert dict(tally.changes) == {change: 1}
    assert change == "same" or tally.examples[change] == [7]  # type: ignore[index]


CALL: dict[str, Any] = {
    **ENTRY, "kind": "egress.http", "target": "tickets", "decision": {"effect": "allow", "rule": "own"},
    "request": {
        "method": "POST", "path": "/v1/egress/tickets/tickets/7", "connection": "tickets", "host": "api.example.com",
        "bytes": 20,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "change"),
    [
        ('context.request.method == "POST"', "newly_denied"),
        ('context.request.path like "/tickets/*"', "newly_denied"),
        ('context.request.path like "/v1/*"', "same"),
        ('context.destination.host == "api.example.com" && !context.destination.local', "newly_denied"),
        ("context.request.bytes > 30", "same"),
    ],
)
def test_what_would_have_been_said_of_calls_to_a_connection(condition: str, change: str) -> None:
    own = 'permit(principal, action == Action::"egress.http", resource == Connection::"tickets");'
    source = f'{own} forbid(principal, action == Action::"egress.http", resource) when {{ {condition} }};'
    assert dict(replay(source, CALL, directory=NOBODY).tally.changes) == {change: 1}


def test_what_cannot_be_judged_is_named_with_what_is_missing() -> None:
    tally = replay(f"forbid{ALL} when {{ context.tools.count > 3 }};", ENTRY, ENTRY).tally
    assert dict(tally.blind) == {"p": {"tools.count"}} and tally.blinded["p"] == 2
    tally = replay('forbid(principal in Group::"team", action, resource);', ENTRY, directory=NOBODY).tally
    assert dict(tally.changes) == {"unknown": 1} and tally.blind == {"p": {"principal"}}


def test_a_permit_that_cannot_be_judged() -> None:
    call = {**denied("default"), "kind": "mcp.call", "target": "files/read"}
    source = f'permit{ALL} when {{ context.network.ip.isInRange(ip("10.0.0.0/8")) }};'
    assert dict(replay(source, call).tally.changes) == {"unknown": 1}
    assert dict(replay(source.replace(ALL, "(principal, action, resource is Model)"), call).tally.changes) == {
        "same": 1
    }


def test_holds_are_a_change_too() -> None:
    source = f'@hold("5m") forbid{ALL} when {{ context.request.bytes > 50 }};'
    assert dict(replay(source, ENTRY).tally.changes) == {"newly_held": 1}
    held = {**ENTRY, "phase": "event", "decision": {"effect": "hold", "rule": "p", "hold": "hold_1"}}
    assert dict(replay(source, held).tally.changes) == {"same": 1}


@pytest.mark.parametrize(
    "entry",
    [
        {**ENTRY, "phase": "outcome", "decision": None},
        {**ENTRY, "kind": "appliance.start", "agent": None, "decision": None},
        denied("inspection"),
        denied("budget/b"),
        {**ENTRY, "agent": None},
        {**ENTRY, "kind": "admin.policies"},
    ],
)
def test_what_is_no_decision_of_policies_is_left_out(entry: Mapping[str, Any]) -> None:
    tally = replay(f"forbid{ALL};", entry).tally
    assert (tally.entries, tally.cases) == (1, 0)


def test_examples_are_few() -> None:
    entries: Collection[dict[str, Any]] = [{**ENTRY, "seq": seq} for seq in range(30)]
    assert replay(f"forbid{ALL};", *entries).tally.examples == {"newly_denied": list(range(10))}
