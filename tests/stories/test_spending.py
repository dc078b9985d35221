"""What a call costs is counted, whatever providers say of it, and whatever callers ask for so that it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance, wait_until
from support.provider_side import permit_provider_side
from support.scripted_provider import Provider, Script, run_provider

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "hi"}]
SETTINGS = """
[llm]
retries = 0

[llm.fallbacks]
"oa/chain" = ["claude/m", "oa/last"]
"gem/dear" = ["claude/unpriced"]

[[llm.prices]]
models = "*/dear"
input = "1000000"
output = "1000000"
"""


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Identity]]:
    with open_appliance(stub=None, more=SETTINGS) as (appliance, _), permit_provider_side(appliance):
        yield appliance, appliance.enroll("spender")


@pytest.fixture(scope="module")
def providers(world: tuple[Appliance, Identity]) -> Iterator[dict[str, Provider]]:
    appliance, _ = world
    with (
        run_provider(appliance, "openai", "oa") as oa,
        run_provider(appliance, "anthropic", "claude") as claude,
        run_provider(appliance, "gemini", "gem") as gem,
    ):
        yield {"oa": oa, "claude": claude, "gem": gem}


@pytest.fixture(autouse=True)
def quiet(providers: dict[str, Provider]) -> None:
    for provider in providers.values():
        provider.script, provider.next = Script(), []
        provider.asked.clear()


@pytest.fixture
def post(world: tuple[Appliance, Identity]) -> Iterator[Any]:
    appliance, identity = world
    with appliance.by_certificate(identity) as client:

        def ask(path: str, body: dict[str, Any]) -> httpx.Response:
            return client.post(path, json=body)

        yield ask


def chat(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": HELLO, **more}


def outcome(world: tuple[Appliance, Identity], reply: httpx.Response) -> dict[str, Any]:
    intent, end = world[0].entries_of(reply.headers["x-request-id"])
    assert (intent["phase"], end["phase"]) == ("intent", "outcome")
    return dict(end)


@pytest.mark.parametrize("count", [2**53 - 1, 10**12])
@pytest.mark.parametrize("stream", [False, True])
def test_a_count_beyond_belief_is_still_an_outcome(
    world: Any, providers: dict[str, Provider], post: Any, stream: bool, count: int
) -> None:
    """The log keeps whole numbers that every reader of JSON keeps too."""
    usage = {"usage": {"prompt_tokens": count, "completion_tokens": count}, "choices": []}
    said = json.dumps(usage).encode()
    events = Script(content_type="text/event-stream", pieces=[b"data: %b\n\ndata: [DONE]\n\n" % said])
    providers["oa"].script = events if stream else Script(pieces=[said])
    reply = post(CHAT, chat("oa/dear", stream=stream))
    assert reply.status_code == 200, reply.text
    end = outcome(world, reply)
    assert end["outcome"]["status"] == "ok" and end["usage"]["cost_nano_usd"] > 10**15


@pytest.mark.parametrize("stream", [False, True])
def test_what_an_answer_used_that_cannot_be_translated_is_counted(
    world: Any, providers: dict[str, Provider], post: Any, stream: bool
) -> None:
    usage = {"input_tokens": 70} if stream else {"input_tokens": 70, "output_tokens": 30}
    block = {"type": "unheard_of"}
    whole = {"id": "m", "model": "m", "content": [block], "stop_reason": "end_turn", "usage": usage}
    events = [
        {"type": "message_start", "message": {"id": "m", "model": "m", "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    pieces = [b"".join(b"event: %b\ndata: %b\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)]
    streamed = Script(content_type="text/event-stream", pieces=pieces)
    providers["claude"].script = streamed if stream else Script(pieces=[json.dumps(whole).encode()])
    reply = post(CHAT, chat("claude/m", stream=stream))
    assert reply.status_code == 502
    used = outcome(world, reply)["usage"]
    assert used is not None and (used["input_tokens"], used["output_tokens"]) == (70, 32_768 if stream else 30)


@pytest.mark.parametrize("model", ["claude/m", "oa/m", "gem/m"])
def test_a_stream_that_does_not_come_to_its_end_counts_as_all_that_it_may_have_written(
    world: Any, providers: dict[str, Provider], model: str
) -> None:
    """Whatever its first event said: the count of what is written is not known before the end."""
    text = "word " * 800
    started = {"id": "m", "model": "m", "content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}
    claude = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
    ]
    events: dict[str, list[dict[str, Any]]] = {
        "claude": claude,
        "oa": [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": text}}]}],
        "gem": [{"candidates": [{"content": {"parts": [{"text": text}]}}]}],
    }
    name = model.split("/")[0]
    pieces = [b"data: %b\n\n" % json.dumps(event).encode() for event in events[name]]
    providers[name].script = Script(content_type="text/event-stream", pieces=pieces, cut=True)
    paths = {"claude": "/v1/messages", "oa": CHAT, "gem": f"/v1beta/models/{model}:streamGenerateContent?alt=sse"}
    body = GEMINI if name == "gem" else chat(model, stream=True, max_tokens=2000)
    with world[0].by_certificate(world[1]) as client:
        used = outcome(world, client.post(paths[name], json=body))["usage"]
    assert used["output_tokens"] == (32_768 if name == "gem" else 2000) and used["estimated"] == 1
    assert name != "claude" or used["input_tokens"] == 7


def test_what_a_failed_try_used_counts_beside_the_answer(world: Any, providers: dict[str, Provider], post: Any) -> None:
    usage = {"input_tokens": 70, "output_tokens": 30}
    block = {"id": "m", "model": "m", "content": [{"type": "unheard_of"}], "stop_reason": "end_turn", "usage": usage}
    providers["oa"].next = [Script(500)]
    providers["oa"].script = Script(pieces=[b'{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}'])
    providers["claude"].script = Script(pieces=[json.dumps(block).encode()])
    reply = post(CHAT, chat("oa/chain"))
    assert (reply.status_code, reply.headers["x-model"]) == (200, "last"), reply.text
    used = outcome(world, reply)["usage"]
    assert (used["input_tokens"], used["output_tokens"]) == (75, 32)
    assert reply.headers["x-tokens-input"] == "5"  # those of the answer


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_that_goes_on_behind_our_back_counts_as_all_that_it_may_write(
    world: Any, providers: dict[str, Provider], post: Any, stream: bool
) -> None:
    queued = json.dumps({"id": "r", "status": "queued", "usage": None}).encode()
    event = b"event: response.queued\ndata: {}\n\n"
    cut = Script(content_type="text/event-stream", pieces=[event], cut=True)
    providers["oa"].script = cut if stream else Script(pieces=[queued])
    body = {"model": "oa/m", "input": "hi", "background": True, "max_output_tokens": 5000, "stream": stream}
    reply = post("/v1/responses", body)
    assert reply.status_code == 200
    assert outcome(world, reply)["usage"]["output_tokens"] == 5000
    done = {"id": "r", "status": "completed", "usage": {"input_tokens": 3, "output_tokens": 4}}
    providers["oa"].script = Script(pieces=[json.dumps(done).encode()])
    reply = post("/v1/responses", {**body, "stream": False})
    assert outcome(world, reply)["usage"] == {"input_tokens": 3, "output_tokens": 4}


ARGUMENTS = '{"a":' * 300 + "1" + "}" * 300


def test_arguments_without_end_are_nobodys_failure_but_whose_they_are(
    providers: dict[str, Provider], post: Any
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}}
    messages = [
        *HELLO,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ]
    reply = post(CHAT, {"model": "claude/m", "messages": messages})
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid_body"), reply.text
    assert not providers["claude"].asked
    said = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
    providers["oa"].script = Script(pieces=[json.dumps({"id": "c", "model": "m", "choices": [said]}).encode()])
    reply = post("/v1/messages", {"model": "oa/m", "max_tokens": 9, "messages": HELLO})
    assert reply.status_code == 502, reply.text


def test_an_answer_without_end_is_the_providers_failure(providers: dict[str, Provider], post: Any) -> None:
    deep = b'{"a":' * 400 + b"1" + b"}" * 400
    block = b'{"type":"tool_use","id":"t","name":"f","input":%b}' % deep
    providers["claude"].script = Script(
        pieces=[b'{"id":"m","model":"m","content":[%b],"stop_reason":"tool_use"}' % block]
    )
    reply = post(CHAT, chat("claude/m"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_error"), reply.text


@pytest.mark.parametrize("model", ["../../v1/other", "m/../../x", "m?key=1", "m#x", "m%2f..%2fx", "m/", ".", "m\\x"])
def test_a_models_name_is_no_path(providers: dict[str, Provider], post: Any, model: str) -> None:
    """Where a provider has the model in the path, a name in a body must not lead elsewhere."""
    reply = post(CHAT, chat(f"gem/{model}"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found"), reply.text
    assert not providers["gem"].asked


# --- before the call: the most that it may use -----------------------------------------------------------------------

TINY = {"max_tokens": 1}
SEARCH = {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
MCP = {"mcp_servers": [{"type": "url", "url": "https://example.com", "name": "x"}]}
IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]
GEMINI = {"contents": [{"parts": [{"text": "hi"}]}]}
MODEL = "/v1beta/models/gem/{}:generateContent"
RESPONSES = "/v1/responses"

MORE_THAN_THERE_IS: dict[str, tuple[str, dict[str, Any] | bytes]] = {
    "of two limits the smaller": (CHAT, chat("oa/kept", max_tokens=100_000, max_completion_tokens=1)),
    "of two limits the smaller, the other way": (CHAT, chat("oa/kept", max_tokens=1, max_completion_tokens=100_000)),
    "no answers": (CHAT, chat("oa/kept", max_tokens=30_000, n=0)),
    "an image": (CHAT, {"model": "oa/kept", "messages": IMAGE, **TINY}),
    "an image in odd spelling": (
        CHAT,
        json.dumps({"model": "oa/kept", "messages": IMAGE, **TINY})
        .replace('"image_url": {"url"', '"im\\u0061ge_url": {"\\u0075rl"')
        .replace('"image_url"', '"\\u0069mage_url"')
        .encode(),
    ),
    "a search": (CHAT, chat("oa/kept", web_search_options={}, **TINY)),
    "a search in a response": (
        RESPONSES,
        {"model": "oa/kept", "input": "hi", "max_output_tokens": 1, "tools": [{"type": "web_search"}]},
    ),
    "a prompt that is kept": (
        RESPONSES,
        {"model": "oa/kept", "input": "hi", "max_output_tokens": 1, "prompt": {"id": "pmpt_1"}},
    ),
    "a search by Anthropic": ("/v1/messages", chat("claude/kept", **SEARCH, **TINY)),
    "a server of tools": ("/v1/messages", chat("claude/kept", **MCP, **TINY)),
    "a search by Google": (
        MODEL.format("kept"),
        {**GEMINI, "generationConfig": {"maxOutputTokens": 1}, "tools": [{"googleSearch": {}}]},
    ),
    "another spelling": (CHAT, chat("oa/KePT", max_tokens=100_000)),
}


@pytest.fixture(scope="module")
def kept(world: tuple[Appliance, Identity], providers: dict[str, Provider]) -> Iterator[None]:
    """A budget that has room for small calls alone."""
    with world[0].admin() as admin:
        body = {"name": "kept", "model": "kept", "limit_tokens": 20_000, "period": "total"}
        assert admin.post("/v1/admin/budgets", json=body).status_code == 201
        wait_until(lambda: small(world).status_code == 200 and read_budget(world)["spent"] > 0, 5, "the budget counts")
        yield
        assert admin.delete("/v1/admin/budgets/kept").status_code == 204


def small(world: tuple[Appliance, Identity]) -> httpx.Response:
    with world[0].by_certificate(world[1]) as client:
        return client.post(CHAT, json=chat("oa/kept", max_tokens=10))


def read_budget(world: tuple[Appliance, Identity]) -> dict[str, Any]:
    with world[0].admin() as admin:
        found: dict[str, Any] = admin.get("/v1/admin/budgets/kept").json()
        return found


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("name", MORE_THAN_THERE_IS)
def test_nothing_goes_up_that_may_use_more_than_there_is(world: Any, providers: dict[str, Provider], name: str) -> None:
    path, body = MORE_THAN_THERE_IS[name]
    with world[0].by_certificate(world[1]) as client:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply = client.post(path, content=content, headers={"content-type": "application/json"})
        assert reply.status_code == 429 and "kept" in reply.text, reply.text
        assert not any(provider.asked for provider in providers.values())
    assert small(world).status_code == 200


@pytest.mark.usefixtures("kept")
def test_a_limit_of_nothing_is_none(providers: dict[str, Provider], post: Any) -> None:
    """Some take it so: it does not stand beside the limit that the budget sets."""
    providers["oa"].script = Script(pieces=[b'{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}'])
    assert post(CHAT, chat("oa/kept", max_tokens=0)).status_code == 200
    sent = providers["oa"].last.document
    assert 1000 < sent["max_completion_tokens"] < 20_000 and "max_tokens" not in sent
    configs = {"generationConfig": {"maxOutputTokens": 0}, "generation_config": {"max_output_tokens": 0}}
    assert post(MODEL.format("kept"), {**GEMINI, **configs}).status_code == 200
    sent = providers["gem"].last.document
    for config in (sent["generationConfig"], sent["generation_config"]):
        assert config.keys() == {"maxOutputTokens"} and 1000 < config["maxOutputTokens"] < 20_000


@pytest.mark.parametrize(("stream", "written"), [(False, 700), (True, 700)])
def test_who_leaves_before_the_answer_has_used_what_nobody_knows(
    world: Any, providers: dict[str, Provider], stream: bool, written: int
) -> None:
    """All that it may have written."""
    appliance, identity = world
    providers["oa"].script = Script(delay=1.5)

    def ends() -> list[dict[str, Any]]:
        return [one for one in appliance.entries() if one["phase"] == "outcome"]

    before = len(ends())
    with appliance.by_certificate(identity) as client, pytest.raises(httpx.ReadTimeout):
        client.post(CHAT, json=chat("oa/m", max_tokens=700, stream=stream), timeout=0.5)
    wait_until(lambda: len(ends()) > before, 5, "the outcome")
    (end,) = ends()[before:]
    assert end["outcome"]["status"] == "cancelled"
    assert end["usage"]["output_tokens"] == written and end["usage"]["input_tokens"] > 0


def test_no_budget_of_money_lets_pass_who_might_end_with_a_model_of_unknown_price(
    world: Any, providers: dict[str, Provider], post: Any
) -> None:
    with world[0].admin() as admin:
        body = {"name": "dear", "model": "*/dear", "limit_usd": 1_000_000, "period": "total"}
        assert admin.post("/v1/admin/budgets", json=body).status_code == 201
        try:
            gemini = MODEL.format("dear")
            asked = {**GEMINI, "generationConfig": {"maxOutputTokens": 1}}
            wait_until(lambda: post(gemini, asked).status_code == 403, 5, "the budget counts")
            providers["gem"].asked.clear()
            reply = post(gemini, asked)
            assert reply.status_code == 403 and "dear" in reply.text and not providers["gem"].asked
            assert post(CHAT, chat("oa/dear", max_tokens=1)).status_code == 200
        finally:
            assert admin.delete("/v1/admin/budgets/dear").status_code == 204
