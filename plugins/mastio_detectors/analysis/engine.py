"""The detectors: what a text is suspected of, in seven classes. Pure; compiled once, and fit for one thread.

A text is folded, and searched once for every concept. Only where those of some signal are all there is looked closer.
What is hidden in it (escapes, base64, hex, letters shifted, swapped, reversed or spelled out) is searched likewise.
Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mastio.reading.decoding import View, decoded, fold
from mastio_detectors.analysis.cues import CUES
from mastio_detectors.analysis.disguise import HINTS, TRIGGERS, Disguise, foreign_runs, has_tags, readings
from mastio_detectors.analysis.lexicon import Hits, Words, compile_patterns, prepare, scan, spread
from mastio_detectors.analysis.scoring import (
    BESIDE,
    FACTORS,
    Compiled,
    Cues,
    Match,
    coherence,
    find,
    score,
    taken_back,
    temper,
)
from mastio_detectors.analysis.signals import CLASSES, SHAPES, SIGNALS
from mastio_detectors.analysis.signals.signal import Signal
from mastio_detectors.analysis.words import ANYWHERE, LANGUAGES, WIDE

LEAST = 20
"""A category below this is not worth mentioning."""


ASTRIDE = 0.6
"""What is left of an order whose object stands on both sides of its verb, as no sentence has it."""


class Suspicion(NamedTuple):
    """A suspicion about one text. `span` is the place in the original text with the strongest evidence."""

    category: str
    confidence: int
    span: tuple[int, int]
    how: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.category.partition(".")[0]


class OperatorPattern(NamedTuple):
    """A pattern of the operator's, already valid: a regular expression on folded lower-case text."""

    category: str
    weight: int
    pattern: str


class Engine:
    """All signals, compiled. `kinds`: the classes that are looked for. `floors`: below which score one need not be
    told, so that what cannot reach it is not looked at closer; `LEAST` unless given."""

    def __init__(
        self,
        own: Sequence[OperatorPattern] = (),
        kinds: Iterable[str] = CLASSES,
        floors: Mapping[str, int] | None = None,
    ) -> None:
        self._floors = {kind: max(LEAST, (floors or {}).get(kind, LEAST)) for kind in CLASSES}
        shapes = {**SHAPES, **{f"own {n}": pattern.pattern for n, pattern in enumerate(own)}, **HINTS}
        signals = [*SIGNALS, *(Signal(pattern.category, pattern.weight, f"own {n}".replace(" ", "\0"), 0)
                               for n, pattern in enumerate(own))]  # fmt: skip
        tables = [(words, language in ANYWHERE, language in WIDE) for language, words in LANGUAGES.items()]
        self._words = Words([*tables, (TRIGGERS, False, False)])
        self._cues = Words([(CUES, False, False), (_anywhere(CUES), True, False)])
        self._shapes = compile_patterns([s.encode() for s in shapes.values()], once=len(HINTS))
        self._shape_starts = [re.compile(b"(?s:" + shape.encode() + b")") for shape in shapes.values()]
        names = sorted({c for name in self._words.names for c in name.concepts} | set(shapes))
        number = {name: n for n, name in enumerate(names)}
        self._concepts = [tuple(number[c] for c in name.concepts) for name in self._words.names]
        self._bits = [sum(1 << c for c in concepts) for concepts in self._concepts]
        self._wide = [name.wide == 2 for name in self._words.names]
        self._shape_number = [number[shape] for shape in shapes]
        self._hints = tuple(1 << number[name] for name in ("hint run", "disguised", "hint leet", "hint spelled"))
        self._hinted = sum(self._hints)
        kinds = frozenset(kinds)
        self._groups = _group([_compile(n, s, number) for n, s in enumerate(signals) if s.kind in kinds])
        self._anchors = sum(self._groups)

    def inspect(self, text: str, carrier: str) -> list[Suspicion]:
        """The suspicions about `text`, strongest first, whatever the thresholds."""
        view = fold(text)
        folded = text if view is None else view.text
        matches, disguises = self._look(folded, carrier)
        found = self._conclude(matches, view, folded) if matches else []
        tags = view is not None and has_tags(text)
        if disguises is not None or tags:
            for reading in self._read(text, folded, disguises, tags):
                hidden, _ = self._look(reading.text, carrier)
                if hidden:
                    found += self._conclude(hidden, reading, reading.text)
        return found if len(found) < 2 else _strongest(found)

    def _read(self, text: str, folded: str, disguise: Disguise | None, tags: bool) -> Iterable[View]:
        """Its other readings."""
        if tags or (disguise is not None and disguise.run):
            yield from decoded(text)
            yield from foreign_runs(text)
        if disguise is not None:
            yield from readings(folded, disguise)

    def _look(self, folded: str, carrier: str) -> tuple[list[Match], Disguise | None]:
        """Every signal that is there, tempered; and what else should be read."""
        data = prepare(folded)
        plain = spread(data)
        hits = self._words.scan(plain)
        shapes = scan(self._shapes, data)
        mask = 0
        bits = self._bits
        for hit in hits:
            mask |= bits[hit[0]]
        for hit in shapes:
            mask |= 1 << self._shape_number[hit[0]]
        disguises = Disguise(*(bool(mask & hint) for hint in self._hints)) if mask & self._hinted else None
        candidates: list[Compiled] = []
        anchors = mask & self._anchors
        while anchors:
            anchor = anchors & -anchors
            anchors ^= anchor
            candidates += [signal for signal in self._groups[anchor] if signal.need & mask == signal.need]
        candidates = self._able(candidates, carrier)
        if not candidates:
            return [], disguises
        return self._weigh(candidates, carrier, data, plain, hits, shapes), disguises

    def _able(self, candidates: list[Compiled], carrier: str) -> list[Compiled]:
        """Those of classes that reach their floors if all of theirs are found, at their full weight."""
        doubts: dict[str, float] = {}
        for signal in candidates:
            if signal.carriers is None or carrier in signal.carriers:
                kind = signal.kind
                weight = signal.weight * FACTORS[kind].get(carrier, 1.0)
                doubts[kind] = doubts.get(kind, 1.0) * (1 - weight / 100 if weight < 100 else 0.0)
        floors = self._floors
        able = {kind for kind, doubt in doubts.items() if 100 * (1 - doubt) >= floors[kind] - 0.5}
        return [s for s in candidates if s.kind in able and (s.carriers is None or carrier in s.carriers)]

    def _weigh(
        self, candidates: Sequence[Compiled], carrier: str, data: bytes, plain: bytes, hits: Hits, shapes: Hits
    ) -> list[Match]:
        places, wide = self._place(candidates, data, hits, shapes)
        matches: list[Match] = []
        cues: Cues | None = None
        worths: dict[tuple[str, int, int], float] = {}
        for signal in candidates:
            factor = FACTORS[signal.kind].get(carrier, 1.0)
            others = () if signal.unless is None else places.get(signal.unless, ())
            for start, end, astride in find(signal, places, wide):
                if others and taken_back(others, start, end):
                    continue
                if cues is None:
                    cues = self._read_cues(data, plain)
                if signal.cue is not None and not cues.between(signal.cue, start - BESIDE, end + BESIDE):
                    continue
                key = (signal.category, start, end)
                worth = worths.get(key)
                if worth is None:
                    worth = worths[key] = temper(signal.category, data, start, end, cues)
                worth *= coherence(signal.kind, signal.reach, start, end, cues.stops)
                if astride and signal.category == "injection.override":
                    worth *= ASTRIDE
                matches.append(Match(signal.category, signal.number, signal.weight * factor * worth, start, end))
        return matches

    def _place(
        self, candidates: Sequence[Compiled], data: bytes, hits: Hits, shapes: Hits
    ) -> tuple[dict[int, list[tuple[int, int]]], dict[int, bool]]:
        """The places of the candidates' concepts, in order, and the places that have wide letters."""
        wanted = 0
        for signal in candidates:
            wanted |= signal.need
            if signal.unless is not None:
                wanted |= 1 << signal.unless
        places: dict[int, list[tuple[int, int]]] = {}
        wide: dict[int, bool] = {}
        for number, start, end in hits:
            if self._bits[number] & wanted:
                for concept in self._concepts[number]:
                    places.setdefault(concept, []).append((start, end))
                if self._wide[number]:
                    wide[start] = True
        last: dict[int, int] = {}
        for number, _, end in shapes:
            concept = self._shape_number[number]
            if wanted >> concept & 1:
                follows, last[number] = last.get(number) == end - 1, end
                if follows:
                    continue
                places.setdefault(concept, []).append((self._find_start(number, data, end), end))
        for spots in places.values():
            spots.sort()
        return places, wide

    def _find_start(self, number: int, data: bytes, end: int) -> int:
        """The start of a shape that ends at `end`: the database does not report it. Most are short."""
        for back in (32, 480):
            match = self._shape_starts[number].search(data, max(0, end - back), end)
            if match is not None:
                return match.start()
        return end - 1

    def _read_cues(self, data: bytes, plain: bytes) -> Cues:
        places: dict[str, list[int]] = {}
        names = self._cues.names
        for number, start, _ in self._cues.scan(plain):
            for concept in names[number].concepts:
                places.setdefault(concept, []).append(start)
        for spots in places.values():
            spots.sort()
        return Cues.of(data, places)

    def _conclude(self, matches: Sequence[Match], view: View | None, folded: str) -> list[Suspicion]:
        """One suspicion for each category, with the score of its class where it is the strongest of it."""
        kinds: dict[str, list[Match]] = {}
        for match in matches:
            kinds.setdefault(match.category.partition(".")[0], []).append(match)
        found = []
        for kind, members in kinds.items():
            total = score(members)
            if round(total) < self._floors[kind]:
                continue
            categories: dict[str, list[Match]] = {}
            for match in members:
                categories.setdefault(match.category, []).append(match)
            top = max(members, key=_weight).category
            for category, own in categories.items():
                confidence = round(total if category == top else score(own))
                if confidence >= self._floors[kind]:
                    best = max(own, key=_weight)
                    found.append(
                        Suspicion(category, confidence, _span(best, view, folded), () if view is None else view.how)
                    )
        return found


def _weight(match: Match) -> float:
    return match.weight


def _anywhere(cues: Mapping[str, str]) -> dict[str, str]:
    """Of the cues, those in scripts without spaces."""
    return {
        name: ",".join(
            word for word in words.split(",") if any(ord(c) > 0x2FFF or 0x600 <= ord(c) < 0x700 for c in word)
        )
        for name, words in cues.items()
    }


def _compile(number: int, signal: Signal, names: Mapping[str, int]) -> Compiled:
    concepts = [names[name.replace("\0", " ")] for name in signal.needs.split(" ")]
    need = sum(1 << concept for concept in set(concepts))
    return Compiled(
        number, signal.category, signal.kind, signal.weight, concepts[0], tuple(concepts[1:]), need, signal.reach,
        signal.ordered, signal.carriers, None if signal.unless is None else names[signal.unless], signal.cue,
    )  # fmt: skip


def _group(signals: Sequence[Compiled]) -> dict[int, tuple[Compiled, ...]]:
    groups: dict[int, list[Compiled]] = {}
    for signal in signals:
        groups.setdefault(1 << signal.anchor, []).append(signal)
    return {anchor: tuple(group) for anchor, group in groups.items()}


def _span(match: Match, view: View | None, folded: str) -> tuple[int, int]:
    """Bytes of the searched text, which has a space before it, as characters of the original one."""
    if folded.isascii():
        start, end = match.start - 1, match.end - 1
    else:
        data = prepare(folded)
        start = len(data[: match.start].decode("utf-8", "ignore")) - 1
        end = len(data[: match.end].decode("utf-8", "ignore")) - 1
    start, end = max(0, start), min(len(folded), end)
    while start < end - 1 and folded[start].isspace():
        start += 1
    while end > start + 1 and folded[end - 1].isspace():
        end -= 1
    while end < len(folded) and folded[end - 1].isalnum() and folded[end].isalnum():
        end += 1
    return (start, end) if view is None else view.span(start, end)


def _strongest(found: Sequence[Suspicion]) -> list[Suspicion]:
    """The best of each category, strongest first."""
    best: dict[str, Suspicion] = {}
    for suspicion in found:
        known = best.get(suspicion.category)
        if known is None or known.confidence < suspicion.confidence:
            best[suspicion.category] = suspicion
    return sorted(best.values(), key=lambda suspicion: -suspicion.confidence)
