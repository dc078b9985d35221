"""Finds the values that follow a label: after marks, words, an answer, or the rest of a longer name.

Pure, and bounded for each label. `labels.py` asks the `READERS` in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mastio_redaction.labels.cells import BETWEEN_TEXTS, NEAR, NOUN, Evidence, Piece, is_last_cell, noun_end
from mastio_redaction.labels.records import value_at

_MARK = r"[ \t\r]+|</?[A-Za-z][^<>\n]{0,80}>|<!\[CDATA\[|&(?:nbsp|quot|gt|lt);|[*_`'\"]"
_BETWEEN = (
    rf"(?>(?:{_MARK}){{0,12}})(?P<line>(?:\n|(?<=>)\n[ \t]{{0,8}}\n)[ \t]{{0,24}}(?>(?:<[^<>\n]{{1,80}}>){{0,4}}))?"
    rf"(?P<mark>(?>(?:\][ \t]?(?:=|:)|\)[ ]?=|[:=>|(\[]|->|\.{{3,}}|_{{3,}}|#[ ]?:|(?<= )-(?= )|[\u2192\u203a\xbb]"
    rf"|(?<=[ ]{{3}})(?=\S)|\)[ ]?\{{"
    rf"|,?[ ](?:with|value|val|text)[ ]?[:=]?[ ]?(?=['\"]))"
    rf"(?:[>|][+-]?[ \t\r]{{0,3}}\n[ \t]{{1,24}}|[ \t]+|{_MARK}|[(\[:>=]|%[sdr](?=['\"])|(?<=['\"]),){{0,8}}))?"
    rf"(?(line)|(?(mark)|(?<=[>*`(\[])))"
    rf"(?>(?:{_MARK}){{0,6}})(?=[^\s<>|)\]])"
)
"""Marks between a label and its value. One of them must be more than space."""

_APART = re.compile(rf"(?>{NOUN})\.?{_BETWEEN}")
_OF_NAME = re.compile(rf"(?:(?:[ _-]|(?<=_))[A-Za-z]{{1,20}}){{1,4}}{_BETWEEN}")
"""The rest of a longer name, and what follows it: `cpf_do_cliente = …`."""

_BOLD = re.compile(rf"(?>{NOUN})(?:\*\*|__|`|\]|</(?:b|strong|i|em|span|label|code)>)[ \t]{{1,4}}(?=\S)")
"""Words in bold or in brackets, which are often a label."""

_OPTION = re.compile(rf"(?>{NOUN})[ =]['\"]?(?=[^\s'\"-])")
_IS_OPTION = re.compile(r"(?:\A|\s)--?[A-Za-z][\w-]{0,40}\Z")

_VERB = (
    r"(?:is|was|are|were|equals|reads|being|ist|war|lautet|lauten|heisst|sind|est|etait|sont|es|era|son|e|sono|sao|is|luidt|"
    r"was|to|as|jest|brzmi|use|enter|wurde|wird|werd|foi|fue|staat|steht|on file)"
)
_MARKUP = r"<[A-Za-z][^<>\n]{0,40}>|\*\*|__"
_WORDS = re.compile(
    r"(?:[_-]?[^\W\d_][\w'.-]{0,23})?(?:[ \t]\(?[^\W\d_][\w'-]{0,20}\)?){0,7}?"
    rf"[ \t](?i:{_VERB})(?:[ \t]?:)?[ \t]+"
    r"(?:(?i:set|changed|updated|recorded|listed|registered|stored|given|reset)[ \t](?:(?i:to|as)[ \t])?)?"
    r"(?:(?i:now|currently|still|nun|jetzt|maintenant|ahora|adesso|the|le|la|el|il|die|der|das|het|o|a)[ \t])?"
    rf"(?:{_MARKUP})?[\"'`(\[]?(?=\S)"
)
_THAT_IS = re.compile(
    rf"[.,;][ \t](?i:it|this|that|das|es|c'|ce|questo|este|esto|dat|to)[ \t]?(?i:{_VERB})[ \t]+[\"'`(\[]?(?=\S)"
)
"""`You asked for my IMEI. It is …`"""

_FOR = re.compile(
    r"(?:[ \t](?:/[ \t]?)?[^\W_][\w'.-]{0,20}){1,6}[ \t]?[:=](?:[ \t\r]{0,3}\n){0,2}[ \t]{0,8}[\"'`]?(?=\S)"
)
"""`IMEI for Anna: …`"""

_CALL = re.compile(r"\([ ]?(?P<quote>['\"])(?P<v>[^'\"\n]{2,160})(?P=quote)[ ]?\)")
_SECOND = re.compile(r"['\"],[ ]?(?P<quote>['\"])(?P<v>[^'\"\n]{2,160})(?P=quote)[ ]?\)")
"""The second argument of a call, where the first one is the label: `put("imei", "…")`."""

_SPEAKER = (
    r"(?:[\[(][^\[\]()\n]{1,24}[\])][ ]?|\d{1,2}:\d{2}(?::\d{2})?[ ]{1,3})?"
    r"(?:[A-Z]{3,12}[ ]{1,2}|<[^<>\n]{1,24}>|[^\W\d][\w .-]{0,30}(?:[ ]?\([^()\n]{1,20}\))?[:>])"
)
_ANSWER = r"[ \t*_]{0,4}(?P<words>)(?>(?:[^\W\d_](?:[^\W\d_]|['-]){0,20}[,:.!;]?[ \t]){0,8})[\"'`(*]{0,3}(?=[^\s<>])"
_ASKED = re.compile(
    rf"[^\n?\x9f]{{0,40}}\?(?:\n[ \t>*-]{{0,12}}{_SPEAKER}[ \t][^\n\d?\x9f]{{1,24}}(?=\n))?[\"'*_ \t]{{0,4}}"
    rf"(?:\n[ \t>*-]{{0,12}}){{0,3}}(?:{_SPEAKER})?{_ANSWER}"
)
"""The rest of a question, who answers, and words before the answer."""

_YOURS = re.compile(r"(?i)\b(?:your|ihren?|deinen?|votre|ton|tu|su|tuo|suo|seu|sua|uw|jouw|twoj|panski)\b")
_TOLD = re.compile(rf"[^\n?\x9f]{{0,24}}[.!:]?[ \t]*\n[ \t>*-]{{0,12}}{_SPEAKER}{_ANSWER}")
"""The rest of a request, such as `your IMEI, please`, and the same."""


def _apart(text: str, start: int, place: int, following: int) -> Iterator[Piece]:
    """The pieces after marks, as the value of an option (`--imei …`), or as the next argument of a call."""
    if text[place : place + 1] == "(":
        return
    match = _APART.match(text, place, place + 400)
    if match is not None and match.end() > place:
        if match["mark"] is not None or match["line"] is None or not is_last_cell(text, place):
            yield value_at(text, match.end(), following)
        return
    if text.rfind("-", max(place - 44, 0), place) >= 0 and _IS_OPTION.search(text, max(place - 44, 0), place):
        match = _OPTION.match(text, place, place + 40)
    if match is not None:
        yield value_at(text, match.end(), following)
    else:
        second = read_second(text, start, place)
        if second is not None:
            yield second


def read_second(text: str, start: int, place: int) -> Piece | None:
    """The second argument of a call whose first one is the label from `start` to `place`."""
    if "(" not in text[max(start - 2, 0) : start]:
        return None
    second = _SECOND.match(text, place, place + 200)
    return second.span("v") if second is not None else None


def _made(text: str, _start: int, place: int, _following: int) -> Iterator[Piece]:
    """The argument from which an object is made: `password: SecretStr("…")`, `imei = String::from("…")`."""
    if text.find("(", place, place + 90) < 0:
        return
    made = _MADE.match(text, place, place + 280)
    if made is not None and _NO_VALUES.search(made["callee"]) is None:
        yield made.span("v")


_MADE = re.compile(
    rf"(?>{NOUN})['\"]?\s{{0,3}}(?::[ ]?[A-Za-z][\w<>\[\].?]{{0,24}}[ ]?)?[:=]{{1,2}}>?\s{{0,3}}(?:new |&)?"
    r"(?P<callee>(?:[A-Za-z_]\w{0,24}(?:\.|::)){0,3}(?:[A-Z]\w{0,24}|(?<=::)\w{1,24}|of|from|valueOf|parse|text))"
    r"\(\s{0,8}[rbfNu&]?(?P<quote>['\"])(?P<v>[^'\"\n]{2,160})(?P=quote)"
)
_NO_VALUES = re.compile(r"(?:Error|Exception|Field|Column|Regex|Pattern|Input|Label|Option|Parameter|Header|Env)\Z")


def _called(text: str, _start: int, place: int, _following: int) -> Iterator[Piece]:
    """The argument of a call: `password("…")`, and not `login(user)`."""
    called = _CALL.match(text, place, place + 170) if text[place : place + 1] == "(" else None
    if called is not None:
        yield called.span("v")


def _after_words(text: str, _start: int, place: int, following: int) -> Iterator[Piece]:
    """The pieces after words: a sentence, bold words, or the answer to a question. An answer may begin with its value,
    or with other words.
    """
    noun = noun_end(text, place)
    for begin in (place, noun) if noun > place else (place,):
        if text[begin : begin + 1] in _WORD_FOLLOWS:
            match = _WORDS.match(text, begin, begin + 140)
            if match is not None:
                yield value_at(text, match.end(), following)
                return
    match = _BOLD.match(text, place, place + 40) or _THAT_IS.match(text, noun, noun + 40)
    if match is not None:
        yield value_at(text, match.end(), following)
        return
    if text[noun : noun + 1] in _LINE_FOLLOWS:
        match = _ASKED.match(text, noun, noun + 240) if text.find("?", noun, noun + 41) >= 0 else None
        if match is None and text.find("\n", noun, noun + 28) >= 0 and _YOURS.search(text, max(noun - 44, 0), noun):
            match = _TOLD.match(text, noun, noun + 240)
        if match is not None:
            yield value_at(text, match.end(), following)
            if match.start("words") < match.end():
                yield value_at(text, match.start("words"), following)


def _far(text: str, _start: int, place: int, following: int) -> Iterator[Piece]:
    place = noun_end(text, place)
    match = _FOR.match(text, place, place + 140) if text[place : place + 1] in _SPACE else None
    if match is not None:
        yield value_at(text, match.end(), following)


def _after_name(text: str, _start: int, place: int, following: int) -> Iterator[Piece]:
    match = _OF_NAME.match(text, place, place + 140)
    if match is not None:
        yield value_at(text, match.end(), following)


_SPACE = frozenset((" ", "\t"))
_WORD_FOLLOWS = frozenset((" ", "\t", "-", "_"))
_LINE_FOLLOWS = frozenset((" ", "\t", "?", ".", ":", "\n", "!"))

_BEGINNING = re.compile(r"(?<![A-Za-z0-9.-])(?=[A-Z]{0,6}[0-9])")


def near(text: str, place: int, following: int) -> Iterator[Piece]:
    """The pieces that begin with the next numbers after a label."""
    end = min(place + NEAR, following, len(text))
    for stop in ("\n\n", BETWEEN_TEXTS):
        at = text.find(stop, place, end)
        end = at if at >= 0 else end
    for count, found in enumerate(_BEGINNING.finditer(text, place, end)):
        if count == 2:
            return
        yield value_at(text, found.start(), following)


READERS: tuple[tuple[Evidence, Callable[[str, int, int, int], Iterator[Piece]]], ...] = (
    ("form", _made),
    ("form", _apart),
    ("words", _called),
    ("words", _after_words),
    ("far", _far),
    ("part", _after_name),
)
"""Each is called with the text, where the label begins and ends, and where the next one ends. The first that finds
something counts."""
