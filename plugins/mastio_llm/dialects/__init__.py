"""The APIs that callers and providers speak, one module each. Pure: they read and write values, and send nothing.

`OPERATIONS` is everything that can be asked for, by the path of its route; `SPEAKERS` is what each kind of provider
speaks. Where the two sides do not speak the same, `mastio_llm.translate` may stand between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mastio.exchange.values import Dialect
from mastio_llm.dialects import anthropic, bedrock, gemini, openai
from mastio_llm.dialects.operation import Listing, Operation, Speaker

OPERATIONS: Mapping[str, Operation] = {**openai.OPERATIONS, **anthropic.OPERATIONS, **gemini.OPERATIONS}

SPEAKERS: Mapping[str, Speaker] = {
    "openai": openai.SPEAKER,
    "azure": openai.AZURE,
    "ollama": openai.SPEAKER,
    "anthropic": anthropic.SPEAKER,
    "bedrock": replace(
        anthropic.SPEAKER, key_header="authorization", key_prefix="Bearer ", defaults=(), adaptation=bedrock.ADAPTATION
    ),
    "gemini": gemini.SPEAKER,
    "vertex": gemini.SPEAKER,
}
"""By kind of provider (`mastio.exchange.records.ProviderKind`)."""

LISTINGS: Mapping[Dialect, Listing] = {
    "openai": openai.LISTING,
    "anthropic": anthropic.LISTING,
    "gemini": gemini.LISTING,
}
