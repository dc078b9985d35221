"""API keys, as operators make, see and remove them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mastio.store.api_keys import hash_api_key
from mastio.store.secrets.file_keys import FileKeys
from support.control_plane import NOW, World

KEYS = "/v1/admin/agents/alice/api-keys"
SHOWN = {
    "agent": "alice", "name": "default", "kinds": [], "models": [], "paths": [], "created_at": "2027-01-15T08:00:00Z",
    "created_by": "first", "expires_at": None, "last_used_at": None,
}  # fmt: skip


@pytest.fixture
async def alice(world: World) -> World:
    token = await world.token(uses=2)
    for name in ("alice", "bob"):
        assert (await world.enrol(name, token=token)).status_code == 201
    return world


async def make(world: World, body: Any = None, path: str = KEYS) -> dict[str, Any]:
    reply = await world.call("POST", path, {} if body is None else body)
    assert reply.status_code == 201, reply.text
    made: dict[str, Any] = reply.json()
    return made


async def test_the_life_of_a_key(alice: World) -> None:
    made = await make(alice)
    identifier, text = made.pop("id"), made.pop("key")
    assert made == SHOWN and identifier.startswith("key_") and text.startswith("mastio_sk_")
    (hot,) = alice.directory.api_keys.values()
    assert (hot.id, hot.key_hash) == (identifier, hash_api_key(FileKeys(alice.data), text))
    row = {"id": identifier, **SHOWN}
    assert (await alice.call("GET", f"{KEYS}/{identifier}")).json() == row
    assert (await alice.call("GET", KEYS)).json() == {"items": [row], "next_cursor": None}
    await alice.store.api_keys.mark_used({identifier: NOW + 61.5})
    used = {**row, "last_used_at": "2027-01-15T08:01:01Z"}
    assert (await alice.call("GET", f"{KEYS}/{identifier}")).json() == used
    removed = await alice.call("DELETE", f"{KEYS}/{identifier}")
    assert (removed.status_code, removed.content) == (204, b"")
    assert not alice.directory.api_keys
    assert (await alice.call("GET", KEYS)).json()["items"] == []
    for method in ("GET", "DELETE"):
        gone = await alice.call(method, f"{KEYS}/{identifier}")
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"name": "Cursor on the laptop"}, {}),
        ({"kinds": ["llm.*", "agent.self"], "models": ["stub/*", "gpt-4o", "größe"], "paths": ["/v1/chat/*"]}, {}),
        ({"ttl_seconds": 60}, {"expires_at": "2027-01-15T08:01:00Z"}),
        ({"ttl_seconds": None, "expires_at": None}, {"expires_at": None}),
        ({"expires_at": "2027-01-15T10:00:00+01:00"}, {"expires_at": "2027-01-15T09:00:00Z"}),
        ({"expires_at": "2027-01-15T08:00:00.9Z"}, {"expires_at": "2027-01-15T08:00:00Z"}),
    ],
)
async def test_what_a_key_may_be(alice: World, body: dict[str, Any], shown: dict[str, Any]) -> None:
    made = await make(alice, body)
    said = {name: value for name, value in body.items() if name in SHOWN}
    assert {name: made[name] for name in SHOWN} == {**SHOWN, **said, **shown}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": 5}, "name"),
        ({"kinds": "llm.*"}, "kinds"),
        ({"kinds": ["LLM"]}, "kinds"),
        ({"kinds": [""]}, "kinds"),
        ({"kinds": ["a"] * 101}, "kinds"),
        ({"kinds": None}, "kinds"),
        ({"models": [""]}, "models"),
        ({"models": ["a\x1b[2J"]}, "models"),
        ({"models": ["m" * 201]}, "models"),
        ({"paths": ["v1/chat"]}, "paths"),
        ({"paths": ["/a b"]}, "paths"),
        ({"paths": [5]}, "paths"),
        ({"ttl_seconds": 0}, "ttl_seconds"),
        ({"ttl_seconds": -1}, "ttl_seconds"),
        ({"ttl_seconds": 1.5}, "ttl_seconds"),
        ({"ttl_seconds": "60"}, "ttl_seconds"),
        ({"ttl_seconds": True}, "ttl_seconds"),
        ({"ttl_seconds": 10**12}, "ttl_seconds"),
        ({"ttl_seconds": 60, "expires_at": "2030-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2027-01-15T08:00:00Z"}, "expires_at"),
        ({"expires_at": "2000-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "9999-12-31T23:59:59-14:00"}, "expires_at"),
        ({"expires_at": "0000-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2030-13-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2030-01-01T00:00:00+99:00"}, "expires_at"),
        ({"expires_at": "2030-01-01T00:00:00"}, "expires_at"),
        ({"expires_at": "2030-01-01"}, "expires_at"),
        ({"expires_at": 1_900_000_000}, "expires_at"),
        ({"key": "mastio_sk_mine"}, "key"),
        ({"agent": "bob"}, "agent"),
        ({"created_by": "nobody"}, "created_by"),
    ],
    ids=str,
)
async def test_a_key_that_cannot_be(alice: World, body: dict[str, Any], named: str) -> None:
    reply = await alice.call("POST", KEYS, body)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert named in reply.json()["message"]
    assert not alice.directory.api_keys


async def test_keys_are_one_agents_own(alice: World) -> None:
    made = await make(alice)
    theirs = f"/v1/admin/agents/bob/api-keys/{made['id']}"
    for method in ("GET", "DELETE"):
        assert (await alice.call(method, theirs)).status_code == 404
    assert (await alice.call("GET", "/v1/admin/agents/bob/api-keys")).json()["items"] == []
    assert len(alice.directory.api_keys) == 1
    for method, path in (("GET", ""), ("POST", ""), ("GET", "/key_x"), ("DELETE", "/key_x")):
        reply = await alice.call(method, f"/v1/admin/agents/nobody/api-keys{path}", {} if method == "POST" else None)
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found")


async def test_lists_are_paged(alice: World) -> None:
    made = [(await make(alice, {"name": f"k{n}"}))["id"] for n in range(5)]
    await make(alice, path="/v1/admin/agents/bob/api-keys")
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await alice.call("GET", f"{KEYS}?limit=2{cursor and '&cursor='}{cursor}")).json()
        assert len(page["items"]) <= 2
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert seen == made


async def test_the_key_comes_out_once(alice: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = await make(alice)
    said = [await alice.call("GET", KEYS), await alice.call("GET", f"{KEYS}/{made['id']}")]
    said.append(await alice.call("GET", "/v1/admin/agents/alice"))
    (hot,) = alice.directory.api_keys.values()
    for secret in (made["key"], hot.key_hash):
        assert not [reply for reply in said if secret in reply.text]
        assert secret not in caplog.text
    for file in (alice.data / "db").iterdir():
        assert made["key"].encode() not in file.read_bytes()
