"""Which budgets concern an exchange, what it sets aside, what is counted, and what a refused caller reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.budgets import BudgetWindow
from mastio.exchange.errors import Denied
from mastio.exchange.values import Action, Bound, Message, Principal
from mastio.http.problem import render
from mastio_limits.budget import BudgetRow
from mastio_limits.limits import Limits
from mastio_limits.matching import Matching
from mastio_limits.refusal import Shortage, refuse_budget, write_amount
from support.collections import Described
from support.shared_limits import ALICE, CHAT, NOON, Count, budget, open_worker


def at_most(bound: Bound) -> Callable[[bytes], Bound]:
    return lambda body: bound


CALL = Message(b"{}", reckon=at_most(Bound(100, 2_000_000_000)))
FREE = Message(b"{}")


class Directory(Described):
    """The budgets alone."""

    def __init__(self, *budgets: BudgetRow) -> None:
        self.budgets: Mapping[str, BudgetRow] = {one.name: one for one in budgets}


def limits(keeper: Any, *budgets: BudgetRow, slots: int = 0) -> Limits:
    return Limits(Directory(*budgets), keeper, slots)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "subject", "concerned"),
    [
        (None, None, True),
        ("agent", "alice", True),
        ("agent", "bob", False),
        ("agent", "team", False),
        ("group", "team", True),
        ("group", "alice", False),
        ("model", "p/m-1", True),
        ("model", "p/*", True),
        ("model", "m-?", True),
        ("model", "fast", True),
        ("model", "q/*", False),
        ("model", "p", False),
        ("model", "M-1", True),
    ],
)
def test_whom_a_budget_concerns(scope: Any, subject: Any, concerned: bool) -> None:
    found = Matching([budget(scope=scope, subject=subject)])
    assert bool(found.find(ALICE, CHAT)) == bool(found.find(ALICE, CHAT)) == concerned


def test_what_is_remembered_is_of_this_agent_as_it_is_and_this_model() -> None:
    found = Matching([budget(scope="group", subject="team"), budget(name="m", scope="model", subject="p/*")])
    assert [one.name for one in found.find(ALICE, CHAT)] == ["b", "m"]
    left = Principal("alice", ALICE.roles, frozenset(), version=2)
    assert [one.name for one in found.find(left, CHAT)] == ["m"]
    assert found.find(left, Action("llm.chat", "Model", "q/m")) == ()
    assert found.find(left, Action("egress.http", "Connection", "p/x")) == ()


async def test_every_budget_or_none() -> None:
    count = Count({"a": 5, "b": 1000, "c": 50})
    rows = [
        budget(name="a", series="a", unit="requests", limit=5),
        budget(name="b", series="b"),
        budget(name="c", series="c", limit=50),
    ]
    async with open_worker(count) as worker:
        with pytest.raises(Denied) as refusal:
            await limits(worker.keeper, *rows).reserve(ALICE, CHAT, CALL)
        assert refusal.value.__notes__ == ["budget/c"]
        hold = await limits(worker.keeper, *rows[:2]).reserve(ALICE, CHAT, CALL)
        assert hold is not None
        hold.settle({"input_tokens": 20, "output_tokens": 3, "cost_nano_usd": 9})
    assert {series: spent for (series, _), spent in count.spent.items()} == {"a": 1, "b": 23, "c": 0}
    assert count.held() == 0


@pytest.mark.parametrize(
    ("usage", "counted"),
    [(None, (0, 0, 0)), ({}, (1, 0, 0)), ({"input_tokens": 2, "output_tokens": 3, "cost_nano_usd": 4}, (1, 5, 4))],
)
async def test_what_is_counted(usage: Any, counted: tuple[int, int, int]) -> None:
    count = Count(dict.fromkeys(("requests", "tokens", "usd"), 10**12))
    rows = [budget(name=unit, series=unit, unit=unit, limit=10**12) for unit in ("requests", "tokens", "usd")]
    async with open_worker(count) as worker:
        hold = await limits(worker.keeper, *rows).reserve(ALICE, CHAT, CALL)
        assert hold is not None
        hold.settle(usage)
    assert tuple(count.spent.values()) == counted and count.held() == 0


async def test_what_costs_nothing_needs_no_room() -> None:
    count = Count({"s": 0})
    async with open_worker(count) as worker:
        spent = limits(worker.keeper, budget(limit=0))
        assert await spent.reserve(ALICE, CHAT, FREE) is None
        hold = await limits(worker.keeper, budget(limit=0, unit="usd")).reserve(
            ALICE, CHAT, Message(b"", reckon=at_most(Bound(9, 0)))
        )
        assert hold is not None
        hold.settle({"cost_nano_usd": 0})
        with pytest.raises(Denied):
            await spent.reserve(ALICE, CHAT, CALL)
        with pytest.raises(Denied):
            await limits(worker.keeper, budget(limit=0, unit="requests")).reserve(ALICE, CHAT, FREE)
        own = Action("agent.self", "Appliance", "self")
        assert await limits(worker.keeper, budget(limit=0, unit="requests")).reserve(ALICE, own, FREE) is None
        admin = Principal("root", frozenset({"admin"}))
        assert await spent.reserve(admin, CHAT, CALL) is None


async def test_no_budget_of_money_lets_pass_what_has_no_price() -> None:
    async with open_worker(Count()) as worker:
        call = Message(b"", reckon=at_most(Bound(5, None)))
        with pytest.raises(Denied) as refusal:
            await limits(worker.keeper, budget(unit="usd")).reserve(ALICE, CHAT, call)
        assert (refusal.value.status, refusal.value.code) == (403, "denied")
        hold = await limits(worker.keeper, budget()).reserve(ALICE, CHAT, call)
        assert hold is not None
        hold.settle(None)


async def test_slots_are_free_again_however_an_exchange_ends() -> None:
    count = Count({"s": 100})
    async with open_worker(count) as worker:
        both = limits(worker.keeper, budget(limit=100), slots=2)
        first = await both.reserve(ALICE, CHAT, FREE)
        second = await both.reserve(ALICE, CHAT, CALL)
        assert first is not None and second is not None
        with pytest.raises(Denied) as refusal:
            await both.reserve(ALICE, CHAT, FREE)
        assert (refusal.value.code, refusal.value.status) == ("rate_limited", 429)
        assert refusal.value.headers == (("Retry-After", "1"),)
        assert refusal.value.__notes__ == ["limits/concurrent_per_agent"]
        bob = await both.reserve(Principal("bob", ALICE.roles), CHAT, FREE)
        assert bob is not None
        first.settle(None)
        with pytest.raises(Denied):
            await both.reserve(ALICE, CHAT, CALL)  # the budget is set aside whole; the slot is given back
        third = await both.reserve(ALICE, CHAT, FREE)
        assert third is not None
        for hold in (second, third, bob):
            hold.settle({})
        assert both._taken == {}


async def test_a_slot_is_free_again_when_its_exchange_is_cancelled_while_it_waits() -> None:
    async with open_worker(Count(slow=0.2)) as worker:
        one = limits(worker.keeper, budget(), slots=1)
        waiting = asyncio.create_task(one.reserve(ALICE, CHAT, CALL))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.wait({waiting})
        assert one._taken == {}


# --- what is said -----------------------------------------------------------------------------------------------------


def refused(window: BudgetWindow, shortage: Shortage, **members: Any) -> Denied:
    return refuse_budget(budget(**members), window, shortage, NOON)


def test_a_spent_budget_says_how_much_and_until_when() -> None:
    end = int(NOON) + 7_000
    error = refused(BudgetWindow(0, end), Shortage(100, 1000, 900, 40))
    assert error.message == (
        "The budget b has 60 of 1000 tokens left, and this request may use 100; it renews at 2027-01-15T13:56:40Z."
    )
    assert dict(error.headers) == {
        "Retry-After": "1",  # it passes as soon as what is set aside turns out not to be used
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "60",
        "x-ratelimit-reset-tokens": "7000s",
    }
    final = dict(refused(BudgetWindow(0, end), Shortage(100, 1000, 950, 0)).headers)
    assert (final["Retry-After"], final["x-should-retry"]) == ("3600", "false")
    assert dict(refused(BudgetWindow(0, int(NOON) + 9), Shortage(1, 5, 5, 0)).headers)["Retry-After"] == "9"
    assert dict(refused(BudgetWindow(0, int(NOON)), Shortage(1, 5, 5, 0)).headers)["Retry-After"] == "1"


def test_a_total_does_not_renew() -> None:
    error = refused(BudgetWindow(0, None), Shortage(1, 5, 9, 0))
    assert error.message == "The budget b has 0 of 5 tokens left; it does not renew."
    assert dict(error.headers)["Retry-After"] == "3600" and "x-ratelimit-reset-tokens" not in dict(error.headers)


@pytest.mark.parametrize(
    ("unit", "period", "code"),
    [
        ("requests", "minute", "rate_limited"),
        ("requests", "hour", "rate_limited"),
        ("requests", "day", "budget_exceeded"),
        ("tokens", "minute", "budget_exceeded"),
        ("usd", "hour", "budget_exceeded"),
    ],
)
def test_so_many_requests_a_minute_is_a_rate(unit: Any, period: Any, code: str) -> None:
    error = refused(BudgetWindow(0, int(NOON) + 60), Shortage(1, 5, 5, 0), unit=unit, period=period)
    assert (error.code, error.status) == (code, 429)
    assert ("x-should-retry" in dict(error.headers)) == (code == "budget_exceeded")


@pytest.mark.parametrize(
    ("nano", "text"), [(0, "0"), (1, "0.000000001"), (10**9, "1"), (1_500_000_000, "1.5"), (25 * 10**10, "250")]
)
def test_money_is_written_as_it_is_given(nano: int, text: str) -> None:
    assert write_amount(budget(unit="usd"), nano) == text


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("openai", b'"type":"budget_exceeded","param":null,"code":"budget_exceeded"'),
        ("anthropic", b'"type":"rate_limit_error"'),
        ("gemini", b'"status":"RESOURCE_EXHAUSTED"'),
        ("problem", b'"code":"budget_exceeded"'),
    ],
)
def test_it_is_said_in_the_callers_dialect(dialect: Any, said: bytes) -> None:
    status, headers, body = render(dialect, refused(BudgetWindow(0, None), Shortage(1, 5, 9, 0)), "id")
    assert status == 429 and said in body and b"The budget b has" in body
    assert (b"retry-after", b"3600") in headers


BY_UNIT = {"tokens": 1000, "usd": 10**12, "requests": 10}
SMALL = replace(
    Bound(5000, 5 * 10**12), enough=Bound(400, 4 * 10**11), least=Bound(60, 6 * 10**10)
)  # what a caller without a limit brings


@pytest.mark.parametrize(
    ("unit", "taken", "under_way", "granted"),
    [
        ("tokens", 0, False, 1000),
        ("tokens", 940, False, 60),
        ("tokens", 941, False, None),
        ("tokens", 600, True, 400),
        ("tokens", 601, True, None),  # the others will give some back
        ("usd", 0, False, 10**12),
        ("usd", 94 * 10**10, False, 6 * 10**10),
    ],
)
async def test_who_can_be_kept_to_less_gets_what_is_left(
    unit: Any, taken: int, under_way: bool, granted: int | None
) -> None:
    count = Count({unit: BY_UNIT[unit]})
    row = budget(name=unit, series=unit, unit=unit, limit=BY_UNIT[unit])
    async with open_worker(count) as worker:
        judged = limits(worker.keeper, row)
        if taken:
            before = await judged.reserve(ALICE, CHAT, Message(b"", reckon=at_most(Bound(taken, taken))))
            assert before is not None and before.granted is None
            if not under_way:
                before.settle({"input_tokens": taken, "cost_nano_usd": taken})
        call = Message(b"", reckon=at_most(SMALL))
        if granted is None:
            with pytest.raises(Denied):
                await judged.reserve(ALICE, CHAT, call)
            return
        hold = await judged.reserve(ALICE, CHAT, call)
        assert hold is not None and hold.granted is not None
        assert (hold.granted.tokens if unit == "tokens" else hold.granted.nano_usd) == granted
        hold.settle({"input_tokens": 1, "cost_nano_usd": 1})
        if taken and under_way:
            before.settle({})
    assert count.held() == 0


async def test_the_smallest_of_several_budgets_counts() -> None:
    rows = [budget(name=name, series=name, unit="tokens", limit=limit) for name, limit in (("a", 900), ("b", 700))]
    rows.append(budget(name="c", series="c", unit="usd", limit=10**12))
    count = Count({"a": 900, "b": 700, "c": 10**12})
    async with open_worker(count) as worker:
        hold = await limits(worker.keeper, *rows).reserve(ALICE, CHAT, Message(b"", reckon=at_most(SMALL)))
        assert hold is not None and hold.granted is not None
        assert (hold.granted.tokens, hold.granted.nano_usd) == (700, 10**12)
        hold.settle({})
    assert count.held() == 0


async def test_who_can_do_with_less_was_not_refused() -> None:
    """The figures say how many exchanges were, not how often somebody asked."""
    less = Message(b"{}", reckon=at_most(Bound(2000, None, enough=Bound(500, None), least=Bound(50, None))))
    async with open_worker(Count()) as worker:
        hold = await limits(worker.keeper, budget()).reserve(ALICE, CHAT, less)
        assert hold is not None and hold.granted is not None and hold.granted.tokens == 1000
        assert worker.seen.refusals == 0
        with pytest.raises(Denied):
            await limits(worker.keeper, budget()).reserve(ALICE, CHAT, CALL)
        assert worker.seen.refusals == 1
        hold.settle(None)
