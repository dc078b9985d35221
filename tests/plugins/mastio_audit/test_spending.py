"""What calls of models used, added up: exactly what outcomes say, once each, in both databases and in parts."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from mastio.exchange.errors import BadRequest, ConfigurationError
from mastio.exchange.values import STRANGER, Entry
from mastio_audit import query as asking
from mastio_audit import spending
from mastio_audit.admin_api import LogApi
from mastio_audit.commands import usage
from mastio_audit.log.chain import append as chain_append
from mastio_audit.log.chain import draft
from mastio_audit.log.store import Batch
from mastio_audit.query import USAGE, parse_by
from mastio_audit.spending import COUNTS, Sums, UsageQuery, add_up, describe, describe_rows

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

BEGAN = 1_700_000_000.0  # 2023-11-14T22:13:20Z
DAY = 86_400
GROUPS = {"alice": ("red", "blue"), "bob": ("red",)}
NESTED = {"text": '"kind":"llm.chat","phase":"outcome"', "phase": "outcome", "kind": "llm.chat"}


def outcome(
    agent: str | None, model: str, *, status: str = "ok", kind: str = "llm.chat", took: str = "", **used: int
) -> Entry:
    response = {"status": 200, **({"target": took} if took else {})}
    return Entry("x", "outcome", kind, model, agent, response=response, outcome={"status": status}, usage=used or None)


TIMED = [
    (0, Entry("x", "intent", "llm.chat", "p/big", "alice")),
    (1, outcome("alice", "p/big", input_tokens=10, output_tokens=5, cached_tokens=4, cost_nano_usd=7_000)),
    (2, outcome("alice", "p/small", input_tokens=3, output_tokens=1, estimated=1)),
    (3, outcome("alice", "p/big", took="q/other", input_tokens=1, output_tokens=1, cost_nano_usd=1)),
    (4, outcome("bob", "p/big", status="failed")),
    (5, outcome("bob", "p/big", status="unknown")),
    (6, outcome("bob", "p/big", kind="egress.http", input_tokens=99)),
    (7, Entry("x", "event", "llm.chat", "p/big", "bob", outcome={"status": "refused"}, request=NESTED)),
    (8, outcome("bob", "self", kind="llm.models")),
    (DAY, outcome("bob", "p/big", input_tokens=2, output_tokens=2, cost_nano_usd=2**53 - 1)),
]


def counts(**more: int) -> dict[str, int]:
    return {**dict.fromkeys(COUNTS, 0), **more}


@pytest.fixture
def log(place: Place) -> Place:
    async def fill() -> None:
        store = place.store()
        await store.open()
        for after, entry in TIMED:
            await store.append(lambda head, e=entry, at=BEGAN + after: _batch(head, e, at))
        await store.close()

    asyncio.run(fill())
    return place


def _batch(head: Any, entry: Entry, at: float) -> Batch:
    made = chain_append(head, [draft(entry)], at)
    return Batch(made.rows, made.head, made.nodes)


def added(place: Place, question: UsageQuery, **more: Any) -> list[Sums]:
    """The sums of each part."""

    async def run() -> list[Sums]:
        reader = place.reader()
        await reader.open()
        try:
            parts, at = list[Sums](), 0
            while True:
                part = await add_up(
                    lambda w, n, c: reader.find(w, n, c, False), question, range(at, len(TIMED)), _now, **more
                )
                parts.append(part.sums)
                if part.following is None:
                    return parts
                assert part.following > at
                at = part.following
        finally:
            await reader.close()

    return asyncio.run(run())


async def _now(work: Any) -> None:
    work()


def question(*by: Any, since: float = 0, until: float = 2 * DAY, **more: Any) -> UsageQuery:
    return UsageQuery(BEGAN + since, BEGAN + until, by, groups=lambda agent: GROUPS.get(agent, ()), **more)


BIG = 2**53 - 1
EXPECTED = {
    "agent": (
        question("agent"),
        {
            ("alice",): counts(
                requests=3, input_tokens=14, output_tokens=7, cached_tokens=4, estimated=1, unpriced=1,
                cost_nano_usd=7_001,
            ),
            ("bob",): counts(
                requests=3, failed=2, uncounted=1, input_tokens=2, output_tokens=2, cost_nano_usd=BIG
            ),
        },
    ),
    "model, the one that answered": (
        question("model", agent="alice"),
        {
            ("p/big",): counts(requests=1, input_tokens=10, output_tokens=5, cached_tokens=4, cost_nano_usd=7_000),
            ("p/small",): counts(requests=1, input_tokens=3, output_tokens=1, estimated=1, unpriced=1),
            ("q/other",): counts(requests=1, input_tokens=1, output_tokens=1, cost_nano_usd=1),
        },
    ),
    "day and agent": (
        question("day", "agent", agent="bob"),
        {
            ("2023-11-14", "bob"): counts(requests=2, failed=2, uncounted=1),
            ("2023-11-15", "bob"): counts(requests=1, input_tokens=2, output_tokens=2, cost_nano_usd=BIG),
        },
    ),
    "period": (
        question("agent", since=2, until=4),
        {("alice",): counts(requests=2, input_tokens=4, output_tokens=2, estimated=1, unpriced=1, cost_nano_usd=1)},
    ),
    "one model": (question("agent", model="p/small"), {("alice",): counts(
        requests=1, input_tokens=3, output_tokens=1, estimated=1, unpriced=1
    )}),
    "nobody": (question("agent", agent="carol"), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_the_sums_are_what_outcomes_say(log: Place, name: str) -> None:
    asked, expected = EXPECTED[name]
    [sums] = added(log, asked)
    assert {key: dict(zip(COUNTS, map(int, row), strict=True)) for key, row in sums.by_key.items()} == expected
    assert describe(sums.total)["requests"] == sum(row["requests"] for row in expected.values())


def test_an_agent_of_two_groups_counts_in_both_and_once_in_the_total(log: Place) -> None:
    [sums] = added(log, question("group"))
    assert {row["group"]: row["requests"] for row in describe_rows(sums, ("group",))} == {"red": 6, "blue": 3}
    assert describe(sums.total)["requests"] == 6


@pytest.mark.parametrize("bound", ["time", "rows"])
def test_the_sums_of_the_parts_are_those_of_the_whole(log: Place, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "AT_ONCE", 1)
    ticks = iter(range(1000))
    more: dict[str, Any] = {"most_rows": 1} if bound == "rows" else {"clock": lambda: 100.0 * next(ticks)}
    parts = added(log, question("agent", "model"), **more)
    assert len(parts) > 3
    [whole] = added(log, question("agent", "model"), clock=lambda: 0.0)
    sums = Sums()
    for part in parts:
        sums.add_to_total(part.total)
        for key, row in part.by_key.items():
            sums.add(key, row)
    assert (sums.by_key, sums.total) == (whole.by_key, whole.total)


def test_what_cost_most_comes_first_and_days_in_their_order() -> None:
    sums = Sums()
    for key, cost in ((("b", "x"), 1), (("a", "x"), 5), (("a", "y"), 9)):
        sums.add(key, [1, *[0] * (len(COUNTS) - 2), cost])
    assert [row["cost_nano_usd"] for row in describe_rows(sums, ("agent", "model"))] == [9, 5, 1]
    assert [row["day"] for row in describe_rows(sums, ("day", "model"))] == ["a", "a", "b"]


@pytest.mark.parametrize("text", ["", "agent,", "agents", "agent,agent", "Agent"])
def test_what_is_no_dimension(text: str) -> None:
    with pytest.raises(ValueError, match=text or "^$"):
        parse_by(text)


# --- over REST, without the edge --------------------------------------------------------------------------------------


def get(doors: LogApi, target: str) -> list[dict[str, Any]]:
    """The answer, and those that it says follow."""

    async def run() -> list[dict[str, Any]]:
        answers, following = [], target
        try:
            while following:
                head: Any = SimpleNamespace(
                    query=urlsplit(following).query.encode(), path=USAGE, route=SimpleNamespace(kind="admin.usage")
                )
                _, message = asking.read_usage(head, STRANGER, b"")
                recorded: Any = SimpleNamespace(message=message, principal=None)
                answers.append(json.loads((await doors.dispatch["admin.usage"](recorded)).body))
                following = answers[-1]["next"]
            return answers
        finally:
            await doors.close()

    return asyncio.run(run())


@pytest.fixture
def doors(log: Place) -> LogApi:
    keys: Any = None
    return LogApi(
        log.reader(), keys, lambda: BEGAN + 2 * DAY, Path("none"), groups_of=lambda name: GROUPS.get(name, ())
    )


def test_the_answer_has_rows_a_total_and_its_period(doors: LogApi) -> None:
    [answer] = get(doors, f"{USAGE}?by=model&agent=alice")
    assert [row["model"] for row in answer["rows"]] == ["p/big", "q/other", "p/small"]
    assert answer["rows"][0]["usd"] == 7_000 / 10**9
    assert answer["total"]["requests"] == 3 and answer["complete"] is True and answer["next"] is None
    assert (answer["since"], answer["until"]) == ("2023-10-17T22:13:20.000000Z", "2023-11-16T22:13:20.000000Z")


def test_a_long_log_is_answered_in_parts(doors: LogApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "AT_ONCE", 1)
    monkeypatch.setattr(spending, "MOST_ROWS", 1)
    parts = get(doors, f"{USAGE}?by=agent,day&since=2023-11-14")
    assert len(parts) > 3 and sum(part["total"]["requests"] for part in parts) == 6
    assert len({(part["since"], part["until"]) for part in parts}) == 1


@pytest.mark.parametrize(
    "query",
    [
        "until=9999-12-31T23:59:59.999999Z", "since=9999-12-31T23:59:59.999999Z&until=9999-12-31T23:59:59.999999Z",
        "until=0001-01-01", "since=0001-01-01&until=1969-12-31", "from=999999999999999999", "model=%F0%9F%98%80%FF",
    ],
)  # fmt: skip
def test_odd_periods_are_answered(doors: LogApi, query: str) -> None:
    [answer] = get(doors, f"{USAGE}?{query}")
    assert answer["next"] is None and answer["total"]["requests"] == 0


@pytest.mark.parametrize(
    "query", ["by=person", "by=", "since=yesterday", "until=x", "since=2024-01-01&until=2023-01-01", "agent=A", "x=1",
              "model=", "from=-1", "by=agent&by=model"],
)  # fmt: skip
def test_a_wrong_question_is_refused(doors: LogApi, query: str) -> None:
    with pytest.raises(BadRequest):
        get(doors, f"{USAGE}?{query}")


# --- the command ------------------------------------------------------------------------------------------------------


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    usage.add_arguments(parser)
    return usage.run(parser.parse_args(words))


def test_the_command_reads_a_stored_log(log: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(*log.arguments, "--since", "2023-11-14", "--until", "2023-11-15", "--by", "model") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["MODEL", "REQUESTS", "FAILED", "INPUT", "OUTPUT", "USD", "ESTIMATED", "UNPRICED"]
    assert lines[1] == ["p/big", "3", "2", "10", "5", "0.000007", "0", "0"]
    assert lines[-1] == ["total", "5", "2", "14", "7", "0.000007001", "1", "1"]
    assert command(*log.arguments, "--since", "2023-11-14", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["agent"] for row in answer["rows"]] == ["bob", "alice"]
    assert answer["total"]["cost_nano_usd"] == BIG + 7_001
    assert command(*log.arguments) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["total", "0"], "nothing in the last thirty days"


@pytest.mark.parametrize("words", [("--by", "person"), ("--since", "1d", "--until", "2d"), ("--by", "group")])
def test_used_wrongly(log: Place, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError):
        command(*log.arguments, *words)
