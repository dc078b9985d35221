"""An assertion is known until it expires, and what expired is forgotten; many of them cost no more than few.

A step of the wall clock neither frees a used assertion nor keeps it for longer than the longest life.
"""

from __future__ import annotations

import time

import pytest

from mastio_token.access import ASSERTION_AGE
from mastio_token.memory import LONGEST, SPAN, Assertions

NOW = 1_800_000_000.0
HOUR = 3600.0


class Worker:
    """The memory of one worker and its two clocks."""

    def __init__(self) -> None:
        self.memory = Assertions()
        self.wall, self.steady = NOW, 500.0

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def use(self, key: str = "key", jti: str = "jti", *, expires_at: float) -> bool:
        return self.memory.use(key, jti, expires_at, self.wall, self.steady)


def test_an_assertion_is_used_once_until_it_expires() -> None:
    worker = Worker()
    assert worker.use(expires_at=NOW + 60)
    for seconds in (0.0, 1.0, 58.9):
        worker.wait(seconds)
        assert not worker.use(expires_at=NOW + 60)
    assert not worker.use(expires_at=NOW + 300), "signed once more with another end, it is still the same"
    assert worker.use(jti="other", expires_at=NOW + 120) and worker.use("another", expires_at=NOW + 120)


def test_what_expired_is_forgotten() -> None:
    worker = Worker()
    for n in range(600):
        assert worker.use(jti=f"jti-{n}", expires_at=worker.wall + 60)
        worker.wait(1)
        assert len(worker.memory) <= 60 + SPAN + 1
    worker.wait(40)
    assert worker.use(jti="jti-0", expires_at=worker.wall + 60)


def test_every_end_is_kept_long_enough() -> None:
    for seconds in (0.001, 1, 29.5, 60, 119.999, 305):
        worker = Worker()
        assert worker.use(expires_at=NOW + seconds)
        worker.wait(seconds - 0.0005)
        assert not worker.use(expires_at=NOW + seconds)


@pytest.mark.parametrize("seconds", [1, 60, ASSERTION_AGE])
@pytest.mark.parametrize("away", [0, 30, 200])
def test_a_clock_that_is_ahead_for_a_while_frees_nothing(seconds: float, away: float) -> None:
    worker = Worker()
    assert worker.use(expires_at=NOW + seconds)
    worker.wall += HOUR
    assert worker.use(jti="of others", expires_at=worker.wall + 60)
    worker.wait(away)
    worker.wall = NOW
    assert not worker.use(expires_at=NOW + seconds)


@pytest.mark.parametrize("back", [2, 60, 200, 299])
@pytest.mark.parametrize("asked", [True, False])
def test_a_clock_that_is_set_back_frees_nothing(back: float, *, asked: bool) -> None:
    """The assertion is good for longer then, so the mark is kept for longer, whether or not others ask in between."""
    worker = Worker()
    end = NOW + ASSERTION_AGE
    assert worker.use(expires_at=end)
    worker.wait(ASSERTION_AGE - 1)
    worker.wall -= back
    if asked:
        assert worker.use(jti="of others", expires_at=worker.wall + 60)
    worker.wait(back)
    assert worker.wall < end
    assert not worker.use(expires_at=end)


@pytest.mark.parametrize("step", [-HOUR, HOUR, -1e9, 1e9])
def test_after_a_step_marks_are_kept_for_the_longest_life_at_most(step: float) -> None:
    worker = Worker()
    assert worker.use(expires_at=NOW + 60)
    worker.wall += step
    for n in range(20):
        assert worker.use(jti=f"jti-{n}", expires_at=worker.wall + 60)
    worker.wait(LONGEST + 2 * SPAN)
    assert worker.use(expires_at=worker.wall + 60)
    assert len(worker.memory) == 1


def test_the_hundred_thousandth_costs_what_the_first_did() -> None:
    """Fifteen hundred a second for a minute are in force at once."""
    worker = Worker()
    for n in range(100_000):
        worker.use(jti=f"jti-{n}", expires_at=NOW + 60)
    started = time.perf_counter()
    for n in range(1000):
        worker.use(jti=f"more-{n}", expires_at=NOW + 60)
    assert time.perf_counter() - started < 0.5, "a look through all of them would take seconds"
