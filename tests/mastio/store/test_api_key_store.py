"""API keys in the repository and in the hot copies, the same on every database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from mastio.exchange.errors import BadRequest, MastioError
from mastio.exchange.presented_credentials import hash_secret
from mastio.exchange.records import ApiKey
from mastio.exchange.values import Restriction
from mastio.store.agents import AgentChanges
from mastio.store.api_keys import NewApiKey, hash_api_key, new_api_key
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.sql import tables
from support.stores import NOW, Opened, enrol, issue, open_store, request_for

WISH = NewApiKey("alice", "ci", Restriction(("llm.*",), ("stub/*",), ("/v1/*",)), NOW + 60)


async def revision(opened: Opened) -> int:
    return await opened.database.read(lambda c: int(c.execute(select(tables.revision.c.value)).scalar_one()))


async def code_of(call: object) -> str:
    with pytest.raises(MastioError) as caught:
        await call  # type: ignore[misc]
    return caught.value.code


async def create(opened: Opened, wish: NewApiKey = WISH) -> tuple[ApiKey, str]:
    return await opened.store.api_keys.create(wish, "op", NOW)


async def test_a_key_is_shown_once_and_found_by_its_hash(opened: Opened) -> None:
    await enrol(opened, "alice")
    key, text = await create(opened)
    assert text.startswith("mastio_sk_") and len(text) == len("mastio_sk_") + 43
    hashed = hash_api_key(FileKeys(opened.data), text)
    assert opened.directory.api_keys == {hashed: key}
    assert hashed == hash_secret(FileKeys(opened.data).key("api-keys"), text.encode())
    assert (key.agent, key.name, key.created_by, key.created_at, key.expires_at) == (
        "alice", "ci", "op", NOW, NOW + 60,
    )  # fmt: skip
    assert (key.kinds, key.models, key.paths) == (("llm.*",), ("stub/*",), ("/v1/*",))
    assert await opened.store.api_keys.get("alice", key.id) == key
    rows = str(await opened.database.read(lambda c: c.execute(select(tables.api_keys)).all()))
    assert text not in rows and text.removeprefix("mastio_sk_") not in rows


def test_keys_are_random() -> None:
    assert len({new_api_key() for _ in range(1000)}) == 1000


async def test_lists_are_of_one_agent_and_paged(opened: Opened) -> None:
    await enrol(opened, "alice")
    await enrol(opened, "bob")
    made = [(await create(opened, replace(WISH, name=f"k{n}")))[0] for n in range(3)]
    theirs, _ = await create(opened, replace(WISH, agent="bob"))
    store = opened.store.api_keys
    first = await store.list("alice", 2, 0)
    assert (first.items, first.more) == (made[:2], True)
    rest = await store.list("alice", 2, first.items[-1].place)
    assert (rest.items, rest.more) == (made[2:], False)
    assert (await store.list("bob", 9, 0)).items == [theirs]
    assert await code_of(store.get("alice", theirs.id)) == "not_found"


async def test_a_key_needs_its_agent(opened: Opened) -> None:
    before = await revision(opened)
    assert await code_of(create(opened)) == "not_found"
    assert await revision(opened) == before and not opened.directory.api_keys


async def test_a_revoked_key_is_gone_from_every_worker(opened: Opened) -> None:
    await enrol(opened, "alice")
    store = opened.store.api_keys
    (key, _), (kept, _) = await create(opened), await create(opened)
    async with open_store(opened.url, opened.data) as other:
        assert len(other.directory.api_keys) == 2
        await enrol(opened, "bob")
        assert await code_of(store.revoke("bob", key.id)) == "not_found"
        await store.revoke("alice", key.id)
        assert list(opened.directory.api_keys.values()) == [kept]
        await other.directory.refresh()
        assert list(other.directory.api_keys.values()) == [kept]
    async with open_store(opened.url, opened.data) as fresh:
        assert list(fresh.directory.api_keys.values()) == [kept]
    assert (await store.list("alice", 9, 0)).items == [kept]
    assert await code_of(store.get("alice", key.id)) == "not_found"
    assert await code_of(store.revoke("alice", key.id)) == "not_found"


async def test_last_uses_are_kept_without_a_revision(opened: Opened) -> None:
    await enrol(opened, "alice")
    store = opened.store.api_keys
    (one, _), (two, _), (unused, _) = await create(opened), await create(opened), await create(opened)
    before = await revision(opened)
    await store.mark_used({one.id: NOW + 5, two.id: NOW + 6, "key_unknown": NOW})
    await store.mark_used({one.id: NOW + 3, two.id: NOW + 9})  # another worker, which noted an earlier use
    await store.mark_used({})
    assert await revision(opened) == before
    shown = {key.id: key.last_used_at for key in (await store.list("alice", 9, 0)).items}
    assert shown == {one.id: NOW + 5, two.id: NOW + 9, unused.id: None}
    await store.revoke("alice", one.id)
    await store.mark_used({one.id: NOW + 50})
    assert one.key_hash not in opened.directory.api_keys


async def test_no_key_outlives_the_identity_that_it_was_made_for(opened: Opened) -> None:
    """A name that was revoked and given to another does not bring its old keys along; a reactivated one does."""
    await enrol(opened, "alice")
    key, _ = await create(opened)
    await opened.store.agents.update("alice", AgentChanges(api_keys=True), NOW)
    await opened.store.agents.revoke("alice", None, NOW)
    await opened.store.agents.reactivate("alice", None, NOW)
    assert list(opened.directory.api_keys.values()) == [key] and opened.directory.agents["alice"].api_keys
    await opened.store.agents.revoke("alice", None, NOW)
    asked = await opened.store.enrollments.request(request_for("alice"), 10)
    await opened.store.enrollments.approve(asked.id, "op", None, NOW, issue)
    assert opened.directory.agents["alice"].api_keys is False
    assert not opened.directory.api_keys
    with pytest.raises(BadRequest):
        await opened.store.api_keys.get("alice", key.id)
