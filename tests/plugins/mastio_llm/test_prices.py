"""What calls cost, to the nano-USD, and what they may cost at most."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mastio.exchange.values import Bound
from mastio_llm.dialects.operation import CallRequest
from mastio_llm.plugin import read_prices
from mastio_llm.routing.estimates import bound_call, complete, find_limit
from mastio_llm.routing.prices import Price, PriceRow, Prices, encode_usd, read_price

TABLE = read_prices()
PRICES = Prices((), TABLE)
OWN = PriceRow(models="local/big-*", input=Decimal("0.0015"), output=Decimal("7"))


def price(model: str) -> Price:
    found = PRICES.find("openai", "p", model)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "usage", "nano"),
    [
        ("gpt-4o-mini", {"input_tokens": 1_000_000, "output_tokens": 0}, 150_000_000),
        ("gpt-4o-mini-2024-07-18", {"input_tokens": 10, "output_tokens": 10}, 7_500),
        ("gpt-4o-mini", {"input_tokens": 1_000_000, "cached_tokens": 1_000_000, "output_tokens": 1}, 75_000_600),
        ("openai/gpt-4o", {"input_tokens": 4, "output_tokens": 2}, 30_000),
        ("claude-sonnet-4-5", {"input_tokens": 200_000, "output_tokens": 1}, 600_015_000),
        ("claude-sonnet-4-5", {"input_tokens": 200_001, "output_tokens": 1}, 1_200_028_500),
        ("claude-haiku-4-5", {"input_tokens": 30, "cached_tokens": 10, "cache_write_tokens": 10}, 23_500),
        ("claude-haiku-4-5", {"input_tokens": 9, "cache_write_tokens": 9, "cache_write_1h_tokens": 9}, 18_000),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", {"input_tokens": 1, "output_tokens": 1}, 6_000),
        ("gemini-2.5-flash-lite", {"input_tokens": 1, "cached_tokens": 1}, 10),
    ],
)  # fmt: skip
def test_what_a_call_costs(model: str, usage: dict[str, int], nano: int) -> None:
    assert price(model).nano_usd(usage) == nano


def test_a_part_of_a_nano_usd_is_rounded_up_once() -> None:
    own = Prices((OWN,), TABLE).find("openai", "local", "big-1")
    assert own == read_price(OWN)
    assert [own.nano_usd({"input_tokens": count}) for count in (0, 1, 2, 1000)] == [0, 2, 3, 1500]


def test_the_operators_rows_come_first_and_what_is_ones_own_is_free() -> None:
    own = Prices((PriceRow(models="gpt-4o*", input=Decimal(1), output=Decimal(2)),), TABLE)
    found = own.find("openai", "p", "gpt-4o-mini")
    assert found is not None and found.nano_usd({"input_tokens": 1}) == 1000
    free = PRICES.find("ollama", "p", "llama3")
    assert free is not None and free.nano_usd({"input_tokens": 10**9, "output_tokens": 10**9}) == 0
    assert PRICES.find("openai", "p", "nobody-knows") is None


@pytest.mark.parametrize("row", TABLE.prices, ids=lambda row: row.models)
def test_no_call_costs_more_than_its_bound(row: PriceRow) -> None:
    price = read_price(row)
    for read in (0, 1, 100_000, 200_000, 200_001, 1_000_000):
        most = price.most_nano_usd(read, 1000)
        for name in ("cached_tokens", "cache_write_tokens", "other"):
            usage = {"input_tokens": read, "output_tokens": 1000, name: read}
            assert price.nano_usd(usage) <= most
            assert price.nano_usd({**usage, "cache_write_1h_tokens": read}) <= most
        assert price.nano_usd({"input_tokens": read // 2, "output_tokens": 1000}) <= most


@pytest.mark.parametrize(
    ("body", "asked", "tokens"),
    [
        (b"x" * 100, CallRequest("m", limit=50), 150),
        (b"x" * 100, CallRequest("m", limit=50, answers=3), 250),
        (b"x" * 100, CallRequest("m"), 100 + 16_384),
        (b"x" * 100, CallRequest("m", limit=0), 100 + 16_384),  # which some take for no limit
        (b"x" * 100, CallRequest("m", limit=50, answers=0), 150),
        (b'{"tools" :[]}', CallRequest("m", limit=50), 13 + 2_000 + 50),
        (b"x" * 100, CallRequest("m", limit=1, looks_up=True), 128_001),
        (b"x" * 100, CallRequest("m", writes=False), 100),
        (b"x" * 500_000, CallRequest("m", limit=1), 128_001),  # nobody reads beyond the context
        (b'{"url" : "https://example.com/big.pdf"}', CallRequest("m", limit=1), 128_001),
        (b'{"previous_response_id":"r"}', CallRequest("m", limit=1), 128_001),
    ],
)
def test_the_bound_of_a_call(body: bytes, asked: CallRequest, tokens: int) -> None:
    bound = bound_call(body, asked, price("gpt-4o-mini"))
    assert bound.tokens == tokens and bound.nano_usd is not None and bound.nano_usd > 0


def test_a_model_without_a_price_has_a_bound_of_tokens_alone() -> None:
    bound = bound_call(b"x" * 100, CallRequest("m"), None)
    assert (bound.tokens, bound.nano_usd) == (100 + 32_768, None)


def test_what_the_provider_does_not_say_is_what_was_set_aside_and_marked() -> None:
    said, body, asked = {"input_tokens": 7, "output_tokens": 3}, b"x" * 100, CallRequest("m", limit=50, answers=2)
    assert complete(said, body, asked, None, None) == said
    assert complete({"input_tokens": 7}, body, asked, None, None) == {
        "input_tokens": 7, "output_tokens": 100, "estimated": 1
    }  # fmt: skip
    assert complete(None, body, asked, None, 9) == {"input_tokens": 100, "output_tokens": 18, "estimated": 1}
    assert complete(None, body, CallRequest("m", writes=False), None, None)["output_tokens"] == 0
    bound = bound_call(body, asked, price("gpt-4o-mini"))
    settled = complete(None, body, asked, price("gpt-4o-mini"), None)
    assert settled["input_tokens"] + settled["output_tokens"] == bound.tokens


@pytest.mark.parametrize(
    ("nano", "text"), [(0, "0.000000000"), (7_500, "0.000007500"), (12 * 10**9 + 1, "12.000000001")]
)
def test_usd_are_written_exactly(nano: int, text: str) -> None:
    assert encode_usd(nano) == text


ANY = CallRequest("m")


@pytest.mark.parametrize(
    ("granted", "asked", "limit"),
    [
        ([], ANY, None),
        ([Bound(150, None)], ANY, 50),
        ([Bound(150, None)], CallRequest("m", answers=2), 25),
        ([Bound(150, 10**9), Bound(130, 10**9)], ANY, 30),
        ([Bound(100_000, 100 * 150 + 600 * 7)], ANY, 7),
        ([Bound(100_000, 100 * 150 + 600 * 7 + 599)], ANY, 7),
        ([Bound(50, None)], ANY, 1),
    ],
)
def test_a_call_keeps_to_what_was_granted(granted: list[Bound], asked: CallRequest, limit: int | None) -> None:
    mini = price("gpt-4o-mini")
    assert find_limit(b"x" * 100, asked, mini, granted) == limit
    for bound in granted:
        if limit is not None and bound.tokens >= 102:
            assert 100 + limit * asked.answers <= bound.tokens
            assert bound.nano_usd is None or mini.most_nano_usd(100, limit * asked.answers) <= bound.nano_usd


def test_only_who_sets_no_limit_can_be_kept_to_less() -> None:
    free, own = bound_call(b"x" * 100, ANY, None), bound_call(b"x" * 100, CallRequest("m", limit=9), None)
    assert (
        own.least is None
        and own.enough is None
        and bound_call(b"x", CallRequest("m", writes=False), None).least is None
    )
    assert free.enough == Bound(100 + 1024, None) and free.least == Bound(100 + 16, None)
