"""A conversation in a form that is independent of each API. Values only. Pure.

A request is read into a `Conversation` and written out of it, an answer into an `Answer`, a stream into `Delta`s. What
is no member here is refused where it is read (`translate.hints` lists what may be left out instead); what one provider
cannot carry is refused where it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from mastio_llm.dialects.operation import Usage

# --- the request ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """Inline (`data`, standard base64, with its `media_type`), or by address (`url`)."""

    data: str | None = None
    url: str | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the call with the id `call`. `error`: the tool failed, and the content is its message."""

    call: str
    content: str | tuple[Text | Image, ...]
    error: bool = False


Part = Text | Image | ToolCall | ToolResult
Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """`system` only for what is said in that role after the conversation has begun. Results are the user's."""

    role: Role
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function. `schema` is JSON Schema; None: it takes no arguments. `strict`: the schema must be kept to."""

    name: str
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """`any`: some tool must be called. `one`: the tool `name`."""

    mode: Literal["auto", "none", "any", "one"] = "auto"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """The answer's text is JSON; of this JSON Schema where there is one."""

    schema: dict[str, Any] | None
    name: str = "answer"
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """`limit`: of tokens written, thoughts included. `parallel`: an answer may have more than one call.

    `effort`: how hard to think, in the words that the APIs share (none, minimal, low, medium, high, xhigh, max).
    `budget`: how many tokens of thoughts there may be at most.
    """

    turns: tuple[Turn, ...]
    system: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    choice: Choice = Choice()
    parallel: bool = True
    format: Format | None = None
    limit: int | None = None
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    effort: str | None = None
    budget: int | None = None
    user: str | None = None
    stream: bool = False


def gather(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Turns in which no role but `system` follows itself, and none is empty: some APIs insist on that."""
    gathered: list[tuple[Role, list[Part]]] = []
    for turn in turns:
        if not turn.parts:
            continue
        if gathered and gathered[-1][0] == turn.role != "system":
            gathered[-1][1].extend(turn.parts)
        else:
            gathered.append((turn.role, list(turn.parts)))
    return tuple(Turn(role, tuple(parts)) for role, parts in gathered)


# --- the answer -------------------------------------------------------------------------------------------------------

Finish = Literal["stop", "length", "tools", "filtered"]
"""`filtered`: the model, or a filter around it, refused."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`usage` as the log has it; also `reasoning_tokens`, those of the written ones that were thoughts."""

    id: str
    model: str
    parts: tuple[Text | ToolCall, ...]
    finish: Finish
    usage: Usage


@dataclass(frozen=True, slots=True)
class Begin:
    """First of all. `usage` is what is known before anything was written."""

    id: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the text; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A call begins."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Argued:
    """More of the arguments, JSON, of the call that began last; nothing else was said since. Never empty."""

    piece: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Last of all."""

    finish: Finish
    usage: Usage


@dataclass(frozen=True, slots=True)
class Failed:
    """The provider says that it cannot go on. Last of all."""

    message: str


Delta = Begin | TextDelta | Called | Argued | Ended | Failed
