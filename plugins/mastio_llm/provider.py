"""An upstream LLM provider, as the hot copy has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mastio_llm.provider_secrets import ProviderKind


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """An upstream LLM provider. `api_key` is in the clear here, in memory only; the table holds it sealed."""

    name: str
    kind: ProviderKind
    base_url: str
    api_key: str | None = None
    models: tuple[str, ...] = ("*",)
    aliases: Mapping[str, str] = field(default_factory=dict)
    allow_addresses: tuple[str, ...] = ()
    weight: int = 1
    timeouts: Mapping[str, float] = field(default_factory=dict)
    api_key_file: str | None = None
    """The file that `api_key` was read from, if it is not kept in the table."""

    is_sealed_off: bool = False
    """There is a key in the table, and it does not open: whoever writes this row back would lose it."""

    @property
    def has_lost_key(self) -> bool:
        """True if there is a key, in the table or in a file, and it cannot be had. Then nothing may be sent."""
        return self.api_key is None and (self.is_sealed_off or self.api_key_file is not None)
