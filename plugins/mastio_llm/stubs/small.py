"""The smaller endpoints: embeddings, moderations, lists of models."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from typing import Any

import orjson

from mastio_llm.stubs.refusals import Refusal
from mastio_llm.stubs.template import Dialect

MODELS = {
    "openai": ("gpt-4o-mini", "gpt-4o", "text-embedding-3-small", "omni-moderation-latest"),
    "anthropic": ("claude-sonnet-4-5", "claude-haiku-4-5"),
    "gemini": ("gemini-2.5-flash", "gemini-2.5-pro"),
}
EMBEDDING_DIMENSIONS = 1536
MODERATION_CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)


def texts_of(value: object) -> list[str]:
    """The `input` of embeddings and moderations as one string for each wanted result."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        raise Refusal(400, "'input' must be a string or a non-empty array.")
    if isinstance(value[0], int):
        return [repr(value)]
    return [item if isinstance(item, str) else repr(item) for item in value]


def embed(text: str, dimensions: int) -> list[float]:
    """A bag of words hashed into a unit vector: same text, same vector; similar texts, similar vectors."""
    vector = [0.0] * dimensions
    for word in text.lower().split() or [""]:
        vector[zlib.crc32(word.encode()) % dimensions] += 1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def embeddings_shape(content: dict[str, Any], prompt: int) -> dict[str, Any]:
    dimensions = content.get("dimensions", EMBEDDING_DIMENSIONS)
    if not isinstance(dimensions, int) or not 1 <= dimensions <= 4096:
        raise Refusal(400, "'dimensions' must be between 1 and 4096.")
    data: list[dict[str, Any]] = []
    for index, text in enumerate(texts_of(content.get("input"))):
        vector: list[float] | str = embed(text, dimensions)
        if content.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack(f"<{dimensions}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": prompt, "total_tokens": prompt}
    return {"object": "list", "data": data, "model": content["model"], "usage": usage}


def moderations_shape(content: dict[str, Any], serial: bytes) -> dict[str, Any]:
    result = {
        "flagged": False,
        "categories": dict.fromkeys(MODERATION_CATEGORIES, False),
        "category_scores": dict.fromkeys(MODERATION_CATEGORIES, 0.0001),
        "category_applied_input_types": {name: ["text"] for name in MODERATION_CATEGORIES},
    }
    results = [result] * len(texts_of(content.get("input")))
    return {"id": f"modr-{serial.decode()}", "model": content["model"], "results": results}


def model_lists() -> dict[Dialect, bytes]:
    """`GET /v1/models` in each dialect's shape."""
    openai = [openai_model(name) for names in MODELS.values() for name in names]
    anthropic = [
        {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
        for name in MODELS["anthropic"]
    ]
    gemini = [
        {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": 1048576,
            "outputTokenLimit": 65536,
            "supportedGenerationMethods": ["generateContent"],
        }
        for name in MODELS["gemini"]
    ]
    ends = {"first_id": MODELS["anthropic"][0], "last_id": MODELS["anthropic"][-1]}
    return {
        "openai": orjson.dumps({"object": "list", "data": openai}),
        "anthropic": orjson.dumps({"data": anthropic, "has_more": False, **ends}),
        "gemini": orjson.dumps({"models": gemini}),
    }


def openai_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1735689600, "owned_by": "stub"}
