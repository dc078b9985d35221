"""Labels in other alphabets, and the words and signs around them, read as the Latin words that the rules know.

Pure. A text is read after folding (`mastio.reading.decoding.fold`), where Cyrillic and Greek letters that look Latin
are Latin already; the words below are folded the same way. `read` returns a view in which `пароль: …` is `password: …`,
and in which a space stands between Latin and other letters, so that a value ends where its word ends. Linear in the
text.
"""

from __future__ import annotations

import re

from mastio.reading.decoding import View, fold
from mastio_redaction.catalogue.vocabulary import AROUND_LABELS, OTHER_ALPHABETS
from mastio_redaction.expressions import trie


def _lexicon() -> dict[str, str]:
    words: dict[str, str] = {}
    for latin, said in (*AROUND_LABELS.items(), *OTHER_ALPHABETS.items()):
        for word in said.split():
            folded = word.replace("_", " ").lower()
            view = fold(folded)
            words[folded if view is None else view.text.lower()] = latin
    return words


_LEXICON = _lexicon()
_OTHER = re.compile("[\u0370-\uffff]")
_IDEOGRAPHS = "\u0e00-\u0e7f\u1100-\u11ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f"
_ANY_LABEL = re.compile(trie(sorted(word for word, latin in _LEXICON.items() if latin not in AROUND_LABELS)))
_BESIDE = re.compile(rf"[{_IDEOGRAPHS}][0-9A-Za-z][0-9A-Za-z @._-]{{4}}|[0-9A-Za-z]{{5}}[{_IDEOGRAPHS}]")
"""A value without a space between it and other letters."""

_FIRST_IDEOGRAPH = "\u0e00"

_PIECE = re.compile(
    rf"(?i:(?P<word>(?:(?<![^\W_])|(?=[{_IDEOGRAPHS}]))(?:{trie(sorted(_LEXICON))})"
    rf"(?:(?<=[{_IDEOGRAPHS}])|(?![^\W\d_]))))"
    rf"|(?<=[!-~])(?P<edge>)(?=[{_IDEOGRAPHS}])|(?<=[{_IDEOGRAPHS}])(?P<other>)(?=[0-9A-Za-z])"
)


def _has_label(folded: str) -> bool:
    return any(
        match[0] >= _FIRST_IDEOGRAPH or not folded[match.start() - 1 : match.start()].isalpha()
        for match in _ANY_LABEL.finditer(folded.lower())
    )


def read(text: str, folded: str) -> View | None:
    """A text, `folded`, with Latin words for the labels in it; None where it has no other alphabet."""
    if _OTHER.search(text) is None:
        return None
    if not _has_label(folded) and _BESIDE.search(folded) is None:
        return None
    view = View("")
    pieces: list[str] = []
    done = length = 0
    for match in _PIECE.finditer(folded):
        start, end = match.span()
        before = folded[done:start] if start > done else pieces[-1] if pieces else ""
        latin = _LEXICON[match[0].lower()] if match["word"] else ""
        if before[-1:].isalnum() or (not latin and before[-1:] != " "):
            latin = f" {latin}"
        if match["word"] and folded[end : end + 1].isalnum():
            latin += " "
        pieces += (folded[done:start], latin)
        length += start - done
        view.change(length, length + len(latin), start, end)
        length += len(latin)
        done = end
    if not pieces:
        return None
    pieces.append(folded[done:])
    view.text = "".join(pieces)
    return view
