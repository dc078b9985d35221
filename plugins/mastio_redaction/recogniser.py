"""A second opinion: an external recogniser that speaks Presidio's analyzer API (`POST /analyze`), with a deadline.

It sees whole texts only, never streams: a model of language wants sentences, and a stream cannot wait for them. What it
sees leaves the appliance, so it is off unless an admin described one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import orjson
from pydantic import Field

from mastio.exchange.errors import DispatchError, InspectionError
from mastio.http.strictjson import JsonError, parse
from mastio.plugin.hooks import BaseUrl, Networks, PluginSettings
from mastio.plugin.services import Upstream, Upstreams
from mastio_redaction.engine import Span

MAX_REPLY = 4 * 1024 * 1024


class RecogniserSettings(PluginSettings):
    """`url` is the analyzer's, without `/analyze`. `types` that are taken from it, all by default; those below
    `min_score` are not. `deadline_ms` for all texts of a message together. `when_broken`: `refuse`, or `allow`, and
    then the entry says `uninspected`."""

    url: BaseUrl
    allow_addresses: Networks = ()
    language: str = Field(default="en", pattern=r"^[a-z]{2}$")
    types: tuple[str, ...] = ()
    min_score: float = Field(default=0.5, ge=0, le=1)
    deadline_ms: int = Field(default=500, ge=10, le=30_000)
    when_broken: Literal["refuse", "allow"] = "refuse"


class Recogniser:
    """One for each worker. Raises what `Upstreams.open` raises."""

    def __init__(self, settings: RecogniserSettings, upstreams: Upstreams) -> None:
        self._settings = settings
        seconds = settings.deadline_ms / 1000
        self._pool: Upstream = upstreams.open(
            settings.url, settings.allow_addresses, {"connect": seconds, "read": seconds, "total": seconds}
        )

    async def find_all(self, texts: Sequence[str]) -> list[list[Span]] | None:
        """The spans found in each text; None if it does not answer and `when_broken` is "allow". Raises
        `InspectionError`."""
        try:
            async with asyncio.timeout(self._settings.deadline_ms / 1000):
                return [await self._find(text) for text in texts]
        except (DispatchError, TimeoutError, JsonError, ValueError) as error:
            if self._settings.when_broken == "allow":
                return None
            raise InspectionError("The recogniser that has to look at this does not answer.") from error

    async def _find(self, text: str) -> list[Span]:
        body = orjson.dumps({"text": text, "language": self._settings.language})
        headers = [("content-type", "application/json"), ("accept-encoding", "identity")]
        async with self._pool.send("POST", "/analyze", headers, body) as reply:
            if reply.status != 200:
                raise DispatchError("The recogniser answered with an error.")
            return self.parse(parse(await reply.read(MAX_REPLY)), text)

    def parse(self, said: Any, text: str) -> list[Span]:
        """Raises `ValueError` for what is no list of its results."""
        if not isinstance(said, list):
            raise ValueError("not a list")
        found = []
        for one in said:
            match one:
                case {
                    "start": int(start),
                    "end": int(end),
                    "score": int() | float() as score,
                    "entity_type": str(kind),
                }:
                    if not 0 <= start < end <= len(text):
                        raise ValueError("beyond the text")
                case _:
                    raise ValueError("no result")
            if score >= self._settings.min_score and (not self._settings.types or kind in self._settings.types):
                found.append(Span(start, end, kind, min(float(score), 1.0), ("recogniser",)))
        return found


def unite(own: list[Span], others: list[Span]) -> list[Span]:
    """Both, in order; where they overlap ours counts, since a check has confirmed it."""
    taken = own + [span for span in others if not any(span.start < one.end and one.start < span.end for one in own)]
    taken.sort()
    kept: list[Span] = []
    for span in taken:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept
