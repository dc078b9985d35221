"""Named admins over REST."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.store.admins import hash_admin_token
from mastio.store.secrets.file_keys import FileKeys
from support.control_plane import NOW, World

ADMINS = "/v1/admin/admins"


async def add(world: World, name: str, role: str = "admin", **more: Any) -> dict[str, Any]:
    reply = await world.call("POST", ADMINS, {"name": name, "role": role, **more})
    assert reply.status_code == 201, reply.text
    document: dict[str, Any] = reply.json()
    return document


def is_known(world: World, token: str) -> bool:
    admin = world.directory.admins.get(hash_admin_token(FileKeys(world.data), token))
    return admin is not None and not admin.revoked


async def test_a_token_is_shown_once(world: World) -> None:
    made = await add(world, "anna", "operator", ttl_seconds=3600)
    token = made.pop("token")
    assert token.startswith("mastio_admin_") and len(token) == 56
    assert made == {
        "name": "anna",
        "role": "operator",
        "created_at": "2027-01-15T08:00:00Z",
        "created_by": "first",
        "expires_at": "2027-01-15T09:00:00Z",
    }
    assert (await world.call("GET", f"{ADMINS}/anna")).json() == made
    assert (await world.call("GET", ADMINS)).json() == {"items": [made], "next_cursor": None}
    assert is_known(world, token)


async def test_ends(world: World) -> None:
    assert (await add(world, "a"))["expires_at"] is None
    assert (await add(world, "b", expires_at="2027-01-16T10:00:00+02:00"))["expires_at"] == "2027-01-16T08:00:00Z"
    changed = await world.call("PATCH", f"{ADMINS}/b", {"role": "auditor"})
    assert (changed.json()["role"], changed.json()["expires_at"]) == ("auditor", "2027-01-16T08:00:00Z")
    changed = await world.call("PATCH", f"{ADMINS}/b", {"expires_at": None})
    assert (changed.json()["role"], changed.json()["expires_at"]) == ("auditor", None)
    changed = await world.call("PATCH", f"{ADMINS}/b", {"ttl_seconds": 60})
    assert changed.json()["expires_at"] == "2027-01-15T08:01:00Z"
    world.clock.time = NOW + 61
    assert [item["name"] for item in (await world.call("GET", ADMINS)).json()["items"]] == ["a", "b"]


@pytest.mark.parametrize(
    "body",
    [
        {}, {"name": "x"}, {"role": "admin"}, {"name": "X", "role": "admin"}, {"name": "x", "role": "agent"},
        {"name": "x", "role": "root"}, {"name": "x", "role": ["admin"]}, {"name": "-x", "role": "admin"},
        {"name": "x", "role": "admin", "token": "mastio_admin_x"}, {"name": "x", "role": "admin", "ttl_seconds": 0},
        {"name": "x", "role": "admin", "ttl_seconds": "60"}, {"name": "x", "role": "admin", "ttl_seconds": 10**12},
        {"name": "x", "role": "admin", "expires_at": "2027-01-15T08:00:00Z"},
        {"name": "x", "role": "admin", "expires_at": "2037-01-16T08:00:00Z"},
        {"name": "x", "role": "admin", "expires_at": 1900000000},
        {"name": "x", "role": "admin", "expires_at": "2027-01-16T08:00:00Z", "ttl_seconds": 5},
        {"name": "x", "role": "admin", "created_by": "y"},
    ],
    ids=str,
)  # fmt: skip
async def test_bad_bodies(world: World, body: dict[str, Any]) -> None:
    reply = await world.call("POST", ADMINS, body)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert (await world.call("GET", ADMINS)).json()["items"] == []


async def test_a_name_is_given_once(world: World) -> None:
    await add(world, "keeper")
    token = (await add(world, "anna"))["token"]
    again = await world.call("POST", ADMINS, {"name": "anna", "role": "admin"})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert (await world.call("DELETE", f"{ADMINS}/anna")).status_code == 204
    assert not is_known(world, token)
    for method, path in (("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/rotate")):
        body = {} if method == "PATCH" else None
        assert (await world.call(method, f"{ADMINS}/anna{path}", body)).status_code == 404
    assert [item["name"] for item in (await world.call("GET", ADMINS)).json()["items"]] == ["keeper"]
    again = await world.call("POST", ADMINS, {"name": "anna", "role": "admin"})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


async def test_rotation(world: World) -> None:
    old = await add(world, "anna", "auditor", ttl_seconds=60)
    new = (await world.call("POST", f"{ADMINS}/anna/rotate")).json()
    assert {**old, "token": ""} == {**new, "token": ""} and new["token"] != old["token"]
    assert is_known(world, new["token"]) and not is_known(world, old["token"])


async def test_the_last_admin_cannot_go(world: World) -> None:
    await add(world, "anna")
    await add(world, "ending", ttl_seconds=60)
    calls: list[tuple[str, dict[str, Any] | None]] = [
        ("DELETE", None), ("PATCH", {"role": "operator"}), ("PATCH", {"ttl_seconds": 60}),
        ("PATCH", {"expires_at": "2027-01-16T08:00:00Z"}),
    ]  # fmt: skip
    for method, body in calls:
        reply = await world.call(method, f"{ADMINS}/anna", body)
        assert (reply.status_code, reply.json()["code"]) == (409, "last_admin")
    await add(world, "berta")
    assert (await world.call("PATCH", f"{ADMINS}/anna", {"role": "operator"})).status_code == 200


async def test_lists_are_paged(world: World) -> None:
    for number in range(5):
        await add(world, f"a{number}")
    first = (await world.call("GET", f"{ADMINS}?limit=3")).json()
    second = (await world.call("GET", f"{ADMINS}?limit=3&cursor={first['next_cursor']}")).json()
    assert [item["name"] for page in (first, second) for item in page["items"]] == [f"a{n}" for n in range(5)]
    assert second["next_cursor"] is None
