"""What models cost: a table with a date, the operator's own rows before it, and the arithmetic. Pure.

Prices are read as decimal USD for a million tokens and kept as whole pico-USD for one, so that nothing is rounded but
the sum of a call: up, to a whole nano-USD. What is not in the table has no price, which is not the same as being free.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mastio.store.base import ProviderKind

PICO = 10**6
"""USD for a million tokens, in pico-USD for one."""

_VENDOR = re.compile(r"(?:.*/)?(?:(?:[a-z]{2,6}\.)?(?:anthropic|openai|google)\.)?")
"""What clouds write before a model's own name."""

Usd = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)]


class Rates(BaseModel):
    """USD for a million tokens. `cached` was read from the provider's cache, `cache_write…` went into it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Usd
    output: Usd
    cached: Usd | None = None
    cache_write: Usd | None = None
    cache_write_1h: Usd | None = None

    def cost(self, usage: Mapping[str, int]) -> int:
        """Pico-USD for what `usage` counts. A part of the input that has no rate of its own costs what input does."""
        cached, written = usage.get("cached_tokens", 0), usage.get("cache_write_tokens", 0)
        long_lived = min(usage.get("cache_write_1h_tokens", 0), written)
        plain = max(usage.get("input_tokens", 0) - cached - written, 0)
        parts = (
            (plain, self.input),
            (cached, self.cached),
            (written - long_lived, self.cache_write),
            (long_lived, self.cache_write_1h or self.cache_write),
            (usage.get("output_tokens", 0), self.output),
        )
        return sum(count * _pico(self.input if rate is None else rate) for count, rate in parts)

    @property
    def dearest_input(self) -> int:
        """Pico-USD of one token read, in the dearest way."""
        rates = (self.input, self.cached, self.cache_write, self.cache_write_1h)
        return max(_pico(rate) for rate in rates if rate is not None)


class LongRates(Rates):
    """The rates of a call that reads more than `above` tokens."""

    above: int = Field(ge=0)


class Price(Rates):
    """One row. `models` is a glob over the model's own name, or over `provider/model`.

    `max_output` is the most that one answer can have, `context` the most that can be read, in tokens.
    """

    models: str = Field(min_length=1, max_length=320)
    max_output: int | None = Field(default=None, ge=0)
    context: int | None = Field(default=None, ge=1)
    long: LongRates | None = None

    def nano_usd(self, usage: Mapping[str, int]) -> int:
        """What a call cost."""
        long = self.long is not None and usage.get("input_tokens", 0) > self.long.above
        rates = self.long if long and self.long is not None else self
        return _round_up(rates.cost(usage))

    def most_nano_usd(self, read: int, written: int) -> int:
        """The most that a call can cost which reads and writes at most so many tokens."""
        tiers: list[Rates] = [self]
        if self.long is not None and read > self.long.above:
            tiers.append(self.long)
        return _round_up(max(tier.dearest_input * read + _pico(tier.output) * written for tier in tiers))


class PriceTable(BaseModel):
    """`prices.json`: rows and the day on which they were looked up."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    date: str = Field(pattern=r"^\d{4}-\d\d-\d\d$")
    unit: str
    prices: tuple[Price, ...]


FREE = Price(models="*", input=Decimal(0), output=Decimal(0))
"""What runs on one's own machines."""


class Prices:
    """The rows in force. The operator's come first; among ours, the row that says most of the name."""

    def __init__(self, own: Sequence[Price], table: PriceTable) -> None:
        self._own = own
        self._table = sorted(table.prices, key=lambda price: len(price.models), reverse=True)
        self._found: dict[tuple[ProviderKind, str, str], Price | None] = {}

    def find(self, kind: ProviderKind, provider: str, model: str) -> Price | None:
        """None: not known."""
        key = (kind, provider, model)
        if key not in self._found:
            if len(self._found) >= MAX_FOUND:  # callers choose the names
                self._found.clear()
            self._found[key] = self._look(*key)
        return self._found[key]

    def _look(self, kind: ProviderKind, provider: str, model: str) -> Price | None:
        for price in self._own:
            if fnmatchcase(model, price.models) or fnmatchcase(f"{provider}/{model}", price.models):
                return price
        if kind == "ollama":
            return FREE
        name = model[match.end() :] if (match := _VENDOR.match(model)) else model
        return next((price for price in self._table if fnmatchcase(name, price.models)), None)


MAX_FOUND = 10_000


def _pico(rate: Decimal) -> int:
    return int(rate * PICO)


def _round_up(pico: int) -> int:
    return -(-pico // 1000)


def encode_usd(nano: int) -> str:
    """As decimal USD, exactly."""
    return f"{nano // 10**9}.{nano % 10**9:09d}"


def parse_table(text: str) -> PriceTable:
    """Raises `ValueError`."""
    return PriceTable.model_validate_json(text)
