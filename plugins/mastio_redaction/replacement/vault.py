"""The replacements of one exchange and their originals, to restore for the caller. Pure, and gone with the exchange.

No two values have one token. What the model echoes is put back wherever it stands: tags with the underscores and
brackets that Markdown and HTML escape, the other tokens as whole words, and all but encrypted ones in any case.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from mastio_redaction.engine import Span
from mastio_redaction.expressions import trie
from mastio_redaction.replacement.strategies import RESTORABLE, SUFFIX, Keys, Replaced, Strategy, replace

Choose = Callable[[Span], Strategy | None]
"""Returns the strategy for a value; None: it stays."""

_ATTEMPTS = 64


class Vault:
    """The values of one exchange. `scope` bounds where the same value has the same tag, such as a session."""

    __slots__ = ("_keys", "_matcher", "_originals", "_scope", "_tokens")

    def __init__(self, keys: Keys, scope: bytes = b"") -> None:
        self._keys = keys
        self._scope = scope
        self._tokens: dict[tuple[Strategy, str, str], Replaced] = {}
        self._originals: dict[str, str] = {}
        """Plain form of a token to its value."""

        self._matcher: _Matcher | None = None

    def __len__(self) -> int:
        """Tokens that can be turned back."""
        return len(self._originals)

    def replace(self, strategy: Strategy, kind: str, value: str) -> Replaced:
        """The token for a value, the same one each time."""
        known = self._tokens.get((strategy, kind, value))
        if known is not None:
            return known
        made = replace(strategy, kind, value, self._keys, scope=self._scope)
        if made.strategy in RESTORABLE:
            plain = _plain(made.token)
            if self._originals.get(plain, value) != value:
                made = self._unlike_others(made, strategy, kind, value)
                plain = _plain(made.token)
            self._originals[plain] = value
            self._matcher = None
        self._tokens[strategy, kind, value] = made
        return made

    def _unlike_others(self, made: Replaced, strategy: Strategy, kind: str, value: str) -> Replaced:
        """Another token where this one is another value's. Ends in a long tag, which is nobody's."""
        attempt = 0
        while self._originals.get(_plain(made.token), value) != value:
            attempt += 1
            if made.strategy == "tag" or strategy == "fpe" or attempt > _ATTEMPTS:
                size = min(SUFFIX + 4 * attempt, 64)
                made = replace("tag", kind, value, self._keys, scope=self._scope, suffix=size)._replace(why=made.why)
            else:
                made = replace(strategy, kind, value, self._keys, scope=self._scope, attempt=attempt)
        return made

    def apply(self, text: str, spans: Sequence[Span], choose: Choose) -> str:
        """`text` with its values replaced. `spans` in order, none overlapping."""
        pieces: list[str] = []
        done = 0
        for span in spans:
            strategy = choose(span)
            if strategy is None:
                continue
            pieces += (text[done : span.start], self.replace(strategy, span.type, text[span.start : span.end]).token)
            done = span.end
        pieces.append(text[done:])
        return "".join(pieces)

    def is_token(self, text: str) -> bool:
        """True if the whole text is a token that can be turned back."""
        return bool(self._originals) and _plain(text) in self._originals

    def restore(self, text: str) -> str:
        """`text` with every token turned back."""
        if not self._originals:
            return text
        return self.matcher().restore(text, len(text), "")

    def matcher(self) -> _Matcher:
        if self._matcher is None:
            self._matcher = _Matcher(self._originals)
        return self._matcher


class Restorer:
    """Turns tokens back in a text that comes in pieces. Holds back what may be the beginning of one, and no more."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._pending = ""
        self._before = ""
        """The last character that was released: a word begins only behind something else."""

    @property
    def held(self) -> int:
        return len(self._pending)

    def feed(self, text: str) -> str:
        """Returns the text that may be released."""
        if not len(self._vault):
            return text
        self._pending += text
        matcher = self._vault.matcher()
        return self._release(matcher.held_from(self._pending, self._before))

    def close(self) -> str:
        return self._release(len(self._pending))

    def _release(self, end: int) -> str:
        if end == 0:
            return ""
        restored = self._vault.matcher().restore(self._pending, end, self._before)
        self._before, self._pending = self._pending[end - 1], self._pending[end:]
        return restored


_OPEN = r"(?:\\?<|&lt;)"
_SHUT = r"(?:\\?>|&gt;)"
_ESCAPES = ("&lt", "&gt", "&l", "&g", "&", "\\")
"""The possible ends of a text that may begin an escape."""

_ENTITIES = re.compile(r"&([lg])t;", re.IGNORECASE)


def _plain(text: str) -> str:
    """The form by which a token is looked up: without escapes, and in lower case unless case matters."""
    if text[:1] in ("<", "\\", "&") and ("&" in text or "\\" in text):
        text = _ENTITIES.sub(lambda match: "<" if match[1] in "lL" else ">", text).replace("\\", "")
    return text if "~" in text else text.lower()


class _Matcher:
    """One expression for all tokens of a vault."""

    def __init__(self, originals: dict[str, str]) -> None:
        self._originals = originals
        self._tokens = sorted(map(str.lower, originals))
        self._longest = max(map(len, originals))
        tags = [token for token in originals if token.startswith("<")]
        words = [token for token in originals if not token.startswith("<")]
        parts = []
        if tags:  # any tag, looked up afterwards: none has a bracket inside
            parts.append(rf"{_OPEN}(?:[A-Za-z0-9~-]|\\?_){{1,{max(map(len, tags))}}}{_SHUT}")
        if words:
            parts.append(rf"(?<![^\W_]){trie(words)}(?![^\W_])")
        self._pattern = re.compile("|".join(parts), re.IGNORECASE)
        first = {token[0] for token in originals}
        self._first = frozenset(first | {letter.upper() for letter in first} | set("\\&" if tags else ""))
        self._tags = bool(tags)

    def restore(self, text: str, end: int, before: str) -> str:
        """`text` up to `end` with its tokens turned back; `before` is what stood before it."""
        joined, done, end = before + text, len(before), len(before) + end
        pieces: list[str] = []
        for match in self._matches(joined, done):
            if match.end() <= end:
                pieces += (joined[done : match.start()], self._originals[_plain(match[0])])
                done = match.end()
        pieces.append(joined[done:end])
        return "".join(pieces)

    def _matches(self, text: str, start: int) -> Iterator[re.Match[str]]:
        return (match for match in self._pattern.finditer(text, start) if _plain(match[0]) in self._originals)

    def held_from(self, text: str, before: str) -> int:
        """The start of the part that may be the beginning of a token, or depends on the next character."""
        joined, shift = before + text, len(before)
        found = {match.start() - shift: match.end() - shift for match in self._matches(joined, shift)}
        at = max(len(text) - 2 * self._longest - 8, 0)
        at = max((end for start, end in found.items() if start < at), default=at)
        while at < len(text):
            if text[at] in self._first and self._may_be(text[at:], text[at - 1] if at else before):
                return at
            at = found.get(at, at + 1)  # what is inside a token begins none
        return len(text)

    def _may_be(self, text: str, before: str) -> bool:
        if self._tags:
            escape = next((escape for escape in _ESCAPES if text.endswith(escape)), "")
            if escape == text or (escape and self._begins(_plain(text[: -len(escape)]))):
                return True
        plain = _plain(text)
        if plain.startswith("<"):
            return plain not in self._originals and self._begins(plain)
        return not before.isalnum() and self._begins(plain)

    def _begins(self, plain: str) -> bool:
        """True if a token begins with this, or with this in another case."""
        plain = plain.lower()
        place = bisect_left(self._tokens, plain)
        return place < len(self._tokens) and self._tokens[place].startswith(plain)
