"""The judge itself: each kind of damage is found."""

from typing import Any

from support.journals import ClientJournal, judge


def entry(name: str, phase: str, status: str = "ok") -> dict[str, Any]:
    return {
        "id": name,
        "kind": "llm.chat",
        "phase": phase,
        "outcome": {"status": status} if phase == "outcome" else None,
    }


PAIR = [entry("a", "intent"), entry("a", "outcome")]


def test_a_clean_run() -> None:
    assert judge(ClientJournal(["a"]), ["a"], PAIR).clean
    assert judge(ClientJournal(), ["a"], [entry("a", "intent"), entry("a", "outcome", "unknown")]).clean


def test_damage_is_found() -> None:
    assert judge(ClientJournal(["a"]), ["a"], []).lost == ["a"]
    assert judge(ClientJournal(["a"]), ["a"], [entry("a", "intent"), entry("a", "outcome", "unknown")]).lost == ["a"]
    assert judge(ClientJournal(), ["a"], []).unexplained == ["a"]
    assert judge(ClientJournal(), [], [*PAIR, entry("a", "outcome")]).duplicated == ["a"]
    assert judge(ClientJournal(), ["a", "a"], PAIR).duplicated == ["a"]
    assert judge(ClientJournal(), [], [entry("a", "intent")]).still_open == ["a"]
    assert judge(ClientJournal(), [], [entry("a", "outcome")]).unexplained == ["a"]
