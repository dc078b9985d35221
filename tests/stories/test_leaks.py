"""With every type blocked, no value passes by the name it stands under, by its notation, or by what it claims to be."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mastio_client import Identity
from mastio_policy.shipped import read_shipped
from support.appliance import Appliance, open_appliance
from support.scripted_provider import Provider, Script, run_provider

CARD = "4012888888881881"
CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
GEMINI = "/v1beta/models/leak-gemini/m:generateContent"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4).decode()


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Identity, dict[str, Provider]]]:
    with open_appliance(stub=None) as (appliance, _):
        with appliance.admin() as admin:
            policy = {"name": "all", "types": {"*": {"action": "block"}}}
            assert admin.post("/v1/admin/redaction", json=policy).status_code == 201
        with (
            run_provider(appliance, "openai", "leak-openai") as one,
            run_provider(appliance, "anthropic", "leak-anthropic") as two,
            run_provider(appliance, "gemini", "leak-gemini") as three,
        ):
            yield appliance, appliance.enroll("caller"), {"openai": one, "anthropic": two, "gemini": three}


def call(world: Any, path: str, body: dict[str, Any] | str) -> Any:
    appliance, identity, providers = world
    for provider in providers.values():
        provider.asked.clear()
    raw = body if isinstance(body, str) else json.dumps(body)
    with appliance.by_certificate(identity) as client:
        return client.post(path, content=raw.encode(), headers={"content-type": "application/json"})


def asked(world: Any) -> int:
    return sum(len(provider.asked) for provider in world[2].values())


def result(text: str) -> tuple[str, dict[str, Any]]:
    said = {"role": "tool", "tool_call_id": "call_1", "content": text}
    return CHAT, {"model": "leak-openai/m", "messages": [said]}


def arguments(text: str) -> tuple[str, dict[str, Any]]:
    made = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": text}}
    return CHAT, {"model": "leak-openai/m", "messages": [{"role": "assistant", "tool_calls": [made]}]}


def block(part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return MESSAGES, {"model": "leak-anthropic/m", "max_tokens": 9, "messages": [{"role": "user", "content": [part]}]}


def bitmap(value: str) -> str:
    """Text that begins as a bitmap in base64 does."""
    return f"Qk0 {'not a bitmap ' * 30} the card is {value}"


LEAKS: dict[str, Any] = {
    **{f"result {name}": lambda value, name=name: result(json.dumps({name: value}))
       for name in ("model", "signature", "encrypted_content", "id", "note")},
    **{f"arguments {name}": lambda value, name=name: arguments(json.dumps({"a": {name: value}}))
       for name in ("model", "signature", "encrypted_content", "status")},
    **{f"bitmap {name}": lambda value, name=name: result(json.dumps({name: bitmap(value)}))
       for name in ("data", "result", "url")},
    "nested twice": lambda value: result(json.dumps({"t": json.dumps({"u": json.dumps({"model": value})})})),
    "input": lambda value: block({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"model": value}}),
    "picture": lambda value: block({"type": "image", "source": {
        "type": "base64", "media_type": "image/bmp", "data": bitmap(value)}}),
    "declared": lambda value: block({"type": "image", "source": {"type": "base64", "media_type": "image/png",
        "data": base64.b64encode(f"GIF89a{'x' * 300} card {value}".encode()).decode()}}),
    "response": lambda value: (GEMINI, {"contents": [{"parts": [{"functionResponse": {
        "name": "f", "response": {"signature": value, "model": value}}}]}]}),
    "image result": lambda value: (RESPONSES, {"model": "leak-openai/m", "input": [
        {"type": "image_generation_call", "id": "ig_1", "result": bitmap(value)}]}),
    **{f"number {form}": lambda value, form=form: result(f'{{"n": {form if value == CARD else 12}}}')
       for form in (f"{CARD}.0", "4.012888888881881e15", f"[0.5, {CARD}.0]", "40128888.88881881")},
    "number in arguments": lambda value: arguments(f'{{"n": [{"4.012888888881881E+15" if value == CARD else "1.5"}]}}'),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
def test_a_value_is_blocked_however_it_is_hidden(world: Any, name: str) -> None:
    path, body = LEAKS[name](CARD)
    refused = call(world, path, body)
    assert refused.status_code == 422 and asked(world) == 0, refused.text
    path, body = LEAKS[name]("nothing")
    assert call(world, path, body).status_code == 200 and asked(world) == 1


def test_what_is_no_text_is_in_the_entry_and_policies_may_refuse_it(world: Any) -> None:
    appliance = world[0]
    (shipped,) = (one for one in read_shipped() if one.name == "only-inspected")
    picture = block({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}})
    tokens = ("/v1/embeddings", {"model": "leak-openai/m", "input": [1, 2, 3]})
    text = block({"type": "text", "text": "hello"})
    written = block({"type": "text", "text": f"look: {PNG} - and what is in it?"})
    for (path, body), kind in ((picture, "image"), (tokens, "tokens"), (written, "image")):
        served = call(world, path, body)
        assert served.status_code == 200
        intent = appliance.entries_of(served.headers["x-request-id"])[0]
        (found,) = intent["request"]["findings"]
        assert (found["label"], found["kind"]) == ("uninspected", kind) and found["bytes"] >= 5
    kinds = 'forbid(principal, action, resource) when { context.uninspected.contains("image") };'
    for cedar, refused, served in (
        (shipped.cedar, (picture, tokens), (text,)),
        (kinds, (picture, written), (tokens, text)),
    ):
        with appliance.admin() as admin:
            assert admin.post("/v1/admin/policies", json={"name": "only", "cedar": cedar}).status_code == 201
            try:
                assert [call(world, *one).status_code for one in refused] == [403] * len(refused)
                assert asked(world) == 0
                assert [call(world, *one).status_code for one in served] == [200] * len(served)
            finally:
                assert admin.delete("/v1/admin/policies/only").status_code == 204


def test_replies_hide_nothing_either(world: Any) -> None:
    provider = world[2]["openai"]
    body = {"model": "leak-openai/m", "messages": [{"role": "user", "content": "hi"}]}

    def reply(arguments: str) -> bytes:
        made = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}
        message = {"role": "assistant", "content": None, "tool_calls": [made]}
        return json.dumps({"id": "c", "choices": [{"index": 0, "message": message}]}).encode()

    def stream(arguments: str) -> bytes:
        made = [{"index": 0, "function": {"arguments": piece}} for piece in (arguments[:9], arguments[9:])]
        chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [one]}}]} for one in made]
        return b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in chunks) + b"data: [DONE]\n\n"

    try:
        for hidden in ('{"model": "' + CARD + '"}', '{"n": 4.012888888881881e15}', '{"n": [0.5, ' + CARD + ".0]}"):
            provider.script = Script(pieces=[reply(hidden)])
            assert call(world, CHAT, body).status_code == 422, hidden
            provider.script = Script(content_type="text/event-stream", pieces=[stream(hidden)])
            streamed = call(world, CHAT, {**body, "stream": True})
            assert streamed.status_code == 422 or '"blocked"' in streamed.text, streamed.text
            assert "888888" not in streamed.text and "e15" not in streamed.text
        provider.script = Script(pieces=[reply('{"model": "x", "n": 1.5}')])
        assert call(world, CHAT, body).status_code == 200
    finally:
        provider.script = Script()
