"""The choice among several generations of a key. Pure; for token keys, intermediates and roots alike.

A rotation makes a new generation that is trusted at once and used for signing a little later, when every worker and
the edge know it. Earlier ones stay trusted until nothing that they signed is in force any more: so nothing
fails on the way (overlap).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

State = Literal["next", "active", "retiring", "retired"]


class Dated(Protocol):
    """One generation. Unix seconds: signs from `active_from`, is trusted until `retire_at` (None: no end is set)."""

    @property
    def created_at(self) -> float: ...

    @property
    def active_from(self) -> float: ...

    @property
    def retire_at(self) -> float | None: ...


G = TypeVar("G", bound=Dated)


def current(generations: Sequence[G], now: float) -> G:
    """The one that signs: the newest that has begun. Raises `LookupError` when none is left.

    Where the clock stepped back before the first one's beginning, the first one signs all the same.
    """
    trusted = in_force(generations, now)
    if not trusted:
        raise LookupError("no generation is in force")
    begun = [one for one in trusted if one.active_from <= now]
    return begun[-1] if begun else trusted[0]


def in_force(generations: Sequence[G], now: float) -> tuple[G, ...]:
    """Those that are trusted, the oldest first (of equals, the order stays): also what has not begun to sign yet."""
    return tuple(sorted((one for one in generations if one.retire_at is None or now < one.retire_at), key=_age))


def state_of(one: G, generations: Sequence[G], now: float) -> State:
    """`next` will sign, `active` signs, `retiring` is still trusted, `retired` no more."""
    trusted = in_force(generations, now)
    if one not in trusted:
        return "retired"
    if one is current(generations, now):
        return "active"
    return "next" if one.active_from > now else "retiring"


def next_change(generations: Sequence[G], now: float) -> float:
    """The time of the next change of the answers above by the clock alone. Unix seconds; infinity: never."""
    times = [time for one in generations for time in (one.active_from, one.retire_at) if time is not None]
    return min((time for time in times if time > now), default=float("inf"))


def _age(one: Dated) -> tuple[float, float]:
    return one.active_from, one.created_at
