"""Ways to a secret in pieces, replies that are not what they say, and redirects that take something along."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from egress_world import Arrived, Handler, Scene, open_scene

SECRET = "canary-of-the-tricks-0001"
BEARER = {"kind": "bearer", "secret": SECRET}


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_scene() as opened:
        opened.upstream.ways |= {"parts": say_parts, "reset": say_reset, "moved": say_moved}
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
