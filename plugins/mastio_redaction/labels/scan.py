"""What may be a value before or behind a label, whatever stands between: reads words and marks from one to the other.

Pure, and bounded for each label. `ahead.py` and `behind.py` know forms; here a chain of words leads to a value. How it
leads decides how strong the evidence is:

* form: marks and tags only, or words that name a type (`imei: str = "…"`, `<imei xsi:type="string">…`);
* loose: the last words or marks before the value announce one (`… que me pidieron es el siguiente: …`), or those behind
  it say what it is (`… was given to us as the …`);
* near: anything else, good for numbers with a check digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mastio_redaction.checks.tables import LEADING, LINKING, LINKS_BACK, MONTHS, TYPES
from mastio_redaction.labels.cells import Evidence, Piece, noun_end
from mastio_redaction.labels.records import value_at

REACH = 180
"""Characters between a label and a value."""

MAX_WORDS = 16
MAX_CANDIDATES = 3

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+)|(?P<line>\n)|(?P<tag></?[A-Za-z!][^<>\n]{0,120}>)|(?P<entity>&(?:nbsp|quot|gt|lt|#\d{1,5});)"
    r"|(?P<word>[^\s<>\"'`,;|()\[\]{}=:*&?!\x9f]+(?:[&*!][^\s<>\"'`,;|()\[\]{}=:\x9f]+)*)|(?P<mark>.)",
    re.DOTALL,
)
_DIGITS = re.compile(r"\d")
_ENDS = frozenset("}\x9f")
_ANNOUNCES = frozenset(":=|([\"'`#")
_CLOSES = frozenset("\"'`)]")
_NAME_GOES_ON = frozenset("_-")
_SENTENCE = re.compile(r"\s+[A-Z]")


def read_ahead(text: str, place: int, following: int) -> Iterator[tuple[Evidence, Piece]]:
    """The pieces that may begin with the value of a label that ends at `place`; the next label ends at `following`."""
    at = noun_end(text, place)
    is_part = text[at : at + 1].isalnum() or text[at : at + 1] in _NAME_GOES_ON
    end = min(at + REACH, len(text), following if following > at else len(text))
    if _DIGITS.search(text, at, end) is None:
        return
    if text[at : at + 1] in _QUOTES:
        part = _PART.match(text, at, at + 400) or _CHAIN.match(text, at, at + 60)
        if part is not None:
            yield "form" if part.re is _PART else "loose", value_at(text, part.end(), following)
            return
    words = marks = lines = found = depth = 0
    leads = -9
    is_marked = is_apart = False
    for match in _TOKEN.finditer(text, at, end):
        kind = match.lastgroup
        if kind == "space":
            continue
        if kind == "line":
            lines += 1
            if lines > 2 and not is_marked:
                return
            is_apart = is_apart or not (is_marked or words)
            continue
        said = match[0]
        if kind != "word":
            if said in _ENDS or (said == ";" and words):
                return
            marks += 1
            before = text[match.start() - 1]
            is_marked = (
                is_marked or said in _ANNOUNCES or kind != "mark" or said > "\x7f" or (said == ">" and before in "-=>")
            )
            if said in "([":
                depth += said == "("
                is_apart = is_apart or before.isalnum()  # arguments, or an index
            elif said == ")":
                depth -= 1
            if said == "?":
                words += 1
            is_apart = is_apart or said == "!" or depth < 0 or (said == "," and words > 0 and before in _CLOSES)
            continue
        lower = said.lower()
        if _DIGITS.search(said) is not None or lower.startswith(MONTHS):
            start = match.end() - len(said.lstrip("/#"))
            marks += start > match.start()
            if is_part and words == 0:
                by: Evidence = "part"
            elif is_apart or is_part:
                by = "near"
            elif words == 0:
                by = "form" if marks else "near"
            else:
                by = "loose" if is_marked or words - leads < 2 else "near"
            yield by, value_at(text, start - _has_opening(text, start), following)
            found += 1
            if found == MAX_CANDIDATES:
                return
        elif lower in TYPES and words == 0:
            continue
        words += 1
        if words > MAX_WORDS:
            return
        if lower.rstrip(".,") in LEADING:
            leads = words
        is_marked = False
        if said.endswith(".") and _SENTENCE.match(text, match.end()) is not None:
            is_apart = True


_QUOTES = frozenset("\"'")
_PART = re.compile(r"['\"](?:;[^\n]{0,80})?\r?\n(?:[A-Za-z-]{2,40}:[^\n]{0,100}\r?\n){0,4}\r?\n")
"""Between the name of a part of a form (RFC 7578) and its content."""

_CHAIN = re.compile(r"['\"][\])'\"]{0,3}(?:\.[A-Za-z_]\w{0,24}\(|,)[ ]?(?:r|f)?['\"]")
"""Between an argument that selects a field and what is put into it: `get('#imei').type('…')`, `fill("imei", "…")`."""

_AREA = re.compile(r"\d{1,5}\)")


def _has_opening(text: str, start: int) -> bool:
    """True if a number begins with an area code in brackets."""
    return text[start - 1 : start] == "(" and _AREA.match(text, start) is not None


def read_back(text: str, place: int) -> Iterator[Piece]:
    """The pieces that end with a possible value, where words connect it with the label that ends at `place`."""
    first = max(place - REACH // 2, 0)
    if _DIGITS.search(text, first, place) is None:
        return
    words = list(_WORD.finditer(text, first, place))
    for index in range(len(words) - 2, -1, -1):
        word = words[index]
        if _DIGITS.search(word[0]) is None or len(word[0]) < 4:
            continue
        between = [other[0].lower().strip(",\"'`()") for other in words[index + 1 :]]
        links = 0
        while links < len(between) and between[links] in LINKS_BACK:
            links += 1
        is_said = not LINKING.isdisjoint(between[:links]) or (links and word[0].endswith(","))
        if is_said and len(between) - links <= 5:
            end = word.end()
            while end > word.start() and text[end - 1] in ",.\"'`)":
                end -= 1
            yield word.start(), end
        return


_WORD = re.compile(r"[^\s]+")
