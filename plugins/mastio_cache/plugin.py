"""The plugin `cache`: answers a question that was answered before from memory, to whom it was answered.

`directives` and `key` decide purely what is looked for and by which key; `memory` and `shared` hold answers, `flights`
lets one ask for all who ask the same at once, `answering` is the story. `docs/cache.md` says what it means to callers.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_cache.answering import Cache, NoSharedCache, SecondLevel
from mastio_cache.directives import AnsweredKinds
from mastio_cache.key import Share, derive
from mastio_cache.memory import Memory
from mastio_cache.semantic import Semantic, SemanticSettings

KINDS = ("llm.chat", "llm.responses", "llm.embeddings", "llm.moderations", "llm.count_tokens")
MIB = 1024 * 1024


class Settings(PluginSettings):
    """`answers`: which calls are answered from memory, `deterministic`, `all` or `off`. `share`: who gets an answer
    that was given before: the same `agent`, agents of the same groups (`group`), or `all`. `ttl_seconds`: how long it
    is kept. `max_bytes`: of each worker's memory; `max_answer_bytes`: of one answer. `wait_seconds`: how long a call
    waits for the answer to the same call by another. `shared_max_bytes`: of the table on PostgreSQL; 0: no table.
    `semantic`: answers to questions that mean nearly the same, table `[cache.semantic]` with `provider` and `model` of
    the embeddings, `floor` (the least cosine), `entries` (of each who share) and `deadline` (seconds)."""

    answers: AnsweredKinds = "deterministic"
    share: Share = "agent"
    ttl_seconds: int = Field(default=3600, ge=1, le=30 * 86_400)
    max_bytes: int = Field(default=64 * MIB, ge=0)
    max_answer_bytes: int = Field(default=MIB, ge=1, le=32 * MIB)
    wait_seconds: float = Field(default=20, ge=0, le=600)
    shared_max_bytes: int = Field(default=1024 * MIB, ge=0)
    semantic: SemanticSettings | None = None


@asynccontextmanager
async def open_second(settings: Settings, services: Services) -> AsyncIterator[SecondLevel]:
    """The table that workers and replicas share, where the database is PostgreSQL."""
    if not services.database_url.startswith("postgresql") or settings.shared_max_bytes == 0:
        yield NoSharedCache()
        return
    # Imported only where it is used: its driver would cost a worker on SQLite memory for nothing.
    shared = importlib.import_module("mastio_cache.shared")
    async with shared.open_table(
        services.database_url,
        derive(services.keys.key("cache"), "seal"),
        services.now,
        ttl=settings.ttl_seconds,
        max_bytes=settings.shared_max_bytes,
        sweeps=services.plane == "control",
    ) as table:
        yield table


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    async with open_second(settings, services) as second:
        cache = Cache(
            services,
            Memory(settings.max_bytes, settings.ttl_seconds),
            second,
            answers=settings.answers,
            share=settings.share,
            ttl=settings.ttl_seconds,
            patience=settings.wait_seconds,
            max_answer_bytes=settings.max_answer_bytes,
            max_gathering_bytes=settings.max_bytes,
            semantic=None if settings.semantic is None else Semantic(services, settings.semantic),
        )
        yield Hooks(around=dict.fromkeys(KINDS, cache.around))


plugin = Plugin(name="cache", settings=Settings, setup=setup)
