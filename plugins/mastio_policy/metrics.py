"""Figures of the policies for `/metrics`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

INVALID = "mastio_policies_invalid"


class PolicyMetrics:
    """This worker's metrics of the policies."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._invalid = Gauge(
            INVALID, "1 while the stored policies are not valid, and the last good ones are in force.",
            registry=registry, multiprocess_mode="livemax",
        )  # fmt: skip
        self._refused = Counter(
            "mastio_policies_refused", "Sets of policies that were stored and could not be loaded.", registry=registry
        )
        self._invalid.set(0)

    def tell(self, invalid: bool) -> None:
        self._invalid.set(int(invalid))
        if invalid:
            self._refused.inc()
