"""What a concept is called in each language: the words that signals are made of.

Each language is a file with `WORDS`: a concept's words, separated by commas. A word ends where it ends, or with `*`
anywhere later; `kill/hurt him/her` is four words. Accents and case do not matter, nor do look-alike letters: both sides
are folded. Languages without spaces between words, and Arabic, whose articles and prefixes are joined to the word, are
found anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from mastio_detectors.analysis.words import ar, de, en, es, fr, it, ja, nl, pl, pt, ru, tr, zh

LANGUAGES: Mapping[str, Mapping[str, str]] = {
    "en": en.WORDS, "de": de.WORDS, "fr": fr.WORDS, "es": es.WORDS, "it": it.WORDS, "pt": pt.WORDS, "nl": nl.WORDS,
    "pl": pl.WORDS, "ru": ru.WORDS, "zh": zh.WORDS, "ja": ja.WORDS, "ar": ar.WORDS, "tr": tr.WORDS,
}  # fmt: skip

ANYWHERE = frozenset({"zh", "ja", "ar"})
"""Languages whose words need no space around them."""

WIDE = frozenset({"ru", "ar"})
"""Languages that need two bytes for a letter: what is near is twice as many bytes away."""
