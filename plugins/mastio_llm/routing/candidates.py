"""The providers that can serve a call, in their order. Pure over the providers.

A name is looked for in this order, and the first kind of match counts: `provider/model`; an alias; a glob that is more
than `*`; `*`. All providers that match by alias or by such a glob stand for each other; of those that take anything
only the first does, since taking anything is not knowing the model. Those that speak the caller's API come first.

What is before a slash names a provider. Where there is no such provider, the name is mistyped, and no other provider is
called instead, unless an admin gave it a glob or alias that has a slash too: `meta-llama/*`, or `*/*` for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mastio.exchange.matching import matches
from mastio.exchange.values import Dialect
from mastio_llm.dialects import SPEAKERS
from mastio_llm.provider import ProviderRow

Balance = Literal["weight", "latency"]

LOOK_AGAIN = 0.05
"""The part of calls that goes to another than the quickest, so that it is known how quick the others are by now."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The provider and the model's name there. `renamed` when that is not the name that the caller used.

    `alias` is the name that the caller used where an admin gave the model that one. `spare`: only for when those before
    it failed.
    """

    provider: ProviderRow
    model: str
    renamed: bool
    alias: str | None = None
    spare: bool = False

    @property
    def target(self) -> str:
        return f"{self.provider.name}/{self.model}"


def resolve(
    model: str,
    providers: Mapping[str, ProviderRow],
    dialect: Dialect = "openai",
    fallbacks: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Choice, ...]:
    """Those that may carry a call for `model` out, the heaviest first, then what `fallbacks` names; none: nobody."""
    found = _find(model, providers, dialect)
    if not found:
        return ()
    more = (fallbacks or {}).get(model) or (fallbacks or {}).get(found[0].target) or ()
    chain = [replace(choice, spare=True) for name in more if (choice := _named(name, providers)) is not None]
    once: dict[str, Choice] = {}
    for choice in (*found, *chain):
        once.setdefault(choice.target, choice)
    return tuple(once.values())


def _find(model: str, providers: Mapping[str, ProviderRow], dialect: Dialect) -> list[Choice]:
    if (named := _named(model, providers)) is not None:
        return [named]
    before, slash, _ = model.partition("/")
    if slash and before in providers:
        return []
    ordered = sorted(providers.values(), key=lambda row: (SPEAKERS[row.kind].dialect != dialect, -row.weight, row.name))
    by_alias = [Choice(row, row.aliases[model], renamed=True, alias=model) for row in ordered if model in row.aliases]
    if by_alias:
        return by_alias
    serving = [row for row in ordered if _serves_by_own_name(row, model)]
    knowing = [row for row in serving if any(glob != "*" and matches(glob, model) for glob in row.models)]
    return [Choice(row, model, renamed=False) for row in knowing or serving[:1]]


def _named(name: str, providers: Mapping[str, ProviderRow]) -> Choice | None:
    provider, slash, model = name.partition("/")
    if slash and provider in providers and serves(providers[provider], model):
        return Choice(providers[provider], model, renamed=True)
    return None


def _serves_by_own_name(provider: ProviderRow, model: str) -> bool:
    globs = [glob for glob in provider.models if "/" in glob] if "/" in model else provider.models
    return bool(model) and any(matches(glob, model) for glob in globs)


def serves(provider: ProviderRow, model: str) -> bool:
    return bool(model) and any(matches(glob, model) for glob in provider.models)


def arrange(
    choices: tuple[Choice, ...],
    dialect: Dialect,
    balance: Balance,
    latency: Callable[[str], float | None],
    draw: Callable[[], float],
) -> tuple[Choice, ...]:
    """The order for one call: those that stand for each other share the calls, by weight or to the quickest.

    `latency` by provider, None: not known yet, which is tried first; `draw` gives numbers from 0 up to 1. A provider
    of weight 0 is for when all others failed, and so is one that does not speak the caller's API.
    """
    if len(choices) < 2:
        return choices

    def shares(choice: Choice) -> bool:
        return not choice.spare and choice.provider.weight > 0 and SPEAKERS[choice.provider.kind].dialect == dialect

    first = [choice for choice in choices if shares(choice)]
    if balance == "latency":
        first.sort(key=lambda choice: latency(choice.provider.name) or 0.0)
        if len(first) > 1 and draw() < LOOK_AGAIN:
            first.insert(0, first.pop(1 + int(draw() * (len(first) - 1))))
    else:
        first = _draw_by_weight(first, draw)
    return (*first, *(choice for choice in choices if choice not in first))


def _draw_by_weight(choices: Iterable[Choice], draw: Callable[[], float]) -> list[Choice]:
    """A random order in which each comes first as often as its weight says (Efraimidis and Spirakis 2006)."""
    return sorted(choices, key=lambda choice: math.log(1.0 - draw()) / choice.provider.weight, reverse=True)
