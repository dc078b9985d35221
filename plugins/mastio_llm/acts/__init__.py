"""The acts of a provider on the caller's behalf: run tools, reach MCP servers, fetch addresses, read files
and other stored objects. Pure.

Policies decide these by type, and nothing of them is permitted by a policy that does not speak of them
(`Acts.needs`). Tools that the caller runs itself are not among them. A type that is not known here is taken for one of
the provider's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mastio.exchange.values import Dialect
from mastio_llm.acts import anthropic, gemini, openai
from mastio_llm.acts.found import Acts, Found

_READERS: Mapping[Dialect, Callable[[Mapping[str, Any], Found], None]] = {
    "openai": openai.read,
    "anthropic": anthropic.read,
    "gemini": gemini.read,
}


def find_acts(dialect: Dialect, document: Mapping[str, Any]) -> Acts:
    """Raises `BadRequest` for an address that is not public, and for more names than a decision can be made about."""
    found = Found()
    _READERS[dialect](document, found)
    return found.freeze()
