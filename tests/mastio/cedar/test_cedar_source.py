"""What a source may say: held against the schema, refused with its line and the reason."""

from __future__ import annotations

import time
from pathlib import Path

import cedarpy
import pytest

from mastio.cedar.paths import Look, looks_of
from mastio.cedar.schema import ACTIONS, FACTS, RESOURCES, write_schema
from mastio.cedar.source import CedarError, parse_hold, read_cedar, verify_cedar
from mastio.process.plan import read_plan

PERMIT = "permit(principal, action, resource)"


def test_the_schema_is_one() -> None:
    cedarpy.Schema.from_str(write_schema())
    assert set(ACTIONS.values()) <= set(RESOURCES)


def test_every_action_of_an_agent_is_in_the_schema() -> None:
    plan, problems = read_plan(Path("nowhere"))
    assert not problems
    kinds = {route.kind for route in plan.routes if "agent" in route.requires and route.kind != "oauth.token"}
    assert kinds - {"token.issue"} <= ACTIONS.keys(), "a policy could not name it"


@pytest.mark.parametrize("path", FACTS)
def test_every_fact_can_be_looked_at_for_every_action(path: str) -> None:
    groups = path.split(".")
    asked = f"context.{groups[0]} has {groups[1]} && " if FACTS[path].optional else ""
    literal = {"Bool": "", "Long": " > 1", "String": ' == "x"', "Set<String>": '.contains("x")'}
    compared = literal.get(FACTS[path].type, '.isInRange(ip("10.0.0.0/8"))')
    verify_cedar(f"{PERMIT} when {{ {asked}context.{path}{compared} }};")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("permit(\n principal,action,resource)\nwhen { x y };", "Line 3: Not valid Cedar: Unexpected token `y`"),
        (f"{PERMIT};\n\n// why; not\n{PERMIT} when {{ context.requst.bytes > 3 }};", "Line 4: Attribute `requst`"),
        (f'{PERMIT};\n@id(";")\n{PERMIT} when {{ context.tools.risks.contains(3) }};', "Line 2: "),
        ('permit(principal, action == Action::"llm.chad", resource);', "Line 1: Unrecognized action"),
        ('permit(principal in User::"x", action, resource);', "Line 1: Unrecognized entity type"),
        (f"{PERMIT} when {{ principal.level > 3 }};", "optional attribute `level`"),
        (f"{PERMIT} when {{ context.request.max_tokens > 3 }};", "optional attribute"),
        (f'{PERMIT} when {{ resource.provider == "x" }};', "Attribute `provider` on entity type `"),
        (f'{PERMIT} when {{ principal has l && principal.l > 1 && principal.l == "a" }};', "Line 1: "),
        ('permit(principal == ?principal, action, resource);', "template"),
        ("permit(principal, action", "Line 1: "),
        ("// nothing", "no policy"),
        ('@hold("15m") permit(principal, action, resource);', "Line 1: Only a forbid"),
        ('@hold("soon") forbid(principal, action, resource);', "Line 1: The annotation @hold"),
        ('@id("a b") forbid(principal, action, resource);', "Line 1: The annotation @id"),
        ('@reason("a\\nb") forbid(principal, action, resource);', "Line 1: The annotation @reason"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(source: str, said: str) -> None:
    with pytest.raises(CedarError) as refused:
        verify_cedar(source)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "condition",
    [
        "principal has level && principal.level > 3",
        'principal has teams && principal.teams.contains("a")',
        "principal has meta && principal.meta has deep && principal has on && principal.on"
        ' && principal has text && principal.text like "a*"',
        'resource is Model && resource.provider == "x"',
        'context.network.ip.isInRange(ip("10.0.0.0/8"))',
        "context.request has max_tokens && context.request.max_tokens <= 4096",
    ],
)
def test_an_operators_own_attributes_have_the_type_that_is_used(condition: str) -> None:
    verify_cedar(f"{PERMIT} when {{ {condition} }};")


def test_where_policies_begin() -> None:
    source = f'{PERMIT}; {PERMIT};\n\n  // ;\n@reason("; \\" ;")\n{PERMIT}\n;'
    assert [rule.line for rule in read_cedar(source)] == [1, 1, 4]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604_800)])
def test_holds_have_a_time(text: str, seconds: int) -> None:
    assert parse_hold(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "15", "m", "8d", "1.5h", "-1m", "15 m", "1w"])
def test_a_time_that_is_none(text: str) -> None:
    with pytest.raises(CedarError):
        parse_hold(text)


@pytest.mark.parametrize(
    ("condition", "looks"),
    [
        ("context.request.bytes > 10", [Look("context", ("request", "bytes"), (10,))]),
        ("-10 < context.request.bytes", [Look("context", ("request", "bytes"), (-10,))]),
        ("context.request.bytes + 1 > 10", [Look("context", ("request", "bytes"))]),
        ('context.tools.names.containsAny(["a", "b"])', [Look("context", ("tools", "names"), ("a", "b"))]),
        ('["a"].containsAll(context.tools.names)', [Look("context", ("tools", "names"))]),
        ('context.tools.names == ["a"]', [Look("context", ("tools", "names"))]),
        ("context has tools", [Look("context", ("tools",))]),
        ("context.request has max_tokens", [Look("context", ("request", "max_tokens"))]),
        ('context.destination.host like "*.a"', [Look("context", ("destination", "host"))]),
        ("if context.request.stream then true else false", [Look("context", ("request", "stream"))]),
        ('principal in Group::"context.request"', [Look("principal", ())]),
        (
            "context.request.bytes > context.request.messages",
            [Look("context", ("request", "bytes")), Look("context", ("request", "messages"))],
        ),
    ],
)
def test_looks(condition: str, looks: list[Look]) -> None:
    (rule,) = read_cedar(f"{PERMIT} when {{ {condition} }};")
    assert list(looks_of(rule.policy)) == looks


def test_the_longest_source_takes_no_time() -> None:
    """It is judged in the worker, between two requests of others."""
    own = " && ".join(f"principal has a{n} && principal.a{n} > {n}" for n in range(20))
    one = f"{PERMIT} when {{ {own} }};\n"
    started = time.perf_counter()
    assert len(read_cedar(one * (64_000 // len(one)))) > 50
    assert time.perf_counter() - started < 5.0  # some 0.7 s; by trying types it was a minute


def test_attributes_without_end_are_refused() -> None:
    own = " && ".join(f"principal has a{n}" for n in range(21))
    with pytest.raises(CedarError, match="more than 20"):
        verify_cedar(f"{PERMIT} when {{ {own} }};")
