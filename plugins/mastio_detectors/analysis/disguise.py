"""Readings that `mastio.reading.decoding` does not offer, since they are for words only: shifted, swapped, reversed,
spelled.

Each is tried only where something in the text points to it, so a plain text costs nothing. Pure.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import NamedTuple

from mastio.reading.decoding import View, fold

_TELLTALE = tuple(
    "ignore ignoring disregard forget override previous prior above earlier instructions instruction rules prompt "  # noqa: SIM905
    "system reveal password passwords secret secrets credentials conversation developer unrestricted restrictions "
    "pretend jailbreak guidelines safety everything output print repeat".split()
)
"""Words that are telling where they stand shifted or reversed."""

ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)

TRIGGERS = {"disguised": ", ".join([word.translate(ROT13) for word in _TELLTALE] + [word[::-1] for word in _TELLTALE])}
"""A concept of the words: it is in a text that should be read shifted, or backwards."""

_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_WORD = re.compile(r"[a-z]+[013457@$!|]+[a-z013457@$!|]*|[013457@$!|]+[a-z][a-z013457@$!|]+", re.IGNORECASE)
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .\-_*|/+~]{1,2}){5,}[^\W\d_](?![^\W_])")
_SPELLED_WIDE = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .\-_*|/+~]{1,2}){2,}[^\W\d_](?![^\W_])")
_JOINTS = re.compile(
    "(ignore|disregard|forget|override|bypass|all|any|the|your|previous|prior|above|earlier|instructions|rules|guidelines|reveal|"
    "show|print|repeat|system|prompt|password|passwords|secret|secrets|send|me|you|are|now|disable|safety|filters|without|"
    "restrictions|conversation|to|and|from)"
)
HINTS = {
    "hint run": r"[a-z0-9+/_=\-]{20}|[%&\\][#a-z0-9{]",
    "hint leet": r"[a-z][013457@$!|][a-z]",
    "hint spelled": (
        r"[^a-z0-9][a-z]([ .\-_*|/+~]{1,2}[a-z]){4}[^a-z0-9]"
        r"|[\xd0-\xd3][\x80-\xbf]([ .\-_*|/+~]{1,2}[\xd0-\xd3][\x80-\xbf]){4}"
    ),
}
"""Shapes, as in `signals`, of what should be read otherwise: in an encoding, with other letters, put together."""

_TAGS = re.compile("[\U000e0020-\U000e007e]")


class Disguise(NamedTuple):
    """The signs of a disguise that were seen in a text: an encoding; telling words shifted or reversed; digits within
    words; letters that stand alone."""

    run: bool
    told: bool
    leet: bool
    spelled: bool


_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX_RUN = re.compile(r"(?:[0-9A-Fa-f]{2}){10,}")
_DIGITS = str.maketrans("-_", "+/", "=")
_WHITE = str.maketrans("", "", "\t\n\r")


def foreign_runs(text: str) -> Iterator[View]:
    """Base64 and hex of texts that are not all ASCII: `mastio.reading.decoding` reads those that are."""
    for how, pattern, decode in (("base64", _BASE64_RUN, _from_base64), ("hex", _HEX_RUN, bytes.fromhex)):
        for match in pattern.finditer(text):
            try:
                plain = decode(match[0]).decode("utf-8")
            except ValueError:
                continue
            if plain.isascii() or not plain.translate(_WHITE).isprintable():
                continue
            view = View(plain, (how,))
            view.change(0, len(plain), match.start(), match.end())
            folded = fold(plain)
            yield view if folded is None else folded.within(view)


def _from_base64(run: str) -> bytes:
    digits = run.translate(_DIGITS)
    return base64.b64decode(digits[: len(digits) - (len(digits) % 4 == 1)] + "=" * (-len(digits) % 4))


def has_tags(text: str) -> bool:
    """True if there are characters that folding removes and that spell something."""
    return not text.isascii() and _TAGS.search(text) is not None


def readings(folded: str, disguise: Disguise) -> Iterator[View]:
    """The other readings of a folded text. Their spans are the whole text: of words, not of places, they are made."""
    if disguise.told:
        yield _whole(folded.translate(ROT13), "rot13", folded)
        yield _whole(folded[::-1], "reversed", folded)
    if disguise.leet and len(_LEET_WORD.findall(folded)) >= 2:
        yield _whole(folded.translate(_LEET), "leet", folded)
    if disguise.spelled:
        joined = _SPELLED.sub(lambda match: _join(match[0]), _SPELLED_WIDE.sub(lambda match: _join(match[0]), folded))
        if joined != folded:
            yield _whole(re.sub(" {2,}", " ", joined), "spelled", folded)


def _join(spelled: str) -> str:
    """Letters without what stands between them; words apart where the gap is wider, or where known ones meet."""
    letters = re.sub(r"([^\W_])[ .\-_*|/+~](?=[^\W_])", r"\1", spelled)
    return " ".join(_JOINTS.sub(r" \1 ", word) if len(word) > 12 else word for word in letters.split())


def _whole(text: str, how: str, original: str) -> View:
    view = View(text, (how,))
    view.change(0, len(text), 0, len(original))
    return view
