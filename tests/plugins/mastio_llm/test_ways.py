"""Who carries a call out, in which order, and when a provider is left alone."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from mastio_llm.provider import ProviderRow
from mastio_llm.routing.breaker import FIRST, LONGEST, SLOW, THRESHOLD, Health
from mastio_llm.routing.candidates import Balance, arrange, resolve

HEAVY = ProviderRow("heavy", "openai", "https://h/v1", models=("gpt-*",), weight=3, aliases={"fast": "gpt-mini"})
LIGHT = ProviderRow("light", "azure", "https://l/v1", models=("gpt-*",), weight=1, aliases={"fast": "deployment"})
SPARE = ProviderRow("spare", "openai", "https://s/v1", models=("gpt-*",), weight=0)
CLAUDE = ProviderRow("claude", "anthropic", "https://c/v1", models=("*",), aliases={"fast": "claude-haiku"}, weight=9)
ANY = ProviderRow("any", "openai", "https://a/v1", models=("*",), weight=9)
ROWS = {row.name: row for row in (HEAVY, LIGHT, SPARE, CLAUDE, ANY)}


def targets(model: str, fallbacks: dict[str, list[str]] | None = None) -> list[str]:
    return [choice.target for choice in resolve(model, ROWS, "openai", fallbacks)]


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("light/gpt-4o", ["light/gpt-4o"]),
        ("gpt-4o", ["heavy/gpt-4o", "light/gpt-4o", "spare/gpt-4o"]),
        ("fast", ["heavy/gpt-mini", "light/deployment", "claude/claude-haiku"]),
        ("llama", ["any/llama"]),  # who takes anything stands for nobody
        ("light/llama", []),
        ("heavy/", []),
        ("haevy/gpt-4o", []),
        ("any/meta/llama", ["any/meta/llama"]),
        ("/gpt-4o", []),
        ("", []),
    ],
)
def test_who_may_carry_it_out(model: str, found: list[str]) -> None:
    assert targets(model) == found


@pytest.mark.parametrize(
    ("models", "found"),
    [
        (("*",), []),
        (("meta*",), []),
        (("meta-llama/*",), ["hub/meta-llama/llama-3"]),
        (("*/*",), ["hub/meta-llama/llama-3"]),
        (("gpt-*", "meta-llama/llama-3"), ["hub/meta-llama/llama-3"]),
    ],
)
def test_a_slash_is_of_the_models_name_only_where_a_glob_says_so(models: tuple[str, ...], found: list[str]) -> None:
    rows = {**ROWS, "hub": ProviderRow("hub", "openai", "https://hub/v1", models=models)}
    assert [choice.target for choice in resolve("meta-llama/llama-3", rows)] == found
    assert [choice.target for choice in resolve("hub/meta-llama/llama-3", {"hub": rows["hub"], "any": ANY})] == (
        found or (["hub/meta-llama/llama-3"] if models[0] in ("*", "meta*") else [])
    )
    assert resolve("light/llama", rows) == (), "a provider that is there and does not serve it is not replaced"


def test_an_alias_may_have_a_slash() -> None:
    rows = {"hub": ProviderRow("hub", "openai", "https://hub/v1", models=("gpt-*",), aliases={"meta/llama": "gpt-4o"})}
    assert [choice.target for choice in resolve("meta/llama", rows)] == ["hub/gpt-4o"]


def test_fallbacks_come_last_and_nobody_twice() -> None:
    chain = {"light/gpt-4o": ["heavy/gpt-4o", "nobody/gpt-4o", "claude/claude-sonnet", "light/gpt-4o"]}
    assert targets("light/gpt-4o", chain) == ["light/gpt-4o", "heavy/gpt-4o", "claude/claude-sonnet"]
    assert targets("fast", {"heavy/gpt-mini": ["any/llama"]})[-1] == "any/llama"
    assert targets("nothing", {"nothing": ["any/llama"]}) == ["any/nothing", "any/llama"]
    assert resolve("gpt", {}, "openai", {"gpt": ["any/llama"]}) == ()


def first_of(balance: Balance, latencies: dict[str, float], seed: int) -> list[str]:
    rng = random.Random(seed)
    choices = resolve("fast" if balance == "latency" else "gpt-4o", ROWS)
    return [choice.provider.name for choice in arrange(choices, "openai", balance, latencies.get, rng.random)]


def test_calls_are_shared_by_weight_and_the_spare_is_last() -> None:
    orders = [first_of("weight", {}, seed) for seed in range(4000)]
    assert {order[-1] for order in orders} == {"spare"}
    share = Counter(order[0] for order in orders)
    assert share.keys() == {"heavy", "light"} and abs(share["heavy"] / 4000 - 0.75) < 0.03


def test_the_quickest_is_first_and_a_new_one_is_tried() -> None:
    assert first_of("latency", {"heavy": 0.5, "light": 0.1, "claude": 0.01}, 0) == ["light", "heavy", "claude"]
    assert first_of("latency", {"light": 0.1}, 0) == ["heavy", "light", "claude"]


def test_who_was_slow_once_is_looked_at_again() -> None:
    """Otherwise one slow call, the first of all perhaps, would keep a provider from calls for ever."""
    known = {"heavy": 0.5, "light": 0.1, "claude": 0.01}
    first = Counter(first_of("latency", known, seed)[0] for seed in range(4000))
    assert first.keys() == {"light", "heavy"} and 0.03 < first["heavy"] / 4000 < 0.08


def test_a_fallback_never_shares_calls() -> None:
    rows = {"a": replace(ANY, name="a"), "b": replace(ANY, name="b")}
    choices = resolve("a/m", rows, "openai", {"a/m": ["b/m"]})
    orders = {
        tuple(c.provider.name for c in arrange(choices, "openai", "weight", {}.get, random.Random(seed).random))
        for seed in range(50)
    }
    assert orders == {("a", "b")}


def test_a_provider_that_keeps_failing_is_left_alone_for_longer_and_longer() -> None:
    health, now = Health(), 100.0
    for _ in range(THRESHOLD):
        assert health.take(now, is_last=False)
        health.fail(now, 0.1)
    pauses = []
    for _ in range(5):
        assert health.is_open and not health.take(now, is_last=False)
        pauses.append(health.wait(now))
        now += health.wait(now)
        assert health.take(now, is_last=False) and not health.take(now, is_last=False)  # one tries, the others do not
        health.fail(now, 0.1)
    assert pauses == [FIRST, 2.0, 4.0, LONGEST, LONGEST]
    now += LONGEST
    assert health.take(now, is_last=False)
    health.release()  # the caller went away: the next one tries
    assert health.take(now, is_last=False)
    health.succeed(now, 0.5)
    assert not health.is_open and health.take(now, is_last=False) and health.wait(now) == 0.0


@pytest.mark.parametrize(("seconds", "tried"), [(0.1, True), (SLOW, False)])
def test_who_has_no_other_provider_is_refused_only_instead_of_a_long_wait(seconds: float, tried: bool) -> None:
    health = Health()
    for _ in range(THRESHOLD):
        health.fail(0.0, seconds)
    assert health.take(0.5, is_last=True) is tried
    assert health.take(0.5, is_last=False) is False


def test_one_success_forgets_the_failures() -> None:
    health = Health()
    for _ in range(5):
        for _ in range(THRESHOLD - 1):
            health.fail(0.0, 9.0)
        health.succeed(0.0, 0.1)
    assert not health.is_open


def test_latency_follows_the_newest_calls() -> None:
    health = Health()
    health.succeed(0.0, 1.0)
    assert health.latency == 1.0
    for _ in range(50):
        health.succeed(0.0, 0.1)
    assert health.latency is not None and abs(health.latency - 0.1) < 0.001


def test_an_answer_that_is_none_says_nothing_of_how_quick_a_provider_is() -> None:
    health = Health()
    health.succeed(0.0, 1.0)
    for _ in range(50):
        health.succeed(0.0, None)
    assert health.latency == 1.0


def test_slow_calls_of_one_say_nothing_where_others_were_answered_meanwhile() -> None:
    health = Health()
    health.succeed(99.0, 0.1)
    for _ in range(5 * THRESHOLD):
        health.fail(100.0, 30.0)  # they began before that success
    assert not health.is_open
    for _ in range(THRESHOLD):
        health.fail(130.0, 30.0)
    assert health.is_open
