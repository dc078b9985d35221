"""Figures of the cache for `/metrics`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from mastio_cache.cache_entry import CacheEntry

NANO = 10**9


class CacheMetrics:
    """This worker's metrics of cache lookups and their results."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._answers = Counter(
            "mastio_cache_answers", "Calls by what came of looking: hit, near, miss, or bypass (nobody looked).",
            ("kind", "result"), registry=registry,
        )  # fmt: skip
        self._tokens = Counter(
            "mastio_cache_saved_tokens", "Tokens that answers from memory once used.", ("kind",), registry=registry
        )
        self._usd = Counter(
            "mastio_cache_saved_usd", "US dollars that answers from memory once cost.", ("kind",), registry=registry
        )
        self._children: dict[tuple[str, str], Counter] = {}

    def count(self, kind: str, result: str) -> None:
        child = self._children.get((kind, result))
        if child is None:
            child = self._children[kind, result] = self._answers.labels(kind, result)
        child.inc()

    def saved(self, kind: str, kept: CacheEntry) -> None:
        used = kept.usage or {}
        self._tokens.labels(kind).inc(used.get("input_tokens", 0) + used.get("output_tokens", 0))
        self._usd.labels(kind).inc(used.get("cost_nano_usd", 0) / NANO)
