"""Members that may be left out of a translation, because the answer means the same without them. Pure.

The one list of them: `docs/llm.md` prints it, the readers take it from here. Anything else that has no counterpart is
refused by name.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

Place = Literal[
    "chat", "responses", "responses reasoning", "responses text", "responses tool", "responses item",
    "messages", "messages block", "messages tool", "messages thinking",
    "gemini", "gemini part", "gemini function", "gemini schema",
    "embeddings",
]  # fmt: skip


class Hint(NamedTuple):
    members: tuple[str, ...]
    why: str


_CACHE = "how the provider's cache is used: time and price, not the answer"
_LABEL = "labels for the provider's own records"
_WORDY = "how wordy the answer is, on models that have a switch for it"
_ITEM = "marks that belong to the kept answer"

HINTS: dict[Place, tuple[Hint, ...]] = {
    "chat": (
        Hint(("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"), _CACHE),
        Hint(("metadata",), _LABEL),
        Hint(("verbosity",), _WORDY),
    ),
    "responses": (
        Hint(("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"), _CACHE),
        Hint(("metadata", "client_metadata"), _LABEL),
    ),
    "responses reasoning": (
        Hint(("summary", "generate_summary", "context"), "thoughts are not shown, nor kept, by the translation"),
    ),
    "responses text": (Hint(("verbosity",), _WORDY),),
    "responses tool": (Hint(("output_schema",), "what the tool gives back, which its result shows"),),
    "responses item": (Hint(("id", "status", "phase", "annotations", "logprobs"), _ITEM),),
    "messages": (
        Hint(("cache_control",), _CACHE),
        Hint(("diagnostics",), "what is told about the cache"),
    ),
    "messages block": (Hint(("cache_control",), _CACHE),),
    "messages tool": (
        Hint(("cache_control",), _CACHE),
        Hint(("eager_input_streaming",), "in which pieces a call arrives"),
        Hint(("input_examples",), "examples of what the schema says"),
    ),
    "messages thinking": (Hint(("display",), "thoughts are not shown by the translation"),),
    "gemini": (
        Hint(("labels",), _LABEL),
    ),
    "gemini part": (Hint(("thoughtSignature",), "a model's own note, which no other vendor's can read"),),
    "gemini function": (
        Hint(("response", "responseJsonSchema"), "what the tool gives back, which its result shows"),
    ),
    "embeddings": (Hint(("user",), "who the end user is, for the vendor's own watch"),),
    "gemini schema": (Hint(("propertyOrdering", "example"), "in which order members come; examples"),),
}  # fmt: skip


WRITTEN: dict[str, tuple[Hint, ...]] = {
    "messages, earlier answers": (
        Hint(("thinking", "redacted_thinking"), "a model's own notes, which no other vendor's can read"),
    ),
    "responses, earlier answers": (Hint(("reasoning",), "a model's own notes, which no other vendor's can read"),),
    "gemini, earlier answers": (Hint(("thought",), "a model's own notes, which no other vendor's can read"),),
    "any, to gemini": (
        Hint(("user", "safety_identifier", "metadata.user_id"), "who the end user is, for the vendor's own watch"),
    ),
    "messages, to openai": (
        Hint(
            ("thinking.budget_tokens",), "a bound that need not be reached; `max_tokens`, which is carried, bounds all"
        ),
    ),
    "gemini, to anthropic or openai": (
        Hint(("thinkingConfig.thinkingBudget",), "a bound that need not be reached; 0 is carried as no effort"),
    ),
}
"""What is left out where it is read or written, beside the members above."""


@cache
def names(place: Place) -> frozenset[str]:
    """The members that may be left out there."""
    return frozenset(name for hint in HINTS.get(place, ()) for name in hint.members)
