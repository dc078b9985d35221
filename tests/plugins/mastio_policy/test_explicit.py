"""What a provider would do for a caller is permitted only by policies that speak of it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from mastio.cedar.schema import find_needs
from mastio.cli.policy.eval import explain, write_facts
from mastio.exchange.inspection import UNINSPECTED, Finding
from mastio.exchange.values import Action, Allow, Deny, Principal
from mastio_policy.collection import STARTER
from mastio_policy.deciding import Rulebook
from mastio_policy.facts import Subject
from mastio_policy.replaying import Directory, Replay, read_case
from mastio_policy.rules import CedarRequest, encode_agent, parse_rules

ANN = Principal("ann", frozenset({"agent"}), frozenset({"staff"}), version=1)
SEARCH = 'permit(principal, action, resource) when { ["web_search"].containsAll(context.tools.hosted) };'
CHAT = 'action == Action::"llm.chat"'


def decide(sources: dict[str, str], *found: Finding, **facts: Any) -> Allow | Deny:
    attributes = {
        name.replace("__", "."): frozenset(value) if isinstance(value, set) else value for name, value in facts.items()
    }
    needs = find_needs(attributes)
    action = Action("llm.chat", "Model", "p/m", {**attributes, "needs": needs})
    book = Rulebook(parse_rules([("starter", STARTER.cedar), *sources.items()]))
    subject = Subject(ANN, action, lambda: 0.0, found)
    decision = book.find(ANN, action.kind, action.target_type, needs).decide(subject, encode_agent(ANN))
    assert isinstance(decision, Allow | Deny)
    return decision


def permit(condition: str) -> dict[str, str]:
    return {"more": f"permit(principal, {CHAT}, resource) when {{ {condition} }};"}


MCP = {"tools__mcp_hosts": {"a.example"}, "tools__hosted": {"mcp"}}
FACTS: list[dict[str, Any]] = [
    {"tools__hosted": {"web_search"}}, MCP,
    {"urls": {"a.example"}}, {"files": {"file-1"}}, {"stored": {"conversation"}},
]  # fmt: skip


@pytest.mark.parametrize("facts", FACTS, ids=str)
def test_a_policy_that_does_not_speak_of_it_does_not_permit_it(facts: dict[str, Any]) -> None:
    assert decide({}) == Allow("starter")
    for sources in ({}, {"all": "permit(principal, action, resource);"}, permit("context.request.bytes < 9")):
        denied = decide(sources, **facts)
        assert denied.effect == "deny" and denied.rule == "default"
        path = next(iter(facts)).replace("__", ".")
        assert isinstance(denied, Deny) and f"context.{path}" in denied.message


@pytest.mark.parametrize(
    ("condition", "facts", "allowed"),
    [
        ('context.tools.hosted == ["web_search"]', {"tools__hosted": {"web_search"}}, True),
        ('context.tools.hosted == ["web_search"]', {"tools__hosted": {"web_search", "computer"}}, False),
        ('context.tools has hosted && ["web_search"].containsAll(context.tools.hosted)',
         {"tools__hosted": {"web_search"}}, True),
        ('context.tools.hosted.contains("web_search")', {"tools__hosted": {"web_search"}, "urls": {"a.x"}}, False),
        ('context.tools.hosted.contains("web_search") && ["a.example"].containsAll(context.urls)',
         {"tools__hosted": {"web_search"}, "urls": {"a.example"}}, True),
        ('context.tools.hosted.contains("web_search") && ["a.example"].containsAll(context.urls)',
         {"tools__hosted": {"web_search"}, "urls": {"b.example"}}, False),
        ('context.tools.mcp_hosts == ["a.example"]', MCP, True),
        ('context.tools.hosted.contains("mcp")', MCP, False),
        ("context has stored", {"stored": {"conversation"}}, True),
        ('context has files && !context.files.contains("file-2")', {"files": {"file-1"}}, True),
    ],
)  # fmt: skip
def test_a_policy_that_speaks_of_all_of_it_decides(condition: str, facts: dict[str, Any], allowed: bool) -> None:
    assert (decide(permit(condition), **facts).effect == "allow") is allowed
    assert decide(permit(condition)).effect == "allow", "what has nothing of it is as before"


def test_has_asks_whether_there_is_anything() -> None:
    forbid = {"no": "forbid(principal, action, resource) when { context has urls || context has uninspected };"}
    assert decide(forbid).effect == "allow"
    assert decide(forbid, Finding(UNINSPECTED, 100, 1, "image", 9)).rule == "no"
    only = {"no": 'forbid(principal, action, resource) when { context.uninspected.contains("image") };'}
    assert decide(only, Finding(UNINSPECTED, 100, 1, "image", 9)).rule == "no"
    assert decide(only, Finding(UNINSPECTED, 100, 1, "tokens", 9)).effect == "allow"


def test_a_forbid_wins_over_what_speaks_of_it() -> None:
    sources = {
        **permit("context has urls"),
        "no": 'forbid(principal, action, resource) when { context.urls == ["x"] };',
    }
    assert decide(sources, urls={"x"}).rule == "no"
    assert decide(sources, urls={"y"}).rule == "more"


ENTRY = {
    "seq": 1, "phase": "intent", "kind": "llm.responses", "agent": "ann", "target": "p/m", "id": "x",
    "time": "2026-01-31T12:00:00.000000Z", "decision": {"effect": "allow", "rule": "more"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("side", "cedar", "effect"),
    [
        (None, "permit(principal, action, resource);", "allow"),
        ({"hosted": ["web_search"]}, "permit(principal, action, resource);", "deny"),
        ({"hosted": ["web_search"]}, SEARCH, "allow"),
        ({"hosted": ["web_search"], "urls": ["a.example"]}, SEARCH, "deny"),
        ({"hosted": ["mcp"], "mcp_hosts": ["a.example"]}, SEARCH, "deny"),
    ],
)
def test_entries_are_judged_again_by_what_the_provider_was_to_do(side: Any, cedar: str, effect: str) -> None:
    directory = Directory({"ann": ((), {})}, {"p": {}})
    request = {"bytes": 9, "stream": False, **({"provider_side": side} if side else {})}
    case = read_case({**ENTRY, "request": request}, directory)
    assert case is not None
    assert Replay(parse_rules([("p", cedar)]), directory).judge(case) == effect


def test_eval_says_the_same() -> None:
    facts = {"tools.hosted": ["web_search"]}
    context = orjson.dumps(write_facts(facts)).decode()
    question = CedarRequest(("Agent", "ann"), ("Action", "llm.responses"), ("Model", "p/m"), context)
    for cedar, effect in (("permit(principal, action, resource);", "deny"), (SEARCH, "allow")):
        book = Rulebook(parse_rules([("p", cedar)]))
        assert explain(book, ANN, question, find_needs(facts))["effect"] == effect
