"""The providers in force, with what each worker keeps for them: the pool of connections, and how they have fared."""

from __future__ import annotations

from collections.abc import Iterable

from mastio.services import Services, Upstream
from mastio.store.base import ProviderRow
from mastio.target import TargetError
from mastio_llm.breaker import Health


class Registry:
    """The providers in force with a pool for each: `configured` from the settings, the rest from the directory."""

    def __init__(self, services: Services, configured: Iterable[ProviderRow]) -> None:
        self._services = services
        self._configured = {row.name: row for row in configured}
        self._pools: dict[str, tuple[ProviderRow, Upstream]] = {}
        self._health: dict[str, Health] = {}
        self.providers: dict[str, ProviderRow] = {}
        self.broken: dict[str, str] = {}
        self.reload()

    def reload(self) -> None:
        """Take the directory's providers; keep the pools of those that did not change."""
        self.providers = {**self._configured, **self._services.directory.providers}
        self.broken = {}
        pools = {}
        for name, row in self.providers.items():
            known = self._pools.get(name)
            try:
                pools[name] = known if known and known[0] == row else (row, self._open(row))
            except TargetError as error:
                self.broken[name] = str(error)
        changed = {name for name, (row, _) in pools.items() if name not in self._pools or self._pools[name][0] != row}
        self._health = {name: health for name, health in self._health.items() if name in pools.keys() - changed}
        self._pools = pools

    def _open(self, row: ProviderRow) -> Upstream:
        return self._services.upstreams.open(row.base_url, row.allow_addresses, row.timeouts)

    def pool(self, provider: str) -> Upstream | None:
        """The open pool, or None where the provider's description is not usable."""
        known = self._pools.get(provider)
        return known[1] if known else None

    def health(self, provider: str) -> Health:
        """How it has fared in this worker since it was described as it is now."""
        return self._health.setdefault(provider, Health())

    def latency(self, provider: str) -> float | None:
        return self.health(provider).latency
