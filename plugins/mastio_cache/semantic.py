"""Answers to questions that mean nearly the same, off unless an operator names who compares them.

The last thing that the user said is embedded by a provider of the appliance; everything else of the call has to be
the same to the byte, and the tenant too. What cannot be embedded in time has no neighbours.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import Any, NamedTuple

import orjson
from pydantic import Field

from mastio.exchange.errors import DispatchError
from mastio.exchange.target import TargetError
from mastio.plugin.hooks import PluginSettings
from mastio.plugin.services import Services, Upstream
from mastio_cache.nearness import Neighbours, Vector, make_vector

log = logging.getLogger("mastio.cache")

KEY = re.compile(r"[\x21-\x7e]+")
"""A key that can be sent: one word of visible ASCII characters. A JSON object is an account's credentials."""

MAX_REPLY = 1024 * 1024
MAX_TEXT = 8192
"""Characters. A longer text is not compared: models cut it, and what was cut off could differ."""
MAX_BYTES = 32 * 1024 * 1024
REST = 5.0
"""Seconds that a provider which failed is left alone."""


class SemanticSettings(PluginSettings):
    """The provider of embeddings, and the least similarity (cosine) that counts as equal. `entries` for each tenant;
    `deadline` in seconds."""

    provider: str
    model: str
    floor: float = Field(default=0.95, ge=0.5, le=1)
    entries: int = Field(default=1000, ge=1, le=100_000)
    deadline: float = Field(default=1.0, gt=0, le=30)


class QuestionScope(NamedTuple):
    """A question for comparison: its tenant, everything but its text, and the vector of the text."""

    tenant: bytes
    scope: bytes
    vector: Vector


class Semantic:
    """One worker's."""

    def __init__(self, services: Services, settings: SemanticSettings) -> None:
        self._services = services
        self.settings = settings
        self.neighbours = Neighbours(settings.entries, MAX_BYTES)
        self._pool: tuple[Any, Upstream] | None = None
        self._rests_until = 0.0

    async def place(self, tenant: bytes, scope: bytes, text: str) -> QuestionScope | None:
        """None: it cannot be had in time."""
        if not text or len(text) > MAX_TEXT or time.monotonic() < self._rests_until:
            return None
        try:
            async with asyncio.timeout(self.settings.deadline):
                vector = await self._embed(text)
        except (DispatchError, TargetError, TimeoutError) as error:
            self._rests_until = time.monotonic() + REST
            log.warning("questions are not compared for %d s: %s", REST, type(error).__name__)
            return None
        return None if vector is None else QuestionScope(tenant, scope, vector)

    async def _embed(self, text: str) -> Vector | None:
        row = self._services.directory.objects("providers").get(self.settings.provider)
        if row is None or row.kind not in ("openai", "azure", "ollama"):
            raise DispatchError("The provider of embeddings is not there, or does not speak OpenAI's API.")
        if self._pool is None or self._pool[0] != row:
            self._pool = (row, self._services.upstreams.open(row.base_url, row.allow_addresses, row.timeouts))
        headers = [("content-type", "application/json"), ("accept-encoding", "identity")]
        if row.api_key:
            if row.api_key.startswith("{") or not KEY.fullmatch(row.api_key):
                raise DispatchError("The provider of embeddings has no key that could be sent.")
            name, prefix = ("api-key", "") if row.kind == "azure" else ("authorization", "Bearer ")
            headers.append((name, prefix + row.api_key))
        body = orjson.dumps({"model": self.settings.model, "input": text, "encoding_format": "float"})
        async with self._pool[1].send("POST", "/embeddings", headers, body) as upstream:
            reply = await upstream.read(MAX_REPLY)
            if upstream.status != 200:
                raise DispatchError("The provider of embeddings refused.")
        try:
            return make_vector(orjson.loads(reply)["data"][0]["embedding"])
        except (orjson.JSONDecodeError, LookupError, TypeError) as error:
            raise DispatchError("The provider of embeddings gave none.") from error
