"""Budgets as an admin describes them: exact amounts, one limit, one subject, and when a count goes on."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.exchange.budgets import BudgetWindow, Claim
from mastio.plugin.services import Worker
from mastio.store.leases import LeaseStore
from mastio.store.sql.engine import Database
from mastio_limits.budget import BudgetRow
from support.control_plane import World

BUDGETS = "/v1/admin/budgets"
MONTH = {"name": "m", "limit_usd": "0.100000001", "period": "month", "group": "team"}


def row(world: World, name: str) -> BudgetRow:
    return world.directory.objects("budgets")[name]


async def test_a_budgets_life(world: World, url: str) -> None:
    created = await world.call("POST", BUDGETS, MONTH)
    assert created.status_code == 201
    expected = {
        "name": "m", "agent": None, "group": "team", "model": None, "limit_usd": 0.100000001, "limit_tokens": None,
        "limit_requests": None, "period": "month", "spent": 0.0, "reserved": 0.0, "left": 0.100000001,
        "renews_at": "2027-02-01T00:00:00Z",
    }  # fmt: skip
    assert created.json() == expected == (await world.call("GET", f"{BUDGETS}/m")).json()
    assert (row(world, "m").unit, row(world, "m").limit) == ("usd", 100_000_001)
    assert (await world.call("POST", BUDGETS, MONTH)).status_code == 409
    database = Database(url)
    await LeaseStore(database, Worker("n", 0, "i")).claim(
        [Claim("l", row(world, "m").series, BudgetWindow(1_798_761_600, 1_801_440_000), 25, 5, 5)], 0
    )
    await LeaseStore(database, Worker("n", 0, "i")).claim(
        [Claim("l", row(world, "m").series, BudgetWindow(1_798_761_600, 1_801_440_000), 40_000_000, 5, 5)], 0
    )
    await database.close()
    items = (await world.call("GET", BUDGETS)).json()["items"]
    assert [(one["spent"], one["reserved"], one["left"]) for one in items] == [(0.039999975, 5e-09, 0.060000021)]
    world.clock.time += 40 * 86_400
    assert (await world.call("GET", f"{BUDGETS}/m")).json()["spent"] == 0
    assert (await world.call("DELETE", f"{BUDGETS}/m")).status_code == 204
    assert not world.directory.objects("budgets")
    assert (await world.call("GET", f"{BUDGETS}/m")).status_code == 404


async def test_the_count_goes_on_where_only_the_limit_is_another(world: World) -> None:
    await world.call("POST", BUDGETS, MONTH)
    series = row(world, "m").series
    patched = await world.call("PATCH", f"{BUDGETS}/m", {"limit_usd": 7})
    assert (patched.json()["limit_usd"], patched.json()["group"]) == (7.0, "team")
    put = await world.call("PUT", f"{BUDGETS}/m", {**MONTH, "limit_usd": 1e-9})
    assert put.json()["limit_usd"] == 1e-09 and row(world, "m").series == series
    for change in ({"limit_tokens": 7}, {"agent": "alice"}, {"period": "week"}, {"model": "p/*"}):
        before = row(world, "m").series
        patched = await world.call("PATCH", f"{BUDGETS}/m", change)
        assert patched.json().items() >= change.items()
        assert row(world, "m").series != before
    everybody = await world.call("PUT", f"{BUDGETS}/m", {"limit_requests": 3, "period": "total"})
    assert (everybody.json()["model"], everybody.json()["renews_at"]) == (None, None)
    assert (await world.call("PUT", f"{BUDGETS}/m", {**MONTH, "name": "other"})).status_code == 422
    assert (await world.call("PUT", f"{BUDGETS}/none", {**MONTH, "name": "none"})).status_code == 404
    assert (await world.call("PATCH", f"{BUDGETS}/none", {})).status_code == 404


@pytest.mark.parametrize(
    ("amount", "nano"),
    [
        ("0", 0), (0, 0), ("1.5", 1_500_000_000), (0.1, 100_000_000), (0.3, 300_000_000), (1e-9, 1),
        ("0.000000001", 1), ("99999999.999999999", 99_999_999_999_999_999), (100_000_000, 10**17), (1e3, 10**12),
        (123456.123456789, 123_456_123_456_789),
    ],
    ids=str,
)  # fmt: skip
async def test_money_is_kept_exactly(world: World, amount: Any, nano: int) -> None:
    made = await world.call("POST", BUDGETS, {"name": "b", "limit_usd": amount, "period": "day"})
    assert made.status_code == 201, made.text
    assert row(world, "b").limit == nano


DAY = {"period": "day"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({**DAY}, "limit"),
        ({"limit_tokens": 5}, "period"),
        ({**DAY, "limit_tokens": 5, "limit_usd": 1}, "one of limit_usd"),
        ({**DAY, "limit_tokens": 5, "agent": "a", "group": "g"}, "one of agent"),
        ({**DAY, "limit_tokens": 5, "agents": "a"}, "agents"),
        ({**DAY, "limit_tokens": 5, "spent": 0}, "spent"),
        ({**DAY, "limit_tokens": -1}, "limit_tokens"),
        ({**DAY, "limit_tokens": 5.0}, "limit_tokens"),
        ({**DAY, "limit_tokens": "5"}, "limit_tokens"),
        ({**DAY, "limit_tokens": True}, "limit_tokens"),
        ({**DAY, "limit_tokens": 10**18}, "limit_tokens"),
        ({**DAY, "limit_requests": -1}, "limit_requests"),
        ({**DAY, "limit_usd": -0.01}, "limit_usd"),
        ({**DAY, "limit_usd": "-1"}, "limit_usd"),
        ({**DAY, "limit_usd": "1e3"}, "limit_usd"),
        ({**DAY, "limit_usd": "NaN"}, "limit_usd"),
        ({**DAY, "limit_usd": "Infinity"}, "limit_usd"),
        ({**DAY, "limit_usd": ""}, "limit_usd"),
        ({**DAY, "limit_usd": " 1"}, "limit_usd"),
        ({**DAY, "limit_usd": "1_0"}, "limit_usd"),
        ({**DAY, "limit_usd": "١"}, "limit_usd"),
        ({**DAY, "limit_usd": True}, "limit_usd"),
        ({**DAY, "limit_usd": [1]}, "limit_usd"),
        ({**DAY, "limit_usd": {"a": 1}}, "limit_usd"),
        ({**DAY, "limit_usd": "0.0000000001"}, "nine decimals"),
        ({**DAY, "limit_usd": 1e-10}, "nine decimals"),
        ({**DAY, "limit_usd": 12345678.123456789}, "as a string"),
        ({**DAY, "limit_usd": 100_000_001}, "100000000"),
        ({**DAY, "limit_usd": 1e300}, "limit_usd"),
        ({**DAY, "limit_usd": 10**18}, "limit_usd"),
        ({"period": "year", "limit_tokens": 5}, "period"),
        ({**DAY, "limit_tokens": 5, "agent": "Alice"}, "agent"),
        ({**DAY, "limit_tokens": 5, "agent": "*"}, "agent"),
        ({**DAY, "limit_tokens": 5, "model": ""}, "model"),
        ({**DAY, "limit_tokens": 5, "model": "a\nb"}, "model"),
        ({**DAY, "limit_tokens": 5, "group": "a b"}, "group"),
        ({**DAY, "limit_tokens": 5, "name": "../x"}, "name"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_bad_budgets_are_not_stored(world: World, body: dict[str, Any], said: str) -> None:
    for method, path, document in (("POST", BUDGETS, {"name": "b", **body}), ("PUT", f"{BUDGETS}/b", body)):
        reply = await world.call(method, path, document)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body"), reply.text
        assert said in reply.json()["message"]
    assert not world.directory.objects("budgets")


@pytest.mark.parametrize(
    "change", [{"limit_tokens": 1, "limit_usd": 1}, {"agent": "a", "model": "b"}, {"x": 1}], ids=str
)
async def test_a_bad_change_changes_nothing(world: World, change: dict[str, Any]) -> None:
    await world.call("POST", BUDGETS, MONTH)
    before = row(world, "m")
    assert (await world.call("PATCH", f"{BUDGETS}/m", change)).status_code == 422
    assert row(world, "m") == before
