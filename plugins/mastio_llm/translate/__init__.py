"""Translations, for callers of one API and providers of another. Pure, one module for each pair.

What cannot be carried over is refused (`not_translatable`), never dropped. `TRANSLATIONS` is by the path that was
called and the API of the provider.
"""

from __future__ import annotations

from collections.abc import Mapping

from mastio.exchange import Dialect
from mastio_llm.translate import chat_to_messages
from mastio_llm.translate.translation import Translation

TRANSLATIONS: Mapping[tuple[str, Dialect], Translation] = {
    ("/v1/chat/completions", "anthropic"): chat_to_messages.TRANSLATION,
}
