"""Gives back what only the start needed: freed heap, and library pages that were touched while loading.

Loading relocates and initialises far more of the shared libraries than serving touches again. Those pages are clean
copies of files, so letting the kernel take them costs a minor fault each if they are wanted after all, and makes a
worker about ten megabytes smaller.
"""

from __future__ import annotations

import ctypes
import gc
import re
from pathlib import Path

MADV_PAGEOUT = 21
"""madvise(2), since Linux 5.4; an older kernel refuses it, and nothing is given back."""

NEVER = 1_000_000_000
COLLECT = (50_000, NEVER, NEVER)
"""Exchanges make no cycles and many short-lived objects, so looking for cycles less often costs no memory here. Python
looks by itself among the youngest only. It would look at the older ones after so many long bodies, and stop the event
loop for up to 77 ms, several times a second; `look_at_older` does it by the clock."""

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ ([0-9]+)")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGE = 1024 * 1024
"""Blocks of this size, which are parts of bodies, go back to the kernel when they are freed (mallopt(3)): by itself the
allocator would begin to keep such blocks in the heap, where small ones that live longer hold the gaps between them."""

TOP = 8 * LARGE
"""Free bytes at the end of the heap that are kept for the next exchanges."""


def keep_bodies_apart() -> None:
    """Call before anything else."""
    _libc.mallopt(M_MMAP_THRESHOLD, LARGE)
    _libc.mallopt(M_TRIM_THRESHOLD, TOP)


def look_at_older(minutes: int) -> None:
    """Free what refers to itself, among what is younger than a minute or, once an hour, among all since the start. Call
    once a minute with the minutes that have passed: it takes as long as there are objects of long bodies."""
    gc.collect(2 if minutes % 60 == 0 else 1)


def give_back() -> None:
    """Call when everything is loaded and open, and again when nothing is to be done."""
    gc.collect()
    gc.set_threshold(*COLLECT)
    gc.freeze()  # what lives now lives as long as the worker: later collections need not look at it
    _libc.malloc_trim(0)
    for line in Path("/proc/self/maps").read_text().splitlines():
        mapping = _MAPPING.match(line)
        if mapping is not None and mapping[4] != "0" and "w" not in mapping[3]:
            start, end = int(mapping[1], 16), int(mapping[2], 16)
            _libc.madvise(start, end - start, MADV_PAGEOUT)
