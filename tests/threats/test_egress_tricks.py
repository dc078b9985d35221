"""Ways to a secret in pieces, replies that are not what they say, and redirects that take something along."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.appliance import wait_until
from support.egress_scene import Arrived, Handler, Scene, open_scene

SECRET = "canary-of-the-tricks-0001"
BEARER = {"kind": "bearer", "secret": SECRET}


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_scene() as opened:
        opened.upstream.ways |= {"parts": say_parts, "reset": say_reset, "moved": say_moved, "spelled": say_spelled}
        yield opened


def say_parts(handler: Handler, arrived: Arrived) -> None:
    """Repeats its request, and gives parts of that, as servers do whose filters see what a script said."""
    said = repr(arrived.headers).encode()
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", "".join(arrived.all("range")))
    if asked is None:
        handler.send(200, said, kind="text/plain")
        return
    first, last = int(asked[1]), int(asked[2])
    handler.send(206, said[first : last + 1], ("content-range", f"bytes {first}-{last}/*"), kind="text/plain")


def say_reset(handler: Handler, arrived: Arrived) -> None:
    handler.send_response(205)
    handler.send_header("content-length", "5")
    handler.end_headers()
    handler.wfile.write(b"hello")


def say_moved(handler: Handler, arrived: Arrived) -> None:
    """To the same path with a slash; the query stays, as usual."""
    path, _, query = arrived.path.partition("?")
    handler.send(301, b"", ("location", f"/echo{path}/?{query}"))


def take_apart(scene: Scene) -> str:
    """All of what the upstream says, ten bytes at a time."""
    parts = []
    for first in range(0, 2000, 10):
        reply = scene.call("GET", "/parts", headers={"range": f"bytes={first}-{first + 9}"})
        assert reply.status_code in (200, 206)
        parts.append(reply.text)
        if reply.status_code == 200 or not reply.content:
            break
    return "".join(parts)


def test_a_secret_is_not_had_in_parts(scene: Scene) -> None:
    scene.connect(credential=BEARER)
    said = take_apart(scene)
    assert "Bearer" in said and SECRET not in said and not scene.upstream.last.all("range")
    scene.connect(inspect={"response": True})
    take_apart(scene)
    assert not scene.upstream.last.all("range")


def test_the_twin_has_parts(scene: Scene) -> None:
    """Where nothing is looked for in replies."""
    scene.connect()
    reply = scene.call("GET", "/parts", headers={"range": "bytes=0-9"})
    assert (reply.status_code, len(reply.content), reply.headers["content-range"]) == (206, 10, "bytes 0-9/*")


def test_a_reset_of_the_content_has_none(scene: Scene) -> None:
    scene.connect()
    for _ in range(2):
        reply = scene.call("GET", "/reset")
        assert (reply.status_code, reply.content) == (205, b"")
        assert [entry["phase"] for entry in scene.entries(reply)] == ["intent", "outcome"]


def test_a_redirect_with_the_credential_in_it_is_not_followed(scene: Scene) -> None:
    credential = {"kind": "query", "parameter": "key", "secret": SECRET}
    scene.connect(credential=credential, redirects=True)
    reply = scene.call("GET", "/moved?a=b")
    assert reply.status_code == 301
    assert reply.headers["location"] == f"/v1/egress/api/echo/moved/?a=b&key={'*' * len(SECRET)}"
    scene.connect(credential=BEARER, redirects=True)
    followed = scene.call("GET", "/moved?a=b")
    assert (followed.status_code, scene.upstream.last.path) == (200, "/echo/moved/?a=b")


def say_spelled(handler: Handler, arrived: Arrived) -> None:
    """In pieces that a secret is cut by, each a packet of its own; with a length where the path asks for one."""
    secret = SECRET.encode()
    pieces = [b"x" * 100_000, *(secret[n : n + 5] for n in range(0, len(secret), 5)), b"y", secret]
    handler.send_response(200)
    handler.send_header("content-type", "text/plain")
    if arrived.path.endswith("/length"):
        handler.send_header("content-length", str(sum(map(len, pieces))))
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(0.02)
        return
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for piece in pieces:
        handler.chunk(piece)
        time.sleep(0.02)
    handler.wfile.write(b"0\r\n\r\n")


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_secret_is_not_had_from_a_stream(scene: Scene, framing: str) -> None:
    scene.connect(credential=BEARER)
    reply = scene.call("GET", f"/spelled/{framing}")
    mask = "*" * len(SECRET)
    assert reply.status_code == 200 and reply.text == f"{'x' * 100_000}{mask}y{mask}"
    assert scene.entries(reply)[1]["response"]["credential_masked"] == 2
    scene.connect()
    assert scene.call("GET", f"/spelled/{framing}").text == f"{'x' * 100_000}{SECRET}y{SECRET}"


HELD = '@hold("15m") forbid(principal, action == Action::"egress.http", resource == Connection::"held");'


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"inspect": {"request": True}}, 502),
        ({"inspect": {"response": True}}, 502),
        ({"base_url": "http://127.0.0.1:1", "credential": BEARER}, 502),
        ({"methods": ["GET"]}, 403),
        ({"credential": {"secret": SECRET[::-1]}}, 200),
    ],
)
def test_what_waits_for_a_human_goes_where_it_was_judged_for(scene: Scene, change: dict[str, Any], status: int) -> None:
    """The connection is changed between the request and the approval. Another secret alone changes nothing."""
    scene.connect("held", credential=BEARER)
    assert scene.admin.post("/v1/admin/policies", json={"name": "hold", "cedar": HELD}).status_code == 201
    try:
        before, replies = len(scene.upstream.arrived), list[httpx.Response]()
        body = json.dumps(change).encode()  # another one each time: an approval is for one request
        asking = threading.Thread(target=lambda: replies.append(scene.call("POST", "/echo", "held", content=body)))
        asking.start()

        def pending() -> list[str]:
            return [hold["id"] for hold in scene.admin.get("/v1/admin/holds?status=pending").json()["items"]]

        wait_until(pending, 5, "it waits")
        assert scene.admin.patch("/v1/admin/connections/held", json=change).status_code == 200
        assert scene.admin.post(f"/v1/admin/holds/{pending()[0]}/approve", json={"reason": "x"}).status_code == 200
        asking.join(20)
        assert replies[0].status_code == status
        assert len(scene.upstream.arrived) - before == (status == 200)
    finally:
        scene.admin.delete("/v1/admin/policies/hold")


def test_a_reply_without_a_length_is_bounded_too(scene: Scene) -> None:
    scene.connect("bounded", limits={"response_bytes": 200_000})
    assert len(scene.call("GET", "/spelled/chunks", "bounded").content) == 100_001 + 2 * len(SECRET)
    scene.connect("bounded", limits={"response_bytes": 100_010})
    with pytest.raises(httpx.RemoteProtocolError):
        scene.call("GET", "/spelled/chunks", "bounded")
    assert scene.appliance.entries()[-1]["outcome"] == {"status": "failed", "code": "upstream_error"}


def test_the_log_has_the_digest_of_what_went_on_as_it_arrived(scene: Scene) -> None:
    """The same as of a body that was read first; from 64 KiB on it goes on as it arrives."""
    scene.connect()
    small, large = b"y" * 65536, b"y" * 65537
    read_first, goes_on = [scene.entries(scene.call("POST", "/echo", content=body)) for body in (small, large)]
    scene.connect(inspect={"request": True})
    inspected = scene.entries(scene.call("POST", "/echo", content=large))
    assert read_first[1]["request"] is None and "digest" not in goes_on[0]["request"]
    assert goes_on[1]["request"] == {"bytes": 65537, "digest": inspected[0]["request"]["digest"]}
    assert read_first[0]["request"]["digest"] != inspected[0]["request"]["digest"]
