"""Dispatches LLM calls to the configured providers, in the dialects of OpenAI, Anthropic and Gemini.

Providers come from the settings (section `llm`) and from `/v1/admin/providers`; of two with one name the latter counts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.values import Dialect, Role, Route
from mastio.plugin.hooks import BaseUrl, Hooks, Networks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_llm.calls import MAX_PARTS, Calls, Resilience
from mastio_llm.collection import PROVIDERS
from mastio_llm.dialects import OPERATIONS
from mastio_llm.header_policy import parse_header_names
from mastio_llm.models import Models
from mastio_llm.provider import ProviderRow
from mastio_llm.provider_secrets import ProviderKind
from mastio_llm.routing.candidates import Balance
from mastio_llm.routing.prices import PriceRow, Prices, PriceTable, parse_table
from mastio_llm.routing.registry import ProviderRegistry
from mastio_llm.trial import KIND as TEST
from mastio_llm.trial import Testing

AGENT: frozenset[Role] = frozenset({"agent"})
ADMIN: frozenset[Role] = frozenset({"admin"})
MAX_BODY = 10 * 1024 * 1024
_JSON = ("application/json",)


SIGNS: tuple[tuple[bytes, Dialect], ...] = (
    (b"anthropic-version", "anthropic"),
    (b"x-goog-api-client", "gemini"),
    (b"x-goog-api-key", "gemini"),
)
"""Headers that tell clients apart on a shared path; the edge has the same list (`edge_templates/mastio.conf`)."""


def _call(path: str, summary: str) -> Route:
    """The edge buffers none of them: a hang-up ends the call upstream, whether it streams or not."""
    operation = OPERATIONS[path]
    streams = () if operation.free or not operation.stream.markers else ("text/event-stream",)
    return Route(
        path, ("POST",), AGENT, operation.kind, summary, dialect=operation.dialect, limit=MAX_BODY, streams=True,
        produces=(*_JSON, *streams), consumes=_JSON,
    )  # fmt: skip


ROUTES = (
    _call("/v1/chat/completions", "Chat completion (OpenAI)"),
    _call("/v1/responses", "Response (OpenAI)"),
    _call("/v1/embeddings", "Embeddings (OpenAI)"),
    _call("/v1/moderations", "Moderation (OpenAI)"),
    Route(
        "/v1/models",
        ("GET",),
        AGENT,
        "llm.models",
        "Models that the caller may use (OpenAI; by their headers Anthropic or Gemini)",
        dialect="openai",
        other_dialects=SIGNS,
        produces=_JSON,
    ),
    _call("/v1/messages", "Message (Anthropic)"),
    _call("/v1/messages/count_tokens", "Count of a message's tokens (Anthropic)"),
    _call("/v1beta/models/{model...}:generateContent", "Content (Gemini)"),
    _call("/v1beta/models/{model...}:streamGenerateContent", "Content, streamed (Gemini)"),
    _call("/v1/models/{model...}:generateContent", "Content (Gemini)"),
    _call("/v1/models/{model...}:streamGenerateContent", "Content, streamed (Gemini)"),
    Route(
        "/v1/admin/providers/{name}/test",
        ("POST",),
        ADMIN,
        TEST,
        "Try whether a provider can be called",
        limit=1024,
        produces=_JSON,
    ),
    Route(
        "/v1beta/models",
        ("GET",),
        AGENT,
        "llm.models",
        "Models that the caller may use (Gemini)",
        dialect="gemini",
        produces=_JSON,
    ),
)


class Provider(PluginSettings):
    """A provider in the settings. The key comes from a file, never from the settings file itself."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    kind: ProviderKind = "openai"
    base_url: BaseUrl
    api_key_file: Path | None = None
    models: tuple[str, ...] = ("*",)
    aliases: dict[str, str] = Field(default_factory=dict)
    allow_addresses: Networks = ()
    weight: int = Field(default=1, ge=0, le=1000)
    timeouts: dict[Literal["connect", "first", "read", "total"], float] = Field(default_factory=dict)


class Settings(PluginSettings):
    """`providers`: upstream LLM providers, one `[[llm.providers]]` table each, with `name`, `kind` (openai, anthropic,
    gemini, azure, bedrock, vertex, ollama), `base_url`, `api_key_file`, `models`, `aliases`, `allow_addresses`,
    `weight` and `timeouts` (`connect`, `first`, `read`, `total` in seconds). `docs/llm.md` says what each kind speaks.
    `retries`: how often one provider is tried again. `balance`: how providers of one model share its calls, by
    `weight` or by `latency`. `fallbacks`: for a model, other `provider/model`s that are tried when it fails. `prices`:
    rows that come before those of the shipped table, one `[[llm.prices]]` table each, with `models` (a glob), `input`,
    `output`, `cached`, `cache_write`, `cache_write_1h` (USD for a million tokens, as strings), `max_output` and
    `context` (tokens). `max_parts`: how many messages, parts, tools and other items of lists a call may have.
    `request_headers`: names of callers' headers that go to providers beside the usual ones, such as
    `openai-organization`, `openai-project` or `idempotency-key`."""

    providers: tuple[Provider, ...] = ()
    retries: int = Field(default=1, ge=0, le=5)
    balance: Balance = "weight"
    fallbacks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    prices: tuple[PriceRow, ...] = ()
    max_parts: int = Field(default=MAX_PARTS, ge=100, le=1_000_000)
    request_headers: tuple[str, ...] = Field(default=(), max_length=50)

    @field_validator("request_headers")
    @classmethod
    def sendable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        parse_header_names(names)
        return names


def read_provider(provider: Provider) -> ProviderRow:
    """The row for a provider of the settings. Raises `ConfigurationError` when its key file cannot be read."""
    key = None
    if provider.api_key_file is not None:
        try:
            key = provider.api_key_file.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"The key file of the provider {provider.name} cannot be read.", "Check llm.providers.api_key_file."
            ) from error
    return ProviderRow(
        provider.name,
        provider.kind,
        provider.base_url,
        key,
        provider.models,
        provider.aliases,
        provider.allow_addresses,
        provider.weight,
        {str(phase): seconds for phase, seconds in provider.timeouts.items()},
    )


def read_prices() -> PriceTable:
    """The shipped table."""
    return parse_table((Path(__file__).parent / "prices.json").read_text("utf-8"))


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    registry = ProviderRegistry(services, [read_provider(provider) for provider in settings.providers])
    services.directory.on_change(registry.reload)
    resilience = Resilience(settings.retries, settings.balance, settings.fallbacks)
    calls = Calls(
        services, registry, Prices(settings.prices, read_prices()), resilience, max_parts=settings.max_parts,
        headers=parse_header_names(settings.request_headers),
    )  # fmt: skip
    models, testing = Models(services, registry), Testing(services, registry)
    kinds = {operation.kind for operation in OPERATIONS.values()}
    yield Hooks(
        read={**dict.fromkeys(kinds, calls.read), "llm.models": models.read, TEST: testing.read},
        dispatch={**dict.fromkeys(kinds, calls.dispatch), "llm.models": models.dispatch, TEST: testing.dispatch},
    )


plugin = Plugin(name="llm", settings=Settings, setup=setup, routes=ROUTES, collections=(PROVIDERS,))
