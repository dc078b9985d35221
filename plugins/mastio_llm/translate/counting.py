"""The count of a message's tokens, by Gemini's countTokens. Pure. OpenAI's API of chat completions counts none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mastio_llm.dialects import gemini
from mastio_llm.dialects.operation import tokens
from mastio_llm.translate import from_messages, to_gemini
from mastio_llm.translate.checks import odd
from mastio_llm.translate.translation import Translation, never


def write(document: Mapping[str, Any], model: str) -> dict[str, Any]:
    content = to_gemini.write(from_messages.read(document), model)
    return {"generateContentRequest": {"model": f"models/{model}", **content}}


def read(reply: Mapping[str, Any], asked: Mapping[str, Any], created: int) -> dict[str, Any]:
    count = tokens(reply.get("totalTokens", 0))
    if count is None:
        raise odd("the count is none")
    return {"input_tokens": count}


TRANSLATION = Translation(gemini.COUNT, gemini.COUNT, write, read, from_messages.write_error, never)
