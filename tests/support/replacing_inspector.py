"""An inspector that replaces one text by another, and a chat call and its replies for it to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import orjson

from mastio.exchange.errors import Blocked
from mastio.exchange.inspection import Finding, Layout, Pass, Passage, Redact
from mastio.exchange.values import Action, Message
from mastio.reading.document import Document
from mastio.reading.stream import Delta, Shape, StreamRewriter


def deltas(event: dict[str, Any]) -> Iterator[Delta]:
    for choice in event.get("choices", []):
        yield Delta((choice["index"],), choice["delta"], "content")


SHAPE = Shape(
    deltas,
    lambda event: (),
    lambda event: None,
    frozenset(["messages", "role", "content", "n", "choices", "index", "delta"]),
)
LAYOUT = Layout(
    partial(Document, names=SHAPE.names), partial(Document, names=SHAPE.names), partial(StreamRewriter, SHAPE, "events")
)
BODY = b'{"messages":[{"role":"user","content":"my secret"}],  "n": 1}'


def read_body(*_: Any) -> Any:
    return Action("llm.chat", "Model", "m"), Message(BODY, orjson.loads(BODY), layout=LAYOUT)


class Replacing:
    """An inspector of both directions: puts one text in the place of another."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new
        self.carriers: list[str] = []

    async def inspect(self, principal: Any, action: Any, passages: Sequence[Passage]) -> Any:
        self.carriers = [passage.carrier for passage in passages]
        return Redact(self.find(passages), (Finding(f"seen.{self.old}", 90),), self)

    def find(self, passages: Sequence[Passage]) -> dict[int, str]:
        return {n: p.text.replace(self.old, self.new) for n, p in enumerate(passages) if self.old in p.text}

    async def look(self, passages: Sequence[Passage]) -> Any:
        found = self.find(passages)
        return Redact(found) if found else Pass()

    def open(self, carrier: str) -> Any:
        return self

    def feed(self, text: str) -> str:
        if "bad" in text:
            raise Blocked("No.")
        return text.replace(self.old, self.new)

    def close(self) -> str:
        return ""

    def findings(self) -> list[Finding]:
        return [Finding("reply.seen", 50)]
