"""The text of every stub reply, and the compilation of replies: JSON with holes for the variable parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any, Literal

import orjson

Dialect = Literal["openai", "anthropic", "gemini"]
Headers = list[tuple[bytes, bytes]]
Chunks = tuple[bytes, ...]

SENTENCE = "Hello from the stub provider. This text is the same in every reply, word for word."
PII = {
    "email": "jane.roe@example.com",
    "iban": "DE89 3704 0044 0532 0130 00",
    "phone": "+1 202-555-0143",
    "card": "4111 1111 1111 1111",
}
"""Valid by their checksums and nobody's: documentation domain, sample IBAN, fictional phone, test card."""
PII_SENTENCE = "Write to {email}, pay to IBAN {iban}, call {phone} or charge the card {card}."


def parse_duration(text: str) -> float:
    """`50ms`, `0.2s` or `0` to seconds. ValueError otherwise: a number without a unit could mean either."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)|0", text, re.ASCII)
    if match is None:
        raise ValueError(f"not a duration: {text!r}; write 50ms, 0.2s or 0")
    if match[1] is None:
        return 0.0
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


@dataclass(frozen=True, slots=True)
class Settings:
    """The behaviour of the stub. `latency` in seconds; `error_rate` is the share of requests that fail, 0 to 1.

    `script`: the file with the calls of tools that are answered (`mastio_llm.stubs.scripted`).
    """

    latency: float = 0.05
    chunks: int = 3
    response_tokens: int = 10
    pii: bool = False
    error_rate: float = 0.0
    journal: Path | None = None
    script: Path | None = None

    def __post_init__(self) -> None:
        if self.chunks < 1 or self.response_tokens < 1 or self.latency < 0:
            raise ValueError("chunks and response tokens are at least 1, latency is not negative")
        if not 0 <= self.error_rate <= 1:
            raise ValueError("the error rate is a share between 0 and 1")


# ------------------------------------------------------------------------------------ the reply's text


@dataclass(frozen=True, slots=True)
class Text:
    """The text of every reply: `whole` for a plain reply, the same in `pieces` for a stream."""

    whole: str
    pieces: tuple[str, ...]
    tokens: int


def compose_text(settings: Settings) -> Text:
    """The sentence repeated to the wanted number of words, and the fake personal data where it is wanted."""
    whole = " ".join(islice(cycle(SENTENCE.split()), settings.response_tokens))
    if settings.pii:
        whole = f"{whole} {PII_SENTENCE.format(**PII)}"
    borders = [0, *cut_points(whole, settings.chunks - 1), len(whole)]
    pieces = tuple(whole[start:end] for start, end in pairwise(borders))
    return Text(whole, pieces, tokens=len(whole.split()))


def cut_points(text: str, cuts: int) -> list[int]:
    """The positions at which a stream breaks the text: first in the middle of each fake personal value, the rest
    evenly."""
    inside = [text.index(value) + len(value) // 2 for value in PII.values() if value in text][:cuts]
    even = cuts - len(inside)
    return sorted(inside + [len(text) * nth // (even + 1) for nth in range(1, even + 1)])


# ------------------------------------------------------------------------------------------- templates

SLOTS = ("created", "model", "prompt", "total")


def compile_template(shape: dict[str, Any]) -> bytes:
    """JSON of `shape` as a bytes format string.

    A string member `<created>`, `<model>`, `<prompt>` or `<total>` becomes a whole JSON value; `<id>` stands
    inside a string and becomes 24 hexadecimal digits.
    """
    template: bytes = orjson.dumps(shape).replace(b"%", b"%%").replace(b"<id>", b"%(id)b")
    for slot in SLOTS:
        template = template.replace(b'"<%b>"' % slot.encode(), b"%%(%b)b" % slot.encode())
    return template


def data_event(shape: dict[str, Any]) -> bytes:
    """An unnamed server-sent event, as OpenAI's chat completions use it."""
    return b"data: " + compile_template(shape) + b"\n\n"


def named_event(shape: dict[str, Any]) -> bytes:
    """A server-sent event named by the `type` of its data: Anthropic, and OpenAI's responses."""
    return b"event: %b\n" % str(shape["type"]).encode() + data_event(shape)


def in_chunks(opening: Iterable[bytes], deltas: Iterable[bytes], closing: Iterable[bytes]) -> Chunks:
    """One template for each delta; the opening events join the first, the closing events the last."""
    chunks = list(deltas)
    chunks[0] = b"".join(opening) + chunks[0]
    chunks[-1] += b"".join(closing)
    return tuple(chunks)


@dataclass(frozen=True, slots=True)
class Generation:
    """The compiled replies of one text-generating endpoint.

    `stream_variant` is the stream's other form: with a usage chunk for OpenAI, one JSON array for Gemini.
    """

    plain: bytes
    stream: Chunks
    stream_variant: Chunks = ()
