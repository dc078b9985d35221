"""Connections: created, read, replaced, changed, removed; every member judged on the way in; no secret comes out."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mastio_egress.connections.secrets import OPTIONS
from support.connection_samples import CREDENTIALS, authority_pem, client_pem, renewed_pem
from support.control_plane import World

CONNECTIONS = "/v1/admin/connections"
OPTION_NAMES = ("kind", "secret", "secret_file", *(name for names in OPTIONS.values() for name in names))
CANARY = "canary-secret-5f1d9a"
BEARER = {"kind": "bearer", "secret": CANARY}
CONNECTION: dict[str, Any] = {"name": "billing", "base_url": "https://api.example/v2", "credential": BEARER}
ANSWER: dict[str, Any] = {
    "name": "billing", "base_url": "https://api.example/v2", "credential": {"kind": "bearer", "secret_set": True},
    "methods": [], "paths": ["*"], "allow_addresses": [], "redirects": False, "redirect_hosts": [],
    "inspect": {"request": False, "response": False},
    "limits": {"request_bytes": 268435456, "response_bytes": 1073741824, "requests_per_minute": 0},
    "timeouts": {}, "keep_headers": [], "request_headers": [], "ca": None, "pin": None,
}  # fmt: skip
EVERYTHING: dict[str, Any] = {
    "methods": ["GET", "POST"], "paths": ["/v1/*", "*"], "allow_addresses": ["10.0.0.0/8", "::1"], "redirects": True,
    "redirect_hosts": ["files.example"], "inspect": {"request": True, "response": True},
    "limits": {"request_bytes": 1024, "response_bytes": 2048, "requests_per_minute": 60},
    "timeouts": {"connect": 1.5, "read": 10.0, "total": 7200.0}, "keep_headers": ["set-cookie"],
    "request_headers": ["x-amz-target"],
    "ca": authority_pem(), "pin": "ab" * 32,
}  # fmt: skip


async def test_a_connections_life(world: World) -> None:
    created = await world.call("POST", CONNECTIONS, CONNECTION)
    assert (created.status_code, created.json()) == (201, ANSWER)
    assert (await world.call("GET", f"{CONNECTIONS}/billing")).json() == ANSWER
    assert (await world.call("GET", CONNECTIONS)).json() == {"items": [ANSWER], "next_cursor": None}
    credential = world.directory.objects("connections")["billing"].credential
    assert credential is not None and credential.secret == CANARY
    again = await world.call("POST", CONNECTIONS, CONNECTION)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    patched = await world.call("PATCH", f"{CONNECTIONS}/billing", EVERYTHING)
    assert patched.json() == {**ANSWER, **EVERYTHING}
    put = await world.call("PUT", f"{CONNECTIONS}/billing", {"base_url": "https://other.example"})
    assert put.json() == {**ANSWER, "base_url": "https://other.example", "credential": None}
    assert (await world.call("DELETE", f"{CONNECTIONS}/billing")).status_code == 204
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", {}), ("PUT", {"base_url": "https://x.example"})):
        reply = await world.call(method, f"{CONNECTIONS}/billing", body)
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    assert not world.directory.objects("connections")


async def test_everything_at_once(world: World) -> None:
    created = await world.call("POST", CONNECTIONS, {**CONNECTION, **EVERYTHING, "methods": ["get", "POST", "GET"]})
    assert (created.status_code, created.json()) == (201, {**ANSWER, **EVERYTHING})
    row = world.directory.objects("connections")["billing"]
    assert row.methods == ("GET", "POST") and row.limits.requests_per_minute == 60 and row.inspect_response
    left_out = await world.call("PATCH", f"{CONNECTIONS}/billing", {})
    nulls = await world.call(
        "PATCH", f"{CONNECTIONS}/billing", {name: None for name in EVERYTHING if name not in ("ca", "pin")}
    )
    assert left_out.json() == nulls.json() == created.json()
    parts = {
        "inspect": {"response": False},
        "limits": {"requests_per_minute": 0},
        "timeouts": {"read": 3.0, "total": None},
    }
    parted = (await world.call("PATCH", f"{CONNECTIONS}/billing", {**parts, "ca": None, "pin": None})).json()
    assert parted["inspect"] == {"request": True, "response": False}
    assert parted["limits"] == {**EVERYTHING["limits"], "requests_per_minute": 0}
    assert (parted["timeouts"], parted["ca"], parted["pin"]) == ({"connect": 1.5, "read": 3.0}, None, None)


async def test_lists_are_paged(world: World) -> None:
    for number in range(5):
        await world.call("POST", CONNECTIONS, {"name": f"c{number}", "base_url": "https://api.example"})
    seen, cursor = [], None
    while True:
        page = (await world.call("GET", f"{CONNECTIONS}?limit=2" + (f"&cursor={cursor}" if cursor else ""))).json()
        seen += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"c{number}" for number in range(5)]


@pytest.mark.parametrize("kind", CREDENTIALS)
async def test_the_secret_of_no_kind_comes_out(world: World, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    sample = CREDENTIALS[kind]
    body = {**CONNECTION, "credential": sample.body}
    said = [await world.call("POST", CONNECTIONS, body)]
    expected = {"kind": kind, **sample.options, "secret_set": True}
    assert said[0].status_code == 201 and said[0].json()["credential"] == expected
    row = world.directory.objects("connections")["billing"]
    assert row.credential is not None and row.credential.secret == sample.secret
    assert row.credential.options == sample.options and sample.canary not in repr(row)
    said += [await world.call("GET", CONNECTIONS), await world.call("GET", f"{CONNECTIONS}/billing")]
    said += [await world.call("PATCH", f"{CONNECTIONS}/billing", {"credential": {"secret": sample.secret}})]
    said += [await world.call("PUT", f"{CONNECTIONS}/billing", {**body, "name": "billing"})]
    assert [reply.status_code for reply in said] == [201, 200, 200, 200, 200]
    wrong: list[dict[str, Any]] = [
        {"odd": sample.secret}, {"base_url": sample.secret}, {"credential": sample.secret}, {"pin": sample.secret},
        {"credential": {**sample.body, "odd": sample.secret}}, {"credential": {**sample.body, "kind": sample.secret}},
        {"credential": {**sample.body, "secret": f"{sample.secret}\x00"}}, {"methods": [f"{sample.secret} x"]},
        {"credential": {**sample.body, "secret_file": sample.secret}}, {"keep_headers": [f"{sample.secret} x"]},
        {"credential": {**sample.body, "header": f" {sample.secret}"}}, {"ca": sample.secret},
    ]  # fmt: skip
    refused = [await world.call("POST", CONNECTIONS, {**body, "name": "x", **more}) for more in wrong]
    assert {reply.status_code for reply in refused} == {422}
    assert not [reply.text for reply in said + refused if sample.canary in reply.text]
    assert sample.canary not in caplog.text
    for file in (it for it in world.data.rglob("*") if it.is_file()):
        assert sample.canary.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "A"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": ".a"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"odd": 1}, "odd"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"base_url": "https://user:pw@x/v1"}, "base_url"),
        ({"base_url": "https://x/v1?a=b"}, "base_url"),
        ({"base_url": "http://2130706433/"}, "base_url"),
        ({"base_url": "https://x/v1\r\nX: y"}, "base_url"),
        ({"base_url": "http://api.example"}, "base_url: http would show the secret"),
        ({"base_url": "http://api.example", "credential": None, "pin": "ab" * 32}, "base_url: ca and pin need https"),
        ({"base_url": "http://10.0.0.1", "credential": {"kind": "certificate", "secret": client_pem()},
          "allow_addresses": ["10.0.0.1"]}, "base_url: a certificate needs https"),
        ({"methods": ["CONNECT"]}, "methods: none of them may be CONNECT or TRACE"),
        ({"methods": ["trace"]}, "methods: none of them may be CONNECT or TRACE"),
        ({"methods": ["GET POST"]}, "methods"),
        ({"methods": [""]}, "methods"),
        ({"methods": "GET"}, "methods"),
        ({"paths": []}, "paths"),
        ({"paths": ["v1/*"]}, "paths.0: it must be * or begin with /"),
        ({"paths": ["**"]}, "paths.0"),
        ({"paths": ["/a b"]}, "paths.0"),
        ({"paths": ["/a\n"]}, "paths.0"),
        ({"allow_addresses": ["10.0.0.1/8"]}, "allow_addresses"),
        ({"redirects": "yes"}, "redirects"),
        ({"redirect_hosts": ["https://x"]}, "redirect_hosts.0"),
        ({"redirect_hosts": ["x:443"]}, "redirect_hosts.0"),
        ({"redirect_hosts": ["*.example"]}, "redirect_hosts.0"),
        ({"redirect_hosts": ["user@x"]}, "redirect_hosts.0"),
        ({"redirect_hosts": ["0x7f000001"]}, "redirect_hosts.0"),
        ({"inspect": True}, "inspect"),
        ({"inspect": {"both": True}}, "inspect.both"),
        ({"limits": {"request_bytes": 0}}, "limits.request_bytes"),
        ({"limits": {"response_bytes": -1}}, "limits.response_bytes"),
        ({"limits": {"requests_per_minute": 1.5}}, "limits.requests_per_minute"),
        ({"limits": {"requests": 1}}, "limits.requests"),
        ({"timeouts": {"connect": 0}}, "timeouts.connect"),
        ({"timeouts": {"total": 1e9}}, "timeouts.total"),
        ({"timeouts": {"first": 1}}, "timeouts.first"),
        ({"keep_headers": ["transfer-encoding"]}, "keep_headers.0: it must be one of authentication-info, refresh, "),
        ({"keep_headers": ["a b"]}, "keep_headers.0"),
        *(({"request_headers": [name]}, f"request_headers: {name.lower()} cannot be sent") for name in (
            "Authorization", "x-api-key", "DPoP", "Host", "content-length", "te", "proxy-authorization", "cookie",
            "X_Forwarded_For", "x-edge-secret", "x-http-method-override", "a b", "a:b")),
        ({"keep_headers": ["strict-transport-security"]}, "keep_headers.0"),
        ({"ca": "no pem"}, "ca"),
        ({"ca": client_pem()}, "ca: it must have certificates and nothing else"),
        ({"ca": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, "ca"),
        ({"pin": "ab"}, "pin"),
        ({"pin": "xy" * 32}, "pin"),
        ({"credential": {"kind": "bearer"}}, "credential: give secret or secret_file."),
        ({"credential": {**BEARER, "secret_file": "/run/secrets/x"}}, "credential: give secret or secret_file, not"),
        ({"credential": {"kind": "odd", "secret": CANARY}}, "credential.kind"),
        ({"credential": {"secret": CANARY}}, "credential.kind"),
        ({"credential": {**BEARER, "odd": "x"}}, "credential.odd"),
        ({"credential": {**BEARER, "header": "x-key"}}, "credential.header: it is not a member of the kind bearer"),
        ({"credential": {**BEARER, "secret": "short12"}}, "credential.secret: it must have 8 characters"),
        ({"credential": {**BEARER, "secret": f" {CANARY}"}}, "credential.secret: it must be one line"),
        ({"credential": {**BEARER, "secret": f"{CANARY}\n"}}, "credential.secret: it must be one line"),
        ({"credential": {**BEARER, "secret": f"{CANARY}\r\nX: y"}}, "credential.secret: it must be one line"),
        ({"credential": {**BEARER, "secret": "schlüssel"}}, "credential.secret"),
        ({"credential": {"kind": "header", "secret": CANARY}}, "credential.header: the kind header needs it"),
        *(
            ({"credential": {"kind": "header", "secret": CANARY, "header": name}}, "credential.header: ")
            for name in ("Host", "content-length", "Connection", "transfer-encoding", "te", "upgrade", "x y", "x:", "",
                         "keep-alive", "proxy-authorization", "x\r\ny", "é")
        ),
        ({"credential": {"kind": "header", "secret": CANARY, "header": "x", "prefix": "a\n"}}, "credential.prefix"),
        ({"credential": {"kind": "header", "secret": CANARY, "header": "x", "prefix": " a"}}, "credential.prefix"),
        ({"credential": {"kind": "query", "secret": CANARY}}, "credential.parameter: the kind query needs it"),
        ({"credential": {"kind": "query", "secret": CANARY, "parameter": "a&b"}}, "credential.parameter"),
        ({"credential": {"kind": "basic", "secret": CANARY}}, "credential.username: the kind basic needs it"),
        ({"credential": {"kind": "basic", "secret": CANARY, "username": "a:b"}}, "credential.username"),
        ({"credential": {"kind": "basic", "secret": CANARY, "username": "a\tb"}}, "credential.username"),
        *(
            ({"credential": {**CREDENTIALS["oauth"].body, name: value}}, f"credential.{name}")
            for name, value in {
                "token_url": "ftp://x", "client_id": "", "scope": "a  b", "audience": "a\n", "client_auth": "jwt",
            }.items()
        ),
        ({"credential": {**CREDENTIALS["oauth"].body, "token_url": "http://t.example"}}, "credential.token_url: http"),
        ({"credential": {"kind": "oauth", "secret": CANARY}}, "credential.token_url: the kind oauth needs it"),
        *(
            ({"credential": {**CREDENTIALS["sigv4"].body, name: "a/../b c"}}, f"credential.{name}")
            for name in ("access_key_id", "region", "service")
        ),
        ({"credential": {"kind": "certificate", "secret": CANARY}}, "credential.secret: it must be PEM with exactly"),
        ({"credential": {"kind": "certificate", "secret": authority_pem()}}, "credential.secret: it must be PEM"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
async def test_bad_connections(world: World, more: dict[str, Any], said: str) -> None:
    reply = await world.call("POST", CONNECTIONS, {**CONNECTION, **more})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert said in reply.json()["message"]
    assert not world.directory.objects("connections")


async def test_a_rotation_changes_the_secret_and_nothing_else(world: World) -> None:
    for kind, sample in CREDENTIALS.items():
        made = await world.call(
            "POST", CONNECTIONS, {"name": kind, "base_url": "https://api.example", "credential": sample.body}
        )
        assert made.status_code == 201
        before = world.directory.objects("connections")[kind]
        fresh = renewed_pem() if kind == "certificate" else f"rotated-{kind}-00"
        turned = await world.call("PATCH", f"{CONNECTIONS}/{kind}", {"credential": {"secret": fresh}})
        assert turned.json() == made.json()
        credential = world.directory.objects("connections")[kind].credential
        assert credential is not None and before.credential is not None
        assert credential == replace(before.credential, secret=fresh)
        for wrong in ("", "short12", "two\nlines of it", None if kind == "certificate" else f"{fresh} "):
            if wrong is not None:
                reply = await world.call("PATCH", f"{CONNECTIONS}/{kind}", {"credential": {"secret": wrong}})
                assert reply.status_code == 422
        assert world.directory.objects("connections")[kind].credential == credential


@pytest.mark.parametrize(
    ("kind", "moved"),
    [
        ("bearer", {"base_url": "https://thief.example/v2"}),
        ("header", {"base_url": "https://api.example:8443/v2"}),
        ("query", {"base_url": "http://api.example/v2", "allow_addresses": ["10.0.0.0/8"]}),
        ("oauth", {"base_url": "https://thief.example/v2"}),
        ("oauth", {"credential": {"token_url": "https://thief.example/token"}}),
        ("oauth", {"credential": {"token_url": "https://login.example:8443/token"}}),
        ("oauth", {"credential": {"kind": "bearer"}}),
        ("certificate", {"credential": {"kind": "bearer"}}),
        ("basic", {"credential": {"kind": "header", "header": "x-key"}}),
    ],
    ids=str,
)
async def test_a_secret_does_not_follow_to_another_server(world: World, kind: str, moved: dict[str, Any]) -> None:
    await world.call("POST", CONNECTIONS, {**CONNECTION, "credential": CREDENTIALS[kind].body})
    before = world.directory.objects("connections")["billing"]
    reply = await world.call("PATCH", f"{CONNECTIONS}/billing", moved)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert reply.json()["message"].startswith("credential.secret: ")
    assert world.directory.objects("connections")["billing"] == before
    fresh = {"secret": renewed_pem() if kind == "certificate" and "kind" not in moved.get("credential", {}) else CANARY}
    again = {**moved, "credential": {**moved.get("credential", {}), **fresh}}
    assert (await world.call("PATCH", f"{CONNECTIONS}/billing", again)).status_code == 200
    credential = world.directory.objects("connections")["billing"].credential
    assert credential is not None and credential.secret == fresh["secret"]


async def test_what_stays_with_the_server_needs_no_secret(world: World) -> None:
    await world.call("POST", CONNECTIONS, {**CONNECTION, "credential": CREDENTIALS["oauth"].body})
    changes: list[dict[str, Any]] = [
        {"base_url": "https://API.example:443/v3"}, {"credential": {"token_url": "https://login.example/other"}},
        {"credential": {"scope": "all", "client_auth": "body"}}, {"allow_addresses": ["10.0.0.0/8"]},
        {"credential": {"kind": "oauth"}}, {"credential": {}},
    ]  # fmt: skip
    for change in changes:
        assert (await world.call("PATCH", f"{CONNECTIONS}/billing", change)).status_code == 200, change
    credential = world.directory.objects("connections")["billing"].credential
    assert credential is not None and credential.secret == CREDENTIALS["oauth"].secret
    assert credential.options == {
        "token_url": "https://login.example/other", "client_id": "robot", "scope": "all", "client_auth": "body",
    }  # fmt: skip
    gone = await world.call("PATCH", f"{CONNECTIONS}/billing", {"credential": None})
    assert gone.json()["credential"] is None and world.directory.objects("connections")["billing"].credential is None
    bare = await world.call("PATCH", f"{CONNECTIONS}/billing", {"credential": {"secret": CANARY}})
    assert bare.status_code == 422 and "credential.kind" in bare.json()["message"]
    assert (await world.call("PATCH", f"{CONNECTIONS}/billing", {"credential": BEARER})).status_code == 200


async def test_parts_that_no_longer_go_together(world: World) -> None:
    inner = {**CONNECTION, "base_url": "http://10.0.0.1", "allow_addresses": ["10.0.0.0/8"]}
    assert (await world.call("POST", CONNECTIONS, inner)).status_code == 201
    for change in ({"allow_addresses": []}, {"pin": "ab" * 32}, {"ca": authority_pem()}):
        reply = await world.call("PATCH", f"{CONNECTIONS}/billing", change)
        assert reply.status_code == 422 and "https" in reply.json()["message"]
    assert (await world.call("PATCH", f"{CONNECTIONS}/billing", {"limits": {"odd": 1}})).status_code == 422
    assert (await world.call("PATCH", f"{CONNECTIONS}/billing", {"name": "other"})).status_code == 422
    assert (await world.call("PUT", f"{CONNECTIONS}/billing", {**inner, "name": "other"})).status_code == 422


async def test_secret_files(world: World) -> None:
    folder = world.data / "secrets" / "providers"
    folder.mkdir()
    (folder / "key").write_text(f"{CANARY}\n")
    (folder / "bad").write_text("two\nlines, which would end a header")
    body = {**CONNECTION, "credential": {"kind": "bearer", "secret_file": str(folder / "key")}}
    made = await world.call("POST", CONNECTIONS, body)
    assert made.status_code == 201 and made.json()["credential"] == {"kind": "bearer", "secret_set": True}
    credential = world.directory.objects("connections")["billing"].credential
    assert credential is not None
    assert (credential.secret, credential.secret_file) == (CANARY, str(folder / "key"))
    outside = (world.data / "secrets" / "store-secrets.key", folder / "none", folder / "bad", Path("/etc/passwd"))
    for path in outside:
        wrong = {"kind": "bearer", "secret_file": str(path)}
        for method, where, document in (
            ("POST", CONNECTIONS, {**body, "name": "x", "credential": wrong}),
            ("PUT", f"{CONNECTIONS}/billing", {**body, "credential": wrong}),
            ("PATCH", f"{CONNECTIONS}/billing", {"credential": {"secret_file": str(path)}}),
        ):
            reply = await world.call(method, where, document)
            assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
            assert str(path) not in reply.text and "credential.secret_file" in reply.json()["message"]
    assert (await world.call("PATCH", f"{CONNECTIONS}/billing", {"redirects": True})).status_code == 200
    (folder / "key").unlink()
    lost = await world.call("PATCH", f"{CONNECTIONS}/billing", {"redirects": False})
    assert lost.json()["credential"] == {"kind": "bearer", "secret_set": False}
    moved = await world.call("PATCH", f"{CONNECTIONS}/billing", {"base_url": "https://thief.example"})
    assert moved.status_code == 422


async def test_a_secret_that_cannot_be_had_is_not_thrown_away(world: World) -> None:
    """Another member is changed while the stored secret does not open: refused, and the sealed one is still there."""
    await world.call("POST", CONNECTIONS, CONNECTION)
    database = sqlite3.connect(world.data / "db" / "control.sqlite")
    with database:
        sealed = database.execute("SELECT secret FROM objects").fetchone()[0]
        database.execute("UPDATE objects SET secret = ?", (f"{sealed[:-2]}AA",))
    assert (await world.call("GET", f"{CONNECTIONS}/billing")).json()["credential"]["secret_set"] is False
    reply = await world.call("PATCH", f"{CONNECTIONS}/billing", {"redirects": True})
    assert reply.status_code == 422 and "cannot be had" in reply.json()["message"]
    assert database.execute("SELECT secret FROM objects").fetchone()[0] is not None
    database.close()
    assert (await world.call("PATCH", f"{CONNECTIONS}/billing", {"credential": {"secret": CANARY}})).status_code == 200


ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**70, 1e308, "", " ", "\x00", "x" * 70_000, "é", "\u202e", "*", "/", "//", "https://",
    "https://[::1]", "https://[::1%25lo]", "http://127.1", [], [None], [[]], ["\x00"], ["x" * 600], ["*"] * 1000, {},
    {"kind": None}, {"request": None}, {"connect": "1"}, {"a": {"b": {}}},
)  # fmt: skip


@pytest.mark.parametrize("member", [*ANSWER, *(f"credential.{name}" for name in OPTION_NAMES)])
async def test_nothing_odd_is_more_than_refused(world: World, member: str) -> None:
    """Whatever a member is, the answer is a refusal that says so, or a connection that can be read again."""
    kind = next((kind for kind, names in OPTIONS.items() if member.partition(".")[2] in names), "bearer")
    described = {**CONNECTION, "name": "p", "credential": CREDENTIALS[kind].body}
    assert (await world.call("POST", CONNECTIONS, described)).status_code == 201
    for odd in ODD:
        body: dict[str, Any] = {**CONNECTION, "credential": dict(CREDENTIALS[kind].body)}
        (body["credential"] if "." in member else body)[member.rpartition(".")[2]] = odd
        for method, where in (("POST", CONNECTIONS), ("PUT", f"{CONNECTIONS}/billing"), ("PATCH", f"{CONNECTIONS}/p")):
            document = body if method != "PATCH" else {member.partition(".")[0]: body.get(member.partition(".")[0])}
            reply = await world.call(method, where, document)
            assert reply.status_code in (200, 201, 404, 409, 422), (method, odd)
            if reply.status_code == 422:
                named = (member.partition(".")[0], "credential.secret: give it again")
                assert reply.json()["message"].startswith(named), (odd, reply.text)
    for item in (await world.call("GET", CONNECTIONS)).json()["items"]:
        assert world.directory.objects("connections")[item["name"]].base_url == item["base_url"]
