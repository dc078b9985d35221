"""Wherever a value stands in a call, in whatever dialect and however it is written: it does not leave."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance
from support.scripted_provider import Asked, Provider, Script, run_provider

CARD = "4012888888881881"
WIDE = CARD.translate({ord(str(n)): chr(0xFF10 + n) for n in range(10)})
MARK = "@@VALUE@@"

FORMS = {
    "plain": CARD,
    "groups": "4012 8888 8888 1881",
    "full-width": WIDE,
    "zero-width": "\u200b".join(CARD),
    "percent": "".join(f"%{ord(c):02X}" for c in CARD),
    "base64": base64.b64encode(f"the card is {CARD} indeed".encode()).decode(),
    "escapes": "".join(f"\\u{ord(c):04x}" for c in CARD),
    "entities": "".join(f"&#{ord(c)};" for c in CARD),
}

TEXT_DOCUMENT = "data:text/plain;base64," + base64.b64encode(f"{'x' * 300} {CARD} ".encode()).decode()

CALLS: dict[str, tuple[str, str, Any]] = {
    "chat-content": ("openai", "/v1/chat/completions", {"messages": [{"role": "user", "content": MARK}]}),
    "chat-parts": (
        "openai", "/v1/chat/completions",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": MARK}]}]},
    ),
    "chat-system": ("openai", "/v1/chat/completions", {"messages": [{"role": "system", "content": MARK}]}),
    "chat-name": ("openai", "/v1/chat/completions", {"messages": [{"role": "user", "name": MARK, "content": "a"}]}),
    "chat-user": ("openai", "/v1/chat/completions", {"messages": [], "user": MARK}),
    "chat-metadata": ("openai", "/v1/chat/completions", {"messages": [], "metadata": {"note": MARK}}),
    "chat-metadata-name": ("openai", "/v1/chat/completions", {"messages": [], "metadata": {MARK: "note"}}),
    "chat-stop": ("openai", "/v1/chat/completions", {"messages": [], "stop": [MARK]}),
    "chat-unknown": ("openai", "/v1/chat/completions", {"messages": [], "new_member": {"deep": [[MARK]]}}),
    "chat-tool": (
        "openai", "/v1/chat/completions",
        {"messages": [], "tools": [{"type": "function", "function": {"name": "f", "description": MARK}}]},
    ),
    "chat-schema": (
        "openai", "/v1/chat/completions",
        {"messages": [], "tools": [{"type": "function", "function": {
            "name": "f", "parameters": {"type": "object", "properties": {"a": {"enum": [MARK]}}}}}]},
    ),
    "chat-arguments": (
        "openai", "/v1/chat/completions",
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {
            "name": "f", "arguments": json.dumps({"to": MARK})}}]}]},
    ),
    "chat-result": (
        "openai", "/v1/chat/completions",
        {"messages": [{"role": "tool", "tool_call_id": "c", "content": json.dumps([{"a": {"b": MARK}}])}]},
    ),
    "embeddings": ("openai", "/v1/embeddings", {"input": ["a", MARK]}),
    "moderations": ("openai", "/v1/moderations", {"input": MARK}),
    "responses-input": ("openai", "/v1/responses", {"input": MARK}),
    "responses-instructions": ("openai", "/v1/responses", {"input": "a", "instructions": MARK}),
    "responses-items": (
        "openai", "/v1/responses",
        {"input": [{"type": "function_call_output", "call_id": "c", "output": MARK},
                   {"type": "function_call", "call_id": "c", "name": "f", "arguments": json.dumps({"a": [MARK]})}]},
    ),
    "messages-content": ("anthropic", "/v1/messages", {"messages": [{"role": "user", "content": MARK}]}),
    "messages-system": ("anthropic", "/v1/messages", {"messages": [], "system": [{"type": "text", "text": MARK}]}),
    "messages-result": (
        "anthropic", "/v1/messages",
        {"messages": [{"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": MARK}]}]}]},
    ),
    "messages-use": (
        "anthropic", "/v1/messages",
        {"messages": [{"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": {"b": MARK}}}]}]},
    ),
    "messages-user": ("anthropic", "/v1/messages", {"messages": [], "metadata": {"user_id": MARK}}),
    "count-tokens": ("anthropic", "/v1/messages/count_tokens", {"messages": [{"role": "user", "content": MARK}]}),
    "gemini-text": (
        "gemini", "/v1beta/models/p-gemini/m:generateContent", {"contents": [{"parts": [{"text": MARK}]}]},
    ),
    "gemini-system": (
        "gemini", "/v1beta/models/p-gemini/m:generateContent",
        {"contents": [], "systemInstruction": {"parts": [{"text": MARK}]}},
    ),
    "gemini-call": (
        "gemini", "/v1beta/models/p-gemini/m:generateContent",
        {"contents": [{"parts": [{"functionCall": {"name": "f", "args": {"a": MARK}}}]}]},
    ),
    "gemini-result": (
        "gemini", "/v1beta/models/p-gemini/m:generateContent",
        {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": {"a": [MARK]}}}]}]},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Identity, dict[str, Provider]]]:
    with open_appliance(stub=None) as (appliance, _):
        with appliance.admin() as admin:
            policy = {"name": "all", "types": {"*": {"action": "redact"}}}
            assert admin.post("/v1/admin/redaction", json=policy).status_code == 201
        with (
            run_provider(appliance, "openai", "p-openai") as one,
            run_provider(appliance, "anthropic", "p-anthropic") as two,
            run_provider(appliance, "gemini", "p-gemini") as three,
        ):
            for provider in (one, two, three):
                provider.script = Script(pieces=[b'{"id":"x"}'])
            identity = appliance.enroll("caller")
            yield appliance, identity, {"openai": one, "anthropic": two, "gemini": three}


def fill(shape: Any, value: str) -> Any:
    """`shape` with the value at its mark, also where JSON lies in a string."""
    raw = json.dumps(shape)
    if json.dumps(MARK)[1:-1] in raw:
        inner = json.dumps(value)[1:-1]
        raw = raw.replace(f'\\"{MARK}\\"', json.dumps(f'"{inner}"')[1:-1]).replace(MARK, inner)
    return json.loads(raw)


def send(world: Any, call: str, document: Any) -> tuple[int, str]:
    """Status, and what reached the provider."""
    appliance, identity, providers = world
    kind, path, _ = CALLS[call]
    if kind != "gemini":
        document = {"model": f"p-{kind}/m", **document}
    if path == "/v1/messages":
        document = {"max_tokens": 9, **document}
    provider = providers[kind]
    provider.asked.clear()
    with appliance.by_certificate(identity) as client:
        reply = client.post(path, json=document)
    return reply.status_code, provider.last.body.decode() if provider.asked else ""


def readings(text: str) -> str:
    """The text as others may read it, one after the other: none of them may have the value."""
    wide = text.translate({0xFF10 + n: str(n) for n in range(10)}).replace("\u200b", "").replace("\\u200b", "")
    unescaped = json.loads(json.dumps(wide)).encode().decode("unicode_escape", "replace")
    return " ".join((text, wide, unescaped, text.replace(" ", "")))


@pytest.mark.parametrize("call", CALLS)
def test_wherever_it_stands(world: Any, call: str) -> None:
    for value in (CARD, FORMS["zero-width"], FORMS["groups"]):
        status, sent = send(world, call, fill(CALLS[call][2], f"it is {value} "))
        assert status == 200, call
        assert "<CREDIT_CARD_" in sent
        assert CARD not in readings(sent) and "4012 8888" not in sent and CARD not in sent.replace("\\u200b", "")
    status, sent = send(world, call, fill(CALLS[call][2], "nothing of the kind"))
    assert status == 200 and "nothing of the kind" in sent and "<" not in sent


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "call", ["chat-content", "chat-arguments", "messages-result", "gemini-call", "responses-items"]
)
def test_however_it_is_written(world: Any, call: str, form: str) -> None:
    status, sent = send(world, call, fill(CALLS[call][2], f"it is {FORMS[form]} "))
    assert status == 200
    assert "<CREDIT_CARD_" in sent, sent
    for known in (*FORMS.values(), CARD, quote(CARD)):
        assert known not in sent and json.dumps(known)[1:-1] not in sent


def test_documents_in_base64_are_read(world: Any) -> None:
    part = {"type": "file", "file": {"filename": "a.txt", "file_data": TEXT_DOCUMENT}}
    status, sent = send(world, "chat-content", {"messages": [{"role": "user", "content": [part]}]})
    assert status == 200
    data = json.loads(sent)["messages"][0]["content"][0]["file"]["file_data"]
    assert data.startswith("data:text/plain;base64,")
    assert b"<CREDIT_CARD_" in base64.b64decode(data.partition(",")[2])


def test_numbers_become_strings(world: Any) -> None:
    arguments = json.dumps({"card": int(CARD), "n": 12})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    status, sent = send(world, "chat-content", {"messages": [{"role": "assistant", "tool_calls": [call]}]})
    assert status == 200
    given = json.loads(json.loads(sent)["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert given["n"] == 12 and given["card"].startswith("<CREDIT_CARD_")


def test_what_is_not_touched_keeps_its_bytes(world: Any) -> None:
    appliance, identity, providers = world
    before = b'{ "model" : "p-openai/m", "temperature":1.0, "big": 1e3,\n"messages":[ {"content" : '
    behind = b', "role":"user"} ] , "unknown" : [null,  true] }'
    raw = before + b'"caf\\u00e9 4012888888881881"' + behind
    with appliance.by_certificate(identity) as client:
        assert client.post("/v1/chat/completions", content=raw, headers={"content-type": "application/json"}).is_success
    sent = providers["openai"].last.body
    assert sent.startswith(before.replace(b"p-openai/m", b"m")) and sent.endswith(behind)
    assert CARD.encode() not in sent


def test_another_recogniser_is_asked_and_nothing_passes_when_it_is_silent() -> None:
    analyzer = Provider()
    threading.Thread(target=analyzer.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    settings = f"""
[redaction.recogniser]
url = "{analyzer.url("")}"
allow_addresses = ["127.0.0.1/32"]
deadline_ms = 400
types = ["PLANET"]
"""

    def find(asked: Asked) -> Script:
        at = asked.document["text"].find("Mars")
        found = [{"start": at, "end": at + 4, "score": 0.9, "entity_type": "PLANET"}] if at >= 0 else []
        return Script(pieces=[json.dumps(found).encode()])

    analyzer.answer = find
    with open_appliance(stub=None, more=settings) as (appliance, _):
        identity = appliance.enroll("caller")
        with appliance.admin() as admin:
            policy = {"name": "planets", "types": {"PLANET": {"action": "redact"}}}
            assert admin.post("/v1/admin/redaction", json=policy).status_code == 201
        with run_provider(appliance, "openai", "p") as provider, appliance.by_certificate(identity) as client:
            provider.script = Script(pieces=[b'{"id":"x"}'])
            body = {"model": "p/m", "messages": [{"role": "user", "content": "on Mars we live"}]}
            assert client.post("/v1/chat/completions", json=body).status_code == 200
            assert "Mars" not in provider.last.body.decode() and "<PLANET_" in provider.last.body.decode()
            asked = len(provider.asked)
            for script in (Script(500), Script(delay=1.0), Script(pieces=[b"what?"])):
                analyzer.answer = lambda asked, script=script: script
                refused = client.post("/v1/chat/completions", json=body)
                assert (refused.status_code, refused.json()["error"]["code"]) == (503, "inspection_unavailable")
                entries = appliance.entries_of(refused.headers["x-request-id"])
                assert [entry["outcome"]["code"] for entry in entries] == ["inspection_unavailable"]
            assert len(provider.asked) == asked
    analyzer.shutdown()
    analyzer.server_close()
