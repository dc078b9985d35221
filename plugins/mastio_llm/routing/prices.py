"""The prices of models: a table with a date, the operator's own rows before it, and the arithmetic. Pure.

Prices are read as decimal USD for a million tokens and kept as whole pico-USD for one, so that nothing is rounded but
the sum of a call: up, to a whole nano-USD. What is not in the table has no price, which is not the same as being free.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mastio.exchange.matching import matches
from mastio_llm.provider_secrets import ProviderKind

PICO = 10**6
"""USD for a million tokens, in pico-USD for one."""

_VENDOR = re.compile(r"(?:.*/)?(?:(?:[a-z]{2,6}\.)?(?:anthropic|openai|google)\.)?")
"""Regular expression for the prefix that clouds write before a model's own name."""

Usd = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)]


class Rates(BaseModel):
    """USD for a million tokens. `cached` was read from the provider's cache, `cache_write…` went into it; what has no
    rate of its own costs what input does, and what lives for an hour what other writing does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Usd
    output: Usd
    cached: Usd | None = None
    cache_write: Usd | None = None
    cache_write_1h: Usd | None = None


class LongRates(Rates):
    """The rates of a call that reads more than `above` tokens."""

    above: int = Field(ge=0)


class PriceRow(Rates):
    """One row. `models` is a glob over the model's own name, or over `provider/model`.

    `max_output` is the most that one answer can have, `context` the most that can be read, in tokens.
    """

    models: str = Field(min_length=1, max_length=320)
    max_output: int | None = Field(default=None, ge=0)
    context: int | None = Field(default=None, ge=1)
    long: LongRates | None = None


@dataclass(frozen=True, slots=True)
class Tier:
    """Rates in whole pico-USD for one token, for calls that read more than `above`."""

    above: int
    plain: int
    cached: int
    written: int
    long_lived: int
    output: int

    def cost(self, usage: Mapping[str, int]) -> int:
        """Pico-USD for what `usage` counts."""
        cached, written = usage.get("cached_tokens", 0), usage.get("cache_write_tokens", 0)
        total = self.output * usage.get("output_tokens", 0)
        if not cached and not written:
            return total + self.plain * usage.get("input_tokens", 0)
        long_lived = min(usage.get("cache_write_1h_tokens", 0), written)
        total += self.cached * cached + self.written * (written - long_lived) + self.long_lived * long_lived
        return total + self.plain * max(usage.get("input_tokens", 0) - cached - written, 0)

    def most(self, read: int, written: int) -> int:
        """Pico-USD if all of it was read in the dearest way."""
        return max(self.plain, self.cached, self.written, self.long_lived) * read + self.output * written


@dataclass(frozen=True, slots=True)
class Price:
    """A row, ready to reckon with. `tiers`: that of most calls first, then that of long ones where there is one."""

    tiers: tuple[Tier, ...]
    max_output: int | None = None
    context: int | None = None

    def nano_usd(self, usage: Mapping[str, int]) -> int:
        """The cost of a call, in nano-USD."""
        tier = self.tiers[-1] if usage.get("input_tokens", 0) > self.tiers[-1].above else self.tiers[0]
        return _round_up(tier.cost(usage))

    @property
    def costs_writing(self) -> bool:
        return all(tier.output for tier in self.tiers)

    def most_nano_usd(self, read: int, written: int) -> int:
        """The most that a call can cost which reads and writes at most so many tokens."""
        return _round_up(max(tier.most(read, written) for tier in self.tiers if read > tier.above))

    def most_written(self, read: int, nano_usd: int) -> int:
        """The most tokens that a call that reads `read` tokens may write at a cost of `nano_usd`. Below zero: none."""
        return min((nano_usd * 1000 - tier.most(read, 0)) // tier.output for tier in self.tiers if read > tier.above)


def read_price(row: PriceRow) -> Price:
    long = () if row.long is None else (_tier(row.long, row.long.above),)
    return Price((_tier(row, -1), *long), row.max_output, row.context)


def _tier(rates: Rates, above: int) -> Tier:
    plain = _pico(rates.input)
    written = plain if rates.cache_write is None else _pico(rates.cache_write)
    return Tier(
        above,
        plain,
        plain if rates.cached is None else _pico(rates.cached),
        written,
        written if rates.cache_write_1h is None else _pico(rates.cache_write_1h),
        _pico(rates.output),
    )


class PriceTable(BaseModel):
    """`prices.json`: rows and the day on which they were looked up."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    date: str = Field(pattern=r"^\d{4}-\d\d-\d\d$")
    unit: str
    prices: tuple[PriceRow, ...]


FREE = Price((Tier(-1, 0, 0, 0, 0, 0),))
"""The price of models on one's own machines."""


class Prices:
    """The rows in force. The operator's come first; among ours, the row that says most of the name."""

    def __init__(self, own: Sequence[PriceRow], table: PriceTable) -> None:
        self._own = [(row.models, read_price(row)) for row in own]
        ordered = sorted(table.prices, key=lambda row: len(row.models), reverse=True)
        self._table = [(row.models, read_price(row)) for row in ordered]
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
        for models, price in self._own:
            if matches(models, model) or matches(models, f"{provider}/{model}"):
                return price
        if kind == "ollama":
            return FREE
        name = model[match.end() :] if (match := _VENDOR.match(model)) else model
        return next((price for models, price in self._table if matches(models, name)), None)


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
