"""An assertion is known until it expires, and what expired is forgotten; many of them cost no more than few."""

from __future__ import annotations

import time

from mastio_token.memory import Assertions

NOW = 1_800_000_000.0


def test_an_assertion_is_used_once_until_it_expires() -> None:
    memory = Assertions()
    assert memory.use("key", "jti", NOW + 60, NOW)
    for later in (0.0, 1.0, 59.9):
        assert not memory.use("key", "jti", NOW + 60, NOW + later)
    assert not memory.use("key", "jti", NOW + 300, NOW + 1), "signed once more with another end, it is still the same"
    assert memory.use("key", "other", NOW + 60, NOW) and memory.use("another", "jti", NOW + 60, NOW)


def test_what_expired_is_forgotten() -> None:
    memory = Assertions()
    for n in range(600):
        assert memory.use("key", f"jti-{n}", NOW + n + 60, NOW + n)
        assert len(memory) <= 60 + 60
    assert memory.use("key", "jti-0", NOW + 700, NOW + 640)


def test_every_end_is_kept_long_enough() -> None:
    for seconds in (0.001, 1, 29.5, 60, 119.999, 305):
        memory = Assertions()
        assert memory.use("key", "jti", NOW + seconds, NOW)
        assert not memory.use("key", "jti", NOW + seconds, NOW + seconds - 0.0005)


def test_the_hundred_thousandth_costs_what_the_first_did() -> None:
    """Fifteen hundred a second for a minute are in force at once."""
    memory = Assertions()
    for n in range(100_000):
        memory.use("key", f"jti-{n}", NOW + 60, NOW)
    started = time.perf_counter()
    for n in range(1000):
        memory.use("key", f"more-{n}", NOW + 60, NOW)
    assert time.perf_counter() - started < 0.5, "a look through all of them would take seconds"
