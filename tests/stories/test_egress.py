"""An agent reaches APIs through connections, without ever holding their keys: through the real edge."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator

import pytest

from support.egress_scene import Scene, open_scene

SECRET = "s3cr3t-canary+value/0001"
HEADERS_OF_OURS = ("authorization", "dpop", "cookie", "x-edge-secret", "x-edge-address", "x-edge-certificate")


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_scene() as opened:
        yield opened


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT"])
@pytest.mark.parametrize("body", [b"", b'{"a": 1}', bytes(range(256)) * 1000])
def test_any_method_and_any_body(scene: Scene, method: str, body: bytes) -> None:
    scene.connect()
    reply = scene.call(method, "/echo/x%20y;p=1?q=a%2Fb&q=&r", content=body or None)
    assert reply.status_code == 200, reply.text
    arrived = scene.upstream.last
    assert (arrived.method, arrived.path) == (method, "/echo/x%20y;p=1?q=a%2Fb&q=&r")
    assert (arrived.size, arrived.digest) == (len(body), hashlib.sha256(body).hexdigest())
    if method == "HEAD":
        assert reply.content == b"" and int(reply.headers["content-length"]) > 0
    intent, outcome = scene.entries(reply)
    assert (intent["kind"], intent["target"]) == ("egress.http", "api")
    assert outcome["outcome"] == {"status": "ok"}
    assert outcome["response"]["upstream_status"] == 200
    assert outcome["response"]["milliseconds"] >= 0
    assert intent["request"].get("bytes", 0) == len(body)
    assert (outcome["request"] is not None) == (len(body) > 64 * 1024)


def test_listed_headers_go_up_without_what_is_ours(scene: Scene) -> None:
    sent = {
        "x-mine": "kept", "accept": "text/html", "cookie": "a=b", "x-forwarded-for": "6.6.6.6", "forwarded": "for=6",
        "te": "trailers", "user-agent": "mine/1", "x-other": "left out",
    }  # fmt: skip
    scene.connect(request_headers=["X-Mine"])
    reply = scene.call("GET", "/echo", headers=sent)
    said = reply.json()["headers"]
    names = {name.lower() for name, _ in said}
    assert scene.entries(reply)[0]["request"]["headers_left_out"] == ["x-other"]
    assert "x-other" not in names
    assert not names & {*HEADERS_OF_OURS, "x-forwarded-for", "forwarded", "te", "proxy-authorization", "x-real-ip"}
    assert {("x-mine", "kept"), ("accept", "text/html"), ("user-agent", "mine/1")} <= {(n.lower(), v) for n, v in said}
    assert {n.lower(): v for n, v in said}["host"] == f"127.0.0.1:{scene.upstream.port}"


def credentials(scene: Scene) -> dict[str, tuple[dict[str, object], str, str]]:
    """By kind: the credential, and the header that the upstream is to see with its value."""
    basic = base64.b64encode(f"user:{SECRET}".encode()).decode()
    return {
        "bearer": ({"kind": "bearer", "secret": SECRET}, "authorization", f"Bearer {SECRET}"),
        "header": ({"kind": "header", "header": "X-Token", "prefix": "t ", "secret": SECRET}, "x-token", f"t {SECRET}"),
        "basic": ({"kind": "basic", "username": "user", "secret": SECRET}, "authorization", f"Basic {basic}"),
    }


@pytest.mark.smoke
@pytest.mark.parametrize("kind", ["bearer", "header", "basic"])
def test_the_credential_is_put_in_and_does_not_come_back(scene: Scene, kind: str) -> None:
    credential, header, value = credentials(scene)[kind]
    scene.connect(credential=credential)
    reply = scene.call("GET", "/echo", headers={header: "mine"} if header != "authorization" else {})
    assert scene.upstream.last.all(header) == [value]
    assert SECRET not in reply.text and value not in reply.text
    assert "*" * 8 in reply.text and reply.status_code == 200
    assert scene.entries(reply)[1]["response"]["credential_masked"] >= 1


def test_a_credential_in_the_query(scene: Scene) -> None:
    scene.connect(credential={"kind": "query", "parameter": "key", "secret": SECRET})
    reply = scene.call("GET", "/echo?a=1")
    assert scene.upstream.last.path == "/echo?a=1&key=s3cr3t-canary%2Bvalue%2F0001"
    assert "canary" not in reply.text
    for mine in ("?key=mine", "?%6bey=mine", "?a=1&key"):
        before = len(scene.upstream.arrived)
        assert scene.call("GET", f"/echo{mine}").status_code == 400
        assert len(scene.upstream.arrived) == before


def test_what_the_connection_does_not_take(scene: Scene) -> None:
    scene.connect(methods=["GET"], paths=["/echo/v1/*"])
    assert scene.call("GET", "/echo/v1/x").status_code == 200
    before = len(scene.upstream.arrived)
    for method, path in (("POST", "/echo/v1/x"), ("GET", "/echo/v2"), ("GET", "/echo/v1"), ("DELETE", "/")):
        reply = scene.call(method, path)
        assert (reply.status_code, reply.json()["code"]) == (403, "denied"), (method, path)
        [entry] = scene.entries(reply)
        assert entry["outcome"] == {"status": "refused", "code": "denied"}
    for path in (
        "/echo/v1/../v2",
        "/echo/v1/%2e%2e/v2",
        "/echo/v1/%2F",
        "/echo/v1//x",
        "/echo/v1/%5c",
        "/echo/v1/.%2e/x",
    ):
        assert scene.agent.request("GET", f"/v1/egress/api{path}").status_code in (400, 403, 404), path
    assert len(scene.upstream.arrived) == before
    reply = scene.call("GET", "/echo", name="nobody")
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")


def test_no_policy_no_way(scene: Scene) -> None:
    scene.connect()
    with scene.appliance.agent(scene.appliance.enroll("bob")) as bob:
        assert bob.get("/v1/egress/api/echo").status_code == 200
        cedar = (
            'permit(principal == Agent::"alice", action == Action::"egress.http", resource == Connection::"api")'
            ' when { context.request.method == "GET" && context.request.path like "/echo*" };'
        )
        assert scene.admin.patch("/v1/admin/policies/egress", json={"cedar": cedar}).status_code == 200
        try:
            before = len(scene.upstream.arrived)
            assert bob.get("/v1/egress/api/echo").status_code == 403
            assert scene.call("POST", "/echo").status_code == 403
            assert scene.call("GET", "/bytes/1").status_code == 403
            assert len(scene.upstream.arrived) == before
            assert scene.call("GET", "/echo").status_code == 200
        finally:
            permit = 'permit(principal, action == Action::"egress.http", resource);'
            assert scene.admin.patch("/v1/admin/policies/egress", json={"cedar": permit}).status_code == 200


def test_policies_look_at_the_size_whatever_is_said_of_it(scene: Scene) -> None:
    """A body that goes on as it arrives counts as what it says, or as all that it may have."""
    scene.connect("sized", limits={"request_bytes": 1_000_000})
    cedar = (
        'forbid(principal, action == Action::"egress.http", resource == Connection::"sized")'
        " when { context.request.bytes > 200000 };"
    )
    assert scene.admin.post("/v1/admin/policies", json={"name": "small", "cedar": cedar}).status_code == 201

    def pieces() -> Iterator[bytes]:
        yield b"x"
        time.sleep(0.5)  # the edge says the length of what is there as a whole
        yield b"x"

    try:
        assert scene.call("POST", "/echo", name="sized", content=b"x" * 150_000).status_code == 200
        assert scene.call("POST", "/echo", name="sized", content=b"x" * 250_000).status_code == 403
        assert scene.call("POST", "/echo", name="sized", content=pieces()).status_code == 403
        assert scene.call("GET", "/echo", name="sized").status_code == 200
    finally:
        scene.admin.delete("/v1/admin/policies/small")


def test_budgets_count_calls_to_connections(scene: Scene) -> None:
    scene.connect()
    budget = {"name": "few", "agent": "carol", "limit_requests": 3, "period": "day"}
    assert scene.admin.post("/v1/admin/budgets", json=budget).status_code == 201
    with scene.appliance.agent(scene.appliance.enroll("carol")) as carol:
        statuses = [carol.post("/v1/egress/api/echo", content=b"x").status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]


@pytest.mark.parametrize("way", ["bytes", "chunks"])
@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 5_000_000])
def test_replies_of_any_size(scene: Scene, way: str, size: int) -> None:
    scene.connect(credential={"kind": "bearer", "secret": SECRET})
    reply = scene.call("GET", f"/{way}/{size}")
    assert (reply.status_code, len(reply.content)) == (200, size)
    assert scene.entries(reply)[1]["response"]["bytes"] == size


@pytest.mark.parametrize("status", [201, 204, 304, 400, 401, 404, 409, 418, 429, 500, 503])
def test_statuses_are_the_upstreams(scene: Scene, status: int) -> None:
    scene.connect()
    reply = scene.call("GET", f"/status/{status}")
    assert reply.status_code == status
    outcome = scene.entries(reply)[1]
    assert outcome["response"]["upstream_status"] == status


def test_events_come_as_they_are_said(scene: Scene) -> None:
    scene.connect(credential={"kind": "bearer", "secret": SECRET})
    pieces = []
    with scene.agent.stream("GET", "/v1/egress/api/events/20") as reply:
        pieces = [piece for piece in reply.iter_raw() if piece]
    assert len(pieces) >= 10
    assert b"".join(pieces).count(b"data: ") == 20


def test_limits_of_size(scene: Scene) -> None:
    scene.connect(limits={"request_bytes": 1000, "response_bytes": 2000})
    assert scene.call("POST", "/echo", content=b"x" * 1000).status_code == 200
    assert scene.call("POST", "/echo", content=b"x" * 1001).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * 400

    before = len(scene.upstream.arrived)
    assert scene.call("POST", "/echo", content=pieces()).status_code == 413
    assert not any(arrived.whole for arrived in scene.upstream.arrived[before:])
    assert scene.call("GET", "/bytes/2000").status_code == 200
    reply = scene.call("GET", "/bytes/2001")
    assert (reply.status_code, reply.json()["code"]) == (502, "upstream_error")


def test_limits_of_rate(scene: Scene) -> None:
    scene.connect("few", limits={"requests_per_minute": 3})
    assert [scene.call("GET", "/echo", name="few").status_code for _ in range(4)] == [200, 200, 200, 429]
    reply = scene.call("GET", "/echo", name="few")
    assert reply.json()["code"] == "rate_limited" and 1 <= int(reply.headers["retry-after"]) <= 61
    scene.connect()
    assert scene.call("GET", "/echo").status_code == 200


def test_a_changed_secret_fails_no_call(scene: Scene) -> None:
    scene.connect("turned", credential={"kind": "bearer", "secret": SECRET})
    for n in range(20):
        made = scene.admin.patch("/v1/admin/connections/turned", json={"credential": {"secret": f"{SECRET}-{n}"}})
        assert made.status_code == 200, made.text
        assert scene.call("GET", "/echo", name="turned").status_code == 200
        assert scene.upstream.last.all("authorization") == [f"Bearer {SECRET}-{n}"]


def test_inspection_of_requests_and_replies(scene: Scene) -> None:
    rule = {"name": "cards", "match": {"kinds": ["egress.http"]}, "types": {"CREDIT_CARD": {"action": "redact"}}}
    made = scene.admin.post("/v1/admin/redaction", json=rule)
    assert made.status_code == 201, made.text
    card = "4111 1111 1111 1111"
    scene.connect("seen", inspect={"request": True, "response": True})
    scene.upstream.ways["cards"] = lambda handler, arrived: handler.send(200, json.dumps({"card": card}).encode())
    try:
        reply = scene.call("POST", "/echo", name="seen", json={"card": card})
        assert reply.status_code == 200
        assert scene.entries(reply)[0]["request"]["findings"][0]["label"] == "financial.CREDIT_CARD"
        assert scene.upstream.last.digest != hashlib.sha256(json.dumps({"card": card}).encode()).hexdigest()
        reply = scene.call("GET", "/cards", name="seen")
        assert reply.status_code == 200 and card not in reply.text
        reply = scene.call("GET", f"/echo?card={card.replace(' ', '%20')}", name="seen")
        assert (reply.status_code, reply.json()["code"]) == (422, "blocked")
        reply = scene.call("POST", "/echo", name="seen", content=b"\xff\xfe\x00", headers={"content-type": "x/y"})
        assert (reply.status_code, reply.json()["code"]) == (422, "blocked")
    finally:
        scene.admin.delete("/v1/admin/redaction/cards")
