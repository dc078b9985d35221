from __future__ import annotations

import pytest

from mastio.exchange.values import Action, Allow, Decision, Deny, Principal
from mastio_policy.collection import STARTER
from mastio_policy.deciding import Rulebook
from mastio_policy.facts import Subject
from mastio_policy.rules import RulesError, encode_agent, parse_rules

ALICE = Principal("alice", frozenset({"agent"}), frozenset({"team"}), {"level": 3})
CHAT = Action("llm.chat", "Model", "stub/gpt")
SELF = Action("agent.self", "Appliance", "self")


def decide(source: str, action: Action = CHAT, principal: Principal = ALICE) -> Decision:
    book = Rulebook(parse_rules([("p", source)] if source else []))
    found = book.find(principal, action.kind, action.target_type)
    return found.decide(Subject(principal, action, lambda: 0.0), encode_agent(principal))


def test_the_starter_policy_is_what_the_contract_says() -> None:
    for kind in ("llm.chat", "llm.responses", "llm.embeddings", "llm.models", "llm.count_tokens"):
        resource = ("Appliance", "self") if kind == "llm.models" else ("Model", "any/model")
        assert isinstance(decide(STARTER.cedar, Action(kind, *resource)), Allow)
    for kind in ("agent.self", "agent.renew"):
        assert isinstance(decide(STARTER.cedar, Action(kind, "Appliance", "self")), Allow)
    for action in (
        Action("egress.http", "Connection", "x"),
        Action("proxy.connect", "Host", "x"),
        Action("mcp.call", "Tool", "s/t"),
        Action("mcp.list", "Tool", "s/t"),
        Action("audit.read", "Appliance", "self"),
    ):
        assert isinstance(decide(STARTER.cedar, action), Deny)


def test_default_is_deny() -> None:
    assert decide("") == Deny("default", "No policy permits this action.")


LEVEL = "principal has level && principal.level"


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        ('permit(principal == Agent::"alice", action == Action::"llm.chat", resource == Model::"stub/gpt");', True),
        ('permit(principal == Agent::"bob", action, resource);', False),
        ('permit(principal in Group::"team", action, resource);', True),
        ('permit(principal in Group::"other", action, resource);', False),
        ('permit(principal is Agent in Group::"team", action, resource);', True),
        ('permit(principal is Agent in Group::"other", action, resource);', False),
        ("permit(principal is Agent, action, resource is Model);", True),
        ("permit(principal, action, resource is Tool);", False),
        (f"permit(principal, action, resource) when {{ {LEVEL} > 2 }};", True),
        (f"permit(principal, action, resource) when {{ {LEVEL} > 3 }};", False),
        ("permit(principal, action, resource) when { principal has missing && principal.missing };", False),
        ('permit(principal, action, resource) when { resource is Model && resource.provider == "stub" };', True),
        ('permit(principal, action, resource) when { resource is Model && resource.name == "stub" };', False),
        ('permit(principal, action, resource); forbid(principal == Agent::"alice", action, resource);', False),
        ('permit(principal, action, resource); forbid(principal == Agent::"bob", action, resource);', True),
    ],
)
def test_decisions(source: str, allowed: bool) -> None:
    assert isinstance(decide(source), Allow) is allowed


def test_a_forbid_that_cannot_be_evaluated_denies() -> None:
    """`network.ip` is in the schema, but this principal came from nowhere."""
    broken = 'forbid(principal, action, resource) when { context.network.ip.isInRange(ip("10.0.0.0/8")) };'
    denied = decide(f"permit(principal, action, resource); {broken}")
    assert denied == Deny("p#2", "A policy that could forbid this action cannot be evaluated.")
    assert isinstance(decide(broken.replace("forbid", "permit")), Deny)


def test_a_family_of_actions_is_all_of_its_members() -> None:
    for scope in ('== Action::"audit.read"', 'in [Action::"audit.read"]', 'in Action::"audit.read"'):
        for kind in ("audit.entries", "audit.proof", "audit.checkpoint"):
            action = Action(kind, "Appliance", "self")
            assert isinstance(decide(f"permit(principal, action {scope}, resource);", action), Allow), (scope, kind)


def test_policies_are_named_by_source_place_and_id() -> None:
    source = 'permit(principal, action, resource); @id("night") forbid(principal, action, resource);'
    assert [policy.name for policy in parse_rules([("p", source), ("q", source)])] == ["p", "p#night", "q", "q#night"]
    with pytest.raises(RulesError, match="Another policy"):
        parse_rules([("p", '@id("a") permit(principal, action, resource);' * 2)])


def test_a_denial_says_which_policy_and_what_its_author_says() -> None:
    source = (
        'permit(principal, action, resource); @id("x") @reason("Only by day") @advice("Come back at 8.") '
        "forbid(principal, action, resource);"
    )
    assert decide(source) == Deny("p#x", "The policy p#x forbids this action: Only by day. Come back at 8.")


@pytest.mark.parametrize(
    "source",
    [
        "permit(",
        "allow all;",
        "permit(principal == ?principal, action, resource);",
        "permit(principal, action, resource) when { context.nothing };",
    ],
)
def test_invalid_sources_are_refused_by_name(source: str) -> None:
    with pytest.raises(RulesError, match="broken"):
        parse_rules([("broken", source)])
