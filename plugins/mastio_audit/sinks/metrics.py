"""Figures of the sinks for `/metrics`. Control measures; every worker can show them (`mastio.host.metrics`)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

LAG = "mastio_audit_sink_lag_entries"
LAST = "mastio_audit_sink_last_delivery_seconds"
ENTRIES = "mastio_audit_sink_entries"
FAILURES = "mastio_audit_sink_failures"
_LABELS = ("sink",)


class SinkMetrics:
    """The metrics of this process's sinks."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._lag = Gauge(
            LAG, "Entries of the audit log that the sink does not have yet.", _LABELS,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._last = Gauge(
            LAST, "When the sink last had everything, or confirmed entries, Unix seconds.", _LABELS,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._entries = Counter(ENTRIES, "Entries that the sink has confirmed.", _LABELS, registry=registry)
        self._failures = Counter(FAILURES, "Batches that did not arrive.", _LABELS, registry=registry)

    def begin(self, sink: str) -> None:
        """Make the counters of `sink` visible at zero."""
        self._entries.labels(sink)
        self._failures.labels(sink)

    def delivered(self, sink: str, entries: int) -> None:
        self._entries.labels(sink).inc(entries)

    def failed(self, sink: str) -> None:
        self._failures.labels(sink).inc()

    def measured(self, sink: str, lag: int) -> None:
        self._lag.labels(sink).set(lag)

    def arrived(self, sink: str, now: float) -> None:
        """At `now`, Unix seconds, the sink confirmed something or had nothing to be given."""
        self._last.labels(sink).set(now)
