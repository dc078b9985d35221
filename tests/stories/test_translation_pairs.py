"""Calls that are translated, through a whole appliance, without an SDK between: each API to each other kind of
provider, with answers that are none, streams that fail, arrays, embeddings, counts of tokens."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from mastio_client import Identity, certificate_client
from support.appliance import Appliance, Stub, wait_until
from support.aws_frames import chunk
from support.scripted_provider import KEY, Provider, Script, run_provider

KINDS = ("openai", "anthropic", "gemini")
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
CHAT = {"id": "c", "model": "m", "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}]}
MESSAGE = {"id": "m", "model": "m", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
CONTENT = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}], "responseId": "r"}
WHOLE: dict[str, Any] = {"openai": CHAT, "anthropic": MESSAGE, "gemini": CONTENT}
BEGUN: dict[str, list[Any]] = {
    "openai": [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}],
    "anthropic": [
        {"type": "message_start", "message": {"id": "m", "model": "m", "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
    ],
    "gemini": [{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}], "usageMetadata": {"promptTokenCount": 3}}],
}
DONE: dict[str, list[Any]] = {
    "openai": [{"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"],
    "anthropic": [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ],
    "gemini": [{"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}}],
}
ERROR = {"error": {"message": "Overloaded.", "type": "overloaded_error", "code": 503, "status": "UNAVAILABLE"}}


@dataclass(frozen=True)
class Api:
    """An API as it is called. `body` has no model where that is in the path."""

    name: str
    speaks: str
    body: dict[str, Any]
    keys: frozenset[str]

    def at(self, model: str, form: str = "whole") -> str:
        if self.speaks != "gemini":
            return "/v1/responses" if self.name == "responses" else PATHS[self.speaks]
        verb = "generateContent" if form == "whole" else "streamGenerateContent"
        return f"/v1beta/models/{model}:{verb}" + ("?alt=sse" if form == "events" else "")

    def ask(self, model: str, form: str = "whole") -> dict[str, Any]:
        if self.speaks == "gemini":
            return self.body
        return {**self.body, "model": model, "stream": form != "whole"}


HELLO = [{"role": "user", "content": "hello"}]
OPENAI_KEYS = frozenset({"message", "type", "param", "code"})
APIS = [
    Api("chat", "openai", {"messages": HELLO}, OPENAI_KEYS),
    Api("responses", "openai", {"input": HELLO}, OPENAI_KEYS),
    Api("messages", "anthropic", {"max_tokens": 9, "messages": HELLO}, frozenset({"type", "message"})),
    Api("gemini", "gemini", {"contents": [{"parts": [{"text": "hello"}]}]}, frozenset({"code", "message", "status"})),
]
PAIRS = [pytest.param(api, kind, id=f"{api.name}-{kind}") for api in APIS for kind in KINDS if api.speaks != kind]


@pytest.fixture(scope="module")
def providers(appliance: Appliance) -> Iterator[dict[str, Provider]]:
    with ExitStack() as stack:
        yield {kind: stack.enter_context(run_provider(appliance, kind, f"pair-{kind}")) for kind in KINDS}


@pytest.fixture(scope="module")
def client(agent: Identity) -> Iterator[httpx.Client]:
    with certificate_client(agent) as client:
        client.base_url = httpx.URL(agent.base_url)
        yield client


class Slow(list[bytes]):
    """Pieces that do not arrive in one."""

    def __iter__(self) -> Iterator[bytes]:
        for piece in super().__iter__():
            yield piece
            time.sleep(0.12)


def sse(*said: Any) -> Script:
    pieces = Slow(f"data: {item if isinstance(item, str) else json.dumps(item)}\n\n".encode() for item in said)
    return Script(content_type="text/event-stream", pieces=pieces)


def outcome_of(appliance: Appliance, reply: httpx.Response) -> dict[str, Any]:
    """Of an exchange that has one, or will soon."""
    entry: dict[str, Any] = appliance.entries_of(reply.headers["x-request-id"])[-1]
    return entry if entry["phase"] == "outcome" else {"outcome": None}


def as_json(document: Any) -> Script:
    return Script(pieces=[document if isinstance(document, bytes) else json.dumps(document).encode()])


HOSTILE: dict[str, Any] = {
    "text": b"hello", "list": [], "number": 5, "empty": {}, "error": ERROR,
    "choices": {"choices": "x"}, "nochoice": {"choices": []}, "content": {"content": [5]},
    "parts": {"candidates": [{"content": {"parts": {"text": "x"}}, "finishReason": "STOP"}]},
    "call": {"choices": [{"message": {"tool_calls": [{"function": {"name": 5}}]}}],
             "content": [{"type": "tool_use", "input": "x"}], "candidates": [{"content": {"parts": [
                 {"functionCall": {"args": 5}}]}}]},
    "kind": {"choices": [{"message": {"tool_calls": [{"type": "new"}]}}], "content": [{"type": "new"}],
             "candidates": [{"content": {"parts": [{"new": 1}]}, "finishReason": "STOP"}]},
    "end": {"candidates": [{"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}]},
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
@pytest.mark.parametrize(("api", "kind"), PAIRS)
def test_an_answer_that_is_none_is_a_failure_of_the_provider(
    appliance: Appliance, client: httpx.Client, providers: dict[str, Provider], api: Api, kind: str, how: str
) -> None:
    model = f"pair-{kind}/m"
    providers[kind].script = as_json(HOSTILE[how])
    reply = client.post(api.at(model), json=api.ask(model))
    assert reply.status_code == 502 and reply.json()["error"].keys() == api.keys, reply.text
    assert "upstream_error" in reply.text
    assert outcome_of(appliance, reply)["outcome"] == {"status": "failed", "code": "upstream_error"}
    providers[kind].script = as_json(WHOLE[kind])
    good = client.post(api.at(model), json=api.ask(model))
    assert good.status_code == 200 and "Hi" in good.text, good.text
    assert providers[kind].last.header("authorization") in (None, f"Bearer {KEY}")


ENDS: dict[str, list[Any]] = {
    "said": [{**ERROR, "type": "error"}], "broken": [], "nonsense": ["{"], "odd": [[]], "wrong": [{
        "type": "content_block_delta", "delta": 5, "choices": [5], "candidates": 5}],
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize(("api", "kind"), PAIRS)
def test_a_stream_that_fails_ends_with_the_callers_error(
    appliance: Appliance, client: httpx.Client, providers: dict[str, Provider], api: Api, kind: str, how: str
) -> None:
    model = f"pair-{kind}/m"
    providers[kind].script = sse(*BEGUN[kind], *ENDS[how])
    reply = client.post(api.at(model, "events"), json=api.ask(model, "events"))
    assert reply.status_code == 200 and reply.headers["content-type"].startswith("text/event-stream")
    said = [line[6:] for line in reply.text.splitlines() if line.startswith("data: ")]
    assert "Hi" in reply.text and json.loads(said[-1])["error"].keys() == api.keys, reply.text
    assert "[DONE]" not in reply.text and "message_stop" not in reply.text and "response.completed" not in reply.text
    assert ("Overloaded." in said[-1]) == (how == "said")
    assert outcome_of(appliance, reply)["outcome"] == {"status": "failed", "code": "upstream_error"}


@pytest.mark.parametrize(("api", "kind"), PAIRS)
def test_a_stream_that_is_none_is_refused(
    client: httpx.Client, providers: dict[str, Provider], api: Api, kind: str
) -> None:
    model = f"pair-{kind}/m"
    providers[kind].script = as_json(WHOLE[kind])
    reply = client.post(api.at(model, "events"), json=api.ask(model, "events"))
    assert reply.status_code == 502 and reply.json()["error"].keys() == api.keys
    providers[kind].script = sse(*BEGUN[kind], *DONE[kind])
    reply = client.post(api.at(model), json=api.ask(model))
    assert reply.status_code == 502, "nobody asked for a stream"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_array_for_gemini_is_one(
    appliance: Appliance, client: httpx.Client, providers: dict[str, Provider], kind: str
) -> None:
    api, model = APIS[-1], f"pair-{kind}/m"
    providers[kind].script = sse(*BEGUN[kind], *DONE[kind])
    reply = client.post(api.at(model, "array"), json=api.body)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    first, last = reply.json()
    assert first["candidates"][0]["content"]["parts"] == [{"text": "Hi"}]
    assert last["candidates"][0]["finishReason"] == "STOP" and "usageMetadata" in last
    assert outcome_of(appliance, reply)["outcome"] == {"status": "ok"}
    for end in ([{**ERROR, "type": "error"}], []):
        providers[kind].script = sse(*BEGUN[kind], *end)
        *_, last = client.post(api.at(model, "array"), json=api.body).json()
        assert last["error"]["status"] == "UNAVAILABLE"


def test_what_is_asked_of_a_provider(client: httpx.Client, providers: dict[str, Provider]) -> None:
    """Its path, its own credential, and no header of the caller's API."""
    headers = {"anthropic-beta": "context-1m", "anthropic-version": "2023-06-01", "x-goog-api-client": "x"}
    paths = {"openai": "/v1/chat/completions", "gemini": "/v1beta/models/real-model:generateContent"}
    for kind, path in paths.items():
        providers[kind].script = as_json(WHOLE[kind])
        body = APIS[2].ask(f"alias-pair-{kind}")
        assert client.post("/v1/messages?beta=true", json=body, headers=headers).status_code == 200
        sent = providers[kind].last
        assert (sent.path, sent.header("anthropic-beta"), sent.header("anthropic-version")) == (path, None, None)
    providers["gemini"].script = sse(*BEGUN["gemini"], *DONE["gemini"])
    client.post("/v1/messages", json=APIS[2].ask("pair-gemini/m", "events"))
    assert providers["gemini"].last.path == "/v1beta/models/m:streamGenerateContent?alt=sse"
    assert providers["gemini"].last.header("x-goog-api-key") == KEY


def test_embeddings_by_gemini(
    appliance: Appliance, agent: Identity, client: httpx.Client, providers: dict[str, Provider]
) -> None:
    embeddings = [{"values": [1.0, 0.5]}, {"values": [0.25, 2.0]}]
    providers["gemini"].script = as_json({"embeddings": embeddings, "usageMetadata": {"promptTokenCount": 4}})
    sdk = openai.OpenAI(base_url=f"{agent.base_url}/v1", api_key="certificate", http_client=client, max_retries=0)
    made = sdk.embeddings.create(model="pair-gemini/m", input=["a", "b"])
    assert [item.embedding for item in made.data] == [[1.0, 0.5], [0.25, 2.0]] and made.usage.prompt_tokens == 4
    assert providers["gemini"].last.path == "/v1beta/models/m:batchEmbedContents"
    for odd in ({"embeddings": embeddings[:1]}, {"embeddings": [{}, {}]}, {"embeddings": 5}):
        providers["gemini"].script = as_json(odd)
        with pytest.raises(openai.InternalServerError):
            sdk.embeddings.create(model="pair-gemini/m", input=["a", "b"])
    for given in ([[1, 2]], [1, 2], []):
        with pytest.raises((openai.BadRequestError, openai.UnprocessableEntityError)):
            sdk.embeddings.create(model="pair-gemini/m", input=given)
    reply = client.post("/v1/embeddings", json={"model": "pair-anthropic/m", "input": "a"})
    assert reply.status_code == 400 and reply.json()["error"]["code"] == "not_translatable"


def test_tokens_are_counted_by_gemini_and_by_nobody_else(client: httpx.Client, providers: dict[str, Provider]) -> None:
    providers["gemini"].script = as_json({"totalTokens": 31})
    asked = {"model": "pair-gemini/m", "messages": HELLO}
    reply = client.post("/v1/messages/count_tokens", json=asked)
    assert (reply.status_code, reply.json()) == (200, {"input_tokens": 31})
    assert providers["gemini"].last.path == "/v1beta/models/m:countTokens"
    providers["gemini"].script = as_json({"totalTokens": "31"})
    assert client.post("/v1/messages/count_tokens", json=asked).status_code == 502
    before = len(providers["openai"].asked)
    reply = client.post("/v1/messages/count_tokens", json={**asked, "model": "pair-openai/m"})
    assert reply.status_code == 400 and "not_translatable" in reply.json()["error"]["message"]
    assert len(providers["openai"].asked) == before


@pytest.mark.parametrize("status", [400, 404, 429, 401, 500, 529])
@pytest.mark.parametrize(("api", "kind"), PAIRS)
def test_errors_are_in_the_callers_words(
    client: httpx.Client, providers: dict[str, Provider], api: Api, kind: str, status: int
) -> None:
    """What is about the request comes back with its status and its text, what is about us does not."""
    providers[kind].script = Script(status, pieces=[json.dumps(ERROR).encode()], headers={"retry-after": "7"})
    model = f"pair-{kind}/m"
    for form in ("whole", "events"):
        reply = client.post(api.at(model, form), json=api.ask(model, form))
        passed = status in (400, 404, 429)
        assert reply.status_code == (status if passed else 502) and reply.json()["error"].keys() == api.keys
        assert ("Overloaded." in reply.text) == passed
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers.get("retry-after") == ("7" if status != 401 else None)


@pytest.mark.parametrize(("api", "kind"), PAIRS)
def test_giving_up_half_way_ends_the_call_at_the_provider(
    appliance: Appliance, agent: Identity, tmp_path: Path, api: Api, kind: str
) -> None:
    slow = Stub(tmp_path, "--latency", "200ms", "--chunks", "50")
    appliance.add_provider(slow, "slow-pair", kind)
    try:
        with certificate_client(agent) as leaving:
            url, body = agent.base_url + api.at("slow-pair/m", "events"), api.ask("slow-pair/m", "events")
            with leaving.stream("POST", url, json=body) as reply:
                next(reply.iter_lines())
        wait_until(lambda: any(e.get("event") == "hangup" for e in slow.journal()), 5, "the provider saw the hang-up")
        wait_until(lambda: outcome_of(appliance, reply)["outcome"] == {"status": "cancelled"}, 5, "the log has it")
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/slow-pair").status_code == 204


AWS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "EXAMPLE", "region": "eu-central-1"}


@pytest.mark.parametrize("api", [api for api in APIS if api.speaks != "anthropic"], ids=lambda api: api.name)
def test_models_behind_bedrock_are_reached_too(appliance: Appliance, client: httpx.Client, api: Api) -> None:
    """It speaks Anthropic's API in frames of its own, with the model in the path."""
    with run_provider(appliance, "bedrock", "aws-pair", api_key=json.dumps(AWS), version="") as bedrock:
        model = "aws-pair/anthropic.claude"
        bedrock.script = as_json(MESSAGE)
        reply = client.post(api.at(model), json=api.ask(model))
        assert reply.status_code == 200 and "Hi" in reply.text, reply.text
        assert bedrock.last.path == "/model/anthropic.claude/invoke" and "model" not in bedrock.last.document
        frames = [chunk(event) for event in (*BEGUN["anthropic"], *DONE["anthropic"])]
        bedrock.script = Script(content_type="application/vnd.amazon.eventstream", pieces=frames)
        for form in ("events", "array") if api.speaks == "gemini" else ("events",):
            reply = client.post(api.at(model, form), json=api.ask(model, form))
            assert reply.status_code == 200 and "Hi" in reply.text, reply.text
            assert outcome_of(appliance, reply)["outcome"] == {"status": "ok"}
        assert bedrock.last.path == "/model/anthropic.claude/invoke-with-response-stream"
