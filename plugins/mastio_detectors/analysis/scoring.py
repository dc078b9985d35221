"""The scores of hits: signals, their change by the text around them, and a score for each class. Pure.

A signal counts where its concepts stand near each other. Its weight goes down where the place is talked about rather
than done (negated, quoted in an explanation, told in a story), and up where nothing should instruct anybody. What
several signals say of one place and its surroundings adds up, up to 100, as chances do.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mastio_detectors.analysis.signals.signal import CLASSES

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
    """True if one of `places`, which are in order, is in or beside `[start, end)`."""
    at = bisect_left(places, (end + BESIDE, 0))
    return any(high > start - BESIDE for _, high in places[max(0, at - _TRIES) : at])


def find(signal: Compiled, places: Mapping[int, Places], wide: Mapping[int, bool]) -> list[tuple[int, int, bool]]:
    """The places where the signal's concepts stand together: start, end, and True if they are on both sides of the
    anchor. `wide`: places in scripts that need two bytes for a letter."""
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
            found.append((low, high, low < start and high > end))
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

_MAY = re.compile(rb" (can|may|could|might) (?!you |i )")
"""Between the words of a match it says what may happen, which nobody orders."""

_PURPOSE = re.compile(rb"(^ ?|[.\n:;] ?)(to|um|para|pour|per|om|aby|\xd1\x87\xd1\x82\xd0\xbe\xd0\xb1\xd1\x8b) $")
"""At the beginning of a sentence that says how something is done: *To do this, ...*"""

_COMMENT = re.compile(rb"(^|\n)[ \t]*(#|//|\*|--) [^\n]*$")

_PROGRAM = re.compile(
    rb"\bdef [a-z_]+\(|\bconst [a-z_]+ ?="
    rb"|\bself\.|=> |\bassert |re\.compile|\b[a-z_]+ ?= ?\[|\bexpect\(|\bimport [a-z]|\bregex"
)
"""A program that has the words in a string of its own."""

_SIGN = re.compile(rb"[_(;{}=>]")
"""One of these is in everything that looks like code: quick to look for."""

_MEANT = frozenset({"injection", "exfiltration", "jailbreak"})
"""Classes whose words are those of programs too."""

_DONE = frozenset(
    {
        "injection.override",
        "jailbreak.disable",
        "exfiltration.system_prompt",
        "exfiltration.send",
        "exfiltration.encoded",
    }
)
"""Categories whose matches begin with a verb, so a subject before it says that it is no order."""

_STATEMENT = {"injection": 130, "jailbreak": 90, "identity": 90, "exfiltration": 60}
"""Bytes. The concepts of a signal of these classes that reaches no further make one statement, so belong together."""

_STOP = re.compile(rb"[.!?;\n](?:(?<=[.!?;])(?:[ \n\"')]+[^ ]|[\x80-\xff])|(?<=\n)[ \t]*\n)")

_MARKS = (b'"', b"`", b"'", b"\xe3\x80\x8c")

_CLOSED = b"\xe3\x80\x8d"

_BREAK = re.compile(rb"[.!?;:,\n]|\xe3\x80\x82|\xef\xbc\x8c|\xd8\x8c")


class Cues(NamedTuple):
    """The context of matches in a text, read once: the starts of cue words by name and in order, the ends of sentences,
    and the quotation marks."""

    places: Mapping[str, Sequence[int]]
    stops: Sequence[int] = ()
    marks: Sequence[bytes] = ()

    @classmethod
    def of(cls, data: bytes, places: Mapping[str, Sequence[int]]) -> Cues:
        stops = [stop.start() for stop in _STOP.finditer(data)]
        return cls(places, stops, [mark for mark in _MARKS if mark in data])

    def between(self, name: str, low: int, high: int) -> bool:
        places = self.places.get(name)
        if not places:
            return False
        at = bisect_left(places, low)
        return at < len(places) and places[at] < high


def temper(category: str, data: bytes, start: int, end: int, cues: Cues) -> float:
    """The weight of a match at `[start, end)` in its context: more than 0, at most 1. A bare order has 1."""
    kind = category.partition(".")[0]
    if category in _SHAPED:
        return 0.7 if cues.between("teach", start - 80, start) else 1.0
    worth = 0.3 if is_negated(kind, data, start, end, cues) else 1.0
    if kind != "bias":
        worth *= _talked_about(kind, category, data, start, end, cues)
    if kind in _MEANT:
        worth *= _narrated(category, data, start, end, cues)
        if category != "injection.tool" and _SIGN.search(data, start, end) and _CODE.search(data, start, end):
            worth *= 0.5
    elif kind in _ASKED and _is_question(kind, data, start, end, cues):
        worth *= 0.45
    return worth * _OF_ITS_CLASS[kind](category, start, end, cues)


def _is_question(kind: str, data: bytes, start: int, end: int, cues: Cues) -> bool:
    """True if it is asked how something is done."""
    if cues.between("ask", start - 60, end + (90 if kind == "identity" else 40)):
        return True
    return kind == "identity" and b"?" in data[end : end + 90] and cues.between("how", end - 1, end + 60)


def _narrated(category: str, data: bytes, start: int, end: int, cues: Cues) -> float:
    """The weight of an order whose sentence asks, tells or describes. The text after a colon is a sentence too:
    otherwise a few words before it would excuse anything."""
    first, last = sentence(start, end, cues.stops)
    first = max(first, data.rfind(b": ", max(0, first), start + 1) + 1)
    worth = 0.35 if cues.between("told", first, last) else 1.0
    if (
        cues.between("ask", first, end)
        or (data[end - 1] > 127 and cues.between("ask", end, last))
        or (
            not category.startswith("jailbreak")
            and (
                cues.between("does", start - 12, end)
                or (cues.between("may", start, end) and _MAY.search(data, start, end))
            )
        )
    ):
        worth *= 0.5
    if category not in _DONE:
        return worth
    if cues.between("others", start - 6, start):
        worth *= 0.5
    if cues.between("purpose", start - 10, start) and _PURPOSE.search(data, max(0, start - 12), start + 1):
        return worth * 0.5
    return worth * 0.6 if category == "exfiltration.send" and in_comment(data, start, end) else worth


def _of_injection(category: str, start: int, end: int, cues: Cues) -> float:
    return 0.55 if cues.between("affairs", start - 24, end) else 1.0


def _of_exfiltration(category: str, start: int, end: int, cues: Cues) -> float:
    if category != "exfiltration.system_prompt":
        return 1.0
    if cues.between("work", start - 40, end + 60) and not cues.between("yours", start, end):
        return 0.5
    return 0.6 if cues.between("whatfor", end - 1, end + 3) else 1.0


def _of_jailbreak(category: str, start: int, end: int, cues: Cues) -> float:
    worth = 0.6 if category != "jailbreak.pretext" and cues.between("play", start - 120, end + 60) else 1.0
    if category == "jailbreak.disable" and cues.between("hardware", end - 2, end + 40):
        worth *= 0.45
    return worth


def _of_threat(category: str, start: int, end: int, cues: Cues) -> float:
    worth = 0.5 if cues.between("victim", start - 160, end + 200) else 1.0
    return worth * 0.4 if cues.between("fiction", start - 400, end + 300) else worth


def _of_identity(category: str, start: int, end: int, cues: Cues) -> float:
    if cues.between("never", start, end + 80) or cues.between("warn", start - 20, end):
        return 0.3
    worth = 0.6 if cues.between("mine", start, end + 60) else 1.0
    return worth * 0.55 if cues.between("forgot", start - 60, end + 60) else worth


def _of_bias(category: str, start: int, end: int, cues: Cues) -> float:
    against = (
        cues.between("policy", start - 200, end + 200)
        or cues.between("claim", start - 80, end + 60)
        or cues.between("period", start - 200, end + 160)
    )
    return 0.35 if against else 1.0


def _of_confidential(category: str, start: int, end: int, cues: Cues) -> float:
    return 0.55 if category == "confidential.marking" and cues.between("duty", start - 60, end) else 1.0


_OF_ITS_CLASS: Mapping[str, Callable[[str, int, int, Cues], float]] = {
    "injection": _of_injection,
    "jailbreak": _of_jailbreak,
    "threat": _of_threat,
    "identity": _of_identity,
    "confidential": _of_confidential,
    "exfiltration": _of_exfiltration,
    "bias": _of_bias,
}


def _talked_about(kind: str, category: str, data: bytes, start: int, end: int, cues: Cues) -> float:
    """The weight of a match near words of teaching, attacks or reports, or near quotation marks."""
    low, high = start - 200, end + 160
    teach, attack = cues.between("teach", low, high), cues.between("attack", low, high)
    about = teach + attack + cues.between("report", low, high)
    if cues.marks and in_program(data, start, end):
        return 0.3
    if cues.marks and is_quoted(data, start, end, cues.marks):
        if not about and (cues.between("speech", start - 60, end + 60) or cues.between("fiction", low, high)):
            about = 1
        if not about and cues.between("ask", start - 100, start):
            about = 1
        return 0.8 if not about else 0.35 if about == 1 else 0.22
    if kind != "confidential" and attack and about > 1:
        return 0.5
    if category == "confidential.marking" and teach:
        return 0.55
    if kind == "threat" and about > 1:
        return 0.7
    if kind == "identity" and (teach or attack):
        return 0.5 if attack else 0.7
    return 1.0


def sentence(start: int, end: int, stops: Sequence[int]) -> tuple[int, int]:
    """The sentence that `[start, end)` is in, as far as it is near."""
    before, after = bisect_left(stops, start), bisect_left(stops, max(start, end - 1))
    first = max(start - 160, stops[before - 1] + 1) if before else start - 160
    return first, min(end + 120, stops[after] + 1) if after < len(stops) else end + 120


def coherence(kind: str, reach: int, start: int, end: int, stops: Sequence[int]) -> float:
    """The weight of a match that goes on over the end of a sentence, though a signal is one statement or two."""
    if not reach or not stops:
        return 1.0
    inside = bisect_left(stops, end - 2) - bisect_left(stops, start + 1)
    if inside <= 0:
        return 1.0
    if reach <= _STATEMENT.get(kind, -1):
        return 0.65 if kind == "exfiltration" else 0.4
    return 0.6 if inside > 1 and kind == "exfiltration" else 1.0


def is_negated(kind: str, data: bytes, start: int, end: int, cues: Cues) -> bool:
    """True if it is said not to be, in the same clause. A threat has its negation in it; conditions have one too."""
    if kind == "threat":
        return cues.between("negate", start - 6, end - 1) and b" if " not in data[max(0, start - 40) : end]
    clause = before = max(0, start - (14 if kind == "bias" else 28))
    if not cues.between("negate", before - 1, start):
        return False
    for match in _BREAK.finditer(data, before, start):
        clause = match.end()
    return cues.between("negate", clause - 1, start)


def is_quoted(data: bytes, start: int, end: int, marks: Sequence[bytes]) -> bool:
    """True if it stands within quotation marks or backticks of one paragraph."""
    low, high = max(0, start - 300), end + 300
    for mark in marks:
        if len(mark) > 1:
            opened = data.rfind(mark, low, start + 3)
            if opened >= 0 and data.find(_CLOSED, opened, high) >= end - 3:
                return True
        elif (
            data.count(mark, low, start + 1) % 2
            and data.find(mark, end - 1, high) >= 0
            and _opens(data, data.rfind(mark, low, start + 1))
        ):
            return True
    return False


def in_program(data: bytes, start: int, end: int) -> bool:
    """True if it is a string of a program: quotation marks around it, and a program about it."""
    return data[start : start + 2].strip()[:1] in (b'"', b"'") and bool(
        _PROGRAM.search(data, max(0, start - 200), end + 160)
    )


def in_comment(data: bytes, start: int, end: int) -> bool:
    """True if it is in a comment of a program, which goes on after it."""
    return bool(_COMMENT.search(data, max(0, start - 200), start + 1) and _CODE.search(data, end, end + 160))


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


ELSEWHERE = 0.5
"""Of what it would say alone, what a match says of a place that one of another category has said more of."""


def score(matches: Sequence[Match]) -> float:
    """0 to 100, of matches of one class: the best neighbourhood's."""
    if not matches:
        return 0.0
    if len(matches) == 1:
        return min(matches[0].weight, 100.0)
    if max(matches, key=_by_start).start // NEIGHBOURHOOD == min(matches, key=_by_start).start // NEIGHBOURHOOD:
        return _together(matches)
    buckets: dict[int, list[Match]] = {}
    for match in matches:
        buckets.setdefault(match.start // NEIGHBOURHOOD, []).append(match)
    best = 0.0
    for number, bucket in buckets.items():
        best = max(best, _together([*bucket, *buckets.get(number + 1, ())]))
    return best


def _together(matches: Sequence[Match]) -> float:
    """Each signal once, at its best. Of a category, what says the same place again says a quarter of what it would
    alone, and what says another place half; what another category says of the same place is hardly news either."""
    strongest: dict[int, Match] = {}
    for match in matches:
        known = strongest.get(match.signal)
        if known is None or known.weight < match.weight:
            strongest[match.signal] = match
    doubt, seen = 1.0, dict[str, Match]()
    for match in sorted(strongest.values(), key=_by_weight):
        first = seen.get(match.category)
        if first is None:
            again = any(match.start < other.end and match.end > other.start for other in seen.values())
            seen[match.category] = match
            share = ELSEWHERE if again else 1.0
        else:
            share = 0.25 if match.start < first.end and match.end > first.start else 0.5
        doubt *= 1 - min(match.weight, 100.0) / 100 * share
    return 100 * (1 - doubt)


def _by_start(match: Match) -> int:
    return match.start


def _by_weight(match: Match) -> float:
    return -match.weight


assert FACTORS.keys() == set(CLASSES)
