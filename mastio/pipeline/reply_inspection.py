"""The reply of one exchange as its inspectors see it: whole, or window by window. `mastio.pipeline.reply` asks here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from mastio.exchange.errors import Blocked, DispatchError
from mastio.exchange.inspection import Block, Finding, Layout, Redact, Rewriter, Texts, Watch, merge
from mastio.exchange.values import Window
from mastio.host import aside
from mastio.http.strictjson import JsonError, parse
from mastio.reading.document import Document
from mastio.reading.heads import read_reply_header, write_reply_header
from mastio.reading.piecemeal import drop_piecemeal
from mastio_primitives.asgi import RawHeaders


class ReplyInspection:
    """The inspection of one reply by the watches of its exchange. Not made for exchanges without watches."""

    __slots__ = ("_layout", "_rewriter", "_uninspected", "_watches")

    def __init__(self, layout: Layout, watches: Sequence[Watch]) -> None:
        self._layout = layout
        self._watches = watches
        self._rewriter: Rewriter | None = None
        self._uninspected: Sequence[Finding] = ()

    async def head(self, headers: RawHeaders) -> RawHeaders:
        """The reply headers that may be released. A header whose value cannot be rewritten is left out. Raises
        `Blocked`."""
        read = [(n, said) for n, pair in enumerate(headers) if (said := read_reply_header(*pair)) is not None]
        if not read:
            return headers
        texts = [passage for _, passage in read]
        for watch in self._watches:
            verdict = await watch.look(texts)
            if isinstance(verdict, Block):
                raise Blocked(verdict.message, verdict.findings)
            if isinstance(verdict, Redact):
                texts = [one._replace(text=verdict.texts.get(n, one.text)) for n, one in enumerate(texts)]
        changed = {
            at: write_reply_header(headers[at][1], was.text, now.text)
            for (at, was), now in zip(read, texts, strict=True)
            if was.text != now.text
        }
        new = ((name, changed.get(at, value)) for at, (name, value) in enumerate(headers))
        return [(name, value) for name, value in new if value is not None]

    async def whole(self, body: bytes) -> bytes:
        """The part of a whole reply that may be released. Raises `Blocked`, and `DispatchError` if it cannot be
        read."""
        if not body:
            return body
        texts = await aside.run(aside.is_short(body), self._read, body)
        self._uninspected = texts.uninspected
        for watch in self._watches:
            passages = texts.passages
            if not passages:
                break
            verdict = await watch.look(passages)
            if isinstance(verdict, Block):
                raise Blocked(verdict.message, verdict.findings)
            if isinstance(verdict, Redact) and verdict.texts:
                body, texts = await aside.run(aside.is_short(body), self._replace, texts, verdict.texts)
        return body

    def _replace(self, texts: Texts, changed: Mapping[int, str]) -> tuple[bytes, Texts]:
        body = _without_piecemeal(texts.replace(changed))
        return body, self._read(body)

    def _read(self, body: bytes) -> Texts:
        """The texts of a body. What is no JSON is one text: what a provider says of an error may be a page."""
        try:
            return self._layout.reply(body, parse(body))
        except JsonError:
            pass
        try:
            return Document.of_text(body.decode(), frozenset(), "assistant")
        except UnicodeDecodeError as error:
            raise DispatchError("The upstream's reply cannot be inspected.") from error

    async def window(self, window: Window) -> bytes:
        """The part of a window that may be released now. Raises as `whole`."""
        if self._rewriter is None:
            self._rewriter = self._layout.stream(self._watches)
        pieces: list[bytes] = []
        async for piece in self._rewriter.feed(window.data, window.last):
            if pieces:
                await asyncio.sleep(0)  # others get their turn while a flood is looked at
            pieces.append(piece)
        return b"".join(pieces)

    async def end(self) -> bytes:
        """The rest of a stream that ended without a last window."""
        return b"" if self._rewriter is None else await self._rewriter.end()

    def findings(self) -> tuple[Finding, ...]:
        found = [finding for watch in self._watches for finding in watch.findings()]
        return merge((*found, *self._uninspected, *(() if self._rewriter is None else self._rewriter.findings())))


def _without_piecemeal(body: bytes) -> bytes:
    """Returns the body without the members that repeat its texts piecemeal, since these texts were changed."""
    try:
        document = parse(body)
    except JsonError:
        return body
    return orjson.dumps(document) if drop_piecemeal(document) else body


def describe(findings: Sequence[Finding]) -> Mapping[str, Any]:
    """Findings as the log has them: without content."""
    return {"findings": [_describe(finding) for finding in findings]} if findings else {}


def _describe(finding: Finding) -> dict[str, Any]:
    said: dict[str, Any] = {"label": finding.label, "confidence": finding.confidence, "times": finding.times}
    return {**said, "kind": finding.kind, "bytes": finding.size} if finding.kind else said
