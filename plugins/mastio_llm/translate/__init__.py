"""Translations, for callers of one API and providers of another. Pure.

Each API that is called (`from_...`) and each that providers speak (`to_...`) has a module of its own, and all speak the
vocabulary of `conversation`. `TRANSLATIONS` is by the path that was called and the kind of provider.
"""

from __future__ import annotations

from collections.abc import Mapping

from mastio_llm.dialects import OPERATIONS, SPEAKERS
from mastio_llm.provider_secrets import ProviderKind
from mastio_llm.translate import (
    counting,
    embedding,
    from_chat,
    from_gemini,
    from_messages,
    from_responses,
    to_chat,
    to_gemini,
    to_messages,
)
from mastio_llm.translate.translation import Caller, Provider, Translation, compose

CALLERS: Mapping[str, Caller] = {
    "/v1/chat/completions": from_chat.CALLER,
    "/v1/responses": from_responses.CALLER,
    "/v1/messages": from_messages.CALLER,
    **{f"{version}/models/{{model...}}:generateContent": from_gemini.WHOLE for version in ("/v1beta", "/v1")},
    **{f"{version}/models/{{model...}}:streamGenerateContent": from_gemini.STREAMED for version in ("/v1beta", "/v1")},
}

PROVIDERS: Mapping[ProviderKind, Provider] = {
    "openai": to_chat.PROVIDER,
    "azure": to_chat.PROVIDER,
    "ollama": to_chat.OLLAMA,
    "anthropic": to_messages.PROVIDER,
    "bedrock": to_messages.PROVIDER,
    "gemini": to_gemini.PROVIDER,
    "vertex": to_gemini.PROVIDER,
}

TRANSLATIONS: Mapping[tuple[str, str], Translation] = {
    **{
        (path, kind): compose(caller, provider)
        for path, caller in CALLERS.items()
        for kind, provider in PROVIDERS.items()
        if OPERATIONS[path].dialect != SPEAKERS[kind].dialect
    },
    ("/v1/embeddings", "gemini"): embedding.TRANSLATION,
    ("/v1/messages/count_tokens", "gemini"): counting.TRANSLATION,
}
