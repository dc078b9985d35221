"""The providers in force, with what each worker keeps for them: the pool of connections, and how they have fared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mastio.exchange.target import TargetError
from mastio.plugin.services import Services, Upstream
from mastio_llm.collection import PROVIDERS
from mastio_llm.credentials import Credential, open_credential
from mastio_llm.provider import ProviderRow
from mastio_llm.provider_secrets import SecretError
from mastio_llm.routing.breaker import Health


@dataclass(frozen=True, slots=True)
class OpenProvider:
    """A provider that can be called."""

    row: ProviderRow
    pool: Upstream
    credential: Credential


class ProviderRegistry:
    """The providers in force with a pool for each: `configured` from the settings, the rest from the directory."""

    def __init__(self, services: Services, configured: Iterable[ProviderRow]) -> None:
        self._services = services
        self._configured = {row.name: row for row in configured}
        self._pools: dict[str, OpenProvider] = {}
        self._health: dict[str, Health] = {}
        self.providers: dict[str, ProviderRow] = {}
        self.broken: dict[str, str] = {}
        self.reload()

    def reload(self) -> None:
        """Take the directory's providers; keep the pools of those that did not change."""
        self.providers = {**self._configured, **PROVIDERS.find_rows(self._services.directory)}
        self.broken = {}
        pools: dict[str, OpenProvider] = {}
        for name, row in self.providers.items():
            known = self._pools.get(name)
            try:
                pools[name] = known if known and known.row == row else self._open(row)
            except (TargetError, SecretError) as error:
                self.broken[name] = str(error)
        changed = {name for name, opened in pools.items() if opened is not self._pools.get(name)}
        self._health = {name: health for name, health in self._health.items() if name in pools.keys() - changed}
        self._pools = pools

    def _open(self, row: ProviderRow) -> OpenProvider:
        pool = self._services.upstreams.open(row.base_url, row.allow_addresses, row.timeouts)
        return OpenProvider(row, pool, open_credential(self._services, row))

    def find(self, provider: str) -> OpenProvider | None:
        """None where the provider's description is not usable."""
        return self._pools.get(provider)

    def health(self, provider: str) -> Health:
        """The health of a provider in this worker since its description last changed."""
        return self._health.setdefault(provider, Health())

    def latency(self, provider: str) -> float | None:
        return self.health(provider).latency
