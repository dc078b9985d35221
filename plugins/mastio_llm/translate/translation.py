"""The type of a translation, and its construction from a caller's API and a provider's. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from mastio_llm.dialects.operation import Form, Operation
from mastio_llm.translate.checks import odd, refuse
from mastio_llm.translate.conversation import (
    Answer,
    Argued,
    Begin,
    Called,
    Conversation,
    Delta,
    Ended,
    Failed,
    TextDelta,
    ToolCall,
)

Document = Mapping[str, Any]

MAX_ANSWER = 32 * 1024 * 1024
"""How many characters a streamed answer may have: some APIs say at the end again what they said."""


class StreamTranslator(Protocol):
    """Translates one stream, event by event. Raises `DispatchError` for one that does not keep to its API."""

    def feed(self, event: Any) -> bytes:
        """The caller's events for one of the provider's, which may be none. `event` is its data, parsed."""

    def end(self) -> bytes:
        """The provider's stream is over: what the caller's still lacks, which may be nothing."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The functions that carry out one operation as another: `whole`, or `streamed` where the caller wants a stream.

    `request` makes the provider's body of the caller's and the model's name there; raises `BadRequest`. `reply` makes
    the caller's answer, of the provider's and of the caller's body, at a Unix time; raises `DispatchError`. `error`
    makes the caller's error of the provider's message and status. `open` starts a stream in the caller's form.
    """

    whole: Operation
    streamed: Operation
    request: Callable[[Document, str], dict[str, Any]]
    reply: Callable[[Document, Document, int], dict[str, Any]]
    error: Callable[[str, int], dict[str, Any]]
    open: Callable[[Document, int, Form], StreamTranslator]


def never(asked: Document, created: int, form: Form) -> StreamTranslator:
    """For what does not stream."""
    raise odd("it was not asked for a stream")


# --- of two halves ----------------------------------------------------------------------------------------------------


class StreamWriter(Protocol):
    """Writes one stream for a caller. The order of deltas is as `conversation` says."""

    def write(self, delta: Delta) -> bytes: ...


class StreamReader(Protocol):
    """Reads one stream of a provider. Raises `DispatchError`."""

    def feed(self, event: dict[str, Any]) -> Iterable[Delta]: ...

    def end(self) -> Iterable[Delta]:
        """The stream is over. Raises `DispatchError` where the answer is not."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An API that is called: its requests are read, its answers, streams and errors are written."""

    read: Callable[[Document], Conversation]
    write: Callable[[Answer, Document, int], dict[str, Any]]
    open: Callable[[Document, int, Form], StreamWriter]
    error: Callable[[str, int], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Provider:
    """An API that providers speak: its requests are written, its answers and streams are read.

    `always_parallel`: it has no word for one call at a time, so that no more than the first of an answer goes on to a
    caller who asked for that. The model learns its result and calls again.
    """

    whole: Operation
    streamed: Operation
    write: Callable[[Conversation, str], dict[str, Any]]
    read: Callable[[Document], Answer]
    open: Callable[[], StreamReader]
    always_parallel: bool = False


class _Stream:
    """A reader and a writer, and that what the one says is in the order that the other relies on."""

    def __init__(self, reader: StreamReader, writer: StreamWriter, single: bool) -> None:
        self._reader = reader
        self._writer = writer
        self._single = single
        self._begun = False
        self._over = False
        self._arguing = False
        self._bare = False
        self._calls = 0
        self._size = 0

    def feed(self, event: Any) -> bytes:
        if not isinstance(event, dict):
            raise odd("an event is no object")
        return self._write(self._reader.feed(event))

    def end(self) -> bytes:
        return b"" if self._over else self._write(self._reader.end())

    def _write(self, deltas: Iterable[Delta]) -> bytes:
        return b"".join(
            [self._writer.write(one) for delta in deltas for one in self._complete(delta) if self._take(one)]
        )

    def _complete(self, delta: Delta) -> Iterable[Delta]:
        """A call without arguments has empty ones, which no client needs to guess, unless it was cut off."""
        cut = isinstance(delta, Failed) or (isinstance(delta, Ended) and delta.finish == "length")
        bare = self._bare and not isinstance(delta, Argued) and not cut
        self._bare = isinstance(delta, Called)
        return (Argued("{}"), delta) if bare else (delta,)

    def _take(self, delta: Delta) -> bool:
        """True if it goes on to the caller."""
        orderly = not self._over and (isinstance(delta, Failed) or isinstance(delta, Begin) != self._begun)
        if not orderly or (isinstance(delta, Argued) and not self._arguing):
            raise odd("the stream is not in order")
        self._size += _size(delta)
        if self._size > MAX_ANSWER:
            raise odd("the answer has no end")
        self._begun = True
        self._over = isinstance(delta, Ended | Failed)
        self._arguing = isinstance(delta, Called | Argued)
        self._calls += isinstance(delta, Called)
        return not (self._single and self._arguing and self._calls > 1)


def _size(delta: Delta) -> int:
    match delta:
        case TextDelta(text) | Argued(text):
            return len(text)
        case Called(id, name):
            return len(id) + len(name)
    return 0


def compose(caller: Caller, provider: Provider) -> Translation:
    return Translation(
        provider.whole,
        provider.streamed,
        partial(_request, caller, provider),
        partial(_reply, caller, provider),
        caller.error,
        partial(_open, caller, provider),
    )


def _request(caller: Caller, provider: Provider, asked: Document, model: str) -> dict[str, Any]:
    conversation = caller.read(asked)
    if conversation.turns and conversation.turns[-1].role == "assistant":  # one API goes on with it, others answer it
        raise refuse("A conversation that ends with the model's own words")
    return provider.write(conversation, model)


def _reply(caller: Caller, provider: Provider, reply: Document, asked: Document, created: int) -> dict[str, Any]:
    answer = provider.read(reply)
    if _wants_one_call(caller, provider, asked):
        first = next((part for part in answer.parts if isinstance(part, ToolCall)), None)
        kept = tuple(part for part in answer.parts if part is first or not isinstance(part, ToolCall))
        answer = replace(answer, parts=kept)
    return caller.write(answer, asked, created)


def _open(caller: Caller, provider: Provider, asked: Document, created: int, form: Form) -> StreamTranslator:
    return _Stream(provider.open(), caller.open(asked, created, form), _wants_one_call(caller, provider, asked))


def _wants_one_call(caller: Caller, provider: Provider, asked: Document) -> bool:
    return provider.always_parallel and not caller.read(asked).parallel
