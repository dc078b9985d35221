"""A connection limits the requests of each agent in a minute."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.exchange.errors import Denied
from mastio.exchange.values import Action, Message, Principal
from mastio_egress.connections.connection import ConnectionLimits, ConnectionRow
from mastio_egress.rates import Rates
from support.collections import Described

ROW = ConnectionRow("api", "https://api.test", limits=ConnectionLimits(requests_per_minute=2))
CALL = Action("egress.http", "Connection", "api")
ALICE, BOB = (Principal(name, frozenset({"agent"})) for name in ("alice", "bob"))


async def test_a_minute_has_so_many_requests() -> None:
    time = 0.0
    directory: Any = Described(connections={"api": ROW})
    rates = Rates(directory, lambda: time)
    await rates.reserve(ALICE, CALL, Message(b""))
    time = 30.0
    await rates.reserve(ALICE, CALL, Message(b""))
    time = 59.0
    with pytest.raises(Denied) as refused:
        await rates.reserve(ALICE, CALL, Message(b""))
    assert (refused.value.code, dict(refused.value.headers)["Retry-After"]) == ("rate_limited", "2")
    await rates.reserve(BOB, CALL, Message(b""))
    time = 60.0
    await rates.reserve(ALICE, CALL, Message(b""))
    with pytest.raises(Denied):
        await rates.reserve(ALICE, CALL, Message(b""))
