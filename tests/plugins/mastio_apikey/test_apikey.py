"""The plugin alone: which key is in force, and what becomes of its last use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from mastio.exchange.errors import AuthenticationError, Unavailable
from mastio.exchange.presented_credentials import hash_secret
from mastio.exchange.records import ApiKey
from mastio.exchange.values import ApiKeyCredential, RequestHead, Restriction
from mastio_apikey.plugin import Authenticator, Settings, plugin
from mastio_apikey.uses import Uses

SECRET = b"mastio_sk_" + b"A" * 43
HASH_KEY = b"k" * 32
KEY = ApiKey(
    "key_1", "alice", "ci", hash_secret(HASH_KEY, SECRET), 1.0, "op", ("llm.*",), ("stub/*",), ("/v1/*",), 2000.0
)  # fmt: skip


class Keeper:
    """Takes uses, unless it is broken."""

    def __init__(self) -> None:
        self.kept: list[dict[str, float]] = []
        self.error: Exception | None = None
        self.asked = 0

    async def __call__(self, uses: Mapping[str, float]) -> None:
        self.asked += 1
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        self.kept.append(dict(uses))


class World:
    def __init__(self, **keys: ApiKey) -> None:
        self.time = 1000.0
        self.keeper = Keeper()
        self.services: Any = SimpleNamespace(
            now=lambda: self.time,
            keys=SimpleNamespace(key=lambda purpose: {"api-keys": HASH_KEY}[purpose]),
            directory=SimpleNamespace(api_keys={KEY.key_hash: KEY, **keys}),
            note_api_key_uses=self.keeper,
        )
        self.uses = Uses(self.keeper)
        self.authenticator = Authenticator(self.services, self.uses)

    def ask(self, *headers: tuple[bytes, bytes]) -> Any:
        head: Any = SimpleNamespace(headers=list(headers))
        return self.authenticator.authenticate(head)


def test_a_key_in_force() -> None:
    restriction = Restriction(("llm.*",), ("stub/*",), ("/v1/*",))
    expected = ApiKeyCredential("alice", "key_1", restriction, KEY.key_hash, KEY.created_at)
    for header in (
        (b"authorization", b"Bearer " + SECRET),
        (b"x-api-key", SECRET),
        (b"x-goog-api-key", SECRET),
        (b"api-key", SECRET),
    ):
        assert World().ask(header) == expected


@pytest.mark.parametrize(
    "header",
    [
        (b"authorization", b"DPoP " + SECRET),
        (b"authorization", b"Bearer " + SECRET[:-1]),
        (b"authorization", b"Bearer " + SECRET + b"A"),
        (b"x-api-key", SECRET[:-1] + b"B"),
        (b"x-api-key", b"mastio_sk_"),
        (b"x-api-key", KEY.key_hash.encode()),
        (b"x-api-key", b"mastio_sk_" + KEY.key_hash.encode()),
    ],
)
def test_a_key_that_is_none(header: tuple[bytes, bytes]) -> None:
    world = World()
    if header[1] == KEY.key_hash.encode():
        assert world.ask(header) is None  # of another kind: the plugin of that kind refuses it
        return
    with pytest.raises(AuthenticationError) as refused:
        world.ask(header)
    assert refused.value.code == "invalid_api_key"


def test_what_is_of_another_kind_is_left_alone() -> None:
    for value in (b"Bearer a.b.c", b"DPoP a.b.c", b"Bearer mastio_admin_x", b"Basic dTpw", b"Bearer certificate"):
        assert World().ask((b"authorization", value)) is None
    assert World().ask() is None


def test_an_expired_key() -> None:
    world = World()
    world.time = 1999.9
    assert world.ask((b"x-api-key", SECRET)) is not None
    world.time = 2000.0
    with pytest.raises(AuthenticationError) as refused:
        world.ask((b"x-api-key", SECRET))
    assert refused.value.code == "invalid_api_key"


async def test_uses_are_noted_and_handed_over_once() -> None:
    world = World()
    world.ask((b"x-api-key", SECRET))
    world.time = 1001.0
    world.ask((b"x-api-key", SECRET))
    with pytest.raises(AuthenticationError):
        world.ask((b"x-api-key", SECRET + b"x"))
    await world.uses.flush()
    await world.uses.flush()
    assert world.keeper.kept == [{"key_1": 1001.0}]


async def test_what_could_not_be_kept_is_tried_again_and_newer_uses_win() -> None:
    keeper = Keeper()
    uses = Uses(keeper)
    uses.note("key_1", 1.0)
    uses.note("key_2", 2.0)
    keeper.error = Unavailable("The database does not answer.")
    with pytest.raises(Unavailable):
        await uses.flush()
    uses.note("key_1", 3.0)
    await uses.flush()
    assert keeper.kept == [{"key_1": 3.0, "key_2": 2.0}]


async def test_a_use_noted_while_others_are_kept_is_not_lost() -> None:
    kept: list[dict[str, float]] = []

    async def keep(handed: Mapping[str, float]) -> None:
        kept.append(dict(handed))
        if len(kept) == 1:
            uses.note("key_1", 2.0)

    uses = Uses(keep)
    uses.note("key_1", 1.0)
    await uses.flush()
    await uses.flush()
    assert kept == [{"key_1": 1.0}, {"key_1": 2.0}]


@pytest.mark.parametrize("error", [Unavailable("No."), ZeroDivisionError("a defect")])
async def test_a_failure_is_logged_and_the_keeping_goes_on(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    keeper, ending = Keeper(), asyncio.Event()
    uses = Uses(keeper, interval=0.01)
    uses.note("key_1", 1.0)
    keeper.error = error
    keeping = asyncio.create_task(uses.keep(ending))
    await asyncio.sleep(0.2)
    kept_before_the_end = list(keeper.kept)
    ending.set()
    await keeping
    assert kept_before_the_end == keeper.kept == [{"key_1": 1.0}]
    assert keeper.asked == 2 and caplog.text.count("will be tried again") == 1


async def test_the_last_uses_are_kept_when_the_worker_ends() -> None:
    world = World()
    async with plugin.setup(Settings(), world.services) as hooks:
        assert hooks.authenticate is not None
        head: Any = SimpleNamespace(headers=[(b"x-api-key", SECRET)])
        checked: RequestHead = head
        assert hooks.authenticate(checked) is not None
        assert world.keeper.kept == []
    assert world.keeper.kept == [{"key_1": 1000.0}]
