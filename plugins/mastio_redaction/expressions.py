"""One expression for many words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby


def trie(words: Iterable[str]) -> str:
    """An expression for any of `words`, the longest that fits, which compiles and matches fast: every beginning that
    words share is written once. Not of no words.
    """
    every = sorted(set(words))
    groups = groupby((word for word in every if word), key=lambda word: word[0])
    branches = [re.escape(first) + trie([word[1:] for word in group]) for first, group in groups]
    return f"(?:{'|'.join(branches)}){'' if every[0] else '?'}" if branches else ""
