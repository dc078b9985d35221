"""What hits come to: signals, how the text around them changes what they say, and a score for each class. Pure.

A signal counts where its concepts stand near each other. Its weight goes down where the place is talked about rather
than done (negated, quoted in an explanation, told in a story), and up where nothing should instruct anybody. What
several signals say of one place and its surroundings adds up, up to 100, as chances do.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mastio_detectors.signals.signal import CLASSES

NEIGHBOURHOOD = 1200
"""Bytes. Signals further apart than this do not add up."""

Places = Sequence[tuple[int, int]]


class Match(NamedTuple):
    """A signal where it was seen. `weight` is what it says there, at most 100."""

    category: str
    signal: int
    weight: float
    start: int
    end: int


class Compiled(NamedTuple):
    """A signal as the engine holds it: concepts as numbers, the anchor first."""

    number: int
    category: str
    kind: str
    weight: int
    anchor: int
    others: tuple[int, ...]
    need: int
    reach: int
    ordered: bool
    carriers: frozenset[str] | None
    unless: int | None
    cue: str | None


BESIDE = 24
"""Bytes. What stands as near as this to a match stands beside it."""


def taken_back(places: Places, start: int, end: int) -> bool:
    """Whether one of `places`, which are in order, is in or beside `[start, end)`."""
    at = bisect_left(places, (end + BESIDE, 0))
    return any(high > start - BESIDE for _, high in places[max(0, at - _TRIES) : at])


def find(signal: Compiled, places: Mapping[int, Places], wide: Mapping[int, bool]) -> list[tuple[int, int]]:
    """Where the signal's concepts stand together. `wide`: places in scripts that need two bytes for a letter."""
    found = []
    others = [places[concept] for concept in signal.others]
    ordered = signal.ordered
    for anchor in places[signal.anchor]:
        start, end = anchor
        reach = signal.reach * 2 if start in wide else signal.reach
        low, high, at = start, end, end
        used = [anchor]
        for other in others:
            near = _nearest(other, start, at, reach, used, ordered)
            if near is None:
                break
            used.append(near)
            if near[0] < low:
                low = near[0]
            if near[1] > high:
                high = near[1]
            if ordered:
                at = near[1]
        else:
            found.append((low, high))
    return found


_TRIES = 6
"""How many places on each side of the anchor are tried. More hits than that are of the same words."""


def _nearest(
    places: Places, start: int, end: int, reach: int, used: Places, after_only: bool
) -> tuple[int, int] | None:
    """The nearest place after `end`, or before `start`, within reach and apart from those used. Neighbours share the
    space between them."""
    if len(places) > 2 * _TRIES:
        at = bisect_left(places, (end - 1, 0))
        places = places[max(0, at - _TRIES) : at + _TRIES]
    best, least = None, reach + 1
    for place in places:
        low, high = place
        if low >= end - 1:
            distance = low - end
        elif high <= start + 1 and not after_only:
            distance = start - high
        else:
            continue
        if distance < least:
            for one in used:
                if low < one[1] - 1 and high > one[0] + 1:
                    break
            else:
                best, least = place, distance
    return best


# --- what stands around a match ------------------------------------------------------------------------------------

_ASKED = frozenset({"identity", "confidential"})
"""Classes in which a question how something is done is hardly ever an order to do it."""

_SHAPED = frozenset({"exfiltration.command", "exfiltration.markdown_image", "exfiltration.link", "injection.boundary"})
"""Categories of shapes, which stand in quotation marks and beside negations as they would anywhere."""

_CODE = re.compile(rb"[a-z]_[a-z]|[a-z]\(|[;{}]|==|=>|->|\(\)")
"""What stands between words in a program, and hardly in a sentence."""

_MEANT = frozenset({"injection", "exfiltration", "jailbreak"})
"""Classes whose words are those of programs too."""

_STATEMENT = {"injection": 130, "jailbreak": 90, "identity": 90}
"""Bytes. The concepts of a signal of these classes that reaches no further make one statement, so belong together."""

_STOP = re.compile(rb"[.!?;][ \n\"')]+[^ ]|\n\s*\n|\xe3\x80\x82")

_BREAK = re.compile(rb"[.!?;:,\n]|\xe3\x80\x82|\xef\xbc\x8c|\xd8\x8c")


class Cues(NamedTuple):
    """Where words stand that say what a text does: starts, in order, by name."""

    places: Mapping[str, Sequence[int]]

    def between(self, name: str, low: int, high: int) -> bool:
        places = self.places.get(name)
        if not places:
            return False
        at = bisect_left(places, low)
        return at < len(places) and places[at] < high


def temper(category: str, data: bytes, start: int, end: int, cues: Cues) -> float:
    """What a match at `[start, end)` is worth of what it would be in a bare order: more than 0, at most 1."""
    kind = category.partition(".")[0]
    if category in _SHAPED:
        return 0.7 if cues.between("teach", start - 80, start) else 1.0
    worth = 0.3 if is_negated(kind, data, start, end, cues) else 1.0
    near_low, near_high = start - 200, end + 160
    about = (
        cues.between("teach", near_low, near_high)
        + cues.between("attack", near_low, near_high)
        + cues.between("report", near_low, near_high)
    )
    if kind in ("injection", "jailbreak", "identity", "exfiltration", "threat", "confidential"):
        quoted = is_quoted(data, start, end)
        if quoted and about:
            worth *= 0.35 if about == 1 else 0.22
        elif quoted:
            worth *= 0.8
        elif kind != "confidential" and cues.between("attack", near_low, near_high) and about > 1:
            worth *= 0.5
        elif category == "confidential.marking" and cues.between("teach", near_low, near_high):
            worth *= 0.55
        elif kind == "threat" and about > 1:
            worth *= 0.7
        elif kind == "identity" and cues.between("teach", near_low, near_high):
            worth *= 0.75
    if kind in _ASKED and cues.between("ask", start - 60, end + 40):
        worth *= 0.45
    elif category == "exfiltration.send" and cues.between("ask", start - 60, start):
        worth *= 0.5
    if kind == "threat" and cues.between("victim", start - 160, end + 200):
        worth *= 0.5
    if kind == "threat" and cues.between("fiction", start - 400, end + 300):
        worth *= 0.4
    if kind == "identity" and cues.between("never", start, end):
        worth *= 0.3
    if kind in _MEANT and category != "injection.tool" and _CODE.search(data, start, end):
        worth *= 0.5
    if kind == "bias" and (
        cues.between("policy", start - 200, end + 200) or cues.between("claim", start - 80, end + 60)
    ):
        worth *= 0.35
    return worth


def is_broken(kind: str, reach: int, data: bytes, start: int, end: int) -> bool:
    """Whether a sentence ends within what should be one statement."""
    return reach <= _STATEMENT.get(kind, -1) and _STOP.search(data, start + 1, end - 1) is not None


def is_negated(kind: str, data: bytes, start: int, end: int, cues: Cues) -> bool:
    """Whether it is said not to be, in the same clause. A threat has its negation in it; conditions have one too."""
    if kind == "threat":
        return cues.between("negate", start - 6, end - 1) and b" if " not in data[max(0, start - 40) : end]
    clause = before = max(0, start - (14 if kind == "bias" else 28))
    for match in _BREAK.finditer(data, before, start):
        clause = match.end()
    return cues.between("negate", clause - 1, start)


def is_quoted(data: bytes, start: int, end: int) -> bool:
    """Whether it stands within quotation marks or backticks of one paragraph."""
    low, high = max(0, start - 300), end + 300
    for mark in (b'"', b"`", b"'"):
        odd = data.count(mark, low, start + 1) % 2
        if odd and data.find(mark, end - 1, high) >= 0 and _opens(data, data.rfind(mark, low, start + 1)):
            return True
    return False


def _opens(data: bytes, at: int) -> bool:
    """A mark that opens a quotation: no letter stands before it, and it is none that JSON or code need."""
    if data[at - 1 : at].isalnum():
        return False
    before = data[max(0, at - 3) : at].rstrip()
    return not before.endswith((b"{", b"[", b",", b"=", b"(", b'":', b"':"))


# --- adding up -----------------------------------------------------------------------------------------------------

FACTORS: Mapping[str, Mapping[str, float]] = {
    "injection": {"tool": 1.2, "definition": 1.15, "other": 1.1, "assistant": 0.7, "system": 0.3},
    "jailbreak": {"tool": 1.1, "definition": 1.1, "assistant": 0.6, "system": 0.4},
    "threat": {"system": 0.5},
    "identity": {"tool": 1.1, "definition": 1.1, "assistant": 0.5, "system": 0.2},
    "confidential": {"system": 0.6},
    "exfiltration": {"tool": 1.15, "definition": 1.1, "other": 1.1, "assistant": 0.9, "system": 0.3},
    "bias": {},
}
"""What a match is worth by whose words it is in: data gives no orders, and the system's words are the agent's own."""


def score(matches: Sequence[Match]) -> float:
    """0 to 100, of matches of one class: the best neighbourhood's."""
    if not matches:
        return 0.0
    buckets: dict[int, list[Match]] = {}
    for match in matches:
        buckets.setdefault(match.start // NEIGHBOURHOOD, []).append(match)
    best = 0.0
    for number, bucket in buckets.items():
        best = max(best, _together([*bucket, *buckets.get(number + 1, ())]))
    return best


def _together(matches: Sequence[Match]) -> float:
    """Each signal once, at its best. Of a category, what says the same place again says a quarter of what it would
    alone, and what says another place half."""
    strongest: dict[int, Match] = {}
    for match in matches:
        known = strongest.get(match.signal)
        if known is None or known.weight < match.weight:
            strongest[match.signal] = match
    doubt, seen = 1.0, dict[str, Match]()
    for match in sorted(strongest.values(), key=_by_weight):
        first = seen.setdefault(match.category, match)
        share = 1.0 if first is match else 0.25 if match.start < first.end and match.end > first.start else 0.5
        doubt *= 1 - min(match.weight, 100.0) / 100 * share
    return 100 * (1 - doubt)


def _by_weight(match: Match) -> float:
    return -match.weight


assert FACTORS.keys() == set(CLASSES)
