"""The input and the results of inspectors: passages, findings, verdicts, and the watch of a reply. Values only. Pure.

Inspectors see texts alone: how these lie in JSON, in events, in the arguments of a tool, and how they get
back there, is for `mastio.reading` and for the dialects. So an inspector works for every kind of action alike.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

Carrier = Literal["system", "user", "assistant", "tool", "definition", "other"]
"""The source of a text: `tool` for results of tools and for documents, `definition` for descriptions of tools."""


class Passage(NamedTuple):
    """One text of a message or of a reply, decoded: without the escapes of JSON. `name`: of the member that it is the
    value of, where that is not one of the API's own: what somebody calls a value says much of what it is."""

    text: str
    carrier: Carrier
    name: str = ""


class Finding(NamedTuple):
    """The report of an inspector, without any content. `label` is `class.category`, such as `pii.EMAIL_ADDRESS` or
    `injection.override`; `confidence` is from 0 to 100; `times` is the number of occurrences. For content that was not
    inspected, `kind` names it and `size` is its number of bytes in the message.
    """

    label: str
    confidence: int
    times: int = 1
    kind: str = ""
    size: int = 0


UNINSPECTED = "uninspected"
"""The label of what an inspector should have looked at, could not, and was told to let pass."""


class Filter(Protocol):
    """Looks at one text of a reply that comes in pieces, which may be cut anywhere."""

    def feed(self, text: str) -> str:
        """Returns the text that may be released now; holds back text that may still become part of a match. Raises
        `Blocked`."""

    def close(self) -> str:
        """The text is over: the rest of it. Raises `Blocked`."""


class Watch(Protocol):
    """The inspection by one inspector of the reply of one exchange."""

    async def look(self, passages: Sequence[Passage]) -> Verdict:
        """For texts that come whole. Their verdict's `watch` means nothing."""

    def open(self, carrier: Carrier) -> Filter:
        """For a text that comes in pieces; several may be open at once."""

    def findings(self) -> Iterable[Finding]:
        """The findings of its filters so far."""


@runtime_checkable
class NamedWatch(Protocol):
    """A watch that wants to know what a text is called (`Passage.name`)."""

    def open_named(self, carrier: Carrier, name: str) -> Filter:
        """As `Watch.open`, for the value of a member."""


def open_filter(watch: Watch, carrier: Carrier, name: str) -> Filter:
    """A filter for a text of that name, "" for none."""
    return watch.open_named(carrier, name) if name and isinstance(watch, NamedWatch) else watch.open(carrier)


@dataclass(frozen=True, slots=True)
class Pass:
    """The inspector has nothing against it."""

    findings: tuple[Finding, ...] = ()
    watch: Watch | None = None


@dataclass(frozen=True, slots=True)
class Redact:
    """Go on with these texts in the place of the passages with these numbers."""

    texts: Mapping[int, str]
    findings: tuple[Finding, ...] = ()
    watch: Watch | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Refuse it. `message` is for the caller, and repeats no content."""

    message: str
    findings: tuple[Finding, ...] = ()


Verdict = Pass | Redact | Block


class Texts(Protocol):
    """The texts of one body."""

    @property
    def passages(self) -> Sequence[Passage]: ...

    @property
    def uninspected(self) -> Sequence[Finding]:
        """Findings of the label `uninspected`: content that is no text, or was left alone."""

    def place(self, number: int) -> str:
        """The position of passage `number`, as `messages[0].content`. For people: not on the hot path."""

    def replace(self, texts: Mapping[int, str]) -> bytes:
        """The body with these in the place of passages. Every other byte stays as it was."""


ReadTexts = Callable[[bytes, Any], Texts]
"""Reads a body, given as bytes and as the JSON value that they are."""


class Rewriter(Protocol):
    """Takes the texts out of a stream and puts others in their place. One for each stream."""

    def feed(self, window: bytes, last: bool) -> AsyncIterator[bytes]:
        """Yields what may be released of a window of the stream, which holds whole events: in pieces, so that a long
        one keeps nobody waiting. `last`: nothing comes after it. Raises `Blocked`, and `DispatchError` for what nobody
        can read.
        """

    def findings(self) -> Iterable[Finding]:
        """The parts of the stream so far that were not inspected."""

    async def end(self) -> bytes:
        """For a stream that ended without a last window: what is still to be said. Raises `Blocked`."""


RewriteStream = Callable[[Sequence[Watch]], Rewriter]


@dataclass(frozen=True, slots=True)
class Layout:
    """The functions that find the texts of a message and of its reply, for a whole reply and for a stream."""

    request: ReadTexts
    reply: ReadTexts
    stream: RewriteStream
    sees_reply: bool = True
    """True if the reply is inspected at all."""


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One for each label and kind: the highest confidence, how often and how much in all. By name."""
    found: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        name = (finding.label, finding.kind)
        other = found.get(name)
        if other is not None:
            confidence = max(finding.confidence, other.confidence)
            times, size = finding.times + other.times, finding.size + other.size
            finding = Finding(finding.label, confidence, times, finding.kind, size)
        found[name] = finding
    return tuple(found[name] for name in sorted(found))
