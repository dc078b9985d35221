"""The tier of this run: `scripts/test` names it in `MASTIO_TIER` (full, quick or long)."""

from __future__ import annotations

import os

IS_LONG = os.environ.get("MASTIO_TIER") == "long"


def repeat(full: int, long: int) -> int:
    """How often a test repeats: `full` times before each landing, `long` times before a release."""
    return long if IS_LONG else full


def positions(length: int, step: int) -> range:
    """The positions of `length` bytes that a test changes one by one: every `step`-th one before each landing, all of
    them before a release. A prime `step` meets every field of a record whose fields are longer than it."""
    return range(0, length, 1 if IS_LONG else step)
