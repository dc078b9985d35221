"""Counters and histograms. Figures of all workers of one appliance are added up in files below `run/metrics`.

prometheus_client takes that folder from the environment when it is imported, so the supervisor sets it before it
starts the workers; a process without it counts for itself alone.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class Telemetry:
    """`mastio_exchanges_total{kind,status,code}` and `mastio_exchange_seconds{kind}`, whole exchange in seconds."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._count = Counter(
            "mastio_exchanges", "Exchanges that were answered.", ("kind", "status", "code"), registry=registry
        )
        self._seconds = Histogram(
            "mastio_exchange_seconds", "Whole exchange, first byte in to last byte out.", ("kind",),
            registry=registry, buckets=BUCKETS,
        )  # fmt: skip
        self._counters: dict[tuple[str, int, str], Counter] = {}
        self._histograms: dict[str, Histogram] = {}

    def count(self, kind: str, status: int, code: str, seconds: float) -> None:
        """One exchange has ended. `code` is of `errors.CODES`, or `ok` or `cancelled`."""
        name = (kind, status, code)
        counter = self._counters.get(name)
        if counter is None:
            counter = self._counters[name] = self._count.labels(kind, str(status), code)
        counter.inc()
        histogram = self._histograms.get(kind)
        if histogram is None:
            histogram = self._histograms[kind] = self._seconds.labels(kind)
        histogram.observe(seconds)

    def render(self) -> bytes:
        """The Prometheus text format, over all workers."""
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self._registry)
