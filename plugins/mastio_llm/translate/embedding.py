"""OpenAI's embeddings, by Gemini's batchEmbedContents. Pure."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any

from mastio_llm.dialects import gemini
from mastio_llm.dialects.operation import Usage
from mastio_llm.translate.checks import invalid, odd, said_objects, texts, verify_members, whole
from mastio_llm.translate.from_chat import write_error
from mastio_llm.translate.hints import names
from mastio_llm.translate.translation import Translation, never

KNOWN = ("model", "input", "dimensions")
NEUTRAL = {"encoding_format": ("float", "base64")}


def write(document: Mapping[str, Any], model: str) -> dict[str, Any]:
    verify_members(document, KNOWN, NEUTRAL, "the request", names("embeddings"))
    inputs = texts(document.get("input"), "The member input, as text,")
    if not inputs:
        raise invalid("The member input, as text,")
    dimensions = whole(document.get("dimensions"), "The member dimensions")
    more = {} if dimensions is None else {"outputDimensionality": dimensions}
    return {
        "requests": [{"model": f"models/{model}", "content": {"parts": [{"text": said}]}, **more} for said in inputs]
    }


def read(reply: Mapping[str, Any], asked: Mapping[str, Any], created: int) -> dict[str, Any]:
    """The reply in OpenAI's form. The usage is 0 if the provider reports none."""
    embeddings = said_objects(reply.get("embeddings"), "the embeddings")
    if len(embeddings) != len(texts(asked.get("input"), "The member input")):
        raise odd("there is not one embedding for each text")
    packed = asked.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(one.get("values"), packed)}
        for index, one in enumerate(embeddings)
    ]
    usage: Usage = gemini.read_usage(reply) or {}
    count = usage.get("input_tokens", 0)
    return {
        "object": "list",
        "data": data,
        "model": asked.get("model"),
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def _vector(values: object, packed: bool) -> list[float] | str:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise odd("an embedding is no list of numbers")
    if not packed:
        return values
    try:
        return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
    except (OverflowError, struct.error) as error:
        raise odd("an embedding has a number that is none") from error


TRANSLATION = Translation(gemini.EMBED, gemini.EMBED, write, read, write_error, never)
