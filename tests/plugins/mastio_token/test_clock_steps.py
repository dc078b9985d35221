"""Access tokens and the wall clock: a token of a clock that was ahead counts for no longer than others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.records import Agent, SigningKey
from mastio.exchange.values import TokenCredential
from mastio_token.access import LEEWAY, TOKEN_AGE, encode_access_token, is_in_force
from mastio_token.plugin import Authenticator

NOW = 1_800_000_000.0
HOUR = 3600.0


class World:
    """One worker's authenticator and its wall clock."""

    def __init__(self, *, remembers: bool) -> None:
        self.wall = NOW
        self._remembers = remembers
        directory = SimpleNamespace(signing_keys=(SigningKey("key-1", "token", b"k" * 32, 0.0, 0.0),))
        services: Any = SimpleNamespace(
            now=lambda: self.wall, monotonic=lambda: 0.0, directory=directory, public_url="https://mastio.test",
            keys=SimpleNamespace(key=lambda purpose: b"k" * 32),
        )  # fmt: skip
        self.authenticator = Authenticator(services)

    def mint(self) -> str:
        agent: Agent = SimpleNamespace(name="alice", created_at=NOW)  # type: ignore[assignment]
        issuer = self.authenticator.ring.issuer
        token = encode_access_token(issuer, agent, {"jkt": "key"}, "jti", int(self.wall), TOKEN_AGE)
        assert not self._remembers or self.send(token) == "served"
        return token

    def send(self, token: str) -> str:
        head: Any = SimpleNamespace(headers=[(b"authorization", b"DPoP " + token.encode())])
        try:
            credential = self.authenticator.authenticate(head)
        except AuthenticationError as error:
            return error.code
        assert isinstance(credential, TokenCredential)
        return "served"


@pytest.fixture(params=[True, False], ids=["remembered", "new"])
def world(request: pytest.FixtureRequest) -> World:
    """With tokens that the worker knows already, and with tokens that it has not seen."""
    return World(remembers=request.param)


@pytest.mark.parametrize("ahead", [6.0, 60.0, HOUR, 1e8])
def test_a_token_of_a_clock_that_was_ahead_is_refused(world: World, ahead: float) -> None:
    world.wall = NOW + ahead
    token = world.mint()
    world.wall = NOW
    assert world.send(token) == "invalid_token"
    assert world.send(world.mint()) == "served"
    world.wall = NOW + TOKEN_AGE - 1
    assert world.send(token) == ("served" if ahead < TOKEN_AGE else "invalid_token"), "refused, not revoked"


def test_no_token_is_served_for_longer_than_its_life(world: World) -> None:
    """Whatever the step, from when the clock is right again."""
    for ahead in range(0, 7200, 37):
        world.wall = NOW + ahead
        token = world.mint()
        served = 0
        for later in range(0, 7200, 60):
            world.wall = NOW + later
            served += world.send(token) == "served"
        assert served <= (TOKEN_AGE + LEEWAY) / 60 + 1


@pytest.mark.parametrize("behind", [1.0, LEEWAY])
def test_replicas_whose_clocks_differ_a_little_believe_each_other(world: World, behind: float) -> None:
    token = world.mint()
    world.wall = NOW - behind
    assert world.send(token) == "served"


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_after_a_step_new_tokens_are_served(world: World, step: float) -> None:
    token = world.mint()
    world.wall = NOW + step
    assert world.send(token) == "invalid_token"
    assert world.send(world.mint()) == "served"


def test_the_remaining_life_is_bounded() -> None:
    assert is_in_force(NOW, NOW + TOKEN_AGE, NOW)
    assert not is_in_force(NOW, NOW + TOKEN_AGE + LEEWAY + 1, NOW)
