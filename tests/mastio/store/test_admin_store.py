"""Admins and their tokens: one holder for each token, one claim for each code, and never none without an end."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio.exchange.records import Admin
from mastio.store.admins import find_active_admin, is_unclaimed, new_admin_token, new_claim
from support.stores import NOW, Opened


async def code_of(call: Awaitable[Any]) -> str:
    with pytest.raises(BadRequest) as caught:
        await call
    return caught.value.code


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def test_two_admins_never_have_one_token(opened: Opened) -> None:
    admins, token = opened.store.admins, new_admin_token()
    ann = await admins.add("ann", "admin", token, NOW)
    bob = await admins.add("bob", "auditor", new_admin_token(), NOW)
    assert await code_of(admins.rotate("bob", token)) == "conflict"
    assert await admins.get("bob") == bob and await admins.get("ann") == ann
    assert (await admins.rotate("bob", new_admin_token())).token_hash != bob.token_hash


async def test_a_code_is_claimed_once(opened: Opened) -> None:
    admins = opened.store.admins
    await admins.add("ann", "admin", new_admin_token(), NOW)
    code = admins.hash_claim(digest(new_claim()), NOW + 60)
    assert is_unclaimed(await admins.add_hashed("bob", "operator", code, NOW, None, "ann"))
    mine, other = admins.hash_own(digest("mine")), admins.hash_own(digest("other"))
    assert (await admins.claim("bob", mine)).token_hash == mine
    assert await code_of(admins.claim("bob", other)) == "conflict"
    assert (await admins.get("bob")).token_hash == mine, "the second changed nothing"


async def test_a_claim_cannot_take_another_admins_token(opened: Opened) -> None:
    admins, token = opened.store.admins, new_admin_token()
    ann = await admins.add("ann", "admin", token, NOW)
    await admins.add_hashed("bob", "operator", admins.hash_claim(digest(new_claim()), NOW + 60), NOW, None, "ann")
    assert await code_of(admins.claim("bob", ann.token_hash)) == "conflict"
    assert is_unclaimed(await admins.get("bob")), "the code is still good"


async def test_only_those_in_force_are_found(opened: Opened) -> None:
    admins = opened.store.admins
    await admins.add("ann", "admin", new_admin_token(), NOW)
    await admins.add("bob", "auditor", new_admin_token(), NOW, NOW + 60)
    await admins.add("cid", "admin", new_admin_token(), NOW)
    await admins.revoke("cid")
    page = await admins.list(10)
    assert [admin.name for admin in page.items] == ["ann", "bob"]
    assert [admin.name for admin in (await admins.list(1, "ann")).items] == ["bob"]
    assert await admins.count_active(NOW) == 1

    async def find(name: str, now: float) -> Admin | None:
        return await opened.database.read(lambda connection: find_active_admin(connection, name, now))

    assert await find("ann", NOW) == page.items[0] and await find("bob", NOW + 59) == page.items[1]
    assert await find("bob", NOW + 60) is None and await find("cid", NOW) is None and await find("dan", NOW) is None


async def test_the_last_admin_without_an_end_keeps_the_role(opened: Opened) -> None:
    admins = opened.store.admins
    await admins.add("ann", "admin", new_admin_token(), NOW)
    await admins.add("bob", "admin", new_admin_token(), NOW, NOW + 60)
    assert await code_of(admins.change("ann", lambda admin: replace(admin, role="auditor"))) == "last_admin"
    assert await code_of(admins.revoke("ann")) == "last_admin"
    assert (await admins.get("ann")).role == "admin"
    await admins.change("bob", lambda admin: replace(admin, expires_at=None))
    await admins.revoke("ann")
    assert await code_of(admins.get("ann")) == "not_found"
    assert await code_of(admins.add("ann", "admin", new_admin_token(), NOW)) == "conflict", "its name stays taken"
