"""Which policies are for whom, and what several of them say together."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.exchange.values import Action, Principal
from mastio_redaction.catalogue import DEFAULT
from mastio_redaction.matched_policies import UNSPOKEN, RedactionPolicies, Rule, is_for, join
from mastio_redaction.redaction_policy import RedactionRow, TypeRule

ALICE = Principal("alice", frozenset({"agent"}), groups=frozenset({"finance"}), version=3)
CHAT = Action("llm.chat", "Model", "openai/gpt-4o", alias="smart")
EGRESS = Action("egress.http", "Connection", "crm")


def policy(name: str = "p", types: Any = None, **more: Any) -> RedactionRow:
    given = {"*": "redact"} if types is None else types
    return RedactionRow(name, {kind: TypeRule(*said.split(":")) for kind, said in given.items()}, **more)


@pytest.mark.parametrize(
    ("match", "is_met"),
    [
        ({}, True),
        ({"agents": ("ali*",)}, True),
        ({"agents": ("bob", "group:finance")}, True),
        ({"agents": ("finance",)}, False),
        ({"agents": ("group:*",)}, True),
        ({"kinds": ("llm.*",)}, True),
        ({"kinds": ("egress.*",)}, False),
        ({"models": ("openai/*",)}, True),
        ({"models": ("OpenAI/GPT-4o",)}, True),
        ({"models": ("gpt-4o",)}, True),
        ({"models": ("smart",)}, True),
        ({"models": ("anthropic/*",)}, False),
        ({"agents": ("alice",), "kinds": ("llm.chat",), "models": ("claude*",)}, False),
    ],
)
def test_whom_a_policy_is_for(match: dict[str, Any], is_met: bool) -> None:
    assert is_for(policy(**match), ALICE, CHAT, CHAT) is is_met


def test_a_policy_for_models_is_for_nothing_else() -> None:
    assert not is_for(policy(models=("*",)), ALICE, EGRESS, EGRESS)
    assert is_for(policy(), ALICE, EGRESS, EGRESS)


def test_whoever_may_answer_counts() -> None:
    other = Action("llm.chat", "Model", "backup/claude", alternatives=(CHAT,))
    strict = policy(types={"CARD": "block"}, models=("openai/*",))
    assert RedactionPolicies([strict]).find(ALICE, other).request.rule("CARD").action == "block"


def test_a_lax_policy_for_one_model_is_for_no_other() -> None:
    other = Action("llm.chat", "Model", "backup/claude", alternatives=(CHAT,))
    lax = policy(types={"*": "off"}, models=("backup/*",))
    rulings = RedactionPolicies([lax], defaults={"CARD": Rule("redact", restore=True)})
    ruling = rulings.find(ALICE, other)
    assert (ruling.request.rule("CARD").action, ruling.request.rule("MAIL").action) == ("redact", "flag")
    alone = rulings.find(ALICE, Action("llm.chat", "Model", "backup/claude"))
    assert alone.request.is_off


@pytest.mark.parametrize(
    ("said", "card", "mail"),
    [
        ([], "flag", "flag"),
        ([{"*": "redact"}], "redact", "redact"),
        ([{"*": "redact", "CARD": "off"}], "off", "redact"),
        ([{"*": "redact"}, {"CARD": "off"}], "off", "redact"),
        ([{"CARD": "redact"}, {"CARD": "off"}], "redact", "flag"),
        ([{"CARD": "flag"}, {"CARD": "block"}, {"CARD": "redact"}], "block", "flag"),
        ([{"*": "off"}, {"*": "flag"}], "flag", "flag"),
        ([{"*": "off"}], "off", "off"),
    ],
)
def test_what_several_say_together(said: list[dict[str, str]], card: str, mail: str) -> None:
    side = join([policy(f"p{n}", types) for n, types in enumerate(said)], "request", UNSPOKEN)
    assert (side.rule("CARD").action, side.rule("MAIL").action) == (card, mail)
    assert side.is_off is (card == mail == "off")
    assert side.changes is bool({card, mail} & {"redact", "block"})


@pytest.mark.parametrize(
    ("said", "request_", "response"),
    [
        ([], ("redact", "flag"), ("flag", "flag")),
        ([{"MAIL": "block"}], ("redact", "block"), ("flag", "block")),
        ([{"CARD": "flag"}], ("flag", "flag"), ("flag", "flag")),
        ([{"*": "flag"}], ("flag", "flag"), ("flag", "flag")),
        ([{"*": "off"}], ("off", "off"), ("off", "off")),
    ],
)
def test_defaults_hold_in_requests_where_no_policy_speaks(
    said: list[dict[str, str]], request_: tuple[str, str], response: tuple[str, str]
) -> None:
    defaults = {"CARD": Rule("redact", restore=True)}
    rows = [policy(f"p{n}", types) for n, types in enumerate(said)]
    for direction, expected in (("request", request_), ("response", response)):
        side = join(rows, direction, UNSPOKEN, defaults)  # type: ignore[arg-type]
        assert (side.rule("CARD").action, side.rule("MAIL").action) == expected


def test_only_types_with_a_check_are_redacted_by_default() -> None:
    assert {"CREDIT_CARD", "IBAN_CODE", "US_SSN", "NL_BSN", "GITHUB_TOKEN", "PRIVATE_KEY", "JWT"} <= DEFAULT
    assert DEFAULT.isdisjoint(("PERSON", "EMAIL_ADDRESS", "USERNAME", "PASSWORD", "PASSPORT", "AGE", "SSH_KEY"))


def test_the_policy_that_counts_brings_its_strategy_and_whether_it_restores() -> None:
    rows = [policy("a", {"CARD": "flag"}), policy("b", {"CARD": "redact:mask"}, restore=False)]
    assert join(rows, "request", UNSPOKEN).rule("CARD") == Rule("redact", "mask", False, "b")
    assert join(rows, "request", UNSPOKEN).rule("MAIL") == Rule("flag", "tag", False, None)


@pytest.mark.parametrize(("direction", "request_", "response"), [
    ("request", "redact", "flag"), ("response", "flag", "redact"), ("both", "redact", "redact"),
])  # fmt: skip
def test_directions(direction: Any, request_: str, response: str) -> None:
    ruling = RedactionPolicies([policy(direction=direction)]).find(ALICE, CHAT)
    assert (ruling.request.rule("X").action, ruling.response.rule("X").action) == (request_, response)


def test_what_only_observes_changes_nothing() -> None:
    rulings = RedactionPolicies([policy("a", {"CARD": "flag"}), policy("b", {"CARD": "block"}, mode="observe")])
    ruling = rulings.find(ALICE, CHAT)
    assert ruling.request.rule("CARD").action == "flag"
    assert ruling.observed is not None and ruling.observed.rule("CARD").action == "block"
    assert RedactionPolicies([policy()]).find(ALICE, CHAT).observed is None


def test_who_changed_is_looked_up_again() -> None:
    rulings = RedactionPolicies([policy(agents=("group:finance",))])
    assert rulings.find(ALICE, CHAT).request.changes
    moved = Principal("alice", frozenset({"agent"}), version=4)
    assert not rulings.find(moved, CHAT).request.changes
    assert rulings.find(ALICE, CHAT) is rulings.find(ALICE, CHAT)


def test_what_nobody_wants_is_not_looked_for() -> None:
    """A type that is off could otherwise hide one that is not, where both see the same."""
    kinds = ["CARD", "MAIL", "NAME"]
    one = RedactionPolicies([policy("a", {"*": "off", "CARD": "redact"})], kinds=kinds).find(ALICE, CHAT)
    assert one.request.only == {"CARD"}
    assert RedactionPolicies([policy("a", {"CARD": "off"})], kinds=kinds).find(ALICE, CHAT).request.only == {
        "MAIL",
        "NAME",
    }
    assert RedactionPolicies([policy()], kinds=kinds).find(ALICE, CHAT).request.only is None
    both = [policy("a", {"*": "off"}), policy("b", {"CARD": "redact"}, mode="observe")]
    assert RedactionPolicies(both, kinds=kinds).find(ALICE, CHAT).request.only is None
