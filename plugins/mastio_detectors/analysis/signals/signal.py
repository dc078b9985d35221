"""A signal: concepts that together say something, how much, and where it counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

CLASSES = ("injection", "jailbreak", "threat", "identity", "confidential", "exfiltration", "bias")

OUTSIDE = frozenset({"tool", "definition", "other"})
"""Whose words are data: nothing in them should instruct anybody."""


@dataclass(frozen=True, slots=True)
class Signal:
    """`needs`: names of concepts (of `words` or `shapes`), separated by spaces; the first is the anchor, each other
    stands at most `reach` bytes before or after it, or after the one named before it where `ordered`.
    `weight`: what it says by itself, 1 to 100. `carriers`: whose words it counts in; None: anybody's. `unless`: a
    concept that takes it back where it stands in or beside it. `cue`: one of `cues` that has to stand there."""

    category: str
    weight: int
    needs: str
    reach: int = 70
    ordered: bool = False
    carriers: frozenset[str] | None = None
    unless: str | None = None
    cue: str | None = None

    @property
    def kind(self) -> str:
        """Its class."""
        return self.category.partition(".")[0]
