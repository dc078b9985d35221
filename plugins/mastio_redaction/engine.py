"""Finds values of every type in a text: one pass of one automaton, then exact expressions and checks where it rang.

Pure but for the automaton, which is compiled once when an `Engine` is made. Texts are read as others will read them:
folded, and where the pass meets an escape or a run, decoded as well (`mastio.reading.decoding`). Spans are in code
points of the text that was given.

The automaton sees one byte for each character, so its offsets are ours: what is not Latin-1 is a question mark there.
What an administrator wrote (`custom.py`) may be of any alphabet and is looked for in a pass of its own.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Any, NamedTuple

import hyperscan

from mastio.host.automata import open_automaton
from mastio.reading import decoding
from mastio_redaction.custom import Custom, CustomAutomaton
from mastio_redaction.labels import alphabets, labels
from mastio_redaction.labels.cells import BETWEEN_TEXTS, is_last_cell
from mastio_redaction.rule import Rule, Type

SEPARATOR = BETWEEN_TEXTS
"""No word, no space, and nothing that a value may have inside."""

_ENCODED = (
    r"%(?:[2-7][0-9A-Fa-f]|0[9AaDd]|[C-Fc-f][0-9A-Fa-f]%)",
    r"&#?[A-Za-z0-9]{2,31};",
    r"\\(?:[uUx][0-9A-Fa-f{]|[nrt\"'/\\])",
    r"[\x00-\x08\x0e-\x1f\x7f]",
    rf"(?:{decoding.QUAD}){{3}}",
    rf"(?:{decoding.WIDE_QUADS}){{2}}",
    rf"\b(?:0[xX])?(?:{decoding.HEX_PAIR}){{8}}",
    decoding.EXPONENT,
    *decoding.SPACED_HEX,
    decoding.FORM_SPACE,
    decoding.CODES,
    decoding.BASE32,
)
"""Where one of these is, the text has other readings."""


BESIDE = 9
"""Characters behind a label in which its value begins, if it stands right behind it."""

BEFORE = 32
"""Characters before a value that `Rule.unless` sees."""


class Span(NamedTuple):
    """A value: where it stands, what it is, how sure that is."""

    start: int
    end: int
    type: str
    score: float
    how: tuple[str, ...] = ()
    """The ways it was hidden, outermost first: `fold`, `escape`, `base64`, `base32`, `hex`, `codes`,
    `exponent`, `tags`."""


def _note(rule: int, _start: int, end: int, _flags: int, events: Any) -> None:
    events.append((rule, end))


class Engine:
    """An automaton over `types` and what `custom` adds. May be used by any number of threads."""

    def __init__(self, types: Collection[Type], custom: Custom | None = None) -> None:
        self.types = tuple(types)
        triggers: dict[str, list[tuple[str, Rule, _Confirm]]] = {}
        for kind in self.types:
            for rule in kind.rules:
                triggers.setdefault(rule.trigger, []).append((kind.name, rule, _confirm_of(rule)))
        self._rules = list(triggers.values())
        self._encoded = len(self._rules)
        self._worded = frozenset(kind.name for kind in self.types if not kind.structured)
        self._own = CustomAutomaton(custom) if custom else None
        expressions = [expression.encode("latin-1") for expression in (*triggers, *_ENCODED, labels.ASSIGNMENT)]
        flags = [0] * len(triggers) + [hyperscan.HS_FLAG_SINGLEMATCH] * len(_ENCODED) + [0]
        self._assignment = len(expressions) - 1
        self._database = open_automaton(expressions, flags)
        self._local = threading.local()
        self.width = self._own.width if self._own else 0
        """Characters that a stream has to hold back always: what an administrator added may have spaces inside."""

    def extended(self, custom: Custom) -> Engine:
        """The same automaton with another admin's additions. Raises `CustomError`."""
        made = copy(self)
        made._own = CustomAutomaton(custom) if custom else None
        made.width = made._own.width if made._own else 0
        return made

    def find(self, text: str, *, name: str = "", only: Collection[str] | None = None) -> list[Span]:
        """The values in `text`, in order, none overlapping.

        `name` is what the text is called, such as the member of an object that it is the value of: it counts as words
        before it. `only` are the types that matter; the others are as if they were not known.
        """
        if name:
            return self.find_after(labels.read_before(name, text, ""), text, only=only)
        view = decoding.fold(text)
        subject = text if view is None else view.text
        hits = self._hits(subject, only)
        if view is not None:
            hits = [_unfold(hit, text, view) for hit in hits]
            if self._own is not None:  # expressions may name letters that folding changes
                hits += [Span(*hit) for hit in self._own.find(text) if only is None or hit[2] in only]
        if not text.isascii() and (latin := alphabets.read(text, subject)) is not None:
            latin = latin if view is None else latin.within(view)
            hits += [_unfold(hit, text, latin) for hit in self._hits(latin.text, only)]
        return _resolve(hits) if hits else hits

    def find_after(self, before: str, text: str, *, name: str = "", only: Collection[str] | None = None) -> list[Span]:
        """As `find`, where `before` is what stands before the text, in which values begin or labels are."""
        if not before:
            return self.find(text, name=name, only=only)
        skip = len(before)
        return [
            span._replace(start=max(span.start - skip, 0), end=span.end - skip)
            for span in self.find(before + text, only=only)
            if span.end > skip
        ]

    def find_all(
        self, texts: Sequence[str], *, names: Sequence[str] | None = None, only: Collection[str] | None = None
    ) -> list[list[Span]]:
        """As `find` for each, in one pass. A text may answer the question that the one before it ends with."""
        if len(texts) == 1:
            return [self.find(texts[0], name=names[0] if names else "", only=only)]
        parts = [
            labels.read_before(name, text, previous) + text
            for name, text, previous in zip(names or [""] * len(texts), texts, ("", *texts), strict=False)
        ]
        joined = SEPARATOR.join(parts)
        found: list[list[Span]] = [[] for _ in texts]
        at = 0
        spans = iter(self.find(joined, only=only))
        span = next(spans, None)
        for index, part in enumerate(parts):
            end = at + len(part)
            skip = at + len(part) - len(texts[index])
            crossed = False
            while span is not None and span.start < end:
                if span.end > end:
                    crossed = True
                    break
                if span.end > skip:
                    found[index].append(span._replace(start=max(span.start, skip) - skip, end=span.end - skip))
                span = next(spans, None)
            if crossed:  # an expression of an administrator's that takes anything: each text by itself
                return [
                    self.find(text, name=names[place] if names else "", only=only) for place, text in enumerate(texts)
                ]
            at = end + 1
        return found

    def _hits(self, subject: str, only: Collection[str] | None) -> list[Span]:
        """All hits in a folded text, overlapping ones too, in its own places."""
        events: list[tuple[int, int]] = []
        raw = subject.encode("latin-1", "replace")
        self._database.scan(raw, _note, 0, events, self._scratch())
        hits: list[Span] = []
        if events and self._confirm(subject, events, hits, only):
            self._decode(subject, hits, only)
        if hits and "-" in subject:
            hits = [hit for hit in hits if not _is_in_uuid(subject, hit)]
        if self._own is not None:
            self._own_hits(subject, hits, only)
        return hits

    def _find_labelled(
        self, subject: str, places: list[int], names: list[int], hits: list[Span], only: Collection[str] | None
    ) -> None:
        """Adds the values whose labels do not stand right before them (`labels.readings`)."""
        for view, by in labels.readings(subject, places, names):
            events: list[tuple[int, int]] = []
            self._database.scan(view.text.encode("latin-1", "replace"), _note, 0, events, self._scratch())
            inner: list[Span] = []
            self._confirm_labels(view.text, events, inner, only)
            for hit in inner:
                value = view.text[hit.start : hit.end]
                if "\n" in value or not labels.is_likely(hit.type, hit.score, value, by):  # only one line has one place
                    continue
                start, end = view.span(hit.start, hit.end)
                if start < end:  # not in the label
                    hits.append(hit._replace(start=start, end=end))

    def _own_hits(self, subject: str, hits: list[Span], only: Collection[str] | None) -> None:
        own = self._own
        assert own is not None
        hits[:] = [hit for hit in hits if not own.is_never(subject[hit.start : hit.end])]
        hits += [Span(*hit) for hit in own.find(subject) if only is None or hit[2] in only]

    def _decode(self, subject: str, hits: list[Span], only: Collection[str] | None) -> None:
        for view in decoding.decoded(subject):
            events: list[tuple[int, int]] = []
            raw = view.text.encode("latin-1", "replace")
            self._database.scan(raw, _note, 0, events, self._scratch())
            inner: list[Span] = []
            self._confirm(view.text, events, inner, only)
            if self._own is not None:
                self._own_hits(view.text, inner, only)
            for hit in inner:
                start, end = view.span(hit.start, hit.end)
                plain = subject[start:end] == view.text[hit.start : hit.end]
                hits.append(hit._replace(start=start, end=end, how=() if plain else view.how))

    def _confirm(
        self, subject: str, events: list[tuple[int, int]], hits: list[Span], only: Collection[str] | None
    ) -> bool:
        """Adds what holds of what the automaton noticed. Whether it noticed that the text has other readings."""
        encoded = False
        places_of = _LabelEnds([], [])
        names: list[int] = []
        for number, places in _by_rule(events).items():
            if number >= self._encoded:
                if number == self._assignment:
                    names = places
                else:
                    encoded = True
                continue
            for kind, rule, confirm in self._rules[number]:
                if only is None or kind in only:
                    confirm(kind, rule, subject, places, hits, places_of)
        bare = places_of.bare
        if bare and hits:
            found = {hit.start for hit in hits if hit.type not in self._worded}
            bare = [place for place in bare if not _is_beside(subject, place, found)]
        if bare or places_of.more or names:
            self._find_labelled(subject, bare + places_of.more, names, hits, only)
        return encoded

    def _confirm_labels(
        self, subject: str, events: list[tuple[int, int]], hits: list[Span], only: Collection[str] | None
    ) -> None:
        """As `_confirm` with the rules that need a label."""
        for number, places in _by_rule(events).items():
            for kind, rule, confirm in self._rules[number] if number < self._encoded else ():
                if confirm is _confirm_after and (only is None or kind in only):
                    confirm(kind, rule, subject, places, hits, _LabelEnds([], []))

    def _scratch(self) -> Any:
        try:
            return self._local.scratch
        except AttributeError:
            self._local.scratch = hyperscan.Scratch(self._database)
            return self._local.scratch


def _is_beside(subject: str, place: int, starts: Collection[int]) -> bool:
    """True if a value begins right behind a label, on its line, which is not the first one of a list or row."""
    end = subject.find("\n", place, place + BESIDE)
    at = next((at for at in range(place + 1, end if end >= 0 else place + BESIDE) if at in starts), -1)
    return at >= 0 and _OPENS_LIST.isdisjoint(subject[place:at])


_OPENS_LIST = frozenset("[,;|\t")

_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Za-z])")


def _is_in_uuid(subject: str, hit: Span) -> bool:
    """True if a hit is a part of an identifier (RFC 9562), and not all of it."""
    if "-" not in (subject[hit.end : hit.end + 1], subject[hit.end - 1], subject[max(hit.start - 1, 0) : hit.start]):
        return False
    for match in _UUID.finditer(subject, max(hit.start - 36, 0), hit.end + 37):
        if match.start() <= hit.start and hit.end <= match.end():
            return hit.end - hit.start < 36
    return False


def _unfold(hit: Span, text: str, view: decoding.View) -> Span:
    start, end = view.span(hit.start, hit.end)
    plain = text[start:end] == view.text[hit.start : hit.end]
    return hit._replace(start=start, end=end, how=hit.how if plain else ("fold", *hit.how))


def _by_rule(events: list[tuple[int, int]]) -> dict[int, list[int]]:
    """The places of each rule."""
    ends: dict[int, list[int]] = {}
    for number, end in events:
        if number in ends:
            ends[number].append(end)
        else:
            ends[number] = [end]
    return ends


class _LabelEnds(NamedTuple):
    """The places where labels end."""

    bare: list[int]
    """That no value follows."""
    more: list[int]
    """That a value follows, and perhaps others."""


_Confirm = Callable[[str, Rule, str, list[int], list[Span], _LabelEnds], None]
"""Adds what the rule finds in a text, from the places where its trigger ended. Adds to the last the places of labels
that no value follows, or several."""


def _confirm_of(rule: Rule) -> _Confirm:
    if rule.seek is not None:
        return _confirm_sought
    if rule.back:
        return _confirm_back
    return _confirm_shaped if rule.behind else _confirm_after


def _confirm_sought(
    kind: str, rule: Rule, subject: str, places: list[int], hits: list[Span], _labels: _LabelEnds
) -> None:
    assert rule.seek is not None
    hits += [Span(start, end, kind, rule.score) for start, end in rule.seek(subject, places)]


def _confirm_after(kind: str, rule: Rule, subject: str, places: list[int], hits: list[Span], ends: _LabelEnds) -> None:
    done = -1
    for place in places:
        if place < done:
            continue
        match = rule.exact.match(subject, place, place + rule.ahead)
        if match is None:
            ends.bare.append(place)
            continue
        value = match.span("v")
        if subject.find("\n", place, value[0]) >= 0:  # perhaps the head of a column
            ends.more.append(place)
            if is_last_cell(subject, place):
                continue
        elif _goes_on(subject, place, *value):  # perhaps the head of a row
            ends.more.append(place)
        if rule.unless is not None and rule.unless.search(subject[max(value[0] - BEFORE, 0) : value[0]]):
            continue
        if rule.narrow is not None or rule.check is not None:
            accepted = _accept(rule, subject, *value)
            if accepted is None:
                ends.bare.append(place)
                continue
            value = accepted
        hits.append(Span(*value, kind, rule.score))
        done = value[1]


def _goes_on(subject: str, place: int, start: int, end: int) -> bool:
    """True if what separates the value from its label separates it from another one too: a row, or a list."""
    follows = subject[end : end + 8].lstrip("\"'`* ")[:1]
    if follows != "" and _SECOND.match(subject, end, end + 24) is not None:
        return True
    return (follows != "" and follows in ",;|\t" and subject.find(follows, place, start) >= 0) or (
        follows in (",", "<", "\n")
        and subject.find("[" if follows == "," else "<" if follows == "<" else "- ", place, start) >= 0
    )


_SECOND = re.compile(
    r"['\"`]?(?: (?:to|with|by|auf|durch|in|par|por|con|a|naar|door|na|and|und|et|y|e|en|i|or|oder|ou)"
    r"|,? ?(?:->|=>|\u2192|and|or)) ['\"`]?[^\s'\"`]{0,16}\d"
)
"""Between two values of one label: `changed from … to …`."""


def _confirm_back(
    kind: str, rule: Rule, subject: str, places: list[int], hits: list[Span], _labels: _LabelEnds
) -> None:
    done = 0
    for place in places:
        if place <= done:
            continue
        before = subject[max(place - rule.behind, done) : place - 2]
        start = place - 2 - len(before) + len(before.rstrip(rule.back))
        match = rule.exact.match(subject, start, place + rule.ahead)
        if match is not None and (value := _accept(rule, subject, *match.span(match.lastgroup or 0))) is not None:
            hits.append(Span(*value, kind, rule.score))
            done = value[1]


def _confirm_shaped(
    kind: str, rule: Rule, subject: str, places: list[int], hits: list[Span], _labels: _LabelEnds
) -> None:
    """Triggers that stand close together make one region, which is searched once."""
    behind, search = rule.behind, rule.exact.search
    checks = rule.narrow is not None or rule.check is not None or rule.unless is not None
    index, count = 0, len(places)
    while index < count:
        last = places[index]
        start = last - behind if last > behind else 0
        index += 1
        while index < count and places[index] - last <= behind:
            last = places[index]
            index += 1
        stop = last + rule.ahead
        while (match := search(subject, start, stop)) is not None:
            value = match.span(match.lastgroup or 0)
            if checks:
                accepted = _accept(rule, subject, *value)
                if accepted is None:
                    start = match.start() + 1
                    continue
                value = accepted
            hits.append(Span(*value, kind, rule.score))
            if value[1] >= last:  # every trigger of the region is inside
                break
            start = max(value[1], start + 1)


def _accept(rule: Rule, subject: str, start: int, end: int) -> tuple[int, int] | None:
    """The span of the value in what `exact` matched, if the check holds."""
    if rule.narrow is not None:
        part = rule.narrow(subject[start:end])
        if part is None:
            return None
        start, end = start + part[0], start + part[1]
    if rule.check is not None and not rule.check(subject[start:end]):
        return None
    if rule.unless is not None and rule.unless.search(subject[max(start - BEFORE, 0) : start]):
        return None
    return start, end


def _resolve(hits: list[Span]) -> list[Span]:
    """The best of those that overlap, over the places of all of them: nothing of a value that lost is left over."""
    if len(hits) == 1:
        return hits
    hits.sort()
    resolved: list[Span] = []
    best, start, end = hits[0], hits[0].start, hits[0].end
    for hit in hits[1:]:
        if hit.start < end:
            if (hit.score, hit.end - hit.start) > (best.score, best.end - best.start):
                best = hit
            end = max(end, hit.end)
        else:
            resolved.append(_over(best, start, end))
            best, start, end = hit, hit.start, hit.end
    resolved.append(_over(best, start, end))
    return resolved


def _over(hit: Span, start: int, end: int) -> Span:
    return hit if hit.start == start and hit.end == end else hit._replace(start=start, end=end)
