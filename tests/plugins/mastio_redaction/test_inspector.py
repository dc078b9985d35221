"""The inspector redacts, refuses and restores values in a message and its reply; observing policies change nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from mastio.exchange.inspection import Block, NamedWatch, Pass, Passage, Redact, Verdict
from mastio.exchange.values import Action, Principal
from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.custom import Custom
from mastio_redaction.engine import Engine
from mastio_redaction.inspector import Finder, Inspector
from mastio_redaction.matched_policies import RedactionPolicies
from mastio_redaction.redaction_policy import RedactionRow, TypeRule
from mastio_redaction.replacement.strategies import Keys

ENGINE = Engine(CATALOGUE)
CARD = "4012888888881881"
ALICE = Principal("alice", frozenset({"agent"}))
CHAT = Action("llm.chat", "Model", "openai/gpt-4o")


def open_inspector(*policies: RedactionRow) -> Inspector:
    inspector = Inspector(Finder(ENGINE, None), Keys(b"k" * 32))
    inspector.rulings = RedactionPolicies(policies)
    return inspector


def policy(action: str, **more: object) -> RedactionRow:
    return RedactionRow("p", {"*": TypeRule(action)}, **more)  # type: ignore[arg-type]


def inspect(inspector: Inspector, text: str) -> Verdict:
    return asyncio.run(inspector.inspect(ALICE, CHAT, [Passage(text, "user")]))


def labels(verdict: Verdict) -> Iterable[str]:
    return [finding.label for finding in verdict.findings]


def test_a_value_is_redacted_and_put_back() -> None:
    verdict = inspect(open_inspector(policy("redact")), f"Pay with {CARD}.")
    assert isinstance(verdict, Redact) and CARD not in verdict.texts[0] and verdict.watch is not None
    reply = asyncio.run(verdict.watch.look([Passage(verdict.texts[0], "assistant")]))
    assert isinstance(reply, Redact) and reply.texts[0] == f"Pay with {CARD}."


def test_a_value_of_the_model_is_redacted() -> None:
    verdict = inspect(open_inspector(policy("redact")), "Name a card.")
    assert verdict.watch is not None  # type: ignore[union-attr]
    reply = asyncio.run(verdict.watch.look([Passage(f"Take {CARD}.", "assistant")]))  # type: ignore[union-attr]
    assert isinstance(reply, Redact) and CARD not in reply.texts[0]


def test_a_value_is_refused() -> None:
    inspector = open_inspector(policy("block"))
    verdict = inspect(inspector, f"Pay with {CARD}.")
    assert isinstance(verdict, Block) and CARD not in verdict.message
    assert isinstance(inspect(inspector, "Pay with cash."), Pass)


def test_an_observing_policy_changes_nothing() -> None:
    verdict = inspect(open_inspector(policy("block", mode="observe")), f"Pay with {CARD}.")
    assert isinstance(verdict, Pass) and "observed.block" in labels(verdict)


def test_an_excepted_value_passes() -> None:
    assert isinstance(inspect(open_inspector(policy("block", never=(CARD,))), f"Pay with {CARD}."), Pass)


def test_nothing_is_left_of_a_value_that_another_overlaps() -> None:
    engine = Engine((), Custom(expressions={"LONG": (r"north star",), "SHORT": (r"star five",)}))
    (span,) = engine.find("the north star five is")
    assert (span.type, span.start, span.end) == ("LONG", 4, 19)


def test_the_name_of_a_streamed_argument_is_its_label() -> None:
    verdict = inspect(open_inspector(policy("redact")), "Which device?")
    watch = verdict.watch  # type: ignore[union-attr]
    assert isinstance(watch, NamedWatch)
    for name, is_redacted in (("deviceImei", True), ("order", False)):
        opened = watch.open_named("assistant", name)
        text = "".join([*map(opened.feed, "490154203237518"), opened.close()])
        assert ("490154203237518" not in text) is is_redacted, name


def test_what_an_entry_is_to_have_is_masked() -> None:
    for action in ("redact", "block", "flag"):
        inspector = open_inspector(policy(action))
        for path in (f"/a/{CARD}/b", "/a/4012%208888%208888%201881/b", f"/a/%34{CARD[1:]}/b"):
            masked = inspector.mask(ALICE, CHAT, path)
            assert masked.startswith("/a/<CREDIT_CARD_") and masked.endswith(">/b"), path
            assert masked == inspector.mask(ALICE, CHAT, path)
        assert inspector.mask(ALICE, CHAT, "openai/gpt-4o-2024-08-06") == "openai/gpt-4o-2024-08-06"


def test_what_nobody_looks_for_is_not_masked() -> None:
    for inspector in (open_inspector(policy("off")), open_inspector(policy("block", never=(CARD,)))):
        assert inspector.mask(ALICE, CHAT, f"/a/{CARD}") == f"/a/{CARD}"


def test_what_is_only_flagged_stays_in_entries() -> None:
    path = "/users/jane.roe@acme.com/x"
    for inspector in (open_inspector(), open_inspector(policy("flag"))):
        assert inspector.mask(ALICE, CHAT, path) == path
    assert "jane" not in open_inspector(policy("redact")).mask(ALICE, CHAT, path)


def test_a_tag_leaves_the_rest_of_a_path() -> None:
    masked = open_inspector(policy("redact")).mask(ALICE, CHAT, "/v1/password=Sommer2024!x/rest/of/it")
    assert masked.startswith("/v1/password=<") and masked.endswith(">/rest/of/it")


def test_texts_without_values_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mastio_redaction.inspector.MOST_CLEAN", 2)
    inspector = open_inspector(policy("redact"))
    for n in range(5):
        inspector.mask(ALICE, CHAT, f"/a/{'b' * n}")
        assert f"/a/{'b' * n}" in inspector._clean and len(inspector._clean) <= 2


def test_a_value_of_an_admins_own_is_masked_from_then_on() -> None:
    inspector = open_inspector()
    assert inspector.mask(ALICE, CHAT, "/a/blue heron") == "/a/blue heron"
    inspector.finder.engine = ENGINE.extended(Custom(always={"LISTED": ("blue heron",)}))
    assert inspector.mask(ALICE, CHAT, "/a/blue heron").startswith("/a/<LISTED_")
