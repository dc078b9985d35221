"""Tokens that no provider counts, or whose count nobody waits for: a budget has them all the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, wait_until
from support.budgets import BUDGETS, make, read
from support.provider_side import permit_provider_side
from support.scripted_provider import Asked, Provider, Script, run_provider

HELLO = [{"role": "user", "content": "hello"}]
LIMIT = 100
EVENTS = b"text/event-stream".decode()


@dataclass(frozen=True)
class Api:
    kind: str
    path: str
    body: dict[str, Any]
    events: tuple[bytes, ...]

    def ask(self) -> bytes:
        named = {} if self.kind == "gemini" else {"model": f"silent-{self.kind}/m", "stream": True}
        return json.dumps({**named, **self.body}).encode()


def event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(text: str) -> bytes:
    return event({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": text}}]})


END = event({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
DONE = b"data: [DONE]\n\n"
APIS = {
    "chat": Api("openai", "/v1/chat/completions", {"messages": HELLO, "max_completion_tokens": LIMIT},
                (delta("a"), delta("b"), END, DONE)),
    "responses": Api("openai", "/v1/responses", {"input": "hello", "max_output_tokens": LIMIT}, (
        event({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}),
        event({"type": "response.output_text.delta", "delta": "a"}),
        event({"type": "response.completed", "response": {"id": "r", "status": "completed"}}))),
    "messages": Api("anthropic", "/v1/messages", {"messages": HELLO, "max_tokens": LIMIT}, (
        event({"type": "message_start", "message": {"id": "m", "content": []}}),
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
        event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}), event({"type": "message_stop"}))),
    "gemini": Api("gemini", "/v1beta/models/silent-gemini/m:streamGenerateContent?alt=sse", {
        "contents": [{"parts": [{"text": "hello"}]}], "generationConfig": {"maxOutputTokens": LIMIT}}, (
        event({"candidates": [{"content": {"parts": [{"text": "a"}]}}]}),
        event({"candidates": [{"content": {"parts": [{"text": "b"}]}}]}),
        event({"candidates": [{"finishReason": "STOP"}]}))),
}  # fmt: skip


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    return APIS[request.param]


@pytest.fixture
def provider(appliance: Appliance, api: Api) -> Iterator[Provider]:
    with run_provider(appliance, api.kind, f"silent-{api.kind}") as running:
        running.script = Script(content_type=EVENTS, pieces=api.events, pause=0.02)
        yield running


@pytest.fixture
def budget(appliance: Appliance, agent: Identity) -> Iterator[int]:
    limit = 2000
    make(appliance, silent={"agent": agent.name, "limit_tokens": limit, "period": "total"})
    yield limit
    with appliance.admin() as admin:
        assert admin.delete(f"{BUDGETS}/silent").status_code == 204


def leave_after(appliance: Appliance, agent: Identity, api: Api, count: int) -> int:
    """The status of a call whose caller hangs up when so many events have come."""
    headers = {"content-type": "application/json"}
    with appliance.by_certificate(agent) as client:
        try:
            with client.stream("POST", api.path, content=api.ask(), headers=headers, timeout=5) as reply:
                came = 0
                for piece in reply.iter_raw():
                    came += piece.count(b"data:")
                    if came >= count:
                        break
                return reply.status_code
        except httpx.HTTPError:
            return 0


def test_no_hang_up_and_no_silence_overspends(
    appliance: Appliance, agent: Identity, provider: Provider, api: Api, budget: int
) -> None:
    """A provider that says nothing, and callers who leave at every event: each may have used all that it may."""
    counts = [n % (len(api.events) + 1) for n in range(24)]
    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda count: leave_after(appliance, agent, api, count), counts))
    wait_until(lambda: read(appliance, "silent")["reserved"] == 0, 5, "nothing is set aside any more")
    most = len(api.ask()) + LIMIT
    served = len(provider.asked)
    assert served >= 3 and 429 in statuses, "some are served, and then the budget is spent"
    assert served * most <= budget, "not a token more than there was"
    wait_until(lambda: read(appliance, "silent")["spent"] == served * most, 5, "all of it is counted")


def test_what_a_provider_counts_is_what_counts(appliance: Appliance, agent: Identity, budget: int) -> None:
    """It is asked for it, whoever calls; and who did not ask does not see it."""
    api = APIS["chat"]
    usage = event({"id": "c", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    null = [piece.replace(b"}\n\n", b', "usage": null}\n\n') for piece in api.events[:3]]
    with run_provider(appliance, "openai", "silent-openai") as provider:
        provider.script = Script(content_type=EVENTS, pieces=[*null, usage, DONE])
        with appliance.by_certificate(agent) as client:
            raw = api.ask()
            own = raw.replace(b"silent-openai/", b"")
            reply = client.post(api.path, content=raw, headers={"content-type": "application/json"})
            assert reply.content == b"".join(api.events)
            assert provider.last.body == b'{"stream_options":{"include_usage":true},' + own[1:]
            outcome = appliance.entries_of(reply.headers["x-request-id"])[1]
            assert outcome["usage"] == {"input_tokens": 7, "output_tokens": 3}
            asked = raw[:-1] + b', "stream_options" : {"include_usage": true}}'
            reply = client.post(api.path, content=asked, headers={"content-type": "application/json"})
            assert reply.content == b"".join([*null, usage, DONE]) and provider.last.body == asked.replace(
                raw[:-1], own[:-1]
            )
            refused = raw[:-1] + b', "stream_options" : {"include_usage": false, "x": [1, {}]} , "n": 1}'
            reply = client.post(api.path, content=refused, headers={"content-type": "application/json"})
            assert reply.content == b"".join(api.events)
            assert provider.last.body == own[:-1] + (b', "stream_options" : {"include_usage":true,"x":[1,{}]}, "n": 1}')
    wait_until(lambda: read(appliance, "silent")["spent"] == 30, 5, "all of it is counted")


def test_a_provider_that_takes_no_options_is_asked_without(appliance: Appliance, agent: Identity, budget: int) -> None:
    """Once it has said so. What its stream uses is what was set aside."""
    api = APIS["chat"]

    def answer(asked: Asked) -> Script:
        if "stream_options" in asked.document:
            return Script(422, pieces=[b'{"detail":[{"loc":["body","stream_options"],"type":"extra_forbidden"}]}'])
        return Script(content_type=EVENTS, pieces=api.events)

    with run_provider(appliance, "openai", "silent-openai") as provider:
        provider.answer = answer
        with appliance.by_certificate(agent) as client:
            for _ in range(2):
                reply = client.post(api.path, content=api.ask(), headers={"content-type": "application/json"})
                assert reply.content == b"".join(api.events)
            assert ["stream_options" in asked.document for asked in provider.asked] == [True, False, False]
            usage = appliance.entries_of(reply.headers["x-request-id"])[1]["usage"]
            assert usage["output_tokens"] == LIMIT and usage["estimated"] == 1
            own = {**json.loads(api.ask()), "stream_options": {"include_usage": True}}
            assert client.post(api.path, json=own).status_code == 422, "what the caller asks for is the caller's"


def test_one_callers_bad_option_changes_nobody_elses_account(
    appliance: Appliance, agent: Identity, budget: int
) -> None:
    """The provider takes the question; what it refuses is an option of the caller, or a name that it repeats."""
    api = APIS["chat"]
    usage = event({"id": "c", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})

    def answer(asked: Asked) -> Script:
        if "bogus" in asked.document or "bogus" in asked.document.get("stream_options", {}):
            return Script(400, pieces=[b'{"error":{"message":"Unrecognized: stream_options.bogus"}}'])
        if asked.document.get("stream_options", {}).get("include_usage"):
            return Script(content_type=EVENTS, pieces=[*api.events[:3], usage, DONE])
        return Script(content_type=EVENTS, pieces=api.events)

    with run_provider(appliance, "openai", "silent-openai") as provider, appliance.by_certificate(agent) as client:
        provider.answer = answer
        for more in ({"stream_options": {"include_usage": False, "bogus": 1}}, {"bogus": 1}):
            assert client.post(api.path, json={**json.loads(api.ask()), **more}).status_code == 400
        reply = client.post(api.path, content=api.ask(), headers={"content-type": "application/json"})
        assert reply.content == b"".join(api.events)
        outcome = appliance.entries_of(reply.headers["x-request-id"])[1]
        assert outcome["usage"] == {"input_tokens": 7, "output_tokens": 3}


def test_who_builds_on_a_stored_conversation_and_leaves_has_used_its_length(
    appliance: Appliance, agent: Identity
) -> None:
    api = APIS["responses"]
    make(appliance, silent={"agent": agent.name, "limit_tokens": 1_000_000, "period": "total"})
    body = {"model": "silent-openai/m", "stream": True, **api.body, "previous_response_id": "resp_1"}
    try:
        with permit_provider_side(appliance), run_provider(appliance, "openai", "silent-openai") as provider:
            provider.script = Script(content_type=EVENTS, pieces=api.events, pause=0.1)
            with appliance.by_certificate(agent) as client, client.stream("POST", api.path, json=body) as reply:
                assert reply.status_code == 200
                next(reply.iter_raw())
            wait_until(lambda: read(appliance, "silent")["spent"] >= 200_000 + LIMIT, 5, "it is counted")
    finally:
        with appliance.admin() as admin:
            assert admin.delete(f"{BUDGETS}/silent").status_code == 204
