import pytest

from mastio.exchange import Action, Allow, Deny, Principal
from mastio.store.control import STARTER
from mastio_policy.rules import RulesError, encode_entities, evaluate, parse_rules

ALICE = Principal("alice", frozenset({"agent"}), frozenset({"team"}), {"level": 3})
CHAT = Action("llm.chat", "Model", "stub/gpt")
SELF = Action("agent.self", "Appliance", "self")


def decide(source: str, action: Action = CHAT, principal: Principal = ALICE) -> Allow | Deny:
    return evaluate(parse_rules([("p", source)]), principal, action, encode_entities(principal), {})


def test_the_starter_policy_is_what_the_contract_says() -> None:
    for kind in ("llm.chat", "llm.responses", "llm.embeddings", "llm.models", "llm.count_tokens"):
        assert isinstance(decide(STARTER.cedar, Action(kind, "Model", "any/model")), Allow)
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


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        ('permit(principal == Agent::"alice", action == Action::"llm.chat", resource == Model::"stub/gpt");', True),
        ('permit(principal in Group::"team", action, resource);', True),
        ('permit(principal in Group::"other", action, resource);', False),
        ("permit(principal, action, resource) when { principal.level > 2 };", True),
        ("permit(principal, action, resource) when { principal.level > 3 };", False),
        ("permit(principal, action, resource) when { principal.missing };", False),
        ('permit(principal, action, resource); forbid(principal == Agent::"alice", action, resource);', False),
        ("permit(principal, action, resource); forbid(principal, action, resource) when { principal.missing };", False),
    ],
)
def test_decisions(source: str, allowed: bool) -> None:
    assert isinstance(decide(source), Allow) is allowed


def test_a_decision_names_its_policy() -> None:
    sources = [("open", "permit(principal, action, resource);"), ("night", "forbid(principal, action, resource);")]
    assert evaluate(parse_rules(sources[:1]), ALICE, CHAT, encode_entities(ALICE), {}) == Allow("open")
    denied = evaluate(parse_rules(sources), ALICE, CHAT, encode_entities(ALICE), {})
    assert isinstance(denied, Deny) and denied.rule == "night"


@pytest.mark.parametrize("source", ["permit(", "allow all;", "permit(principal == ?principal, action, resource);"])
def test_invalid_sources_are_refused_by_name(source: str) -> None:
    with pytest.raises(RulesError, match="broken"):
        parse_rules([("broken", source)])
