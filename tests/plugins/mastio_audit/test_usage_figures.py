"""Figures of usage: exact over what is added to the log, with labels that no caller chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from mastio.exchange.values import Entry
from mastio_audit import usage_metrics as usage_figures
from mastio_audit.log.chain import Head, append, draft
from mastio_audit.log.store import Extent
from mastio_audit.usage_metrics import OTHER, RANKS, Ranking, UsageFigures, UsageMetrics, Used, label_model, read_used
from mastio_llm.provider import ProviderRow

NOW = 1_700_000_000.0
PROVIDERS = {
    "p": ProviderRow("p", "openai", "https://x/v1", None, ("big", "gpt-*"), {"fast": "small"}, (), 1, {}),
}


class Log:
    """A log in memory, as its reader."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, bytes]] = []
        self.head = Head()
        self.asked = 0
        self.opened = 0

    def add(self, *entries: Entry, at: float = NOW) -> None:
        made = append(self.head, [draft(entry) for entry in entries], at)
        self.rows += made.rows
        self.head = made.head

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        pass

    async def extent(self) -> Extent:
        return Extent(self.head, len(self.rows))

    async def read(self, start: int, limit: int) -> Sequence[Any]:
        return self.rows[start : start + limit]

    async def find(self, within: range, limit: int, contained: Sequence[bytes], newest_first: bool) -> Sequence[Any]:
        self.asked += 1
        found = [row for row in self.rows[within.start : within.stop] if all(one in row[1] for one in contained)]
        return found[:limit]


class Seen(UsageMetrics):
    def __init__(self) -> None:
        self.counted: list[tuple[str, int]] = []
        self.ranks: dict[str, tuple[int, int]] = {}
        self.shown = asyncio.Event()

    def count(self, model: str, used: Used) -> None:
        self.counted.append((model, used.read))

    def show(self, ranks: Any) -> None:
        self.ranks = dict(ranks)
        self.shown.set()


def call(agent: str, model: str = "p/big", tokens: int = 1, usd: int = 10, kind: str = "llm.chat") -> Entry:
    used = {"input_tokens": tokens, "output_tokens": 1, "cost_nano_usd": usd}
    return Entry("x", "outcome", kind, model, agent, response={"status": 200}, outcome={"status": "ok"}, usage=used)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_figures, "PAUSE", 0)


async def test_each_call_is_counted_once(log: Log, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces, over several looks; what was there before is for the ranks alone."""
    monkeypatch.setattr(usage_figures, "AT_ONCE", 2)
    figures = UsageFigures(log, lambda: PROVIDERS, lambda: NOW, seen)  # type: ignore[arg-type]
    log.add(*[call("early", usd=100)] * 3)
    await figures.look()
    assert seen.counted == [] and seen.ranks["1"] == (300, 6)
    refused = Entry("x", "outcome", "llm.chat", "p/big", "a", outcome={"status": "failed"})
    log.add(*[call("a", tokens=n) for n in range(5)], refused, call("a", kind="egress.http"), call("b", "p/other", 7))
    await figures.look()
    await figures.look()
    assert seen.counted == [*(("p/big", n) for n in range(5)), ("p/*", 7)]
    assert (seen.ranks["1"], seen.ranks["2"], seen.ranks["3"]) == ((300, 6), (50, 15), (10, 8))
    assert log.opened == 1


async def test_ranks_are_of_the_last_hours(log: Log, seen: Seen) -> None:
    now = [NOW]
    figures = UsageFigures(log, lambda: PROVIDERS, lambda: now[0], seen)  # type: ignore[arg-type]
    log.add(call("old", usd=999), at=NOW - 25 * 3600)
    log.add(call("new"), at=NOW - 3600)
    await figures.look()
    assert [seen.ranks["1"], seen.ranks["2"]] == [(10, 2), (0, 0)]
    now[0] = NOW + 24 * 3600
    await figures.look()
    assert seen.ranks["1"] == (0, 0)


def test_there_are_so_many_ranks_and_the_rest() -> None:
    ranking = Ranking()
    for n in range(RANKS + 5):
        ranking.add(Used(n, "2026-01-01T00", f"agent-{n}", "p/big", 1, 1, n))
    ranks = ranking.rank()
    assert list(ranks) == [*(str(n + 1) for n in range(RANKS)), OTHER]
    assert ranks["1"] == (RANKS + 4, 2) and ranks[OTHER] == (sum(range(5)), 10)


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("p/big", "p/big"), ("p/small", "p/small"), ("p/fast", "p/*"), ("p/gpt-4o", "p/*"), ("p/gpt-*", "p/gpt-*"),
        ("q/any", "q/*"), ("<IMEI_1>", OTHER), ("", OTHER), ("P/x", OTHER),
    ],
)  # fmt: skip
def test_a_label_is_what_an_admin_wrote(model: str, label: str) -> None:
    assert label_model(model, PROVIDERS) == label


def test_many_names_of_models_are_one_label(log: Log) -> None:
    log.add(*[call("a", f"p/made-up-{n}") for n in range(300)])
    assert {label_model(used.model, PROVIDERS) for used in read_used(log.rows)} == {"p/*"}


def test_the_figures_have_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    figures = UsageMetrics()
    figures.count("p/big", Used(0, "2026-01-01T00", "a", "p/big", 3, 4, 5_000_000_000))
    figures.show(Ranking().rank())
    assert figures._usd.labels("p/big")._value.get() == 5.0
    assert figures._tokens.labels("p/big", "output")._value.get() == 4.0


async def test_a_log_that_cannot_be_read_is_tried_again(log: Log, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_figures, "EVERY", 0.001)
    broken = iter([True, True])

    async def extent() -> Extent:
        if next(broken, False):
            raise usage_figures.StoreError("gone")
        return Extent(log.head, len(log.rows))

    monkeypatch.setattr(log, "extent", extent)
    log.add(call("a"))
    task = asyncio.create_task(UsageFigures(log, lambda: PROVIDERS, lambda: NOW, seen).run())  # type: ignore[arg-type]
    async with asyncio.timeout(5):
        await seen.shown.wait()
    task.cancel()
    await asyncio.wait((task,))
    assert seen.ranks["1"] == (10, 2) and log.opened == 3
