"""Providers that the environment of the very first start names: keys of the vendors under the vendors' own names. Pure.

Read once, when a data folder is new; afterwards providers are what admins say. A value may also be in a file, named by
the variable with `_FILE` behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mastio.exchange.errors import ConfigurationError
from mastio_llm.provider import ProviderRow
from mastio_llm.provider_secrets import ProviderKind, SecretError, parse_secret

VENDORS: tuple[tuple[str, ProviderKind, str], ...] = (
    ("OPENAI_API_KEY", "openai", "https://api.openai.com/v1"),
    ("ANTHROPIC_API_KEY", "anthropic", "https://api.anthropic.com/v1"),
    ("GEMINI_API_KEY", "gemini", "https://generativelanguage.googleapis.com/v1beta"),
)
"""Variable, kind and name of the provider, base URL."""


def read_first_providers(
    environment: Mapping[str, str], read_file: Callable[[str], str]
) -> list[tuple[str, ProviderRow]]:
    """The variable, and the provider that it makes. Raises `ConfigurationError` for a value that is no key."""
    found = []
    for variable, kind, base_url in VENDORS:
        for name in (variable, f"{variable}_FILE"):
            if not environment.get(name):
                continue
            try:
                key = read_file(environment[name]) if name.endswith("_FILE") else environment[name]
                parse_secret(kind, base_url, key.strip())
            except (OSError, UnicodeDecodeError, SecretError) as error:
                raise ConfigurationError(f"What {name} gives is not a key.", f"Correct or unset {name}.") from error
            found.append((name, ProviderRow(kind, kind, base_url, key.strip())))
            break
    return found
