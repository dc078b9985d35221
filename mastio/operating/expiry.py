"""Figures for `/metrics` about the appliance's state: certificates and credentials that end soon, agents, version.

Everything is in memory already; it is counted when somebody asks. `operate/alerts.yml` has rules over these names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from mastio.exchange.records import Directory
from mastio.host.metrics import MeasuredGauge
from mastio.identity.rotation import in_force
from mastio.pki.public import PublicAuthority

HOUR, DAY = 3600, 86_400
WITHIN = (0, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY)
"""Seconds. 0 counts what has ended already and is still there."""


def measure(authority: PublicAuthority, directory: Directory, now: Callable[[], float]) -> Iterator[MeasuredGauge]:
    """The figures of this moment."""
    at = now()
    yield MeasuredGauge(
        "mastio_certificate_not_after_seconds",
        "When a certificate of the appliance ends, Unix seconds.",
        ("what", "id"),
        tuple(((what, name), end) for what, name, end in _certificates(authority, at)),
    )
    yield MeasuredGauge(
        "mastio_credentials_expiring",
        "Credentials in force that end within so many seconds; 0: that have ended.",
        ("kind", "within"),
        tuple(
            ((kind, str(within)), float(count))
            for kind, ends in _credentials(directory)
            for within, count in count_within(ends, at).items()
        ),
    )
    statuses = [agent.status for agent in directory.agents.values()]
    yield MeasuredGauge(
        "mastio_agents",
        "Enrolled agents.",
        ("status",),
        tuple(((status,), float(statuses.count(status))) for status in ("active", "suspended", "revoked")),
    )
    yield MeasuredGauge(
        "mastio_directory_version",
        "Version of the configuration in the memory of the worker that answers; it grows with each change.",
        (),
        (((), float(directory.version)),),
    )


def count_within(ends: Iterable[float], now: float) -> dict[int, int]:
    """The number of `ends` (Unix seconds) that come within each of `WITHIN`."""
    left = [end - now for end in ends]
    return {within: sum(seconds <= within for seconds in left) for within in WITHIN}


def _certificates(authority: PublicAuthority, now: float) -> Iterator[tuple[str, str, float]]:
    ring = authority.ring
    generations = chain(
        (("root", one) for one in in_force(ring.roots, now)),
        (("intermediate", one) for one in in_force(ring.intermediates, now)),
    )
    for what, one in generations:
        yield what, one.id, one.certificate.not_valid_after_utc.timestamp()
    leaf = authority.server_certificate()
    if leaf is not None:
        yield "edge", "edge", leaf.not_valid_after_utc.timestamp()


def _credentials(directory: Directory) -> Iterator[tuple[str, list[float]]]:
    yield "leaf", [agent.not_after for agent in directory.agents.values() if agent.status == "active"]
    yield "api_key", [key.expires_at for key in directory.api_keys.values() if key.expires_at is not None]
    admins = (admin for admin in directory.admins.values() if not admin.revoked)
    yield "admin_token", [admin.expires_at for admin in admins if admin.expires_at is not None]
