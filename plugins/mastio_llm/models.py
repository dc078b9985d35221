"""`GET /v1/models` and `GET /v1beta/models`: what the caller may use, in the shape of its dialect.

A provider that lists its models by name is taken at its word; one that serves a glob is asked, and the answer kept
for a minute. The list has what can be called in that dialect, filtered by what the authorizers would say to `llm.chat`
on each model.
"""

from __future__ import annotations

import asyncio
import time

from mastio.exchange.errors import DispatchError
from mastio.exchange.values import Action, Dialect, Message, Principal, Recorded, Reply, RequestHead
from mastio.http.strictjson import JsonError, parse_object
from mastio.plugin.services import Services
from mastio_llm.dialects import LISTINGS, OPERATIONS, SPEAKERS
from mastio_llm.dialects.operation import MAX_MODEL
from mastio_llm.facts.route_facts import Facts
from mastio_llm.provider import ProviderRow
from mastio_llm.routing.candidates import serves
from mastio_llm.routing.registry import ProviderRegistry
from mastio_llm.translate import TRANSLATIONS

KEEP = 60.0
MAX_LIST = 4 * 1024 * 1024
MAX_NAMES = 2_000
"""Of one provider's list: policies are asked about each."""

ASK_WITHIN = 5.0
"""Seconds. A provider that takes longer must not keep the others' models from being told."""


def reachable(dialect: Dialect) -> frozenset[str]:
    """The kinds of providers whose models can be called in `dialect`."""
    translated = {kind for path, kind in TRANSLATIONS if OPERATIONS[path].dialect == dialect}
    return frozenset({*translated, *(kind for kind, speaker in SPEAKERS.items() if speaker.dialect == dialect)})


class Models:
    """Dispatches `llm.models`."""

    def __init__(self, services: Services, registry: ProviderRegistry) -> None:
        self._services = services
        self._registry = registry
        self._listed: dict[str, tuple[ProviderRow, float, list[str]]] = {}

    def read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        return Action("llm.models", "Appliance", "self"), Message(raw=b"")

    async def dispatch(self, recorded: Recorded) -> Reply:
        dialect = recorded.head.dialect
        found = []
        rows = [row for row in self._registry.providers.values() if row.kind in reachable(dialect)]
        # all at once: several that hang take no longer than one
        for row, models in zip(rows, await asyncio.gather(*map(self._models, rows)), strict=True):
            for model in models:
                target = f"{row.name}/{model}"
                for alias in (None, *(alias for alias, name in row.aliases.items() if name == model)):
                    action = Action("llm.chat", "Model", target, Facts(row), alias=alias)
                    if await self._services.permits(recorded.principal, action, ()):
                        found.append((alias or target, row.name))
        body = LISTINGS[dialect].encode(found)
        return Reply(200, [(b"content-type", b"application/json")], body, facts={"models": len(found)})

    async def _models(self, row: ProviderRow) -> list[str]:
        literal = [name for name in row.models if not any(c in name for c in "*?[")]
        named = list(dict.fromkeys([*literal, *row.aliases.values()]))
        if len(literal) == len(row.models):
            return named
        known = self._listed.get(row.name)
        if known is None or known[0] != row or time.monotonic() >= known[1]:
            try:
                async with asyncio.timeout(ASK_WITHIN):
                    known = (row, time.monotonic() + KEEP, await self._ask(row))
            except (DispatchError, JsonError, TimeoutError):
                known = (row, time.monotonic() + KEEP / 12, [])  # a provider that is down has no models for now
            self._listed[row.name] = known
        return list(dict.fromkeys([*named, *(name for name in known[2] if serves(row, name))]))

    async def _ask(self, row: ProviderRow) -> list[str]:
        provider = self._registry.find(row.name)
        if provider is None:
            return []
        speaker = SPEAKERS[row.kind]
        listing = LISTINGS[speaker.dialect]
        headers = [("accept", "application/json"), ("accept-encoding", "identity")]
        headers += speaker.defaults
        headers += await provider.credential.headers("GET", listing.address, headers, b"")
        async with provider.pool.send("GET", listing.address, headers, b"") as upstream:
            if upstream.status != 200:
                return []
            names = listing.read(parse_object(await upstream.read(MAX_LIST)))
            return [name for name in names[:MAX_NAMES] if len(name) <= MAX_MODEL]
