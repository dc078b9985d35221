"""Connections through the real edge against whoever wants in: inner addresses in every spelling, names that lie,
redirects, upstreams that repeat what they were shown, and upstreams that are broken.

Who connects is counted at listeners on the forbidden addresses; every refusal has a twin that succeeds.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import ssl
import time
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import trustme

from support.appliance import read_files
from support.dns_server import Names
from support.egress_scene import Arrived, Handler, Scene, open_scene
from support.raw_upstream import Upstream as Listener
from support.raw_upstream import listening
from support.threats.egress_samples import ANSWERS, BROKEN, LITERALS, ODD_HOSTS

INNER = ("127.0.0.1", "127.0.0.2", "::1")
ALLOWED = ["127.0.0.1/32"]


@pytest.fixture(scope="module")
def names() -> Iterator[Names]:
    with Names() as opened:
        yield opened


@pytest.fixture(scope="module")
def scene(names: Names) -> Iterator[Scene]:
    with open_scene(more=f'[upstream]\nresolvers = ["{names.server}"]\nresolve_seconds = 2\n') as opened:
        yield opened


@pytest.fixture
def inner() -> Iterator[dict[str, Listener]]:
    with listening(*INNER) as opened:
        yield opened


def connects(inner: dict[str, Listener]) -> int:
    return sum(listener.connects for listener in inner.values())


numbers = itertools.count()


def describe(scene: Scene, base_url: str, **members: Any) -> tuple[str, httpx.Response]:
    """A new connection, and what the admin API says of it."""
    name = f"c{next(numbers)}"
    body = {"name": name, "base_url": base_url, **members}
    return name, scene.admin.post("/v1/admin/connections", json=body)


# --- where it may not go ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ODD_HOSTS)
def test_odd_spellings_are_no_base_urls(scene: Scene, inner: dict[str, Listener], host: str) -> None:
    port = inner["127.0.0.1"].port
    for url in (f"http://{host}:{port}", f"https://{host}:{port}/v1"):
        _, made = describe(scene, url, allow_addresses=["0.0.0.0/0", "::/0"])
        assert made.status_code == 422, (url, made.text)
    assert connects(inner) == 0


@pytest.mark.parametrize("port", ["0", "65536", "-1", "8o", "1e3", "99999999999"])
def test_odd_ports_are_no_base_urls(scene: Scene, port: str) -> None:
    _, made = describe(scene, f"http://127.0.0.1:{port}", allow_addresses=ALLOWED)
    assert made.status_code == 422


@pytest.mark.parametrize("host", LITERALS)
def test_inner_addresses_are_not_connected_to(scene: Scene, inner: dict[str, Listener], host: str) -> None:
    """Neither as base URL nor behind a name."""
    port = inner["127.0.0.1"].port
    name, made = describe(scene, f"https://{host}:{port}")
    if made.status_code == 201:
        reply = scene.call("GET", "/x", name=name)
        assert (reply.status_code, reply.json()["code"]) == (502, "upstream_forbidden_address"), host
        assert host.strip("[]") not in reply.text
    else:
        assert made.status_code == 422
    assert connects(inner) == 0


@pytest.mark.parametrize("answer", ANSWERS)
def test_names_that_lead_inward(scene: Scene, names: Names, inner: dict[str, Listener], answer: str) -> None:
    """All answers are judged before any is used."""
    host = f"{answer}-{next(numbers)}.example"
    names.say(host, *ANSWERS[answer])
    name, made = describe(scene, f"https://{host}:{inner['127.0.0.1'].port}")
    assert made.status_code == 201
    for _ in range(3):
        reply = scene.call("GET", "/x", name=name)
        assert (reply.status_code, reply.json()["code"]) == (502, "upstream_forbidden_address")
    assert connects(inner) == 0 and names.count(host) >= 1


@pytest.mark.parametrize("address", INNER)
def test_the_twin_of_each_that_is_allowed(scene: Scene, names: Names, inner: dict[str, Listener], address: str) -> None:
    host, port = f"good-{next(numbers)}.example", inner[address].port
    names.say(host, address)
    literal = f"[{address}]" if ":" in address else address
    for base in (f"http://{host}:{port}", f"http://{literal}:{port}"):
        name, made = describe(scene, base, allow_addresses=[address])
        assert made.status_code == 201, made.text
        before = inner[address].connects
        assert scene.call("GET", "/x", name=name).status_code == 200
        assert inner[address].connects == before + 1 == connects(inner)
        assert inner[address].seen[-1].header("host") == base.removeprefix("http://")


def test_a_name_that_changes_its_mind(scene: Scene, names: Names, inner: dict[str, Listener]) -> None:
    """The address that was judged is the one that is connected to; the next answer is judged anew."""
    host, port = f"rebinding-{next(numbers)}.example", inner["127.0.0.1"].port
    names.say(host, "127.0.0.1")
    name, _ = describe(scene, f"http://{host}:{port}", allow_addresses=ALLOWED)
    assert scene.call("GET", "/x", name=name).status_code == 200
    names.say(host, "127.0.0.2")
    for _ in range(20):
        other, _ = describe(scene, f"http://{host}:{port}", allow_addresses=ALLOWED)
        assert scene.call("GET", "/x", name=other).status_code in (200, 502)
    assert inner["127.0.0.2"].connects == 0 and inner["::1"].connects == 0


def test_names_that_are_slow_or_not_there(scene: Scene, names: Names) -> None:
    names.say("slow.example", "127.0.0.1", delay=30.0)
    for host in ("slow.example", "nowhere.example"):
        name, _ = describe(scene, f"https://{host}")
        started = time.monotonic()
        reply = scene.call("GET", "/x", name=name)
        assert (reply.status_code, reply.json()["code"]) in ((502, "upstream_unreachable"), (504, "upstream_timeout"))
        assert time.monotonic() - started < 5
        started = time.monotonic()
        assert scene.call("GET", "/echo").status_code == 200
        assert time.monotonic() - started < 1


def test_the_appliance_is_no_upstream_of_its_own(scene: Scene) -> None:
    for host in ("127.0.0.1", "localhost"):
        name, made = describe(scene, f"https://{host}:{scene.appliance.port}", allow_addresses=["127.0.0.0/8", "::1"])
        if made.status_code == 201:
            assert scene.call("GET", "/health", name=name).status_code == 502


# --- redirects -------------------------------------------------------------------------------------------------------

STATUSES = (301, 302, 303, 307, 308)


def redirect(to: str, status: int = 302) -> Any:
    def way(handler: Handler, arrived: Arrived) -> None:
        handler.send(status, b"moved", ("location", to))

    return way


@pytest.mark.parametrize("status", STATUSES)
def test_redirects_are_the_callers(scene: Scene, inner: dict[str, Listener], status: int) -> None:
    scene.connect()
    for to in (inner["127.0.0.1"].url(path="/x"), inner["::1"].url(path="/x"), "http://169.254.169.254/latest/"):
        scene.upstream.ways["moved"] = redirect(to, status)
        reply = scene.call("GET", "/moved")
        assert (reply.status_code, reply.headers["location"]) == (status, to)
    scene.upstream.ways["moved"] = redirect("/echo?a=1", status)
    assert scene.call("GET", "/moved").headers["location"] == "/v1/egress/api/echo?a=1"
    assert connects(inner) == 0


@pytest.mark.parametrize("status", STATUSES)
def test_redirects_inward_are_not_followed(scene: Scene, names: Names, inner: dict[str, Listener], status: int) -> None:
    """Where redirects are allowed: only within the origin, and to hosts that are named, over https, judged again."""
    port = inner["127.0.0.1"].port
    names.say("named.example", "127.0.0.2")
    scene.connect("follows", redirects=True, redirect_hosts=["named.example", "127.0.0.2"])
    upstream = scene.upstream
    for to in (
        f"http://127.0.0.1:{port}/x", f"http://127.0.0.2:{upstream.port}/x", f"https://127.0.0.1:{upstream.port}/x",
        f"//127.0.0.2:{port}/x", f"http://user@127.0.0.1:{upstream.port}/echo", f"http://named.example:{port}/x",
        f"http://[::1]:{port}/", "file:///etc/passwd", "gopher://127.0.0.1/", f"http://127.1:{port}/",
        "http://169.254.169.254/", "/v1/%2e%2e/x", "\\\\127.0.0.2\\x", f"http://127.0.0.1:{upstream.port}@127.0.0.2:{port}/",
        f"https://named.example:{port}/x", f"https://127.0.0.2:{port}/x",
    ):  # fmt: skip
        upstream.ways["moved"] = redirect(to, status)
        reply = scene.call("GET", "/moved", name="follows")
        assert reply.status_code == status, (to, reply.text)
    for to in ("https://named.example/x", "https://127.0.0.2/x"):
        upstream.ways["moved"] = redirect(to, status)
        reply = scene.call("GET", "/moved", name="follows")
        assert (reply.status_code, reply.json()["code"]) == (502, "upstream_forbidden_address"), to
    assert connects(inner) == 0
    upstream.ways["moved"] = redirect("/echo/there", status)
    reply = scene.call("GET", "/moved", name="follows")
    assert (reply.status_code, reply.json()["path"]) == (200, "/echo/there")
    upstream.ways["moved"] = redirect("/moved", status)
    reply = scene.call("GET", "/moved", name="follows")
    assert (reply.status_code, reply.json()["code"]) == (502, "upstream_error")


def test_a_redirect_keeps_to_the_paths_and_methods(scene: Scene) -> None:
    scene.connect("bounded", redirects=True, paths=["/moved", "/echo/open/*"])
    scene.upstream.ways["moved"] = redirect("/echo/closed")
    assert scene.call("GET", "/moved", name="bounded").status_code == 302
    scene.upstream.ways["moved"] = redirect("/echo/open/x")
    assert scene.call("GET", "/moved", name="bounded").status_code == 200
    scene.upstream.ways["moved"] = redirect("/echo/open/x", 307)
    reply = scene.call("POST", "/moved", name="bounded", content=b"b" * 100_000)
    assert reply.status_code == 307, "the body is gone with the first request"
    reply = scene.call("POST", "/moved", name="bounded", content=b"body")
    assert (reply.status_code, reply.json()["method"], reply.json()["size"]) == (200, "POST", 4)
    scene.upstream.ways["moved"] = redirect("/echo/open/x", 303)
    reply = scene.call("POST", "/moved", name="bounded", content=b"body")
    assert (reply.status_code, reply.json()["method"], reply.json()["size"]) == (200, "GET", 0)


# --- what must not come back -----------------------------------------------------------------------------------------

CANARY = "canary-Zx7+q/w0~secret-0451"
GIVEN_OUT = "canary-Given.Out-token_9931"
WEB = trustme.CA()


def kinds(scene: Scene) -> dict[str, dict[str, Any]]:
    return {
        "bearer": {"kind": "bearer", "secret": CANARY},
        "header": {"kind": "header", "header": "X-Vendor-Key", "secret": CANARY},
        "query": {"kind": "query", "parameter": "key", "secret": CANARY},
        "basic": {"kind": "basic", "username": "robot", "secret": CANARY},
        "oauth": {
            "kind": "oauth", "secret": CANARY, "client_id": "robot", "token_url": f"{scene.upstream.url}/token",
        },
        "sigv4": {
            "kind": "sigv4", "secret": CANARY, "access_key_id": "AKIAEXAMPLE", "region": "eu-south-1",
            "service": "execute-api",
        },
    }  # fmt: skip


def forms() -> list[bytes]:
    """What is looked for in what the appliance wrote and said."""
    found = []
    for secret in (CANARY.encode(), GIVEN_OUT.encode()):
        pair = base64.b64encode(b"robot:" + secret)
        found += [secret, base64.b64encode(secret), pair, secret.hex().encode(), secret.replace(b"+", b"%2B")]
    return found


def repeat(handler: Handler, arrived: Arrived) -> None:
    """Everything that it was shown, in every way and place."""
    shown = [value for _, value in arrived.headers] + [arrived.path, CANARY]
    shown += [GIVEN_OUT] if GIVEN_OUT in str(arrived.headers) else []
    texts = [*shown, *(base64.b64encode(text.encode()).decode() for text in shown)]
    texts += [text.encode().hex() for text in shown] + [base64.b64encode(f"robot:{CANARY}".encode()).decode()]
    body = json.dumps({"shown": texts}).encode()
    more = [(f"x-shown-{n}", text) for n, text in enumerate(texts[:20])]
    handler.send(200, body, *more)


def give_token(handler: Handler, arrived: Arrived) -> None:
    handler.send(200, json.dumps({"access_token": GIVEN_OUT, "token_type": "Bearer", "expires_in": 3600}).encode())


def fail_with(text: str) -> Any:
    def way(handler: Handler, arrived: Arrived) -> None:
        handler.send(500, f"error: {text} and {arrived.headers}".encode(), kind="text/html")

    return way


def break_off(handler: Handler, arrived: Arrived) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + CANARY.encode())
    handler.close_connection = True


def talk_nonsense(handler: Handler, arrived: Arrived) -> None:
    handler.wfile.write(b"HTTP/9.9 " + CANARY.encode() + b"\r\n\r\n")
    handler.close_connection = True


def compress(handler: Handler, arrived: Arrived) -> None:
    body = gzip.compress(json.dumps([*arrived.headers, CANARY]).encode())
    handler.send(200, body, ("content-encoding", "gzip"))


@pytest.mark.parametrize("kind", ["bearer", "header", "query", "basic", "oauth", "sigv4"])
def test_a_secret_is_seen_by_its_upstream_alone(scene: Scene, kind: str) -> None:
    scene.upstream.ways |= {
        "repeat": repeat, "token": give_token, "broken": break_off, "nonsense": talk_nonsense, "packed": compress,
        "failing": fail_with(CANARY), "led": redirect(f"https://elsewhere.example/?key={CANARY}"),
    }  # fmt: skip
    scene.connect("canary", credential=kinds(scene)[kind])
    replies = [scene.call("POST", f"/{way}", name="canary", content=b"x" * 100) for way in scene.upstream.ways
               if way not in ("slow", "bytes", "chunks", "status", "events", "moved", "cards", "token")]  # fmt: skip
    assert {200, 500, 502} <= {reply.status_code for reply in replies}
    if kind != "sigv4":
        seen = str([[*arrived.headers, arrived.path] for arrived in scene.upstream.arrived[-20:]])
        assert any(form.decode() in seen for form in forms()), "the upstream was shown the credential"
    else:
        assert scene.upstream.last.all("authorization")[0].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    for reply in replies:
        said = reply.content + str(list(reply.headers.items())).encode()
        assert not [form for form in forms() if form in said], (kind, reply.url)
    _verify_nothing_written(scene)


def test_a_certificate_is_seen_by_its_upstream_alone(scene: Scene) -> None:
    client = WEB.issue_cert("agent@example.org")
    pem = client.private_key_pem.bytes().decode() + "".join(p.bytes().decode() for p in client.cert_chain_pems)
    canary = client.private_key_pem.bytes().splitlines()[2]
    with _tls_upstream() as upstream:
        ca = WEB.cert_pem.bytes().decode()
        name, made = describe(
            scene, f"https://127.0.0.1:{upstream.port}", allow_addresses=ALLOWED, ca=ca,
            credential={"kind": "certificate", "secret": pem},
        )  # fmt: skip
        assert made.status_code == 201 and canary not in made.content
        assert scene.call("GET", "/x", name=name).status_code == 200
        without, _ = describe(scene, f"https://127.0.0.1:{upstream.port}", allow_addresses=ALLOWED, ca=ca)
        assert scene.call("GET", "/x", name=without).status_code == 502
        untrusted, _ = describe(scene, f"https://127.0.0.1:{upstream.port}", allow_addresses=ALLOWED)
        assert scene.call("GET", "/x", name=untrusted).status_code == 502
    _verify_nothing_written(scene, canary)


def _tls_upstream() -> Listener:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    WEB.issue_cert("127.0.0.1").configure_cert(context)
    context.verify_mode = ssl.CERT_REQUIRED
    WEB.configure_trust(context)
    return Listener(tls=context)


def _verify_nothing_written(scene: Scene, *more: bytes) -> None:
    """In entries, logs, metrics, the database, and what the admin API says."""
    said = {file: data for file, data in read_files(scene.appliance.data).items() if "agents" not in file.parts}
    said["metrics"] = scene.admin.get("/metrics").content  # type: ignore[index]
    said["connections"] = scene.admin.get("/v1/admin/connections?limit=500").content  # type: ignore[index]
    hits = [(file, form) for file, data in said.items() for form in (*forms(), *more) if form in data]
    assert hits == []


# --- broken upstreams ------------------------------------------------------------------------------------------------


def raw(data: bytes) -> Any:
    def way(handler: Handler, arrived: Arrived) -> None:
        handler.wfile.write(data)
        handler.close_connection = True

    return way


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_upstreams(scene: Scene, fault: str) -> None:
    said, statuses = BROKEN[fault]
    scene.upstream.ways["fault"] = raw(said)
    scene.connect("faulty", credential={"kind": "bearer", "secret": CANARY})
    reply = scene.call("GET", "/fault", name="faulty")
    assert reply.status_code in statuses, reply.text[:300]
    if reply.status_code == 502:
        assert reply.headers["content-type"] == "application/problem+json"
        assert scene.entries(reply)[1]["outcome"]["status"] == "failed"
    assert not {"set-cookie", "www-authenticate", "x-accel-redirect", "x-accel-buffering"} & set(reply.headers)
    assert scene.call("GET", "/echo", name="faulty").status_code == 200


def test_a_reply_of_two_types_is_not_inspected_as_one(scene: Scene) -> None:
    """The edge would pass on the other one."""
    types = b"content-type: text/event-stream\r\ncontent-type: application/json\r\n"
    scene.upstream.ways["fault"] = raw(b"HTTP/1.1 200 OK\r\n" + types + b"content-length: 2\r\n\r\n{}")
    for inspected, status in ((True, 502), (False, 200)):
        scene.connect("typed", inspect={"response": inspected})
        assert scene.call("GET", "/fault", name="typed").status_code == status


def test_what_breaks_off_once_it_has_begun(scene: Scene) -> None:
    """It is not a whole reply to anybody, and the entry says so."""

    def way(handler: Handler, arrived: Arrived) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        handler.chunk(b"x" * 100_000)
        time.sleep(0.2)
        handler.close_connection = True

    scene.upstream.ways["cut"] = way
    scene.connect()
    with pytest.raises(httpx.TransportError):
        scene.call("GET", "/cut")
    outcome = scene.appliance.entries()[-1]
    assert outcome["outcome"] == {"status": "failed", "code": "upstream_error"}


def test_an_upstream_that_hangs(scene: Scene) -> None:
    def way(handler: Handler, arrived: Arrived) -> None:
        time.sleep(3)

    scene.upstream.ways["hang"] = way
    scene.connect("hasty", timeouts={"read": 1, "total": 10})
    started = time.monotonic()
    reply = scene.call("GET", "/hang", name="hasty")
    assert (reply.status_code, reply.json()["code"]) == (504, "upstream_timeout")
    assert time.monotonic() - started < 2.5


def test_a_head_is_passed_on_whole_or_not_at_all(scene: Scene) -> None:
    """Never so much of it that the edge gives up on what was done."""
    scene.connect("wordy")
    for count, status in ((20, 200), (24, 200), (25, 502), (40, 502)):
        lines = b"".join(b"x-long-%02d: %b\r\n" % (n, b"y" * 1000) for n in range(count))
        scene.upstream.ways["fault"] = raw(b"HTTP/1.1 200 OK\r\n" + lines + b"content-length: 2\r\n\r\nok")
        reply = scene.call("GET", "/fault", name="wordy")
        assert reply.status_code == status, (count, reply.text)
        assert len([name for name in reply.headers if name.startswith("x-long-")]) == (count if status == 200 else 0)
        assert scene.entries(reply)[1]["outcome"]["status"] == ("ok" if status == 200 else "failed")


@pytest.mark.parametrize("status", [200, 304])
def test_a_reply_without_a_body_may_claim_any_coding(scene: Scene, status: int) -> None:
    said = b"HTTP/1.1 %d x\r\ncontent-encoding: br\r\netag: 7\r\n\r\n" % status
    scene.upstream.ways["fault"] = raw(said)
    scene.connect("codes", credential={"kind": "bearer", "secret": CANARY})
    reply = scene.call("HEAD", "/fault", name="codes")
    assert (reply.status_code, reply.headers["etag"]) == (status, "7")


def test_kept_headers_are_kept(scene: Scene) -> None:
    scene.upstream.ways["fault"] = raw(BROKEN["cookies"][0])
    scene.connect("kept", keep_headers=["set-cookie", "www-authenticate"])
    reply = scene.call("GET", "/fault", name="kept")
    assert (reply.headers["set-cookie"], reply.headers["www-authenticate"]) == ("a=b", "Basic")


def test_what_is_compressed_all_the_same(scene: Scene) -> None:
    """Searched for the credential as what it says; where it has none it goes on as it came."""
    text = b"nothing of note " * 1000
    scene.connect("packed", credential={"kind": "bearer", "secret": CANARY})
    for coding, body in (("gzip", gzip.compress(text)), ("deflate", zlib.compress(text))):
        scene.upstream.ways["fault"] = lambda handler, _, b=body, c=coding: handler.send(
            200, b, ("content-encoding", c)
        )
        reply = scene.call("GET", "/fault", name="packed")
        assert (reply.status_code, reply.content) == (200, text)
    body = gzip.compress(text + CANARY.encode())
    scene.upstream.ways["fault"] = lambda handler, _: handler.send(200, body, ("content-encoding", "gzip"))
    assert scene.call("GET", "/fault", name="packed").status_code == 502
