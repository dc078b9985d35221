"""Providers and policies: created, read, replaced, changed, removed; judged on the way in."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mastio.cedar.source import CedarError, verify_cedar
from mastio.control.bodies import describe, refuse_body
from mastio.exchange.errors import BadRequest
from mastio_policy.collection import POLICIES as COLLECTION
from mastio_policy.collection import STARTER
from support.control_plane import World

PROVIDERS, POLICIES = "/v1/admin/providers", "/v1/admin/policies"
CANARY = "sk-canary-5f1d"
PROVIDER = {"name": "main", "kind": "openai", "base_url": "https://api.example/v1", "api_key": CANARY}
PERMIT = "permit(principal, action, resource);"


async def test_a_providers_life(world: World) -> None:
    created = await world.call("POST", PROVIDERS, PROVIDER)
    assert created.status_code == 201
    expected = {
        "name": "main", "kind": "openai", "base_url": "https://api.example/v1", "models": ["*"], "aliases": {},
        "allow_addresses": [], "weight": 1, "timeouts": {}, "api_key_set": True,
    }  # fmt: skip
    assert created.json() == expected == (await world.call("GET", f"{PROVIDERS}/main")).json()
    assert (await world.call("GET", PROVIDERS)).json() == {"items": [expected], "next_cursor": None}
    assert world.directory.objects("providers")["main"].api_key == CANARY
    again = await world.call("POST", PROVIDERS, PROVIDER)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    patch = {"models": ["gpt-*"], "aliases": {"fast": "gpt-mini"}, "weight": 3, "timeouts": {"connect": 1.5},
             "allow_addresses": ["127.0.0.1/32", "::1"]}  # fmt: skip
    patched = await world.call("PATCH", f"{PROVIDERS}/main", patch)
    assert patched.json() == {**expected, **patch}
    assert world.directory.objects("providers")["main"].api_key == CANARY
    put = await world.call("PUT", f"{PROVIDERS}/main", {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"})
    assert put.json() == {**expected, "base_url": "http://127.0.0.1:9/v1", "api_key_set": False}
    assert (await world.call("DELETE", f"{PROVIDERS}/main")).status_code == 204
    for method in ("GET", "DELETE"):
        assert (await world.call(method, f"{PROVIDERS}/main")).status_code == 404
    assert (await world.call("PATCH", f"{PROVIDERS}/main", {})).status_code == 404
    assert not world.directory.objects("providers")


async def test_a_key_that_cannot_be_had_is_not_thrown_away(world: World) -> None:
    """Another member is changed while the stored key does not open: refused, and the sealed one is still there."""
    await world.call("POST", PROVIDERS, PROVIDER)
    database = sqlite3.connect(world.data / "db" / "control.sqlite")

    def sealed() -> str | None:
        kept: str | None = database.execute("SELECT secret FROM objects").fetchone()[0]
        return kept

    before = sealed()
    assert before is not None
    with database:
        database.execute("UPDATE objects SET secret = ?", (f"{before[:-2]}AA",))
    assert (await world.call("GET", f"{PROVIDERS}/main")).json()["api_key_set"] is False
    for change in ({"weight": 2}, {"base_url": "https://api.example/v2"}, {"base_url": "https://other.example/v1"}):
        reply = await world.call("PATCH", f"{PROVIDERS}/main", change)
        assert reply.status_code == 422 and "cannot be had" in reply.json()["message"]
    assert sealed() == f"{before[:-2]}AA"
    removed = await world.call("PATCH", f"{PROVIDERS}/main", {"api_key": None})
    assert removed.status_code == 200 and sealed() is None
    assert (await world.call("PATCH", f"{PROVIDERS}/main", {"weight": 2})).status_code == 200
    again = await world.call("PATCH", f"{PROVIDERS}/main", {"api_key": CANARY})
    assert again.json()["api_key_set"] is True
    database.close()


async def test_a_secret_never_comes_out(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = [await world.call("POST", PROVIDERS, PROVIDER)]
    said += [await world.call("GET", PROVIDERS), await world.call("GET", f"{PROVIDERS}/main")]
    said += [await world.call("PATCH", f"{PROVIDERS}/main", {"weight": 2})]
    said += [await world.call("POST", PROVIDERS, {**PROVIDER, "api_key": CANARY + "\n"})]
    said += [await world.call("POST", PROVIDERS, {**PROVIDER, "odd": CANARY})]
    said += [await world.call("POST", PROVIDERS, {**PROVIDER, "base_url": CANARY})]
    assert not [reply for reply in said if CANARY in reply.text]
    assert CANARY not in caplog.text
    for file in (world.data / "db").iterdir():
        assert CANARY.encode() not in file.read_bytes()


async def test_what_pydantic_complains_of_is_not_even_the_cause() -> None:
    with pytest.raises(BadRequest) as caught:
        await refuse_body(None, ValueError(CANARY))  # type: ignore[arg-type]
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


async def test_a_secret_does_not_follow_to_another_server(world: World) -> None:
    await world.call("POST", PROVIDERS, PROVIDER)
    moved = {"base_url": "https://thief.example/v1"}
    reply = await world.call("PATCH", f"{PROVIDERS}/main", moved)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert world.directory.objects("providers")["main"].base_url == PROVIDER["base_url"]
    assert (await world.call("PATCH", f"{PROVIDERS}/main", {"base_url": "https://api.example/v2"})).status_code == 200
    assert (await world.call("PATCH", f"{PROVIDERS}/main", {**moved, "api_key": "sk-new"})).status_code == 200
    assert world.directory.objects("providers")["main"].api_key == "sk-new"
    removed = await world.call("PATCH", f"{PROVIDERS}/main", {"api_key": None})
    assert removed.json()["api_key_set"] is False and world.directory.objects("providers")["main"].api_key is None


async def test_secret_files(world: World) -> None:
    folder = world.data / "secrets" / "providers"
    folder.mkdir()
    (folder / "key").write_text("sk-file\n")
    body = {"name": "f", "kind": "openai", "base_url": "https://x.example/v1"}
    made = await world.call("POST", PROVIDERS, {**body, "api_key_file": str(folder / "key")})
    assert made.status_code == 201 and made.json()["api_key_set"] is True and "providers/key" not in made.text
    for path in (world.data / "secrets" / "store-secrets.key", folder / "none", Path("/etc/passwd")):
        for method, where in (("POST", PROVIDERS), ("PUT", f"{PROVIDERS}/f"), ("PATCH", f"{PROVIDERS}/f")):
            document = {"api_key_file": str(path)} if method == "PATCH" else {**body, "api_key_file": str(path)}
            reply = await world.call(method, where, document)
            assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
            assert str(path) not in reply.text
    both = await world.call("POST", PROVIDERS, {**PROVIDER, "api_key_file": str(folder / "key")})
    assert both.status_code == 422


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"kind": "bedrock", "api_key": "{}"}, "api_key: its member region must be a string."),
        ({"kind": "vertex", "api_key": "key"}, "api_key: it must be a JSON object."),
        (
            {"kind": "azure", "api_key": '{"tenant_id":"../x"}'},
            "api_key: its member tenant_id must be an id",
        ),
        ({"kind": "openai", "api_key": "two words"}, "api_key: it must be one word of visible ASCII characters."),
        ({"kind": "odd"}, "kind"),
        ({"name": "A"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": ".a"}, "name"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "https://user:pw@x/v1"}, "base_url"),
        ({"base_url": "https://x/v1?a=b"}, "base_url"),
        ({"base_url": "http://2130706433/v1"}, "base_url"),
        ({"base_url": "https://x/v1\r\nX: y"}, "base_url"),
        ({"api_key": "a b"}, "api_key"),
        ({"api_key": "a\r\nX: y"}, "api_key"),
        ({"api_key": ""}, "api_key"),
        ({"models": []}, "models"),
        ({"models": "x"}, "models"),
        ({"models": ["a\n"]}, "models"),
        ({"aliases": {"a": 1}}, "aliases"),
        ({"allow_addresses": ["127.0.0.1/8/8"]}, "allow_addresses"),
        ({"allow_addresses": ["10.0.0.1/8"]}, "allow_addresses"),
        ({"weight": -1}, "weight"),
        ({"weight": True}, "weight"),
        ({"timeouts": {"connect": 0}}, "timeouts.connect"),
        ({"timeouts": {"connect": 1e9}}, "timeouts.connect"),
        ({"timeouts": {"odd": 1}}, "timeouts.odd"),
        ({"role": "admin"}, "role"),
    ],
    ids=str,
)
async def test_bad_providers(world: World, more: dict[str, Any], said: str) -> None:
    reply = await world.call("POST", PROVIDERS, {**PROVIDER, **more})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert said in reply.json()["message"]
    assert not world.directory.objects("providers")


async def test_a_policys_life(world: World) -> None:
    created = await world.call("POST", POLICIES, {"name": "p", "cedar": PERMIT})
    assert created.status_code == 201
    expected = {"name": "p", "cedar": PERMIT, "enabled": True, "mode": "enforce"}
    assert created.json() == expected == (await world.call("GET", f"{POLICIES}/p")).json()
    assert (await world.call("GET", POLICIES)).json()["items"] == [expected]
    assert (await world.call("POST", POLICIES, {"name": "p", "cedar": PERMIT})).status_code == 409
    patched = await world.call("PATCH", f"{POLICIES}/p", {"enabled": False, "mode": "observe"})
    assert patched.json() == {**expected, "enabled": False, "mode": "observe"}
    assert not world.directory.objects("policies")["p"].enabled
    put = await world.call("PUT", f"{POLICIES}/p", {"name": "p", "cedar": PERMIT})
    assert put.json() == expected
    assert (await world.call("PUT", f"{POLICIES}/p", {"name": "q", "cedar": PERMIT})).status_code == 422
    assert (await world.call("PUT", f"{POLICIES}/none", {"cedar": PERMIT})).status_code == 404
    assert (await world.call("DELETE", f"{POLICIES}/p")).status_code == 204
    assert not world.directory.objects("policies")


@pytest.mark.parametrize(
    "body",
    [
        {"cedar": "permit(principal, action);"},
        {"cedar": ""},
        {"cedar": "// nothing"},
        {"cedar": "permit(principal == ?principal, action, resource);"},
        {"cedar": PERMIT, "mode": "dry"},
        {"cedar": PERMIT, "enabled": 1},
        {"cedar": PERMIT, "role": "admin"},
    ],
    ids=str,
)
async def test_bad_policies_are_not_stored(world: World, body: dict[str, Any]) -> None:
    for method, path, document in (
        ("POST", POLICIES, {"name": "p", **body}),
        ("PUT", f"{POLICIES}/starter", body),
        ("PATCH", f"{POLICIES}/starter", body),
    ):
        await world.store.of(COLLECTION).create(STARTER) if method == "PUT" else None
        reply = await world.call(method, path, document)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert dict(world.directory.objects("policies")) == {"starter": STARTER}


@pytest.mark.parametrize(
    ("damage", "shown"),
    [
        ("x'ff00'", {"cedar": "The row of this policy in the database is damaged."}),
        ("json_set(document, '$.cedar', 7)", {"cedar": "7"}),
        ("json_set(document, '$.mode', 'enforced')", {"mode": "enforced"}),
    ],
)
async def test_a_damaged_policy_is_shown_and_can_only_be_replaced(
    world: World, damage: str, shown: dict[str, str]
) -> None:
    body = {"name": "guard", "cedar": PERMIT, "enabled": True, "mode": "enforce"}
    assert (await world.call("POST", POLICIES, body)).status_code == 201
    _damage(world, f"UPDATE objects SET document = {damage}")
    found = (await world.call("GET", f"{POLICIES}/guard")).json()
    assert found == {**body, **shown}
    assert (await world.call("GET", POLICIES)).json()["items"] == [found]
    for patch in ({}, {"enabled": False}, {"mode": "observe"}):
        refused = await world.call("PATCH", f"{POLICIES}/guard", patch)
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict"), refused.text
        assert "damaged" in refused.json()["message"]
    if "cedar" in shown:
        assert (await world.call("PUT", f"{POLICIES}/guard", found)).status_code == 422, "it is not written back"
    assert (await world.call("PUT", f"{POLICIES}/guard", body)).json() == body
    assert (await world.call("PATCH", f"{POLICIES}/guard", {"enabled": False})).status_code == 200


async def test_lists_with_damaged_rows_are_answered(world: World) -> None:
    agents = "/v1/admin/agents"
    for name in ("alice", "bob"):
        assert (await world.enrol(name, token=await world.token())).status_code == 201
    for name in ("one", "two"):
        assert (await world.call("POST", f"{agents}/alice/api-keys", {"name": name})).status_code == 201
    for name in ("main", "other"):
        assert (await world.call("POST", PROVIDERS, {**PROVIDER, "name": name})).status_code == 201
    _damage(world, "UPDATE agents SET groups = '[' WHERE name = 'bob'")
    _damage(world, "UPDATE api_keys SET paths = CAST(x'ff00' AS TEXT) WHERE name = 'one'")
    _damage(world, "UPDATE objects SET document = json_set(document, '$.models', '[') WHERE name = 'main'")
    for path, left in ((agents, "alice"), (f"{agents}/alice/api-keys", "two"), (PROVIDERS, "other")):
        answer = await world.call("GET", path)
        assert answer.status_code == 200, answer.text
        assert [item["name"] for item in answer.json()["items"]] == [left]
    for path in (f"{agents}/bob", f"{PROVIDERS}/main"):
        answer = await world.call("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict"), answer.text


def _damage(world: World, statement: str) -> None:
    database = sqlite3.connect(world.data / "db" / "control.sqlite", timeout=30)
    with database:
        database.execute(statement)
    database.close()


def test_the_starter_is_valid() -> None:
    verify_cedar(STARTER.cedar)


WHEN = "permit(principal, action, resource) when {"


@pytest.mark.parametrize(
    "source",
    [
        WHEN + "(" * 3000 + "true" + ")" * 3000 + "};",
        WHEN + "[" * 3000 + "]" * 3000 + " == 1};",
        WHEN + "{a:" * 3000 + "1" + "}" * 3000 + " == 1};",
        WHEN + "true" + "||true" * 10_000 + "};",
        WHEN + "1 == 1" + "+1" * 30_000 + "};",
        WHEN + "principal" + ".a" * 30_000 + "};",
        WHEN + "principal" + '["a"]' * 12_000 + "};",
        WHEN + "if true then true else " * 2_500 + "true};",
        WHEN + 'true || "' + '(\\"' * 5 + '" == "" ' + "|| true" * 9000 + "};",
        PERMIT + " " * 70_000,
        WHEN + '"\0" == ""};',
    ],
    ids=lambda source: source[42:60],
)
def test_a_source_that_would_end_the_process_is_refused_before(source: str) -> None:
    with pytest.raises(CedarError):
        verify_cedar(source)


def test_brackets_in_strings_and_comments_do_not_count() -> None:
    verify_cedar(f"// {'(' * 200}\n" + WHEN + f'"{"(" * 200}" == "\\"{"[" * 200}"' + "};")
    verify_cedar(PERMIT * 500)


async def test_a_database_that_does_not_answer_is_503(world: World) -> None:
    lock = sqlite3.connect(world.data / "db" / "control.sqlite", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        async with asyncio.timeout(10):
            reply = await world.call("POST", POLICIES, {"name": "p", "cedar": PERMIT})
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    assert (reply.status_code, reply.json()["code"]) == (503, "store_unavailable")


def test_complaints_name_the_place() -> None:
    assert describe([{"loc": ("body", "timeouts", "connect"), "msg": "Input is wrong."}]) == (
        "timeouts.connect: input is wrong."
    )
    assert describe([{"loc": ("body",), "msg": "Field required"}]) == "the body: field required."
    assert describe([{"loc": ("body", "models", 3), "msg": "Value error, no"}]) == "models.3: no."
    assert describe([{"loc": ("body", "<x>"), "msg": "Extra inputs"}]) == "a member: extra inputs."
    assert describe([]) == "The body is not valid."
