"""What refers to itself is freed by the clock, however long it has lived."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from mastio.host.memory import COLLECT, look_at_older


class Node:
    """Refers to itself."""

    def __init__(self) -> None:
        self.other = self


@pytest.fixture(autouse=True)
def _as_in_a_worker() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(*COLLECT)
    yield
    gc.set_threshold(*before)


def forgotten(looks: int) -> weakref.ref[Node]:
    """A node that nobody refers to any more, older than so many looks at the youngest."""
    node = Node()
    for generation in range(looks):
        gc.collect(generation)
    return weakref.ref(node)


@pytest.mark.parametrize(("looks", "minutes"), [(1, 1), (1, 59), (2, 60), (2, 120)])
def test_what_refers_to_itself_is_freed(looks: int, minutes: int) -> None:
    node = forgotten(looks)
    gc.collect(0)
    assert node() is not None
    look_at_older(minutes)
    assert node() is None


def test_old_ones_are_looked_at_once_an_hour() -> None:
    node = forgotten(2)
    look_at_older(59)
    assert node() is not None
    look_at_older(60)
    assert node() is None


def test_many_young_ones_are_freed_without_the_clock() -> None:
    nodes = [weakref.ref(Node()) for _ in range(2 * COLLECT[0])]
    assert any(node() is None for node in nodes)
