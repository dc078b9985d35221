"""Tokens are fetched once for all who wait, and a place of tokens that fails makes nobody wait for the others."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from mastio.exchange.errors import DispatchError
from mastio.outbound.access_key import AccessKey
from mastio.outbound.sigv4 import Signature
from mastio.plugin.oauth_client import Token

CALLERS = 20


class Place:
    """Gives out `t1`, `t2` …, each after `delay` seconds, or fails then."""

    def __init__(self, delay: float = 0.05) -> None:
        self.delay = delay
        self.fails = False
        self.asked = 0

    async def fetch(self) -> tuple[str, float]:
        self.asked += 1
        given = f"t{self.asked}"
        await asyncio.sleep(self.delay)
        if self.fails:
            raise DispatchError("No token.")
        return given, 3600.0


async def sent(token: Token) -> str:
    return await token.get()


async def test_one_fetches_for_all() -> None:
    place = Place()
    token = Token(place.fetch)
    assert set(await asyncio.gather(*(sent(token) for _ in range(CALLERS)))) == {"t1"}
    assert place.asked == 1 and token.current == "t1"
    assert token.forget() and not token.forget()
    assert await sent(token) == "t2"


async def test_a_failure_is_everybodys_at_once() -> None:
    """One after the other, the last of many would wait for as many timeouts."""
    place = Place()
    place.fails = True
    token = Token(place.fetch)
    started = monotonic()
    found = await asyncio.gather(*(sent(token) for _ in range(CALLERS)), return_exceptions=True)
    assert all(isinstance(error, DispatchError) for error in found)
    assert place.asked == 1 and monotonic() - started < 5 * place.delay
    place.fails = False
    assert await sent(token) == "t2"  # and the next one tries anew


async def test_who_began_to_fetch_may_go() -> None:
    place = Place()
    token = Token(place.fetch)
    first, second = asyncio.create_task(sent(token)), asyncio.create_task(sent(token))
    await asyncio.sleep(place.delay / 5)
    first.cancel()
    assert await second == "t1" and first.cancelled() and place.asked == 1


async def test_a_token_that_is_refused_while_others_wait_is_nobodys() -> None:
    place = Place()
    token = Token(place.fetch)
    waiting = asyncio.create_task(sent(token))
    await asyncio.sleep(place.delay / 5)
    token.forget()
    assert await waiting == "t1"


async def test_a_place_that_hangs_is_not_waited_for() -> None:
    token = Token(Place(delay=30).fetch, within=0.05)
    with pytest.raises(DispatchError) as caught:
        await sent(token)
    assert caught.value.status == 504


def test_what_is_sent_of_an_access_key_is_a_secret_too() -> None:
    """Only the session token leaves the appliance as it is, so only that could come back in an error."""
    key = AccessKey("AKIA", "secret", "session", "eu-central-1")
    assert Signature(key, "https://bedrock-runtime.eu-central-1.amazonaws.com", "bedrock").secrets == (
        b"secret",
        b"session",
    )
