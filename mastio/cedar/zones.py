"""Time zones that policies name: their local hour, minute and weekday, by `context.time.zone["Europe/Rome"].hour`.
Pure.

A zone has its name of the IANA database. The data are those of the system, or else of the package `tzdata`. Summer time
is in them: the local time is that of the moment asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from mastio.cedar.paths import Look
from mastio.cedar.schema import ZONES

_READ: Mapping[str, Callable[[datetime], int]] = {
    "hour": lambda local: local.hour,
    "minute": lambda local: local.minute,
    "weekday": lambda local: local.isoweekday(),
}
NO_PLACES = frozenset({"localtime", "Factory"})
"""Names in the database that stand for what this machine is set to, or for nothing."""

_GROUP = tuple(ZONES.split("."))


class ZoneError(ValueError):
    """There is no such zone. The text is for the admin."""


@lru_cache(maxsize=1024)
def find_zone(name: str) -> ZoneInfo:
    """Raises `ZoneError` for a name that is not one of the database."""
    try:
        if name in _names():
            return ZoneInfo(name)
    except (OSError, ValueError):
        pass  # its data cannot be read: it is as good as not there
    raise ZoneError(f"There is no time zone {name[:64]}. Write its IANA name, such as Europe/Rome.")


@cache
def _names() -> frozenset[str]:
    """Looking them up reads folders, which takes a tenth of a second."""
    return frozenset(available_timezones() - NO_PLACES)


def read_local(zone: ZoneInfo, member: str, unix: float) -> int:
    """One member of the local time at a moment (Unix time)."""
    return _READ[member](datetime.fromtimestamp(int(unix), zone))


def zones_of(looks: Iterable[Look]) -> frozenset[str]:
    """The zones that policies name, whether there are such or not."""
    size = len(_GROUP)
    return frozenset(
        look.path[size]
        for look in looks
        if look.variable == "context" and look.path[:size] == _GROUP and len(look.path) > size
    )


def is_of_zone(path: str) -> bool:
    """True if a path of the context is that of a zone's member."""
    return path.startswith(f"{ZONES}.")
