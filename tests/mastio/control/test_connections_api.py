"""Connections: created, read, replaced, changed, removed; every member judged on the way in; no secret comes out."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from connection_samples import CREDENTIALS, authority_pem, client_pem
from control_world import World

CONNECTIONS = "/v1/admin/connections"
CANARY = "canary-secret-5f1d9a"
BEARER = {"kind": "bearer", "secret": CANARY}
CONNECTION: dict[str, Any] = {"name": "billing", "base_url": "https://api.example/v2", "credential": BEARER}
ANSWER: dict[str, Any] = {
    "name": "billing", "base_url": "https://api.example/v2", "credential": {"kind": "bearer", "secret_set": True},
    "methods": [], "paths": ["*"], "allow_addresses": [], "redirects": False, "redirect_hosts": [],
    "inspect": {"request": False, "response": False},
    "limits": {"request_bytes": 268435456, "response_bytes": 1073741824, "requests_per_minute": 0},
    "timeouts": {}, "keep_headers": [], "ca": None, "pin": None,
}  # fmt: skip
EVERYTHING: dict[str, Any] = {
    "methods": ["GET", "POST"], "paths": ["/v1/*", "*"], "allow_addresses": ["10.0.0.0/8", "::1"], "redirects": True,
    "redirect_hosts": ["files.example"], "inspect": {"request": True, "response": True},
    "limits": {"request_bytes": 1024, "response_bytes": 2048, "requests_per_minute": 60},
    "timeouts": {"connect": 1.5, "read": 10.0, "total": 7200.0}, "keep_headers": ["set-cookie"],
    "ca": authority_pem(), "pin": "ab" * 32,
}  # fmt: skip


async def test_a_connections_life(world: World) -> None:
    created = await world.call("POST", CONNECTIONS, CONNECTION)
    assert (created.status_code, created.json()) == (201, ANSWER)
    assert (await world.call("GET", f"{CONNECTIONS}/billing")).json() == ANSWER
    assert (await world.call("GET", CONNECTIONS)).json() == {"items": [ANSWER], "next_cursor": None}
    credential = world.directory.connections["billing"].credential
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
    assert not world.directory.connections


async def test_everything_at_once(world: World) -> None:
    created = await world.call("POST", CONNECTIONS, {**CONNECTION, **EVERYTHING, "methods": ["get", "POST", "GET"]})
    assert (created.status_code, created.json()) == (201, {**ANSWER, **EVERYTHING})
    row = world.directory.connections["billing"]
    assert row.methods == ("GET", "POST") and row.limits.requests_per_minute == 60 and row.inspect_response
    left_out = await world.call("PATCH", f"{CONNECTIONS}/billing", {})
    nulls = await world.call(
        "PATCH", f"{CONNECTIONS}/billing", {name: None for name in EVERYTHING if name not in ("ca", "pin")}
    )
    assert left_out.json() == nulls.json() == created.json()
    parts = {"inspect": {"response": False}, "limits": {"requests_per_minute": 0}, "timeouts": {"read": 3.0}}
    parted = (await world.call("PATCH", f"{CONNECTIONS}/billing", {**parts, "ca": None, "pin": None})).json()
    assert parted["inspect"] == {"request": True, "response": False}
    assert parted["limits"] == {**EVERYTHING["limits"], "requests_per_minute": 0}
    assert (parted["timeouts"], parted["ca"], parted["pin"]) == ({"read": 3.0}, None, None)


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
    row = world.directory.connections["billing"]
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
        ({"keep_headers": ["transfer-encoding"]}, "keep_headers.0: this header belongs to the connection"),
        ({"keep_headers": ["a b"]}, "keep_headers.0"),
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
    assert not world.directory.connections
