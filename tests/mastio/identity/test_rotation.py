from __future__ import annotations

from dataclasses import dataclass

import pytest

from mastio.identity.rotation import current, in_force, next_change, state_of


@dataclass(frozen=True)
class Key:
    name: str
    active_from: float
    retire_at: float | None = None
    created_at: float = 0.0


OLD, NOW_ONE, NEXT = Key("old", 100, 1000), Key("now", 200, 2000), Key("next", 500)
ALL = (NEXT, OLD, NOW_ONE)


@pytest.mark.parametrize(
    ("now", "signs", "trusted", "states"),
    [
        (50, "old", ["old", "now", "next"], ["active", "next", "next"]),  # the clock stepped back before the first
        (150, "old", ["old", "now", "next"], ["active", "next", "next"]),
        (200, "now", ["old", "now", "next"], ["retiring", "active", "next"]),
        (499, "now", ["old", "now", "next"], ["retiring", "active", "next"]),
        (500, "next", ["old", "now", "next"], ["retiring", "retiring", "active"]),
        (1000, "next", ["now", "next"], ["retired", "retiring", "active"]),
        (2000, "next", ["next"], ["retired", "retired", "active"]),
    ],
)
def test_through_a_rotation(now: float, signs: str, trusted: list[str], states: list[str]) -> None:
    assert current(ALL, now).name == signs
    assert [one.name for one in in_force(ALL, now)] == trusted
    assert [state_of(one, ALL, now) for one in (OLD, NOW_ONE, NEXT)] == states


def test_at_no_moment_does_one_sign_that_is_not_trusted() -> None:
    for now in range(0, 2500):
        assert current(ALL, now) in in_force(ALL, now)


def test_without_overlap_the_new_one_signs_at_once_and_the_old_one_is_refused() -> None:
    old, new = Key("old", 0, 300), Key("new", 300)
    assert current((old, new), 299).name == "old"
    assert current((old, new), 300).name == "new"
    assert in_force((old, new), 300) == (new,)


def test_none_left() -> None:
    with pytest.raises(LookupError):
        current((Key("old", 0, 10),), 10)


def test_when_it_changes_by_itself() -> None:
    assert [next_change(ALL, now) for now in (0, 100, 200, 500, 1000)] == [100, 200, 500, 1000, 2000]
    assert next_change(ALL, 2000) == float("inf")
