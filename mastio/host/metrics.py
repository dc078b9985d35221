"""Counters and histograms. Figures of all workers of one appliance are added up in files below `run/metrics`.

prometheus_client takes that folder from the environment when it is imported, so the supervisor sets it before it
starts the workers; a process without it counts for itself alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from mastio.exchange.inspection import Finding

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


@dataclass(frozen=True, slots=True)
class MeasuredGauge:
    """A gauge that is measured when it is asked for: what it is, and its values by their labels."""

    name: str
    meaning: str
    labels: tuple[str, ...]
    values: tuple[tuple[tuple[str, ...], float], ...]


Measure = Callable[[], Iterable[MeasuredGauge]]


class Measured(Collector):
    """Figures that are the same in every worker, so that one of them may speak for all."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure

    def collect(self) -> Iterator[Metric]:
        for figures in self._measure():
            family = GaugeMetricFamily(figures.name, figures.meaning, labels=figures.labels)
            for labels, value in figures.values:
                family.add_metric(labels, value)
            yield family


class Telemetry:
    """`mastio_exchanges_total{kind,status,code}`, `mastio_exchange_seconds{kind}`, whole exchange in seconds,
    `mastio_findings_total{label,direction}`, and `mastio_event_loop_lag_seconds{worker}`; and what `measure` gives at
    the moment of asking."""

    def __init__(self, measure: Measure = tuple) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self._measured = Measured(measure)
        self._count = Counter(
            "mastio_exchanges", "Exchanges that were answered.", ("kind", "status", "code"), registry=registry
        )
        self._seconds = Histogram(
            "mastio_exchange_seconds", "Whole exchange, first byte in to last byte out.", ("kind",),
            registry=registry, buckets=BUCKETS,
        )  # fmt: skip
        self._findings = Counter(
            "mastio_findings", "What inspectors found in texts.", ("label", "direction"), registry=registry
        )
        self._lag = Gauge(
            "mastio_event_loop_lag_seconds", "How late a worker's event loop was, at worst, in the last minute.",
            ("worker",), registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._found: dict[tuple[str, str], Counter] = {}
        self._counters: dict[tuple[str, int, str], Counter] = {}
        self._histograms: dict[str, Histogram] = {}

    def count(self, kind: str, status: int, code: str, seconds: float) -> None:
        """One exchange has ended. `code` is of `codes.CODES`, or `ok` or `cancelled`."""
        name = (kind, status, code)
        counter = self._counters.get(name)
        if counter is None:
            counter = self._counters[name] = self._count.labels(kind, str(status), code)
        counter.inc()
        histogram = self._histograms.get(kind)
        if histogram is None:
            histogram = self._histograms[kind] = self._seconds.labels(kind)
        histogram.observe(seconds)

    def find(self, direction: Literal["request", "response"], findings: Iterable[Finding]) -> None:
        """Counts the findings in one message or reply."""
        for finding in findings:
            name = (finding.label, direction)
            counter = self._found.get(name)
            if counter is None:
                counter = self._found[name] = self._findings.labels(*name)
            counter.inc(finding.times)

    def lag(self, process: str, seconds: float) -> None:
        """Set the worst delay of the last minute, in seconds, of a process: a worker's slot, or `control`."""
        self._lag.labels(process).set(seconds)

    def render(self) -> bytes:
        """The Prometheus text format, over all workers."""
        counted = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            counted = CollectorRegistry()
            MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
        measured = CollectorRegistry()
        measured.register(self._measured)
        return generate_latest(counted) + generate_latest(measured)
