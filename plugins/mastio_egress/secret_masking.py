"""Keeps the secrets that a connection's upstream has seen from coming back to the agent. Pure.

An upstream may repeat its request: in an error, a debug page, a redirect. `Needles` are the forms in which usual
software repeats a secret: as it is, percent-encoded, escaped for JSON or HTML, in hex, and in base64 at any offset.
`Masker` replaces each byte of them in a stream by `*`, so that the length does not change. `Decoded` is for streams
that came compressed in spite of the request: nothing can be replaced there, so they are refused.

An upstream that hides a secret on purpose (with any cipher of its own) is not detected: it has the secret, and may give
it to anyone.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import hyperscan

from mastio.exchange.errors import DispatchError
from mastio.host.automata import compile_automaton

Headers = list[tuple[bytes, bytes]]
Atom = tuple[bytes, ...]
"""One piece of a form: any of these. None is the beginning of another one, so that there is one way to read it."""

SHORTEST = 8
"""The fewest characters of base64 that are searched for: shorter ones occur by chance."""

PIECE = 64 * 1024
"""Bytes that are decompressed at once."""

TRUSTED = 1024 * 1024
"""Bytes that may be decompressed before the ratio counts."""

MOST_RATIO = 200
MOST_HELD = 1024 * 1024
"""The most compressed bytes that are held back before their content is known."""

_NO = -1
_PARTIAL = -2
_ANCHOR = 16
_MOST_ATOMS = 6
"""The bytes, and the most atoms, of a form by which the automaton finds it: the last ones, since many secrets begin
alike."""

_HEAD = 4
"""Bytes by which the beginning of a form is found at the end of a piece."""

_NAMED = {"&": b"&amp;", "<": b"&lt;", ">": b"&gt;", '"': b"&quot;", "'": b"&apos;"}
_SHORT = {"\b": b"\\b", "\t": b"\\t", "\n": b"\\n", "\f": b"\\f", "\r": b"\\r", '"': b'\\"', "/": b"\\/", "'": b"\\'"}
_BASE64: dict[int, Atom] = {
    ord("+"): (b"+", b"-", b"%2B", b"%2b", b"\\u002b", b"\\u002B", b"&#43;", b"&#x2b;", b"&#x2B;"),
    ord("/"): (b"/", b"_", b"%2F", b"%2f", b"\\/", b"\\u002f", b"\\u002F", b"&#47;", b"&#x2f;", b"&#x2F;"),
}


# --- the forms of a secret -------------------------------------------------------------------------------------------


class Form:
    """One way to write a secret: a sequence of atoms. `folds`: case does not count, and the atoms are in lower case."""

    __slots__ = ("atoms", "folds", "longest")

    def __init__(self, atoms: Iterable[Atom], folds: bool = False) -> None:
        self.atoms = _join(atoms)
        self.folds = folds
        self.longest = sum(max(map(len, atom)) for atom in self.atoms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and (self.atoms, self.folds) == (other.atoms, other.folds)

    def __hash__(self) -> int:
        return hash((self.atoms, self.folds))

    def fold(self) -> Form:
        """This form without regard to case."""
        lower = [tuple(dict.fromkeys(piece.lower() for piece in atom)) for atom in self.atoms]
        # where one piece is the beginning of another now, the longer one is read first
        return Form((tuple(sorted(atom, key=len, reverse=True)) for atom in lower), folds=True)

    def anchor(self) -> bytes:
        """An expression for the last bytes of the form."""
        pieces: list[bytes] = []
        size = 0
        for atom in reversed(self.atoms):
            if len(atom) == 1:
                pieces.append(_quote(atom[0][-_ANCHOR:]))
            else:
                pieces.append(b"(?:" + b"|".join(map(_quote, atom)) + b")")
            size += min(map(len, atom))
            if size >= _ANCHOR or len(pieces) == _MOST_ATOMS:
                break
        return b"".join(reversed(pieces))

    def read(self, data: bytes, at: int) -> int:
        """The end of the form at `at`. Negative: it is not there (`_NO`), or `data` ends before it does
        (`_PARTIAL`)."""
        for atom in self.atoms:
            for alternative in atom:
                if data.startswith(alternative, at):
                    at += len(alternative)
                    break
            else:
                rest = data[at : at + self.longest]
                is_cut = at + len(rest) == len(data) and any(alternative.startswith(rest) for alternative in atom)
                return _PARTIAL if is_cut else _NO
        return at

    def find(self, data: bytes, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Start and end of every place that begins between `first` and `last`, overlapping ones too."""
        for start in self.atoms[0]:
            at = data.find(start, first, last)
            while at >= 0:
                end = self.read(data, at)
                if end >= 0:
                    yield at, end
                at = data.find(start, at + 1, last)

    def find_cut(self, data: bytes) -> int:
        """The start of the form that may continue after the end of `data`; the length of `data` if there is none."""
        size = len(data)
        found = size
        first = max(0, size - self.longest + 1)
        for start in self.atoms[0]:
            head = start[:_HEAD]
            at = data.find(head, first)
            while 0 <= at < found:
                if self.read(data, at) == _PARTIAL:
                    found = at
                    break
                at = data.find(head, at + 1)
            for at in range(max(first, size - len(head) + 1), found):
                if head.startswith(data[at:]):
                    found = at
                    break
        return found


def _join(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """The atoms, with adjacent atoms of a single alternative joined."""
    joined: list[Atom] = []
    for atom in atoms:
        if len(atom) == 1 and joined and len(joined[-1]) == 1:
            joined[-1] = (joined[-1][0] + atom[0],)
        else:
            joined.append(atom)
    return tuple(joined)


def _quote(data: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in data)


def forms_of(secret: bytes) -> list[Form]:
    """The forms of a secret, each one once."""
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        text = secret.decode("latin-1")
    forms = [
        Form([(secret,)]),
        Form(map(_percent, secret)),
        Form(_percent(byte, b"%25") for byte in secret),
        Form(map(_escaped, text)),
        Form(map(_referred, text)),
        Form(((b"%%%02x" % byte,) for byte in secret), folds=True),
        Form(((b"%02x" % byte,) for byte in secret), folds=True),
        Form(((b"\\x%02x" % byte,) for byte in secret), folds=True),
        Form(((_units(character),) for character in text), folds=True),
        Form((b"&#%d;" % ord(character),) for character in text),
        Form(((b"&#x%x;" % ord(character),) for character in text), folds=True),
        *_base64(secret),
    ]
    return list(dict.fromkeys(forms))


def _raw(character: str) -> bytes:
    return character.encode("utf-8", "surrogatepass")


def _plain(character: str) -> bool:
    """True if none of the usual encodings changes the character."""
    return character.isascii() and character.isalnum()


def _percent(byte: int, sign: bytes = b"%") -> Atom:
    """RFC 3986 §2.1, and a form's `+` (WHATWG URL §5). `sign`: how the percent sign itself comes out."""
    raw = bytes((byte,))
    if raw.isalnum():
        return (raw,)
    forms = [sign + b"%02X" % byte, sign + b"%02x" % byte]
    return tuple(dict.fromkeys(forms if raw == b"%" else [raw, *forms, *([b"+"] if raw == b" " else ())]))


def _units(character: str) -> bytes:
    """RFC 8259 §7: `\\u0041`, beyond the first plane as a pair."""
    units = character.encode("utf-16-be", "surrogatepass")
    return b"".join(b"\\u%02x%02x" % (units[n], units[n + 1]) for n in range(0, len(units), 2))


def _escaped(character: str) -> Atom:
    """RFC 8259 §7, and what JavaScript and Python have beyond it."""
    if _plain(character):
        return (_raw(character),)
    units = _units(character)
    atom = [units, b"\\u".join(part.upper() for part in units.split(b"\\u"))]
    if ord(character) < 0x100:
        atom += [b"\\x%02x" % ord(character), b"\\x%02X" % ord(character)]
    if character == "\\":
        return tuple(dict.fromkeys([*atom, b"\\\\"]))
    return tuple(dict.fromkeys([_raw(character), *atom, *([_SHORT[character]] if character in _SHORT else ())]))


def _referred(character: str) -> Atom:
    """Character references of HTML and XML."""
    if _plain(character):
        return (_raw(character),)
    code = ord(character)
    atom = [b"&#%d;" % code, b"&#%03d;" % code, b"&#x%x;" % code, b"&#x%X;" % code]
    if character in _NAMED:
        atom.append(_NAMED[character])
    return tuple(dict.fromkeys(atom if character == "&" else [_raw(character), *atom]))


def _base64(secret: bytes) -> Iterator[Form]:
    """The forms of a secret in base64 and base64url (RFC 4648 §4, §5) at each of the three offsets, without the
    characters that depend on the bytes before and after it."""
    for before in range(3):
        known = b64encode(bytes(before) + secret)[(before * 8 + 5) // 6 : (before + len(secret)) * 8 // 6]
        if len(known) >= SHORTEST:
            yield Form(_BASE64.get(byte, (bytes((byte,)),)) for byte in known)


class Needles:
    """The forms of secrets that must not come back. They take some milliseconds to make, and are kept as long as the
    secrets stay."""

    __slots__ = ("_automaton", "_folded", "_forms", "_hits")

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._init(list(dict.fromkeys(form for secret in secrets if secret for form in forms_of(secret))))

    def _init(self, forms: list[Form]) -> None:
        self._forms = forms
        self._folded: Needles | None = None
        self._hits: dict[int, list[int]] = {}
        if self._forms:
            flags = [form.folds * hyperscan.HS_FLAG_CASELESS for form in self._forms]
            self._automaton = compile_automaton([form.anchor() for form in self._forms], flags)

    def __bool__(self) -> bool:
        return bool(self._forms)

    @property
    def folded(self) -> Needles:
        """The same needles without regard to case, for header names, which are in lower case here."""
        if self._folded is None:
            self._folded = Needles(())
            self._folded._init(list(dict.fromkeys(form.fold() for form in self._forms)))
        return self._folded

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """The places of needles in `data`, in order. Overlapping places are joined."""
        if not self._forms or not data:
            return []
        self._hits.clear()
        self._automaton.scan(data, match_event_handler=self._hit)
        if not self._hits:
            return []
        folded = data.lower() if any(self._forms[number].folds for number in self._hits) else data
        found: list[tuple[int, int]] = []
        for number, ends in self._hits.items():
            form = self._forms[number]
            for first, last in merge((max(0, end - form.longest), end) for end in ends):
                found += form.find(folded if form.folds else data, first, last)
        return merge(sorted(found))

    def _hit(self, number: int, start: int, end: int, flags: int, context: object) -> None:
        self._hits.setdefault(number, []).append(end)

    def find_cut(self, data: bytes) -> int:
        """The start of the earliest needle that may continue after the end of `data`; the length of `data` if there is
        none."""
        found = len(data)
        for form in self._forms:
            tail = data[max(0, len(data) - form.longest) :]
            if form.folds:
                tail = tail.lower()
            found = min(found, len(data) - len(tail) + form.find_cut(tail))
        return found

    def mask(self, data: bytes) -> bytes:
        """A whole text with `*` in place of needles."""
        found = self.find(data)
        return cover(data, found) if found else data


def merge(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def cover(data: bytes, places: Iterable[tuple[int, int]]) -> bytes:
    covered = bytearray(data)
    for start, end in places:
        end = min(end, len(data))
        covered[start:end] = b"*" * (end - start)
    return bytes(covered)


# --- streams ---------------------------------------------------------------------------------------------------------


class EchoFilter(Protocol):
    """Takes a body as it comes, and returns the part of it that may go on. Pass pieces of about 64 KiB, and yield to
    other exchanges between them."""

    @property
    def masked(self) -> int:
        """The number of places that were masked so far."""

    def feed(self, data: bytes) -> bytes: ...

    def close(self) -> bytes: ...

    def whole(self, data: bytes) -> bytes:
        """The result for a whole body, in place of `feed` and `close`."""


class Masker:
    """Replaces needles by `*`. Holds back only bytes that may still become part of one."""

    __slots__ = ("_cut", "_held", "_needles", "masked")

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._held = b""
        self._cut = 0  # bytes of what is held that belong to a place which began before it
        self.masked = 0

    @property
    def held(self) -> int:
        return len(self._held)

    def feed(self, data: bytes) -> bytes:
        if self._held:
            data = self._held + data
        return self._release(data, self._needles.find_cut(data))

    def close(self) -> bytes:
        return self._release(self._held, len(self._held))

    def whole(self, data: bytes) -> bytes:
        return self._release(data, len(data))

    def _release(self, data: bytes, until: int) -> bytes:
        """Mask `data` and return it up to `until`. Places that begin further on are found again with the next piece."""
        if not until:
            self._held = data
            return b""
        places = self._needles.find(data)
        if self._cut:
            places = merge([(0, self._cut), *places])
        places = [place for place in places if place[0] < until]
        self.masked += len(places) - (self._cut > 0)
        self._cut = max(0, places[-1][1] - until) if places else 0
        self._held = data[until:]
        released = data if until == len(data) else data[:until]
        return cover(released, places) if places else released


class Decoded:
    """Passes a compressed body on unchanged, once its content is known to be free of needles.

    Raises `DispatchError` if it is not, for data that is not gzip or zlib, and for an extreme ratio of compression.
    """

    __slots__ = ("_ahead", "_coding", "_decoded", "_inflater", "_masker", "_raw", "_start", "_waiting")

    def __init__(self, needles: Needles, coding: bytes) -> None:
        self._masker = Masker(needles)
        self._coding = coding
        self._inflater: zlib._Decompress | None = None
        self._start = b""
        self._waiting: deque[tuple[bytes, int]] = deque()  # with how much had been said at its end
        self._ahead = 0
        self._raw = 0
        self._decoded = 0

    masked = 0

    def feed(self, data: bytes) -> bytes:
        self._raw += len(data)
        self._inflate(data)
        self._waiting.append((data, self._decoded))
        self._ahead += len(data)
        released = []
        while self._waiting and self._waiting[0][1] <= self._decoded - self._masker.held:
            released.append(self._waiting.popleft()[0])
            self._ahead -= len(released[-1])
        if self._ahead > MOST_HELD:
            raise _unreadable()
        return b"".join(released)

    def close(self) -> bytes:
        if self._raw and (self._inflater is None or not self._inflater.eof):
            raise _unreadable()
        self._masker.close()
        self._verify()
        return b"".join(data for data, _ in self._waiting)

    def whole(self, data: bytes) -> bytes:
        return self.feed(data) + self.close()

    def _inflate(self, data: bytes) -> None:
        data, self._start = self._start + data, b""
        while data:
            if self._inflater is None:
                if self._coding == b"deflate" and len(data) < 2:
                    self._start = data
                    return
                self._inflater = zlib.decompressobj(_window_bits(self._coding, data))
            elif self._inflater.eof:
                if self._coding == b"deflate":
                    raise _unreadable()
                self._inflater = zlib.decompressobj(_window_bits(self._coding, data))  # RFC 1952 §2.2: one more member
            data = self._inflate_some(self._inflater, data)

    def _inflate_some(self, inflater: zlib._Decompress, data: bytes) -> bytes:
        """Decompress `data` and search the content. Return the bytes of `data` after the end of the compressed stream.
        Raises `DispatchError`."""
        while True:
            try:
                said = inflater.decompress(data, PIECE)
            except zlib.error as error:
                raise _unreadable() from error
            self._decoded += len(said)
            if self._decoded > max(TRUSTED, MOST_RATIO * self._raw):
                raise DispatchError("The upstream's reply is compressed beyond all proportion.")
            self._masker.feed(said)
            self._verify()
            data = inflater.unconsumed_tail
            if inflater.eof:
                return inflater.unused_data
            if not data and len(said) < PIECE:
                return b""

    def _verify(self) -> None:
        if self._masker.masked:
            raise DispatchError("The upstream's reply repeats what it must not, where nothing can be put in its place.")


class Whole:
    """The filter for replies to requests without a secret: it changes nothing."""

    masked = 0

    def feed(self, data: bytes) -> bytes:
        return data

    def close(self) -> bytes:
        return b""

    def whole(self, data: bytes) -> bytes:
        return data


def _window_bits(coding: bytes, data: bytes) -> int:
    """The `wbits` for zlib. `deflate` is RFC 1950, but some servers leave out its frame."""
    if coding == b"gzip":
        return 16 + zlib.MAX_WBITS
    is_framed = data[0] & 15 == zlib.DEFLATED and (data[0] << 8 | data[1]) % 31 == 0
    return zlib.MAX_WBITS if is_framed else -zlib.MAX_WBITS


def _unreadable() -> DispatchError:
    return DispatchError("The upstream's reply is compressed in a way that cannot be looked into.")


def open_filter(needles: Needles, headers: Headers) -> EchoFilter:
    """The filter for the body of a reply with these headers (names in lower case). Raises `DispatchError` for a coding
    that cannot be decoded."""
    if not needles:
        return Whole()
    codings = [
        coding.strip().lower() for name, value in headers if name == b"content-encoding" for coding in value.split(b",")
    ]
    codings = [coding for coding in codings if coding not in (b"", b"identity")]
    if not codings:
        return Masker(needles)
    coding = codings[0].removeprefix(b"x-")  # RFC 9110 §8.4.1.3
    if len(codings) > 1 or coding not in (b"gzip", b"deflate"):
        raise _unreadable()
    return Decoded(needles, coding)


def mask_headers(headers: Headers, needles: Needles) -> tuple[Headers, int]:
    """The headers with needles masked in names and values, and the number of headers that had one. Names are in lower
    case, whatever the upstream wrote, so case does not count in them."""
    if not needles:
        return headers, 0
    names = needles.folded
    in_names = names.find(b"\n".join(name for name, _ in headers))
    if not in_names and not needles.find(b"\n".join(value for _, value in headers)):
        return headers, 0  # two looks for all of them: hardly any reply has one
    masked = [(names.mask(name), needles.mask(value)) for name, value in headers]
    return masked, sum(before != after for before, after in zip(headers, masked, strict=True))
