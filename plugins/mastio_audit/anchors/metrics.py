"""Figures of the anchors for `/metrics`. Control measures; every worker can show them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

LAST = "mastio_audit_anchor_last_success_seconds"
EVERY = "mastio_audit_anchor_every_seconds"
SIZE = "mastio_audit_anchor_size_entries"
FORKED = "mastio_audit_fork"
FAILURES = "mastio_audit_anchor_failures"
_LABELS = ("anchor",)


class AnchorMetrics:
    """The metrics of this process's anchors."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._last = Gauge(
            LAST, "When the anchor last took a checkpoint, or had the newest one, Unix seconds.", _LABELS,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._every = Gauge(
            EVERY, "How often the anchor is to be given a checkpoint, seconds.", _LABELS,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._size = Gauge(
            SIZE, "Entries below the newest checkpoint that the anchor has.", _LABELS,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._forked = Gauge(
            FORKED, "1: this witness remembers another log than this one.", _LABELS,
            registry=registry, multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._failures = Counter(FAILURES, "Checkpoints that were not taken.", _LABELS, registry=registry)

    def begin(self, anchor: str, every: float, now: float) -> None:
        """Make all figures of `anchor` visible. It has until its turn after `now`, Unix seconds, without an alarm."""
        self._failures.labels(anchor)
        self._every.labels(anchor).set(every)
        self._last.labels(anchor).set(now)

    def failed(self, anchor: str) -> None:
        self._failures.labels(anchor).inc()

    def kept(self, anchor: str, size: int, now: float) -> None:
        """At `now`, Unix seconds, the anchor had the checkpoint of `size` entries."""
        self._size.labels(anchor).set(size)
        self._last.labels(anchor).set(now)

    def left(self, anchor: str, now: float) -> None:
        """At `now`, Unix seconds, another process serves the anchor: there is nothing to wait for here."""
        self._last.labels(anchor).set(now)

    def forked(self, anchor: str, is_forked: bool) -> None:
        """Set the gauge for a fork: the witness remembers another log."""
        self._forked.labels(anchor).set(is_forked)
