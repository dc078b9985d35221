"""A value in a path, a query, a header, an id or a model's name: it does not go up, and nothing that is kept has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, wait_until
from support.egress_scene import Scene, open_scene
from support.scripted_provider import Provider, Script, run_provider
from support.threats.canaries import files_of

CARD = "4012888888881881"
SPACED = "4012 8888 8888 1881"
HIDDEN = "".join(f"%{ord(digit):02X}" for digit in CARD)
WRITTEN = (CARD, SPACED, HIDDEN, "4012%208888", "4012+8888", CARD[:12])
DEFAULT = '[redaction]\nunspoken = "redact"\n'


@dataclass
class World:
    scene: Scene
    openai: Provider
    gemini: Provider
    caller: Identity

    def ask(self, path: str, body: Any, **headers: str) -> httpx.Response:
        with self.scene.appliance.by_certificate(self.caller) as client:
            return client.post(
                path, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()}
            )

    def arrived(self) -> str:
        """All that reached an upstream."""
        asked = [*self.openai.asked, *self.gemini.asked]
        return repr([(one.path, one.headers, one.body) for one in asked]) + repr(self.scene.upstream.arrived)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with (
        open_scene(more=DEFAULT) as scene,
        run_provider(scene.appliance, "openai", "p") as openai,
        run_provider(scene.appliance, "gemini", "g") as gemini,
    ):
        openai.script = Script(pieces=[b'{"id":"x"}'])
        gemini.script = Script(pieces=[b'{"candidates":[]}'])
        scene.connect(inspect={"request": True})
        scene.connect("blind")
        yield World(scene, openai, gemini, scene.appliance.enroll("caller"))


def chat(model: str) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "hello"}]}


def refused(reply: httpx.Response, status: int = 422) -> None:
    assert reply.status_code == status, reply.text
    assert not any(form in reply.text for form in WRITTEN)


def kept(appliance: Appliance) -> dict[str, bytes]:
    return {
        name: content for name, content in files_of(appliance).items() if any(f.encode() in content for f in WRITTEN)
    }


def test_what_stands_before_a_body_is_refused_and_leaves_no_trace(world: World) -> None:
    scene = world.scene
    last: list[httpx.Response] = []
    for path in (f"/echo/{CARD}", f"/echo?card={CARD}", f"/echo?card={HIDDEN}", "/echo?card=4012+8888+8888+1881",
                 "/echo/4012%208888%208888%201881"):  # fmt: skip
        last.append(scene.call("GET", path))
        refused(last[-1])
    refused(scene.call("GET", f"/echo/{HIDDEN}"), 400)
    for name, text in (
        ("if-match", f'"{CARD}"'),
        ("content-disposition", f"form-data; filename*=UTF-8''{HIDDEN}.pdf"),
        ("content-disposition", "form-data; filename==?utf-8?Q?=34012888888881881?="),
    ):
        refused(scene.call("POST", "/echo", content=b"{}", headers={name: text}))
    refused(world.ask("/v1/chat/completions", chat(f"p/{CARD}")))
    refused(world.ask("/v1/chat/completions", chat(f"p/model {SPACED}")))
    refused(world.ask("/v1/chat/completions", chat("p/m"), openai_beta=CARD))
    for served in (
        scene.call("GET", "/echo", headers={"user-agent": f"me {CARD}", "tracestate": f"a={CARD}"}),
        world.ask("/v1/chat/completions", chat("p/m"), user_agent=f"me {CARD}"),
    ):
        assert served.status_code == 200, "it does the same without them"
    contents = {"contents": [{"parts": [{"text": "hello"}]}]}
    for model in (CARD, f"g/{CARD}"):
        refused(world.ask(f"/v1beta/models/{model}:generateContent", contents))
    denied = scene.call("GET", f"/echo/{CARD}", "unknown")
    refused(denied, 404)
    entry = scene.entries(last[0])[-1]
    assert entry["request"]["path"].startswith("/v1/egress/api/echo/<CREDIT_CARD_"), entry
    assert (entry["outcome"]["code"], entry["decision"]["rule"]) == ("blocked", "inspection")
    assert CARD not in world.arrived() and HIDDEN not in world.arrived()
    wait_until(
        lambda: last[-1].headers["x-request-id"].encode() in b"".join(files_of(scene.appliance).values()), 5, "log"
    )
    assert kept(scene.appliance) == {}


def test_what_is_not_inspected_goes_up_and_is_a_tag_in_the_log(world: World) -> None:
    scene = world.scene
    reply = scene.call("GET", f"/echo/{CARD}", "blind", headers={"x-request-id": f"mine-{CARD}"})
    assert reply.status_code == 200 and scene.upstream.last.path == f"/echo/{CARD}"
    scene.upstream.arrived.clear()
    intent, outcome = scene.entries(reply)
    assert intent["request"]["path"].startswith("/v1/egress/blind/echo/<CREDIT_CARD_")
    assert intent["request"]["client_id"].startswith("mine-<CREDIT_CARD_")
    assert CARD not in json.dumps([intent, outcome])
    with scene.appliance.admin() as admin:
        assert CARD not in admin.get("/metrics").text
    assert kept(scene.appliance) == {}


def test_their_twins_are_served_and_stand_in_the_log(world: World) -> None:
    scene = world.scene
    agent = "claude-cli/1.0.83 (external, cli)"
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-4012888888881881-01"
    reply = scene.call("GET", "/echo/orders/1234567?page=2", headers={"user-agent": agent, "traceparent": trace})
    assert reply.status_code == 200 and scene.upstream.last.all("user-agent") == [agent]
    scene.upstream.arrived.clear()
    assert scene.entries(reply)[0]["request"]["path"] == "/v1/egress/api/echo/orders/1234567"
    for model in ("p/gpt-4o-2024-08-06", "p/arn:aws:bedrock:us-east-1:123456789012:inference-profile/x"):
        served = world.ask(
            "/v1/chat/completions", chat(model), user_agent="OpenAI/Python 1.99.9", openai_beta="assistants=v2"
        )
        assert served.status_code == 200, served.text
        intent, outcome = scene.entries(served)
        assert intent["target"] == outcome["target"] == model and intent["request"]["model"] == model[2:]
        assert not intent["request"].get("findings")
    served = world.ask("/v1beta/models/g/gemini-2.5-pro:generateContent", {"contents": [{"parts": [{"text": "a"}]}]})
    assert served.status_code == 200, served.text


@pytest.mark.parametrize("model", ["p/a,b", "p/gpt-4o,claude"])
def test_one_model_is_called_at_a_time(world: World, model: str) -> None:
    refused(world.ask("/v1/chat/completions", chat(model)), 404)


@pytest.mark.parametrize(
    ("model", "fact"), [("p/a:online", "hosted"), ("p/a:online:nitro", "hosted"), ("p/a@preset/x", "stored")]
)
def test_a_suffix_that_does_more_needs_a_permit(world: World, model: str, fact: str) -> None:
    """The starter policy permits no search; a suffix that chooses another host of the model is a model's name."""
    reply = world.ask("/v1/chat/completions", chat(model))
    refused(reply, 403)
    assert fact in world.scene.entries(reply)[-1]["request"]["provider_side"]
    served = world.ask("/v1/chat/completions", chat("p/a:nitro"))
    assert served.status_code == 200 and world.openai.last.document["model"] == "a:nitro"


STREAM = [
    f": card {CARD}\n\n", f"id: {CARD}\nevent: of {SPACED}\nretry: {CARD}\nnote: {CARD}\n",
    'data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n', f": {CARD}\n", "data: [DONE]\n\n",
]  # fmt: skip


def test_fields_of_a_stream_are_inspected(world: World) -> None:
    with world.scene.appliance.admin() as admin:
        body = {"name": "replies", "match": {"direction": "response"}, "types": {"*": {"action": "redact"}}}
        assert admin.post("/v1/admin/redaction", json=body).status_code == 201
    world.scene.appliance.settle()
    world.openai.next = [Script(content_type="text/event-stream", pieces=["".join(STREAM).encode()])]
    reply = world.ask("/v1/chat/completions", {**chat("p/m"), "stream": True})
    assert reply.status_code == 200 and not any(form in reply.text for form in WRITTEN)
    assert "id: <CREDIT_CARD_" in reply.text and "event: of <CREDIT_CARD_" in reply.text and "hello" in reply.text
    assert "note" not in reply.text and "retry" not in reply.text and reply.text.endswith("data: [DONE]\n\n")
    found = {one["label"] for one in world.scene.entries(reply)[-1]["response"]["findings"]}
    assert "financial.CREDIT_CARD" in found
