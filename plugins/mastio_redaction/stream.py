"""One text that comes in pieces: what may be released is released, what may still become part of a value is not.

Pure. A value is one of three things, and each says what has to be held back:

* a *token*, which has no space inside: the last token is held until it ends;
* a *run* of groups and words (`4111 1111 …`, `DE89 3704 …`, `12 rue de la Paix`, `Emily Carter`): the words at the end
  that may be the beginning of one are held, `MAX_RUN` characters at most;
* a *block* (a private key): once begun it is swallowed to its end.

Whatever hides a value (full-width digits, zero-width characters, percent, base64) is inside tokens, and folding comes
before everything else. What was released stays known for `CONTEXT` characters, as the words before a value.
Nothing grows without bound: a token of more than `MAX_TOKEN` characters, or a block of more than `MAX_BLOCK`, is
reported as far as that, and the rest of it is dropped, since nobody can say what is in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from mastio.reading import decoding
from mastio_redaction.catalogue.names import PARTICLES
from mastio_redaction.checks.tables import LINKS, MONTHS
from mastio_redaction.engine import Engine, Span
from mastio_redaction.labels.cells import MAX_HEAD
from mastio_redaction.labels.columns import find_table_head
from mastio_redaction.labels.labels import MAX_NAME, split_words

CONTEXT = 160
MAX_RUN = 64
MAX_TOKEN = 16_384
MAX_BLOCK = 65_536

UNREADABLE = "UNREADABLE"
"""The type of a token that never ends."""

_BLOCK = "PRIVATE_KEY"
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_END_MOST = 96

_VISIBLE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"<>')
"""What tokens are made of, after folding. Quotes and angle brackets are in no value; other scripts are in none either.
(A custom expression of another script is held back by its width: `Engine.width`.)"""

_HIDDEN = "".join(chr(code) for code in (*range(9), *range(0x0E, 0x20), 0x7F))
_TOKEN = _VISIBLE + _HIDDEN

_LINKS = LINKS | PARTICLES
_STARTS = frozenset(("calle", "via", "viale", "avenida", "rua", "piazza", "corso", "ssh-rsa", "ssh-dss"))
_WORDS = re.compile(r"[^\s,()]+")
_LAST_LINE = re.compile(r"[A-Za-z0-9+/]{60,}\r?")


class Settled(NamedTuple):
    """Text that may be released, with the values in it."""

    text: str
    spans: list[Span]


class Stream:
    """The scanner of one channel. Not for several threads."""

    def __init__(self, engine: Engine, *, name: str = "", only: Collection[str] | None = None) -> None:
        self._engine = engine
        self._only = only
        self._context = f"{split_words(name[-MAX_NAME:])}: " if name else ""
        self._head = ""
        """The head of the table whose rows come now, with the line end."""
        self._rows = ""
        """The last text that was released, in which a table may have begun."""
        self._pending = ""
        self._block: list[str] | None = None
        self._block_size = 0
        self._dropping = False
        self._solid = False
        """All of `_pending` is one token that is longer than any run."""

    @property
    def held(self) -> int:
        """Characters that were fed and are not settled."""
        return len(self._pending) + self._block_size

    def feed(self, text: str) -> list[Settled]:
        return self._advance(text, last=False)

    def close(self) -> list[Settled]:
        """Returns the text that was held back. The stream cannot be fed any more."""
        settled = self._advance("", last=True)
        if self._block is not None:
            settled.append(self._end_block(""))
        return settled

    def _advance(self, text: str, last: bool) -> list[Settled]:
        settled: list[Settled] = []
        while True:
            if self._dropping:
                text = self._drop(text)
            if self._block is not None:
                rest = self._swallow(text)
                if rest is None:
                    return settled
                settled.append(self._end_block(rest[0]))
                text = rest[1]
            self._pending += text
            if self._solid and not last and _is_solid(text):  # more of a long token: nothing to look at again
                return settled + (self._overflow() if len(self._pending) > MAX_TOKEN else [])
            text = ""
            settled += self._settle(last)
            if self._block is None or not self._pending:
                return settled
            text, self._pending = self._pending, ""

    # --- tokens and runs

    def _settle(self, last: bool) -> list[Settled]:
        """Releases what can be released of `_pending`; begins a block where one begins."""
        pending = self._pending
        hold = len(pending) if last else self._held_from(pending)
        self._solid = hold == 0 and len(pending) > MAX_RUN
        if hold == 0:
            return self._overflow() if len(pending) > MAX_TOKEN else []
        spans = self._engine.find_after(self._before(), pending, only=self._only)
        for span in spans:
            if span.type == _BLOCK and span.end == len(pending) and not self._is_closed(pending[span.start :]):
                done = self._release(span.start, spans)
                self._block, self._block_size = [], 0
                return done
        if not last:
            for span in reversed(spans):
                if span.end + _REACH.get(span.type, 0) > hold:
                    hold = min(hold, span.start)
        return self._release(hold, spans)

    def _before(self) -> str:
        """The released text that may have labels: the last characters, or the head and last rows of a table."""
        if not self._head:
            return self._context
        row = self._context.find("\n") + 1
        return self._head + (self._context[row:] if row else self._rows)

    def _release(self, end: int, spans: list[Span]) -> list[Settled]:
        if end == 0:
            return []
        text = self._pending[:end]
        self._context = (self._context + text)[-CONTEXT:]
        self._rows = (self._rows + text)[-2 * MAX_HEAD :]
        if "\n" in text:
            self._head = find_table_head(self._head, self._rows)
            self._rows = self._rows[self._rows.rfind("\n") + 1 :] if self._head else self._rows[-CONTEXT:]
        self._pending = self._pending[end:]
        return [Settled(text, [span for span in spans if span.end <= end])]

    def _overflow(self) -> list[Settled]:
        text, self._pending = self._pending, ""
        self._context, self._solid = "", False
        self._dropping = True
        return [Settled(text, [Span(0, len(text), UNREADABLE, 1.0)])]

    def _drop(self, text: str) -> str:
        """The text after the token that is dropped."""
        if _is_solid(text):
            return ""
        view = decoding.fold(text)
        subject = text if view is None else view.text
        rest = subject.lstrip(_TOKEN)
        self._dropping = False
        at = len(subject) - len(rest)
        return text[at if view is None else view.span(at, at + 1)[0] :]

    def _held_from(self, pending: str) -> int:
        """The start of the part that may still become a value."""
        view = decoding.fold(pending)
        subject = pending if view is None else view.text
        at = held_from(subject)
        if (width := self._engine.width) and at > len(subject) - width:
            at = max(len(subject) - width, 0)
        if view is None:
            return at
        return view.span(at, at + 1)[0] if at < len(subject) else len(pending)

    # --- blocks

    def _is_closed(self, text: str) -> bool:
        view = decoding.fold(text)
        return _BLOCK_END.search(text if view is None else view.text) is not None

    def _swallow(self, text: str) -> tuple[str, str] | None:
        """The last of the block and what follows it; None while it has no end."""
        assert self._block is not None
        tail = "".join(self._block)[-_BLOCK_END_MOST:] if self._block_size <= MAX_BLOCK else self._block[-1]
        joined = tail + text
        view = decoding.fold(joined)
        match = _BLOCK_END.search(joined if view is None else view.text)
        if match is not None:
            end = match.end() if view is None else view.span(match.end() - 1, match.end())[1]
            return text[: end - len(tail)], text[end - len(tail) :]
        if self._block_size <= MAX_BLOCK:
            self._block.append(text[: MAX_BLOCK + 1])
            self._block_size += len(self._block[-1])
            if self._block_size > MAX_BLOCK:
                self._block.append("")
        if self._block_size > MAX_BLOCK:
            self._block[-1] = joined[-_BLOCK_END_MOST:]
        return None

    def _end_block(self, rest: str) -> Settled:
        assert self._block is not None
        parts = self._block[:-1] if self._block_size > MAX_BLOCK else self._block
        text = "".join(parts)[:MAX_BLOCK] + rest
        self._block, self._block_size = None, 0
        self._context = "\n"
        return Settled(text, [Span(0, len(text), _BLOCK, 0.99)])


_REACH = {"STREET_ADDRESS": 18, "PERSON": 3, "PHONE_NUMBER": 3, "CREDIT_CARD": 3, "DATE_OF_BIRTH": 3}
"""How far behind a hit something may stand that would still be part of it."""


def _is_solid(text: str) -> bool:
    view = decoding.fold(text)
    return not (text if view is None else view.text).lstrip(_TOKEN)


def held_from(subject: str) -> int:
    """The start of the last token in a folded text, or of the words that may begin a value."""
    start = len(subject.rstrip(_TOKEN))
    while start and subject[start - 1] == "\n":  # lines of base64 are one token
        line = len(subject[: start - 1].rstrip(_TOKEN + "\r"))
        if not _LAST_LINE.fullmatch(subject, line, start - 1):
            break
        start = line
    floor = max(len(subject) - MAX_RUN, 0)
    if start <= floor or not _may_go_on(subject[start:]):
        return start
    return _run_from(subject, floor, start)


def _run_from(subject: str, floor: int, start: int) -> int:
    """The beginning of the words before `start`, on its line, that may belong together with what comes there."""
    line = max(subject.rfind(end, floor, start) for end in '\n"<>') + 1
    if line == 0 and floor:  # a word that is cut there is none
        line = subject.find(" ", floor, start) + 1 or start
    held, at = start, start
    for word in reversed(list(_WORDS.finditer(subject, max(line, floor), start))):
        if at - word.end() > 3:
            break
        at, text = word.start(), word[0]
        if _may_begin(text):
            held = at
        elif text.lower() not in _LINKS and text.strip("-+#/.&"):
            break
    while held > floor and subject[held - 1] in "(+":
        held -= 1
    return held


def _may_begin(word: str) -> bool:
    """True if a run may begin with the word, or have it in its midst."""
    letter = word.lstrip("-+#/.&'[{")[:1]
    lower = word.lower()
    return (
        letter.isupper()
        or any(c.isdigit() for c in word)
        or lower in _STARTS
        or (lower.startswith(MONTHS) and len(word) <= 10)
    )


def _may_go_on(word: str) -> bool:
    """True if a word that may not be whole yet may stand inside a run."""
    word = word.strip(_HIDDEN)
    if not word or _may_begin(word) or not word.strip("-+#/.&'"):
        return True
    lower = word.lower()
    return any(link.startswith(lower) for link in _LINKS) or any(month.startswith(lower) for month in MONTHS)
