"""What may be a value before or behind a label, whatever stands between: reads the words and marks from one to the other.

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

from .cells import Evidence, Piece, noun_end
from .records import value_at
from .tables import MONTHS

REACH = 180
"""Characters between a label and a value."""

MAX_WORDS = 16
MAX_CANDIDATES = 3

_LEADING = """
is are was were be been being equals equal reads read says say shows remains becomes now still namely follows following
ist sind war sei lautet lauten heisst bleibt wird wurde folgt folgende folgenden gilt
est sont etait sera devient reste suivant suivante voici es son era sera sigue siendo siguiente
e sono sara resta seguente zijn wordt luidt blijft volgt volgende foi continua jest byl byla bedzie brzmi wynosi
to as from by into no nr num number nummer numero # of with under auf zu als von unter mit par comme sous au por como con bajo a al da
come sotto per van naar door onder para com sob z na jako pod de do het le la el il der die das the o begins ends set changed
hei\xdft habe ich hatte updated enter entered use used uses type typed provided given gave sent tell told
"""
LEADING = frozenset(_LEADING.split())
"""Words right before a value."""

_TYPES = """
str string text varchar char const static final let var val public private protected readonly mut int integer number long
object any optional option as type example default sample value val data content b f r u n l s xs xsd
"""
TYPES = frozenset(_TYPES.split())
"""Words that say of what type a value is."""

_LINKING = """
is was are were be being should would must will ist war sei lautet als als est etait comme es era como e sono sara come
zijn wordt foi sera to jest byl jako for fur pour para per voor dla into in im dans en nel under unter sous bajo sotto onder pod
given used known recorded entered registered listed set stored kept us them him her me on at unter fuer belongs
"""
_ARTICLES = """
the a an my our your his her their its this that new old correct right current actual customer's client's user's mein meine meinen
die der das den dem unser unsere ihre ihr ihren sein seine neue neuer neues mon ma mes le la les notre votre leur son sa nouveau
el la mi su nuestro nuestra nuevo nueva il lo mio mia suo sua nuovo nuova het de mijn uw zijn haar nieuwe o a os as meu minha seu sua novo
moj moja moje twoj jego jej nowy nowe nowa field box column un une una uno
"""
LINKING = frozenset(_LINKING.split())
_LINKS = LINKING | frozenset(_ARTICLES.split())

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
    """What may begin with the value of a label that ends at `place`, the next one ending at `following`."""
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
        token = match[0]
        if kind != "word":
            if token in _ENDS or (token == ";" and words):
                return
            marks += 1
            before = text[match.start() - 1]
            is_marked = is_marked or token in _ANNOUNCES or kind != "mark" or token > "\x7f" or (token == ">" and before in "-=>")
            if token in "([":
                depth += token == "("
                is_apart = is_apart or before.isalnum()  # arguments, or an index
            elif token == ")":
                depth -= 1
            if token == "?":
                words += 1
            is_apart = is_apart or token == "!" or depth < 0 or (token == "," and words > 0 and before in _CLOSES)
            continue
        lower = token.lower()
        if _DIGITS.search(token) is not None or lower.startswith(MONTHS):
            start = match.end() - len(token.lstrip("/#"))
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
        if token.endswith(".") and _SENTENCE.match(text, match.end()) is not None:
            is_apart = True


_QUOTES = frozenset("\"'")
_PART = re.compile(r"['\"](?:;[^\n]{0,80})?\r?\n(?:[A-Za-z-]{2,40}:[^\n]{0,100}\r?\n){0,4}\r?\n")
"""Between the name of a part of a form (RFC 7578) and its content."""

_CHAIN = re.compile(r"['\"][\])'\"]{0,3}(?:\.[A-Za-z_]\w{0,24}\(|,)[ ]?(?:r|f)?['\"]")
"""Between an argument that selects a field and what is put into it: `get('#imei').type('…')`, `fill("imei", "…")`."""

_AREA = re.compile(r"\d{1,5}\)")


def _has_opening(text: str, start: int) -> bool:
    """Whether a number begins with an area code in brackets."""
    return text[start - 1 : start] == "(" and _AREA.match(text, start) is not None


def read_back(text: str, place: int) -> Iterator[Piece]:
    """Where values end, and what stands before it, that words say to be what the label is that ends at `place`."""
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
        while links < len(between) and between[links] in _LINKS:
            links += 1
        is_said = not LINKING.isdisjoint(between[:links]) or (links and word[0].endswith(","))
        if is_said and len(between) - links <= 5:
            end = word.end()
            while end > word.start() and text[end - 1] in ",.\"'`)":
                end -= 1
            yield word.start(), end
        return


_WORD = re.compile(r"[^\s]+")
