"""Another recogniser, asked over HTTP: what it says is taken, and when it does not say it, nothing passes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mastio.exchange.errors import DispatchError, InspectionError
from mastio.exchange.inspection import UNINSPECTED, Passage
from mastio_redaction.engine import Engine, Span
from mastio_redaction.inspector import Finder
from mastio_redaction.matched_policies import Side
from mastio_redaction.recogniser import Recogniser, RecogniserSettings, unite


class Reply:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: list[tuple[bytes, bytes]] = []
        self._body = body

    async def read(self, limit: int) -> bytes:
        return self._body[:limit]


class Analyzer:
    """Stands for the upstream: `answer` is what it says, or raises, or how long it takes."""

    def __init__(self, answer: Any, status: int = 200) -> None:
        self.answer, self.status = answer, status
        self.asked: list[Any] = []

    def open(self, url: str, networks: Any, timeouts: Any, tls: Any = None) -> Any:
        return self

    @asynccontextmanager
    async def send(self, method: str, path: str, headers: Any, body: bytes) -> AsyncIterator[Reply]:
        self.asked.append((method, path, json.loads(body)))
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, float):
            await asyncio.sleep(self.answer)
        said = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        yield Reply(self.status, said)


def recogniser(analyzer: Analyzer, **more: Any) -> Recogniser:
    settings = RecogniserSettings(url="http://127.0.0.1:5002", deadline_ms=50, **more)
    return Recogniser(settings, analyzer)  # type: ignore[arg-type]


def result(start: int, end: int, score: Any = 0.85, kind: str = "PERSON") -> dict[str, Any]:
    return {"start": start, "end": end, "score": score, "entity_type": kind, "analysis_explanation": None}


async def test_what_it_says_is_taken() -> None:
    analyzer = Analyzer([result(0, 4), result(5, 8, 0.2), result(5, 8, 1, "NRP")])
    found = await recogniser(analyzer).find_all(["Anna and"])
    assert found == [[Span(0, 4, "PERSON", 0.85, ("recogniser",)), Span(5, 8, "NRP", 1.0, ("recogniser",))]]
    assert analyzer.asked == [("POST", "/analyze", {"text": "Anna and", "language": "en"})]
    assert await recogniser(analyzer, types=("NRP",)).find_all(["Anna and"]) == [
        [Span(5, 8, "NRP", 1.0, ("recogniser",))]
    ]


@pytest.mark.parametrize(
    "analyzer",
    [
        Analyzer(DispatchError("refused")),
        Analyzer(5.0),
        Analyzer([], 500),
        Analyzer(b"not json"),
        Analyzer({"error": "x"}),
        Analyzer([{"start": 0}]),
        Analyzer([result(0, 99)]),
        Analyzer([result(3, 3)]),
        Analyzer([result(0, 2, "high")]),
    ],
    ids=["refuses", "slow", "fails", "garbage", "object", "part", "beyond", "empty", "score"],
)
async def test_when_it_cannot_be_asked_nothing_passes_unless_an_admin_said_so(analyzer: Analyzer) -> None:
    with pytest.raises(InspectionError):
        await recogniser(analyzer).find_all(["Anna"])
    assert await recogniser(analyzer, when_broken="allow").find_all(["Anna"]) is None
    finder = Finder(Engine(()), recogniser(analyzer, when_broken="allow"))
    assert await finder.find_all([Passage("Anna", "user")], Side()) == ([[]], False)
    assert UNINSPECTED == "uninspected"


def test_where_both_see_something_ours_counts() -> None:
    ours, theirs = [Span(3, 9, "IBAN_CODE", 0.9)], [Span(0, 4, "PERSON", 1.0), Span(12, 15, "PERSON", 0.9)]
    assert unite(ours, theirs) == [ours[0], theirs[1]]
    assert unite([], [Span(4, 6, "A", 1.0), Span(0, 5, "B", 1.0)]) == [Span(0, 5, "B", 1.0)]
