"""Which provider serves which model. `resolve` is pure over the providers; the pools are the services'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mastio.exchange import Dialect
from mastio.services import Services, Upstream
from mastio.store.base import ProviderRow
from mastio.target import TargetError
from mastio_llm.dialects import SPEAKERS


@dataclass(frozen=True, slots=True)
class Choice:
    """The provider and the model's name there. `renamed` when that is not the name that the caller used.

    `alias` is the name that the caller used where an admin gave the model that one.
    """

    provider: ProviderRow
    model: str
    renamed: bool
    alias: str | None = None

    @property
    def target(self) -> str:
        return f"{self.provider.name}/{self.model}"


def resolve(model: str, providers: Mapping[str, ProviderRow], dialect: Dialect = "openai") -> Choice | None:
    """`provider/model` first, then aliases, then the heaviest provider whose globs match. None: nobody serves it.

    Of several that have the same name, one that speaks `dialect` comes before those that do not.
    """
    name, slash, rest = model.partition("/")
    if slash and name in providers and serves(providers[name], rest):
        return Choice(providers[name], rest, renamed=True)
    ordered = sorted(providers.values(), key=lambda row: (SPEAKERS[row.kind].dialect != dialect, -row.weight, row.name))
    for row in ordered:
        if model in row.aliases:
            return Choice(row, row.aliases[model], renamed=True, alias=model)
    for row in ordered:
        if serves(row, model):
            return Choice(row, model, renamed=False)
    return None


def serves(provider: ProviderRow, model: str) -> bool:
    return bool(model) and any(fnmatchcase(model, glob) for glob in provider.models)


class Registry:
    """The providers in force with a pool for each: `configured` from the settings, the rest from the directory."""

    def __init__(self, services: Services, configured: Iterable[ProviderRow]) -> None:
        self._services = services
        self._configured = {row.name: row for row in configured}
        self._pools: dict[str, tuple[ProviderRow, Upstream]] = {}
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
        self._pools = pools

    def _open(self, row: ProviderRow) -> Upstream:
        return self._services.upstreams.open(row.base_url, row.allow_addresses, row.timeouts)

    def pool(self, provider: str) -> Upstream | None:
        """The open pool, or None where the provider's description is not usable."""
        known = self._pools.get(provider)
        return known[1] if known else None
