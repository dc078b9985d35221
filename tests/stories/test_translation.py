"""The OpenAI SDK calls a model of an Anthropic provider, through a whole appliance: plain, streamed, tools, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from mastio_client import Identity, certificate_client
from support.appliance import Appliance, Stub
from support.provider_side import permit_provider_side
from support.scripted_provider import KEY, Provider, Script, run_provider

HELLO: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
START = {
    "type": "message_start",
    "message": {"id": "m", "model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}},
}


def events(*said: dict[str, Any]) -> Script:
    pieces = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in said]
    return Script(content_type="text/event-stream", pieces=pieces)


@pytest.fixture(scope="module")
def client(appliance: Appliance, agent: Identity) -> Iterator[openai.OpenAI]:
    with certificate_client(agent) as transport:
        url = f"{appliance.base_url}/v1"
        yield openai.OpenAI(base_url=url, api_key="certificate", http_client=transport, max_retries=0)


@pytest.fixture
def provider(appliance: Appliance) -> Iterator[Provider]:
    with run_provider(appliance, "anthropic", "other-side") as provider:
        yield provider


def outcome(appliance: Appliance) -> dict[str, Any]:
    return [entry for entry in appliance.entries() if entry["phase"] == "outcome" and entry["kind"] == "llm.chat"][-1]


def test_plain_and_streamed(appliance: Appliance, stub: Stub, client: openai.OpenAI) -> None:
    appliance.add_provider(stub, "far", "anthropic")
    try:
        raw = client.chat.completions.with_raw_response.create(model="far/claude-sonnet-4-5", messages=HELLO)
        reply = raw.parse()
        pieces = list(
            client.chat.completions.create(
                model="far/claude-sonnet-4-5", messages=HELLO, stream=True, stream_options={"include_usage": True}
            )
        )
        assert "far/claude-sonnet-4-5" in {model.id for model in client.models.list()}
    finally:
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/far").status_code == 204
    assert (reply.choices[0].message.content or "").startswith("Hello") and reply.usage is not None
    assert raw.headers["x-provider"] == "far" and raw.headers["x-tokens-input"] == str(reply.usage.prompt_tokens)
    said = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert said == reply.choices[0].message.content and len(pieces) > 3
    assert pieces[-2].choices[0].finish_reason == "stop" and pieces[-1].usage is not None
    recorded = outcome(appliance)
    assert (recorded["outcome"], recorded["usage"]["output_tokens"]) == ({"status": "ok"}, 10)
    assert recorded["usage"]["output_tokens"] == pieces[-1].usage.completion_tokens


def test_tools_there_and_back(client: openai.OpenAI, provider: Provider) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Turin"}}
    whole = {"id": "m", "model": "m", "content": [use], "stop_reason": "tool_use", "usage": {"input_tokens": 9}}
    provider.script = Script(pieces=[json.dumps(whole).encode()])
    reply = client.chat.completions.create(model="alias-other-side", messages=HELLO, tools=TOOLS)
    call: Any = (reply.choices[0].message.tool_calls or [])[0]
    assert json.loads(call.function.arguments) == {"city": "Turin"}
    sent = provider.last
    assert (sent.path, sent.header("x-api-key"), sent.header("authorization")) == ("/v1/messages", KEY, None)
    assert sent.document["model"] == "real-model" and sent.document["tools"][0]["name"] == "weather"
    answered: Any = [*HELLO, reply.choices[0].message.model_dump(exclude_none=True),
                     {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]  # fmt: skip
    client.chat.completions.create(model="other-side/m", messages=answered, tools=TOOLS)
    assert provider.last.document["messages"][1:] == [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "sunny"}]},
    ]


@pytest.mark.parametrize(
    ("status", "expected"), [(400, openai.BadRequestError), (429, openai.RateLimitError), (529, openai.APIStatusError)]
)
def test_errors_are_in_the_callers_words(
    client: openai.OpenAI, provider: Provider, status: int, expected: type[openai.APIStatusError]
) -> None:
    said = {"type": "error", "error": {"type": "theirs", "message": "Too much of it."}}
    provider.script = Script(status, pieces=[json.dumps(said).encode()])
    with pytest.raises(expected) as caught:
        client.chat.completions.create(model="other-side/m", messages=HELLO)
    error: Any = caught.value.body
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["message"] == "Too much of it.") == (status != 529)
    assert caught.value.status_code == (502 if status == 529 else status)


@pytest.mark.parametrize("how", ["broken", "said", "odd"])
def test_streams_that_fail(appliance: Appliance, client: openai.OpenAI, provider: Provider, how: str) -> None:
    ends = {"broken": [], "said": [{"type": "error", "error": {"message": "Overloaded"}}], "odd": [{"type": "error"}]}
    provider.script = events(START, *ends[how])
    with pytest.raises(openai.APIError, match="Overloaded" if how == "said" else "provider"):
        list(client.chat.completions.create(model="other-side/m", messages=HELLO, stream=True))
    recorded = outcome(appliance)
    assert recorded["outcome"] == {"status": "failed", "code": "upstream_error"}
    assert recorded["usage"]["input_tokens"] == 9


def test_what_cannot_be_carried_over_goes_nowhere(
    appliance: Appliance, client: openai.OpenAI, provider: Provider
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="other-side/m", messages=HELLO, seed=1)
    assert refused.value.code == "not_translatable" and "'seed'" in refused.value.message
    assert provider.asked == []
    with pytest.raises(openai.PermissionDeniedError):
        client.responses.create(model="other-side/m", input="hello", previous_response_id="resp_1")
    with permit_provider_side(appliance), pytest.raises(openai.BadRequestError):
        client.responses.create(model="other-side/m", input="hello", previous_response_id="resp_1")
    assert provider.asked == []
