"""Headers that say what is done: sent only where an admin named them, decided, shown and approved like a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.egress_scene import Scene, open_scene

ACTS = {
    "x-amz-copy-source": "/secrets/all", "destination": "/elsewhere", "x-amz-target": "Store.DeleteTable",
    "soapaction": "urn:delete", "x-ms-copy-source": "https://inner/", "overwrite": "T",
}  # fmt: skip
MOVE_ASIDE = """
permit (principal, action == Action::"egress.http", resource == Connection::"judged")
when { context.headers has destination && context.headers.destination like "/aside/*" };
"""
HELD = '@hold("15m") forbid(principal, action == Action::"egress.http", resource == Connection::"held");'
GUARDED = """
forbid (principal, action == Action::"egress.http", resource == Connection::"led")
when { context.request.path like "/echo/secret*" || context.request.method == "DELETE" };
"""
EVERY_OTHER = """
permit(principal, action == Action::"egress.http", resource) unless { resource.name == "judged" };
"""


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_scene(more="[policy]\nhold_wait = 0\n") as opened:
        for name, cedar in (("egress", EVERY_OTHER), ("aside", MOVE_ASIDE), ("held", HELD), ("guarded", GUARDED)):
            body = {"cedar": cedar}
            if opened.admin.put(f"/v1/admin/policies/{name}", json=body).status_code == 404:
                assert opened.admin.post("/v1/admin/policies", json={"name": name, **body}).status_code == 201
        yield opened


@pytest.mark.parametrize("name", ACTS)
def test_what_is_done_is_not_said_past_the_paths(scene: Scene, name: str) -> None:
    scene.connect(credential={"kind": "bearer", "secret": "canary-of-headers"}, paths=["/echo/*"])
    before = len(scene.upstream.arrived)
    refused = scene.call("PUT", "/echo/mine", headers={name: ACTS[name]})
    assert (refused.status_code, refused.json()["code"]) == (403, "denied") and name in refused.json()["detail"]
    assert len(scene.upstream.arrived) == before
    served = scene.call("PUT", "/echo/mine", headers={"content-type": "text/plain"}, content=b"mine")
    assert served.status_code == 200
    scene.connect(request_headers=[name], paths=["/echo/*"])
    assert scene.call("PUT", "/echo/mine", headers={name: ACTS[name]}).status_code == 200
    assert scene.upstream.last.all(name) == [ACTS[name]]


def test_a_header_in_two_lines_is_refused(scene: Scene) -> None:
    """The appliance would judge one and the upstream take the other."""
    scene.connect(request_headers=["destination"])
    twice = [("destination", "/a"), ("destination", "/b")]
    assert scene.call("MOVE", "/echo/x", headers=twice).status_code == 400
    assert scene.call("MOVE", "/echo/x", headers=twice[:1]).status_code == 200


def test_policies_decide_by_what_is_sent(scene: Scene) -> None:
    scene.connect("judged", request_headers=["destination"])
    for destination, status in (("/aside/1", 200), ("/elsewhere", 403), ("/aside/2", 200), (None, 403)):
        headers = {} if destination is None else {"destination": destination}
        reply = scene.call("MOVE", "/echo/x", name="judged", headers=headers)
        assert reply.status_code == status, destination


def pending(scene: Scene) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = scene.admin.get("/v1/admin/holds?status=pending").json()["items"]
    return items


def test_an_approval_is_for_what_was_shown(scene: Scene) -> None:
    scene.connect("held", request_headers=["destination"])
    asked = {"destination": "/aside/1", "traceparent": "00-1"}
    assert scene.call("MOVE", "/echo/x?a=1", name="held", headers=asked).json()["code"] == "hold_pending"
    (hold,) = pending(scene)
    shown = hold["parameters"]
    assert shown["query"] == "a=1" and "destination: /aside/1" in shown["headers"]
    assert scene.admin.post(f"/v1/admin/holds/{hold['id']}/approve", json={}).status_code == 200
    for path, headers in (
        ("/echo/x?a=1", {"destination": "/elsewhere"}), ("/echo/x?a=2", asked), ("/echo/x", asked), ("/echo/x?a=1", {}),
    ):  # fmt: skip
        other = scene.call("MOVE", path, name="held", headers=headers)
        assert other.json()["code"] == "hold_pending", (path, headers)
    again = scene.call("MOVE", "/echo/x?a=1", name="held", headers={**asked, "traceparent": "00-2"})
    assert again.status_code == 200 and scene.upstream.last.all("destination") == ["/aside/1"]
    for left in pending(scene):
        scene.admin.post(f"/v1/admin/holds/{left['id']}/reject", json={})


def test_named_headers_are_inspected_where_requests_are(scene: Scene) -> None:
    scene.admin.post("/v1/admin/redaction", json={"name": "cards", "types": {"*": {"action": "redact"}}})
    scene.connect(inspect={"request": True}, request_headers=["x-note"])
    carried = scene.call("GET", "/echo", headers={"x-note": "card 4111 1111 1111 1111"})
    assert (carried.status_code, carried.json()["code"]) == (422, "blocked")
    assert scene.call("GET", "/echo", headers={"x-note": "nothing"}).status_code == 200


def test_a_redirect_leads_only_where_the_agent_might_have_gone(scene: Scene) -> None:
    """Where policies forbid it, the caller gets the redirect, and asking for it is refused."""
    scene.connect("led", redirects=True)
    for to, method, status in (
        ("/echo/open", "GET", 200), ("/echo/secret/x", "GET", 307), ("/echo/open", "POST", 200),
        ("/echo/secret", "POST", 307),
    ):  # fmt: skip
        scene.upstream.ways["moved"] = lambda handler, _, to=to: handler.send(307, b"moved", ("location", to))
        before = len(scene.upstream.arrived)
        reply = scene.call(method, "/moved", "led", content=b"mine" if method == "POST" else None)
        assert reply.status_code == status, (to, reply.text)
        assert len(scene.upstream.arrived) - before == (2 if status == 200 else 1)
        intent, *hops, outcome = scene.appliance.entries_of(reply.headers["x-request-id"])
        assert [(hop["kind"], hop["request"]["path"], hop["target"]) for hop in hops] == (
            [("egress.redirect", to, intent["target"])] if status == 200 else []
        )
        assert ("followed" in str(outcome)) is (status == 200)
