"""Each vendor's SDK to a provider of each vendor: plain, streamed, with tools plain and streamed, three by three.

The stub answers what is plain; tools are answered by a provider that a test writes, in its own API, and the second turn
of the conversation is looked at where it arrives.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from google import genai
from google.genai import types
from pydantic import BaseModel

from mastio_client import Identity, certificate_client
from mastio_client import httpx2 as newer
from support.appliance import Appliance, Stub
from support.scripted_provider import Provider, Script, run_provider

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}
KINDS = tuple(MODELS)
CITIES = ("Turin", "Rome")


@dataclass
class Heard:
    """What an SDK made of an answer. `turn` is how it would go back in the next request."""

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    read: int | None = None
    written: int | None = None
    pieces: int = 1
    turn: Any = None
    ids: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Clients:
    old: httpx.Client
    new: httpx2.Client
    url: str

    def openai(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="certificate", http_client=self.old, max_retries=0)

    def anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self.url, api_key="certificate", http_client=self.new, max_retries=0)

    def gemini(self) -> genai.Client:
        options = types.HttpOptions(base_url=self.url, httpx_client=self.old)
        return genai.Client(api_key="certificate", http_options=options)


@pytest.fixture(scope="module")
def clients(agent: Identity) -> Iterator[Clients]:
    with ExitStack() as stack:
        old, new = certificate_client(agent), newer.certificate_client(agent)
        yield Clients(stack.enter_context(old), stack.enter_context(new), agent.base_url)


@pytest.fixture(scope="module", autouse=True)
def stubs(appliance: Appliance, stub: Stub) -> Iterator[None]:
    for kind in KINDS:
        appliance.add_provider(stub, f"matrix-{kind}", kind)
    yield
    with appliance.admin() as admin:
        for kind in KINDS:
            assert admin.delete(f"/v1/admin/providers/matrix-{kind}").status_code == 204


@pytest.fixture(scope="module")
def written(appliance: Appliance) -> Iterator[dict[str, Provider]]:
    with ExitStack() as stack:
        yield {kind: stack.enter_context(run_provider(appliance, kind, f"tools-{kind}")) for kind in KINDS}


# --- the SDKs: ask, and with the results of the calls ask again -------------------------------------------------------


def ask_chat(clients: Clients, model: str, stream: bool, tools: bool, before: Heard | None) -> Heard:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    if before is not None:
        results = [{"role": "tool", "tool_call_id": id, "content": "sunny"} for id in before.ids]
        messages += [before.turn, *results]
    more: dict[str, Any] = {"model": model, "messages": messages}
    if tools:
        more["tools"] = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
    if stream:
        heard, made = Heard(pieces=0), dict[int, dict[str, Any]]()
        options: Any = {"include_usage": True}
        for chunk in clients.openai().chat.completions.create(**more, stream=True, stream_options=options):
            heard.pieces += 1
            if chunk.usage:
                heard.read, heard.written = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
            for choice in chunk.choices:
                heard.text += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    call = made.setdefault(part.index, {"id": part.id, "name": "", "arguments": ""})
                    call["name"] += (part.function and part.function.name) or ""
                    call["arguments"] += (part.function and part.function.arguments) or ""
        heard.calls = [(call["name"], json.loads(call["arguments"])) for call in made.values()]
        return heard
    reply = clients.openai().chat.completions.create(**more)
    message, usage = reply.choices[0].message, reply.usage
    assert usage is not None
    calls: list[Any] = message.tool_calls or []
    return Heard(
        message.content or "", [(call.function.name, json.loads(call.function.arguments)) for call in calls],
        usage.prompt_tokens, usage.completion_tokens, 1, message.model_dump(exclude_none=True),
        [call.id for call in calls],
    )  # fmt: skip


def ask_responses(clients: Clients, model: str, stream: bool, tools: bool, before: Heard | None) -> Heard:
    given: list[Any] = [{"role": "user", "content": "hello"}]
    if before is not None:
        results = [{"type": "function_call_output", "call_id": id, "output": "sunny"} for id in before.ids]
        given += [*before.turn, *results]
    more: dict[str, Any] = {"model": model, "input": given, "instructions": "Be brief.", "store": False}
    if tools:
        more["tools"] = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
    client, pieces = clients.openai(), 1
    if stream:
        with client.responses.stream(**more) as events:
            kinds = [event.type for event in events]
            reply = events.get_final_response()
        assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
        pieces = len(kinds)
    else:
        reply = client.responses.create(**more)
    usage, calls = reply.usage, [item for item in reply.output if item.type == "function_call"]
    assert usage is not None
    return Heard(
        reply.output_text, [(call.name, json.loads(call.arguments)) for call in calls], usage.input_tokens,
        usage.output_tokens, pieces, [item.model_dump(exclude_none=True) for item in reply.output],
        [call.call_id for call in calls],
    )  # fmt: skip


def ask_messages(clients: Clients, model: str, stream: bool, tools: bool, before: Heard | None) -> Heard:
    messages: list[Any] = [{"role": "user", "content": "hello"}]
    if before is not None:
        results = [{"type": "tool_result", "tool_use_id": id, "content": "sunny"} for id in before.ids]
        messages += [{"role": "assistant", "content": before.turn}, {"role": "user", "content": results}]
    more: dict[str, Any] = {"model": model, "max_tokens": 99, "messages": messages, "system": "Be brief."}
    if tools:
        more["tools"] = [{"name": "weather", "input_schema": SCHEMA}]
    client, pieces = clients.anthropic(), 1
    if stream:
        with client.messages.stream(**more) as events:
            pieces = sum(event.type == "content_block_delta" for event in events)
            reply = events.get_final_message()
    else:
        reply = client.messages.create(**more)
    blocks: list[Any] = list(reply.content)
    calls = [block for block in blocks if block.type == "tool_use"]
    assert reply.stop_reason == ("tool_use" if calls else "end_turn")
    return Heard(
        "".join(block.text for block in blocks if block.type == "text"), [(call.name, call.input) for call in calls],
        reply.usage.input_tokens, reply.usage.output_tokens, pieces,
        [block.model_dump(exclude_none=True, mode="json") for block in blocks], [call.id for call in calls],
    )  # fmt: skip


def ask_gemini(clients: Clients, model: str, stream: bool, tools: bool, before: Heard | None) -> Heard:
    given: list[Any] = [types.Content(role="user", parts=[types.Part(text="hello")])]
    if before is not None:
        results = [types.Part(function_response=types.FunctionResponse(id=id, name="weather",
                   response={"output": "sunny"})) for id in before.ids]  # fmt: skip
        given += [before.turn, types.Content(role="user", parts=results)]
    declared: Any = types.FunctionDeclaration(name="weather", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        tools=[types.Tool(function_declarations=[declared])] if tools else None,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    models = clients.gemini().models
    if stream:
        replies = list(models.generate_content_stream(model=model, contents=given, config=config))
    else:
        replies = [models.generate_content(model=model, contents=given, config=config)]
    usage = replies[-1].usage_metadata
    assert usage is not None
    contents = [reply.candidates[0].content for reply in replies if reply.candidates]
    parts = [part for content in contents if content for part in content.parts or []]
    calls = [part.function_call for part in parts if part.function_call]
    return Heard(
        "".join(part.text or "" for part in parts), [(str(call.name), call.args) for call in calls],
        usage.prompt_token_count, usage.candidates_token_count, len(replies), contents[0], [c.id for c in calls],
    )  # fmt: skip


Ask = Callable[[Clients, str, bool, bool, Heard | None], Heard]
SDKS: dict[str, Ask] = {"chat": ask_chat, "responses": ask_responses, "messages": ask_messages, "gemini": ask_gemini}
SPOKEN = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "gemini"}


# --- the providers: two calls at once, in their own API ---------------------------------------------------------------


def sse(*events: dict[str, Any] | str) -> Script:
    pieces = []
    for event in events:
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        pieces.append(f"{name}data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode())
    return Script(content_type="text/event-stream", pieces=pieces)


def chat_calls(stream: bool) -> Script:
    calls = [
        {"index": n, "id": f"call_{n}", "type": "function",
         "function": {"name": "weather", "arguments": json.dumps({"city": city})}}
        for n, city in enumerate(CITIES)
    ]  # fmt: skip
    head = {"id": "c", "object": "chat.completion.chunk" if stream else "chat.completion", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    if not stream:
        plain = [{name: value for name, value in call.items() if name != "index"} for call in calls]
        message = {"role": "assistant", "content": "Let me see.", "tool_calls": plain}
        whole = {**head, "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage}
        return Script(pieces=[json.dumps(whole).encode()])

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    pieces = [chunk({"role": "assistant", "content": "Let me see."})]
    for call in calls:
        arguments = call["function"]["arguments"]  # type: ignore[index]
        begun = {**call, "function": {"name": "weather", "arguments": ""}}
        pieces.append(chunk({"tool_calls": [begun]}))
        for part in (arguments[:6], arguments[6:]):
            pieces.append(chunk({"tool_calls": [{"index": call["index"], "function": {"arguments": part}}]}))
    return sse(*pieces, chunk({}, "tool_calls"), {**head, "choices": [], "usage": usage}, "[DONE]")


def response_calls(stream: bool) -> Script:
    """The API is the caller's own, so that this is passed on as it is."""
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}]}  # fmt: skip
    calls = [
        {"id": f"fc_{n}", "type": "function_call", "call_id": f"call_{n}", "name": "weather", "status": "completed",
         "arguments": json.dumps({"city": city})}
        for n, city in enumerate(CITIES)
    ]  # fmt: skip
    usage = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14,
             "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
             "output": [said, *calls], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
             "usage": usage}  # fmt: skip
    if not stream:
        return Script(pieces=[json.dumps(whole).encode()])
    begun = {**whole, "status": "in_progress", "output": []}
    items = [{"type": "response.output_item.added", "sequence_number": n + 1, "output_index": n, "item": item}
             for n, item in enumerate([said, *calls])]  # fmt: skip
    return sse(
        {"type": "response.created", "sequence_number": 0, "response": begun}, *items,
        {"type": "response.completed", "sequence_number": 9, "response": whole},
    )  # fmt: skip


def message_calls(stream: bool) -> Script:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "Let me see."}]
    blocks += [
        {"type": "tool_use", "id": f"call_{n}", "name": "weather", "input": {"city": city}}
        for n, city in enumerate(CITIES)
    ]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks,
               "stop_reason": "tool_use", "stop_sequence": None,
               "usage": {"input_tokens": 9, "output_tokens": 5}}  # fmt: skip
    if not stream:
        return Script(pieces=[json.dumps(message).encode()])
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": []}}]
    for index, block in enumerate(blocks):
        empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        if block["type"] == "text":
            deltas = [{"type": "text_delta", "text": "Let me see."}]
        else:
            text = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in (text[:6], text[6:])]
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}
    return sse(*events, end, {"type": "message_stop"})


def content_calls(stream: bool) -> Script:
    calls: list[dict[str, Any]] = [{"functionCall": {"name": "weather", "args": {"city": city}}} for city in CITIES]
    calls[0]["thoughtSignature"] = "+/8A"
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}

    def reply(parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **more}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"}

    said = [{"text": "Let me see."}]
    if stream:
        return sse(reply(said), reply(calls[:1]), reply(calls[1:], finishReason="STOP"))
    return Script(pieces=[json.dumps(reply([*said, *calls], finishReason="STOP")).encode()])


SCRIPTS = {"openai": chat_calls, "anthropic": message_calls, "gemini": content_calls}


def results_of(kind: str, document: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Of the second request as it arrived: the ids (or signatures) of the calls, and those of the results."""
    if kind == "openai" and "input" in document:
        items = document["input"]
        return ([item["call_id"] for item in items if item.get("type") == "function_call"],
                [item["call_id"] for item in items if item.get("type") == "function_call_output"])  # fmt: skip
    if kind == "openai":
        messages = document["messages"]
        return ([call["id"] for message in messages for call in message.get("tool_calls") or []],
                [message["tool_call_id"] for message in messages if message["role"] == "tool"])  # fmt: skip
    if kind == "anthropic":
        blocks = [b for message in document["messages"] for b in message["content"] if isinstance(b, dict)]
        return ([b["id"] for b in blocks if b["type"] == "tool_use"],
                [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"])  # fmt: skip
    parts = [part for content in document["contents"] for part in content["parts"]]
    return ([part["functionCall"].get("id") for part in parts if "functionCall" in part],
            [part["functionResponse"].get("id") for part in parts if "functionResponse" in part])  # fmt: skip


DONE: set[tuple[str, str, str]] = set()


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sdk", SDKS)
def test_text(clients: Clients, sdk: str, kind: str, stream: bool) -> None:
    heard = SDKS[sdk](clients, f"matrix-{kind}/{MODELS[kind]}", stream, False, None)
    assert heard.text.startswith("Hello from the stub provider.") and heard.calls == []
    assert heard.read and heard.written == 10
    assert heard.pieces >= 3 if stream else heard.pieces == 1
    DONE.add((sdk, kind, f"text {stream}"))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sdk", SDKS)
def test_tools(clients: Clients, written: dict[str, Provider], sdk: str, kind: str, stream: bool) -> None:
    """Two calls at once come whole; their results arrive at the provider under the calls' own ids."""
    script = response_calls if sdk == "responses" and kind == "openai" else SCRIPTS[kind]
    written[kind].script = script(stream)
    heard = SDKS[sdk](clients, f"tools-{kind}/m", stream, True, None)
    assert heard.text == "Let me see."
    assert heard.calls == [("weather", {"city": city}) for city in CITIES]
    assert (heard.read, heard.written) == (9, 5)
    if not stream:
        SDKS[sdk](clients, f"tools-{kind}/m", False, True, heard)
        document = written[kind].last.document
        calls, results = results_of(kind, document)
        assert calls == results and len(calls) == 2
        if kind != "gemini":
            assert calls == ["call_0", "call_1"]
        else:
            parts = [part for content in document["contents"] for part in content["parts"] if "functionCall" in part]
            notes = [base64.urlsafe_b64decode(part.get("thoughtSignature", "").replace("+", "-").replace("/", "_"))
                     for part in parts]  # fmt: skip
            assert notes == [b"\xfb\xff\x00", b""], "the model's own note came back with its call"
    DONE.add((sdk, kind, f"tools {stream}"))


def test_nothing_is_missing() -> None:
    """Three by three, and Codex's API: each in four ways."""
    done = {(SPOKEN[sdk], kind) for sdk, kind, _ in DONE}
    print(f"{len(done)}/9")
    assert len(done) == 9 and len(DONE) == len(SDKS) * len(KINDS) * 4


# --- answers by a schema ----------------------------------------------------------------------------------------------


class City(BaseModel):
    """What is asked for; the SDKs make schemas of it, each in its own way."""

    name: str
    size: int
    districts: list[str]


TURIN = City(name="Turin", size=850_000, districts=["Crocetta"])


def parse_chat(clients: Clients, model: str) -> Any:
    hello: Any = [{"role": "user", "content": "hello"}]
    reply = clients.openai().chat.completions.parse(model=model, messages=hello, response_format=City)
    return reply.choices[0].message.parsed


def parse_responses(clients: Clients, model: str) -> Any:
    return clients.openai().responses.parse(model=model, input="hello", text_format=City).output_parsed


def parse_messages(clients: Clients, model: str) -> Any:
    hello: Any = [{"role": "user", "content": "hello"}]
    return (
        clients.anthropic().messages.parse(model=model, max_tokens=99, messages=hello, output_format=City).parsed_output
    )


def parse_gemini(clients: Clients, model: str) -> Any:
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=City)
    return clients.gemini().models.generate_content(model=model, contents="hello", config=config).parsed


PARSERS = {"chat": parse_chat, "responses": parse_responses, "messages": parse_messages, "gemini": parse_gemini}


def said(kind: str, text: str) -> Script:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    content = {"role": "model", "parts": [{"text": text}]}
    whole: dict[str, Any] = {
        "openai": {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]},
        "anthropic": {"id": "m", "model": "m", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"},
        "gemini": {"candidates": [{"content": content, "finishReason": "STOP"}], "responseId": "r"},
    }
    return Script(pieces=[json.dumps(whole[kind]).encode()])


def schema_in(kind: str, document: dict[str, Any]) -> Any:
    if kind == "openai":
        return document["response_format"]["json_schema"]["schema"]
    if kind == "anthropic":
        return document["output_config"]["format"]["schema"]
    config = document["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    return config["responseJsonSchema"]


TRANSLATED = [(sdk, kind) for sdk in PARSERS for kind in KINDS if SPOKEN[sdk] != kind]


@pytest.mark.parametrize(("sdk", "kind"), TRANSLATED)
def test_schemas(clients: Clients, written: dict[str, Provider], sdk: str, kind: str) -> None:
    """The provider is told the schema in the words of JSON Schema, and the SDK has the object that it asked for."""
    written[kind].script = said(kind, TURIN.model_dump_json())
    assert PARSERS[sdk](clients, f"tools-{kind}/m") == TURIN
    schema = schema_in(kind, written[kind].last.document)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert {name: property["type"] for name, property in schema["properties"].items()} == {
        "name": "string", "size": "integer", "districts": "array",
    }  # fmt: skip
    assert schema["properties"]["districts"]["items"]["type"] == "string" and len(schema["required"]) == 3
