"""One story with each vendor's own SDK, by certificate and through the shim: plain, streamed, tools, images, errors as
the SDK's own exceptions, and giving up half-way. Providers are the stub, and one that a test writes the answers of."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from google import genai
from google.genai import errors as genai_errors
from google.genai import types

from mastio_client import Identity, certificate_client
from mastio_client import httpx2 as newer
from support.appliance import Appliance, Stub, wait_until
from support.scripted_provider import KEY, Provider, Script, run_provider
from support.shim_process import open_shim

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PIXEL_64 = base64.b64encode(PIXEL).decode()
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = '{"city": "Turin"}'
KINDS = ("openai", "anthropic", "gemini")


@dataclass(frozen=True)
class Way:
    """How the SDKs reach the appliance."""

    url: str
    client: httpx.Client
    newer: httpx2.Client
    key: str

    def openai(self, **more: Any) -> openai.OpenAI:
        more.setdefault("max_retries", 0)
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=self.key, http_client=self.client, **more)

    def anthropic(self, **more: Any) -> anthropic.Anthropic:
        more.setdefault("max_retries", 0)
        return anthropic.Anthropic(base_url=self.url, api_key=self.key, http_client=self.newer, **more)

    def gemini(self) -> genai.Client:
        options = types.HttpOptions(base_url=self.url, httpx_client=self.client)
        return genai.Client(api_key=self.key, http_options=options)


@pytest.fixture(scope="module", params=["certificate", "shim"])
def way(request: pytest.FixtureRequest, agent: Identity) -> Iterator[Way]:
    with ExitStack() as stack:
        if request.param == "shim":
            url = stack.enter_context(open_shim(agent)).url
            old, new = httpx.Client(trust_env=False, timeout=30), httpx2.Client(trust_env=False, timeout=30)
            yield Way(url, stack.enter_context(old), stack.enter_context(new), "shim")
            return
        old, new = certificate_client(agent), newer.certificate_client(agent)
        yield Way(agent.base_url, stack.enter_context(old), stack.enter_context(new), "certificate")


@pytest.fixture(scope="module", autouse=True)
def stubs(appliance: Appliance, stub: Stub) -> Iterator[None]:
    """The stub as a provider of each kind."""
    for kind in KINDS:
        appliance.add_provider(stub, f"said-{kind}", kind)
    yield
    with appliance.admin() as admin:
        for kind in KINDS:
            assert admin.delete(f"/v1/admin/providers/said-{kind}").status_code == 204


@pytest.fixture(scope="module")
def written(appliance: Appliance) -> Iterator[dict[str, Provider]]:
    """Providers whose next answer a test writes."""
    with ExitStack() as stack:
        yield {kind: stack.enter_context(run_provider(appliance, kind, f"written-{kind}")) for kind in KINDS}


def events(*said: tuple[str, dict[str, Any]] | dict[str, Any] | str) -> Script:
    """An event stream of these: a name and data, or data alone."""
    pieces = []
    for item in said:
        name, data = item if isinstance(item, tuple) else ("", item)
        text = data if isinstance(data, str) else json.dumps(data)
        pieces.append((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())
    return Script(content_type="text/event-stream", pieces=pieces)


def answer(document: Any, status: int = 200, **headers: str) -> Script:
    return Script(status, pieces=[json.dumps(document).encode()], headers=headers)


def last_outcome(appliance: Appliance) -> dict[str, Any]:
    return [entry for entry in appliance.entries() if entry["phase"] == "outcome"][-1]


# --- OpenAI: chat completions ---------------------------------------------------------------------------------------

CHAT_TOOL: dict[str, Any] = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA, "strict": True}}


def test_chat_plain_and_streamed(way: Way, appliance: Appliance) -> None:
    client = way.openai()
    hello: Any = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    raw = client.chat.completions.with_raw_response.create(model="said-openai/gpt-4o", messages=hello)
    reply = raw.parse()
    assert (reply.choices[0].message.content or "").startswith("Hello") and reply.usage is not None
    assert int(raw.headers["x-tokens-input"]) == reply.usage.prompt_tokens
    assert reply._request_id == raw.headers["x-request-id"]
    assert last_outcome(appliance)["usage"]["output_tokens"] == reply.usage.completion_tokens
    stream = client.chat.completions.create(
        model="said-openai/gpt-4o", messages=hello, stream=True, stream_options={"include_usage": True}
    )
    pieces = list(stream)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == reply.choices[0].message.content and pieces[-1].usage is not None
    assert last_outcome(appliance)["usage"]["output_tokens"] == pieces[-1].usage.completion_tokens


def test_chat_tools(way: Way, written: dict[str, Provider]) -> None:
    function = {"name": "weather", "arguments": WEATHER}
    call = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    written["openai"].script = answer(whole)
    conversation: Any = [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ]
    client, model = way.openai(), "written-openai/m"
    tools: Any = [CHAT_TOOL]
    reply = client.chat.completions.create(
        model=model, messages=conversation, tools=tools, tool_choice="required", parallel_tool_calls=True
    )
    made: Any = (reply.choices[0].message.tool_calls or [])[0]
    assert (made.id, made.function.arguments) == ("call_1", WEATHER)
    sent = written["openai"].last.document
    assert (sent["messages"], sent["tools"], sent["tool_choice"]) == (conversation, tools, "required")

    def piece(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}

    start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": WEATHER[:5]}}
    rest = {"index": 0, "function": {"arguments": WEATHER[5:]}}
    written["openai"].script = events(
        piece({"tool_calls": [start]}), piece({"tool_calls": [rest]}), piece({}, "tool_calls"), "[DONE]"
    )
    stream = client.chat.completions.create(model=model, messages=conversation, tools=tools, stream=True)
    arguments = ""
    for chunk in stream:
        for part in chunk.choices[0].delta.tool_calls or []:
            arguments += (part.function.arguments or "") if part.function else ""
    assert arguments == WEATHER


def test_chat_images(way: Way, written: dict[str, Provider]) -> None:
    written["openai"].script = answer({"choices": [], "id": "c", "created": 1, "model": "m"})
    parts = [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL_64}", "detail": "low"}},
    ]
    messages: Any = [{"role": "user", "content": parts}]
    way.openai().chat.completions.create(model="written-openai/m", messages=messages)
    assert written["openai"].last.document["messages"] == messages


OPENAI_ERRORS: dict[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError, 404: openai.NotFoundError, 409: openai.ConflictError,
    422: openai.UnprocessableEntityError, 429: openai.RateLimitError, 500: openai.InternalServerError,
    503: openai.InternalServerError, 401: openai.InternalServerError,
}  # fmt: skip


@pytest.mark.parametrize("status", OPENAI_ERRORS)
@pytest.mark.parametrize("stream", [False, True])
def test_chat_errors(way: Way, written: dict[str, Provider], status: int, stream: bool) -> None:
    """The provider's, as the SDK would raise them; what it says of our own key is our failure (502)."""
    said = {"error": {"message": f"No. {KEY}", "type": "t", "param": None, "code": "theirs"}}
    written["openai"].script = answer(said if status >= 500 else {"error": {**said["error"], "message": "No."}}, status)
    hello: Any = [{"role": "user", "content": "hello"}]
    with pytest.raises(OPENAI_ERRORS[status]) as caught:
        way.openai().chat.completions.create(model="written-openai/m", messages=hello, stream=stream)
    passed = status not in (401, 500, 503)
    assert caught.value.status_code == (status if passed else 502)
    assert (caught.value.code == "theirs") == passed and KEY not in str(caught.value)


def test_chat_retries_are_the_sdks(way: Way, appliance: Appliance, written: dict[str, Provider]) -> None:
    """It waits for what `Retry-After` says and asks again. Each of its tries is an exchange of its own, in which the
    appliance tried the provider twice (`[llm] retries`)."""
    written["openai"].script = answer({"error": {"message": "slow down"}}, 429, **{"retry-after": "0"})
    arrived, logged = len(written["openai"].asked), len(appliance.entries())
    hello: Any = [{"role": "user", "content": "hello"}]
    with pytest.raises(openai.RateLimitError):
        way.openai(max_retries=2).chat.completions.create(model="written-openai/m", messages=hello)
    assert len(written["openai"].asked) == arrived + 6
    entries = appliance.entries()[logged:]
    outcomes = [entry for entry in entries if entry["phase"] == "outcome" and entry["kind"] == "llm.chat"]
    assert [entry["response"]["tries"] for entry in outcomes] == [2, 2, 2]
    ids = [asked.header("x-request-id") for asked in written["openai"].asked[arrived:]]
    assert ids == [entry["id"] for entry in outcomes for _ in range(2)]


def test_chat_that_breaks_is_an_error_of_the_sdk(way: Way, written: dict[str, Provider]) -> None:
    piece = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    written["openai"].script = events(piece)
    hello: Any = [{"role": "user", "content": "hello"}]
    stream = way.openai().chat.completions.create(model="written-openai/m", messages=hello, stream=True)
    with pytest.raises(openai.APIError) as caught:
        list(stream)
    assert caught.value.code == "upstream_error"


# --- OpenAI: the rest -----------------------------------------------------------------------------------------------


def test_responses_plain_and_streamed(way: Way, appliance: Appliance) -> None:
    client = way.openai()
    reply = client.responses.create(model="said-openai/gpt-4o", input="hello", instructions="Be brief.", store=False)
    assert reply.output_text.startswith("Hello") and reply.usage is not None
    kinds, text = [], ""
    for said in client.responses.create(model="said-openai/gpt-4o", input="hello", stream=True):
        kinds.append(said.type)
        text += said.delta if said.type == "response.output_text.delta" else ""
    assert text == reply.output_text and kinds[0] == "response.created" and kinds[-1] == "response.completed"
    assert last_outcome(appliance)["usage"]["output_tokens"] == reply.usage.output_tokens


def test_responses_tools_and_images(way: Way, written: dict[str, Provider]) -> None:
    call = {"type": "function_call", "id": "f", "call_id": "call_1", "name": "weather", "arguments": WEATHER}
    written["openai"].script = answer({"id": "r", "object": "response", "model": "m", "output": [call], "error": None})
    given: Any = [
        {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL_64}"}]},
        {"type": "function_call", "call_id": "call_0", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_0", "output": "sunny"},
    ]
    tools: Any = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}]
    reply = way.openai().responses.create(model="written-openai/m", input=given, tools=tools)
    made: Any = reply.output[0]
    assert (made.name, made.arguments) == ("weather", WEATHER)
    sent = written["openai"].last.document
    assert (sent["input"], sent["tools"]) == (given, tools)


def test_responses_that_break_are_an_error_of_the_sdk(way: Way, written: dict[str, Provider]) -> None:
    written["openai"].script = events(("response.created", {"type": "response.created", "response": {"error": None}}))
    with pytest.raises(openai.APIError) as caught:
        list(way.openai().responses.create(model="written-openai/m", input="hello", stream=True))
    assert caught.value.code == "upstream_error"


def test_embeddings_and_moderations(way: Way, appliance: Appliance) -> None:
    client = way.openai()
    vectors = client.embeddings.create(model="said-openai/text-embedding-3-small", input=["a", "b"], dimensions=8)
    assert [len(item.embedding) for item in vectors.data] == [8, 8]
    assert last_outcome(appliance)["usage"]["input_tokens"] == vectors.usage.prompt_tokens
    assert client.moderations.create(model="said-openai/omni-moderation-latest", input="a").results[0].flagged is False


# --- Anthropic ------------------------------------------------------------------------------------------------------

CLAUDE_HELLO: Any = [{"role": "user", "content": "hello"}]


def test_messages_plain_and_streamed(way: Way, appliance: Appliance) -> None:
    client = way.anthropic()
    asked: dict[str, Any] = {"model": "said-anthropic/claude-sonnet-4-5", "max_tokens": 99, "messages": CLAUDE_HELLO}
    raw = client.messages.with_raw_response.create(**asked, system="Be brief.")
    reply = raw.parse()
    text = reply.content[0].text
    assert text.startswith("Hello") and raw.headers["x-tokens-input"] == str(reply.usage.input_tokens)
    with client.messages.stream(**asked) as stream:
        assert "".join(stream.text_stream) == text
        final = stream.get_final_message()
        assert stream.response.headers["x-tokens-input"] == str(final.usage.input_tokens)
    usage = last_outcome(appliance)["usage"]
    counts = {"input_tokens": final.usage.input_tokens, "output_tokens": final.usage.output_tokens}
    assert counts.items() <= usage.items()
    counted = client.messages.count_tokens(model="said-anthropic/claude-sonnet-4-5", messages=CLAUDE_HELLO)
    assert counted.input_tokens > 0
    assert "usage" not in last_outcome(appliance) or not last_outcome(appliance)["usage"], "nothing was used"


def test_messages_tools_images_and_cache_breakpoints(way: Way, written: dict[str, Provider]) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Turin"}}
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [use], "stop_reason": "tool_use",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    written["anthropic"].script = answer(message)
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL_64}
    messages: Any = [
        {"role": "user", "content": [{"type": "image", "source": source, "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}]},
    ]
    tools: Any = [{"name": "weather", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}]
    client = way.anthropic()
    asked: dict[str, Any] = {"model": "written-anthropic/m", "max_tokens": 9, "messages": messages, "tools": tools}
    beta = {"anthropic-beta": "fine-grained-tool-streaming-2025-05-14,context-1m"}
    reply = client.messages.create(**asked, extra_headers=beta, extra_query={"beta": "true"})
    made: Any = reply.content[0]
    assert (made.name, made.input) == ("weather", {"city": "Turin"})
    sent = written["anthropic"].last
    assert (sent.document["messages"], sent.document["tools"]) == (messages, tools)
    assert sent.header("anthropic-beta") == beta["anthropic-beta"] and sent.path == "/v1/messages?beta=true"

    start = {"type": "content_block_start", "index": 0, "content_block": {**use, "input": {}}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": part}}
        for part in (WEATHER[:5], WEATHER[5:])
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}
    said = [{"type": "message_start", "message": {**message, "content": []}}, start, *deltas,
            {"type": "content_block_stop", "index": 0}, end, {"type": "message_stop"}]  # fmt: skip
    written["anthropic"].script = events(*((item["type"], item) for item in said))
    with client.messages.stream(**asked) as stream:
        final: Any = stream.get_final_message()
    assert final.content[0].input == {"city": "Turin"}


ANTHROPIC_ERRORS: dict[int, type[anthropic.APIStatusError]] = {
    400: anthropic.BadRequestError, 404: anthropic.NotFoundError, 413: anthropic.RequestTooLargeError,
    429: anthropic.RateLimitError, 500: anthropic.InternalServerError, 529: anthropic.InternalServerError,
    401: anthropic.InternalServerError,
}  # fmt: skip


@pytest.mark.parametrize("status", ANTHROPIC_ERRORS)
@pytest.mark.parametrize("stream", [False, True])
def test_messages_errors(way: Way, written: dict[str, Provider], status: int, stream: bool) -> None:
    written["anthropic"].script = answer({"type": "error", "error": {"type": "theirs", "message": "No."}}, status)
    with pytest.raises(ANTHROPIC_ERRORS[status]) as caught:
        way.anthropic().messages.create(model="written-anthropic/m", max_tokens=9, messages=CLAUDE_HELLO, stream=stream)
    passed = status not in (401, 500, 529)
    assert caught.value.status_code == (status if passed else 502)
    assert ("theirs" in str(caught.value.body)) == passed


def test_messages_that_break_are_an_error_of_the_sdk(way: Way, written: dict[str, Provider]) -> None:
    written["anthropic"].script = events(("ping", {"type": "ping"}))
    stream = way.anthropic().messages.create(
        model="written-anthropic/m", max_tokens=9, messages=CLAUDE_HELLO, stream=True
    )
    with pytest.raises(anthropic.APIStatusError, match="upstream_error"):
        list(stream)


def test_messages_refused_by_us(way: Way) -> None:
    client = way.anthropic()
    with pytest.raises(anthropic.UnprocessableEntityError, match="invalid_body") as invalid:
        client.messages.create(model="said-anthropic/m", max_tokens=-1, messages=CLAUDE_HELLO)
    body: Any = invalid.value.body
    assert invalid.value.request_id and body["request_id"] == invalid.value.request_id
    with pytest.raises(anthropic.BadRequestError, match="not_translatable"):
        fast: Any = {"speed": "fast"}
        client.messages.create(model="said-gemini/gemini-2.5-pro", max_tokens=9, messages=CLAUDE_HELLO, extra_body=fast)


# --- Gemini ---------------------------------------------------------------------------------------------------------


def test_gemini_plain_and_streamed(way: Way, appliance: Appliance) -> None:
    client, model = way.gemini(), "said-gemini/gemini-2.5-flash"
    config = types.GenerateContentConfig(system_instruction="Be brief.", max_output_tokens=99)
    reply = client.models.generate_content(model=model, contents="hello", config=config)
    assert reply.text is not None and reply.text.startswith("Hello") and reply.usage_metadata is not None
    pieces = list(client.models.generate_content_stream(model=model, contents="hello"))
    assert "".join(piece.text or "" for piece in pieces) == reply.text and len(pieces) > 1
    usage = last_outcome(appliance)["usage"]
    assert usage["output_tokens"] == reply.usage_metadata.candidates_token_count
    assert f"models/{model}" in {item.name for item in client.models.list()}


def test_gemini_tools_and_images(way: Way, written: dict[str, Provider]) -> None:
    call = {"functionCall": {"id": "1", "name": "weather", "args": {"city": "Turin"}}}
    said = {"candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}]}
    written["gemini"].script = answer(said)
    declared: Any = types.FunctionDeclaration(name="weather", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declared])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    given: Any = [types.Part.from_bytes(data=PIXEL, mime_type="image/png"), "what?"]
    client = way.gemini()
    reply = client.models.generate_content(model="written-gemini/m", contents=given, config=config)
    made = (reply.function_calls or [])[0]
    assert (made.name, made.args) == ("weather", {"city": "Turin"})
    sent = written["gemini"].last
    assert sent.path == "/v1beta/models/m:generateContent" and sent.header("x-goog-api-key") == KEY
    inline = sent.document["contents"][0]["parts"][0]["inlineData"]
    assert base64.urlsafe_b64decode(inline["data"]) == PIXEL or base64.b64decode(inline["data"]) == PIXEL
    assert sent.document["tools"][0]["functionDeclarations"][0]["name"] == "weather"
    written["gemini"].script = events(said)
    (piece,) = client.models.generate_content_stream(model="written-gemini/m", contents=given, config=config)
    assert (piece.function_calls or [])[0].args == {"city": "Turin"}


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503, 403])
@pytest.mark.parametrize("stream", [False, True])
def test_gemini_errors(way: Way, written: dict[str, Provider], status: int, stream: bool) -> None:
    said = {"error": {"code": status, "message": "No.", "status": "THEIRS"}}
    written["gemini"].script = answer(said, status)
    passed = status in (400, 404, 429)
    expected = genai_errors.ClientError if passed else genai_errors.ServerError
    models = way.gemini().models
    with pytest.raises(expected) as caught:
        if stream:
            list(models.generate_content_stream(model="written-gemini/m", contents="hello"))
        else:
            models.generate_content(model="written-gemini/m", contents="hello")
    assert caught.value.code == (status if passed else 502)
    assert caught.value.status == ("THEIRS" if passed else "UNAVAILABLE")


def test_gemini_that_breaks_is_an_error_of_the_sdk(way: Way, written: dict[str, Provider]) -> None:
    written["gemini"].script = events({"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}]})
    with pytest.raises(genai_errors.ServerError, match="upstream_error"):
        list(way.gemini().models.generate_content_stream(model="written-gemini/m", contents="hello"))


def test_gemini_refused_by_us(way: Way) -> None:
    models = way.gemini().models
    with pytest.raises(genai_errors.ClientError, match="not_translatable"):
        config = types.GenerateContentConfig(response_logprobs=True)
        models.generate_content(model="said-openai/gpt-4o", contents="hello", config=config)


# --- giving up ------------------------------------------------------------------------------------------------------


def leave_chat(way: Way) -> None:
    hello: Any = [{"role": "user", "content": "hello"}]
    stream = way.openai().chat.completions.create(model="slow-openai/m", messages=hello, stream=True)
    next(iter(stream))
    stream.close()


def leave_response(way: Way) -> None:
    stream = way.openai().responses.create(model="slow-openai/m", input="hello", stream=True)
    next(iter(stream))
    stream.close()


def leave_messages(way: Way) -> None:
    asked: dict[str, Any] = {"model": "slow-anthropic/m", "max_tokens": 9, "messages": CLAUDE_HELLO}
    with way.anthropic().messages.stream(**asked) as stream:
        next(iter(stream))


def leave_gemini(way: Way) -> None:
    stream: Any = way.gemini().models.generate_content_stream(model="slow-gemini/m", contents="hello")
    next(stream)
    stream.close()


@pytest.mark.parametrize("leave", [leave_chat, leave_response, leave_messages, leave_gemini])
def test_giving_up_half_way(
    way: Way, appliance: Appliance, agent: Identity, tmp_path: Path, leave: Callable[[Way], None]
) -> None:
    slow = Stub(tmp_path, "--latency", "300ms", "--chunks", "50")
    for kind in KINDS:
        appliance.add_provider(slow, f"slow-{kind}", kind)
    try:
        leave(way)
        wait_until(lambda: any(e.get("event") == "hangup" for e in slow.journal()), 5, "the provider saw the hang-up")
        wait_until(lambda: last_outcome(appliance)["outcome"] == {"status": "cancelled"}, 5, "the log has it")
    finally:
        slow.stop()
        with appliance.admin() as admin:
            for kind in KINDS:
                assert admin.delete(f"/v1/admin/providers/slow-{kind}").status_code == 204
