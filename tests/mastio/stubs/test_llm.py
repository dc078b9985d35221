"""The provider stand-in: what clients read from it, that its streams stream, what its journal holds."""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mastio.exchange.errors import ConfigurationError
from mastio_llm.stubs import command as stub_llm
from mastio_llm.stubs.llm import StubProvider
from mastio_llm.stubs.template import PII, Settings, compose_text, parse_duration

LAUNCH = """
import argparse, sys
from mastio_llm.stubs import command as stub_llm
parser = argparse.ArgumentParser()
stub_llm.add_arguments(parser)
sys.exit(stub_llm.run(parser.parse_args()))
"""
TEXT = "Hello from the stub provider. This text is the same"
CHAT = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
CANARY = "sk-canary-5f0c2b"

PLAIN = {
    "/v1/chat/completions": lambda reply: reply["choices"][0]["message"]["content"],
    "/v1/responses": lambda reply: reply["output"][0]["content"][0]["text"],
    "/v1/messages": lambda reply: reply["content"][0]["text"],
    "/v1beta/models/gemini-2.5-flash:generateContent": lambda reply: gemini_text(reply),
    "/v1/models/gemini-2.5-flash:generateContent": lambda reply: gemini_text(reply),
}
DIALECTS = {
    "/v1/chat/completions": "openai",
    "/v1/messages": "anthropic",
    "/v1beta/models/g:generateContent": "gemini",
}


def gemini_text(reply: dict[str, Any]) -> str:
    text: str = reply["candidates"][0]["content"]["parts"][0]["text"]
    return text


def client(**settings: Any) -> httpx.AsyncClient:
    provider = StubProvider(Settings(**{"latency": 0.0, **settings}))
    transport = httpx.ASGITransport(provider)
    credential = {"authorization": f"Bearer {CANARY}"}
    return httpx.AsyncClient(transport=transport, base_url="http://stub", headers=credential)


async def events(stub: httpx.AsyncClient, path: str, body: dict[str, Any]) -> list[tuple[str | None, Any]]:
    """The events of a streamed reply: name, and data as JSON where it is JSON."""
    reply = await stub.post(path, json=body)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/event-stream")
    found = []
    for block in reply.text.replace("\r\n", "\n").removesuffix("\n\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        found.append((fields.get("event"), data if data == "[DONE]" else json.loads(data)))
    return found


@contextlib.contextmanager
def running(*arguments: str, stdout: Any = None) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A stub process on a free port: its base URL, and the process."""
    command = [sys.executable, "-c", LAUNCH, "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        ready = process.stderr.readline().split()
        assert ready[:3] == ["stub-llm", "listening", "on"], ready
        try:
            yield ready[3], process
        finally:
            process.terminate()
            assert process.wait(10) == 0


def read_journal(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --------------------------------------------------------------------------------------- plain replies


@pytest.mark.parametrize(("path", "text_of"), PLAIN.items())
async def test_every_endpoint_says_the_same_text(path: str, text_of: Any) -> None:
    async with client() as stub:
        reply = await stub.post(path, json=CHAT)
    assert reply.status_code == 200
    assert int(reply.headers["content-length"]) == len(reply.content)
    assert text_of(reply.json()) == TEXT


async def test_chat_completion_has_every_required_member() -> None:
    async with client(response_tokens=25) as stub:
        sent = json.dumps(CHAT).encode()
        reply = (await stub.post("/v1/chat/completions", content=sent)).json()
        second = (await stub.post("/v1/chat/completions", content=sent)).json()
    assert reply["object"] == "chat.completion" and reply["model"] == "gpt-4o-mini"
    assert abs(reply["created"] - time.time()) < 5
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["choices"][0]["message"]["role"] == "assistant"
    usage = reply["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (len(sent) // 4, 25)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert len(reply["choices"][0]["message"]["content"].split()) == 25
    assert reply["id"].startswith("chatcmpl-") and reply["id"] != second["id"]


async def test_a_model_name_cannot_break_the_reply() -> None:
    name = 'a"b\\c %(id)s é'
    async with client() as stub:
        reply = await stub.post("/v1/chat/completions", json={**CHAT, "model": name})
    assert reply.json()["model"] == name


async def test_anthropic_message_and_token_count_agree() -> None:
    async with client() as stub:
        message = (await stub.post("/v1/messages", json=CHAT)).json()
        counted = (await stub.post("/v1/messages/count_tokens", json=CHAT)).json()
    assert (message["type"], message["role"], message["stop_reason"]) == ("message", "assistant", "end_turn")
    assert message["usage"]["input_tokens"] == counted["input_tokens"]
    assert message["usage"]["output_tokens"] == 10


async def test_embeddings_are_the_same_in_both_encodings() -> None:
    body = {"model": "text-embedding-3-small", "input": ["one two", "one two", "three"], "dimensions": 64}
    async with client() as stub:
        floats = (await stub.post("/v1/embeddings", json=body)).json()
        coded = (await stub.post("/v1/embeddings", json={**body, "encoding_format": "base64"})).json()
        default = (await stub.post("/v1/embeddings", json={"model": "m", "input": "one"})).json()
        refused = await stub.post("/v1/embeddings", json={**body, "dimensions": 0})
    vectors = [item["embedding"] for item in floats["data"]]
    assert [item["index"] for item in floats["data"]] == [0, 1, 2]
    assert vectors[0] == vectors[1] != vectors[2]
    assert sum(value * value for value in vectors[0]) == pytest.approx(1)
    decoded = struct.unpack("<64f", base64.b64decode(coded["data"][0]["embedding"]))
    assert decoded == pytest.approx(vectors[0])
    assert len(default["data"][0]["embedding"]) == 1536
    assert refused.status_code == 400


async def test_moderations_answer_once_for_each_input() -> None:
    async with client() as stub:
        reply = (await stub.post("/v1/moderations", json={"model": "m", "input": ["a", "b"]})).json()
    assert len(reply["results"]) == 2
    assert reply["results"][0]["flagged"] is False
    assert reply["results"][0]["categories"].keys() == reply["results"][0]["category_scores"].keys()


async def test_models_are_listed_in_the_callers_dialect() -> None:
    async with client() as stub:
        openai = (await stub.get("/v1/models")).json()
        anthropic = (await stub.get("/v1/models", headers={"anthropic-version": "2023-06-01"})).json()
        gemini = (await stub.get("/v1beta/models")).json()
        one = (await stub.get("/v1/models/gpt-4o")).json()
    assert openai["object"] == "list" and openai["data"][0] == {
        "id": "gpt-4o-mini",
        "object": "model",
        "created": 1735689600,
        "owned_by": "stub",
    }
    assert anthropic["has_more"] is False and anthropic["data"][0]["type"] == "model"
    assert gemini["models"][0]["name"] == "models/gemini-2.5-flash"
    assert one["id"] == "gpt-4o"


# --------------------------------------------------------------------------------------------- streams


async def test_chat_stream_ends_with_done_and_counts_when_asked() -> None:
    async with client(chunks=4) as stub:
        bare = await events(stub, "/v1/chat/completions", {**CHAT, "stream": True})
        body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
        counted = await events(stub, "/v1/chat/completions", body)
    assert bare[-1] == counted[-1] == (None, "[DONE]")
    assert bare[0][1]["choices"][0]["delta"]["role"] == "assistant"
    assert all("usage" not in data for _, data in bare[:-1])
    assert [data["choices"][0]["finish_reason"] for _, data in bare[:-1]] == [None] * 5 + ["stop"]
    pieces = [data["choices"][0]["delta"].get("content", "") for _, data in bare[:-1]]
    assert "".join(pieces) == TEXT
    *chunks, usage = [data for _, data in counted[:-1]]
    assert all(chunk["usage"] is None for chunk in chunks)
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] == 10
    assert len({data["id"] for _, data in counted[:-1]}) == 1


async def test_anthropic_stream_has_the_documented_order() -> None:
    async with client(chunks=2) as stub:
        found = await events(stub, "/v1/messages", {**CHAT, "stream": True})
    assert [name for name, _ in found] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(name == data["type"] for name, data in found)
    assert "".join(data["delta"]["text"] for name, data in found if name == "content_block_delta") == TEXT
    assert found[0][1]["message"]["content"] == [] and found[0][1]["message"]["usage"]["input_tokens"] > 0
    assert found[-2][1]["delta"]["stop_reason"] == "end_turn" and found[-2][1]["usage"]["output_tokens"] == 10


async def test_responses_stream_is_numbered_and_ends_completed() -> None:
    async with client(chunks=2) as stub:
        found = await events(stub, "/v1/responses", {"model": "m", "input": "Hi", "stream": True})
    assert [data["sequence_number"] for _, data in found] == list(range(len(found)))
    assert [(name or "").removeprefix("response.") for name, _ in found] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert "".join(data["delta"] for _, data in found if "delta" in data) == TEXT
    completed = found[-1][1]["response"]
    assert completed["status"] == "completed" and completed["usage"]["output_tokens"] == 10


async def test_gemini_streams_events_or_one_growing_array() -> None:
    path = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
    async with client() as stub:
        found = [data for _, data in await events(stub, f"{path}?alt=sse&key={CANARY}", GEMINI)]
        array = (await stub.post(path, json=GEMINI)).json()
    assert "".join(map(gemini_text, found)) == "".join(map(gemini_text, array)) == TEXT
    assert [reply["candidates"][0].get("finishReason") for reply in found] == [None, None, "STOP"]
    assert found[-1]["usageMetadata"]["candidatesTokenCount"] == 10
    assert found[0]["modelVersion"] == "gemini-2.5-flash"


def test_chunks_of_a_stream_arrive_one_latency_apart() -> None:
    with running("--latency", "60ms", "--chunks", "4") as (url, _):
        started = time.monotonic()
        with httpx.stream("POST", f"{url}/v1/messages", json={**CHAT, "stream": True}) as reply:
            arrivals = [time.monotonic() - started for _ in reply.iter_raw()]
    assert len(arrivals) == 4
    gaps = [after - before for before, after in zip([0.0, *arrivals], arrivals, strict=False)]
    assert min(gaps) > 0.045, gaps


def test_a_plain_reply_waits_once() -> None:
    with running("--latency", "0.1s", "--chunks", "9") as (url, _), httpx.Client() as caller:
        caller.get(f"{url}/v1/models")
        started = time.monotonic()
        assert caller.post(f"{url}/v1/chat/completions", json=CHAT).status_code == 200
        assert 0.09 < time.monotonic() - started < 0.5


# --------------------------------------------------------------------------------------- personal data


@pytest.mark.parametrize("chunks", [1, 3, 5, 9])
def test_personal_data_is_split_over_chunk_borders(chunks: int) -> None:
    text = compose_text(Settings(chunks=chunks, pii=True))
    assert len(text.pieces) == chunks and "".join(text.pieces) == text.whole
    assert all(value in text.whole for value in PII.values())
    split = [value for value in PII.values() if not any(value in piece for piece in text.pieces)]
    assert len(split) >= min(chunks - 1, len(PII))


def test_the_fake_values_pass_the_real_checksums() -> None:
    digits = [int(digit) for digit in PII["card"] if digit.isdigit()]
    doubled = [digit if place % 2 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(digits)]
    assert sum(doubled) % 10 == 0
    iban = PII["iban"].replace(" ", "")
    assert int("".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])) % 97 == 1


def test_more_chunks_than_letters_still_make_that_many_chunks() -> None:
    text = compose_text(Settings(chunks=50, response_tokens=1))
    assert len(text.pieces) == 50 and "".join(text.pieces) == "Hello"


# ---------------------------------------------------------------------------------------------- errors


async def test_an_unknown_path_is_404_in_openai_shape() -> None:
    async with client() as stub:
        reply = await stub.get("/v1/nothing")
    assert reply.status_code == 404
    assert reply.json()["error"].keys() == {"message", "type", "param", "code"}


@pytest.mark.parametrize(("path", "dialect"), DIALECTS.items())
@pytest.mark.parametrize("body", [b"{", b"", b"[]", b"NaN"])
async def test_a_malformed_body_is_400_in_the_dialect(path: str, dialect: str, body: bytes) -> None:
    async with client() as stub:
        reply = await stub.post(path, content=body)
    assert reply.status_code == 400
    assert (
        error_type(dialect, reply.json())
        == {
            "openai": "invalid_request_error",
            "anthropic": "invalid_request_error",
            "gemini": "INVALID_ARGUMENT",
        }[dialect]
    )


def error_type(dialect: str, body: dict[str, Any]) -> str:
    """Checks the dialect's error object and returns its type."""
    if dialect == "gemini":
        assert body["error"].keys() == {"code", "message", "status"}
        return str(body["error"]["status"])
    if dialect == "anthropic":
        assert body.keys() == {"type", "error", "request_id"} and body["type"] == "error"
        return str(body["error"]["type"])
    assert body["error"].keys() == {"message", "type", "param", "code"}
    return str(body["error"]["type"])


async def test_a_missing_model_and_a_wrong_method_are_refused() -> None:
    async with client() as stub:
        nameless = await stub.post("/v1/chat/completions", json={"messages": []})
        wrong = await stub.get("/v1/messages")
    assert nameless.status_code == 400
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert wrong.json()["type"] == "error"


@pytest.mark.parametrize(("path", "dialect"), DIALECTS.items())
async def test_drawn_errors_take_turns_in_the_dialect(path: str, dialect: str) -> None:
    async with client(error_rate=1.0) as stub:
        replies = [await stub.post(path, json={**CHAT, "stream": True}) for _ in range(6)]
    assert [reply.status_code for reply in replies] == [500, 429, 503] * 2
    assert [reply.headers.get("retry-after") for reply in replies[:3]] == [None, "1", None]
    assert [error_type(dialect, reply.json()) for reply in replies[:3]] == {
        "openai": ["server_error", "rate_limit_error", "server_error"],
        "anthropic": ["api_error", "rate_limit_error", "overloaded_error"],
        "gemini": ["INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"],
    }[dialect]


async def test_the_error_rate_is_a_share_and_repeatable() -> None:
    runs = []
    for _ in range(2):
        async with client(error_rate=0.25) as stub:
            replies = [await stub.post("/v1/chat/completions", json=CHAT) for _ in range(400)]
        runs.append([reply.status_code for reply in replies])
    assert runs[0] == runs[1]
    assert 70 <= sum(status != 200 for status in runs[0]) <= 130


# ----------------------------------------------------------------------------------------- the journal


async def test_the_journal_names_each_arrival_and_no_credential(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with client(journal=journal) as stub:
        headers = {"x-request-id": "exchange-1", "x-api-key": CANARY}
        await stub.post("/v1/chat/completions", json={**CHAT, "stream": True}, headers=headers)
        await stub.post(f"/v1beta/models/gemini-2.5-pro:generateContent?key={CANARY}", json=GEMINI)
        await stub.get("/v1/nothing")
        await stub.post("/v1/messages", content=b"{")
    lines = read_journal(journal)
    assert all(line.keys() == {"time", "method", "path", "request_id", "model", "stream"} for line in lines)
    assert [(line["method"], line["path"], line["model"], line["stream"]) for line in lines] == [
        ("POST", "/v1/chat/completions", "gpt-4o-mini", True),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", False),
        ("GET", "/v1/nothing", None, False),
        ("POST", "/v1/messages", None, False),
    ]
    assert [line["request_id"] for line in lines] == ["exchange-1", None, None, None]
    assert CANARY not in journal.read_text()


def test_the_line_is_written_before_the_answer_and_a_hangup_is_seen(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with running("--latency", "50ms", "--chunks", "100", "--journal", str(journal)) as (url, _):
        headers = {"x-request-id": "exchange-2"}
        body = {**CHAT, "stream": True}
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as reply:
            assert [line.get("event") for line in read_journal(journal)] == [None]
            next(reply.iter_raw())
        hangup = wait_for_hangup(journal)
    assert hangup["request_id"] == "exchange-2"
    assert 1 <= hangup["sent"] < 20


def test_a_hangup_before_a_plain_reply_is_seen(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with running("--latency", "2s", "--journal", str(journal)) as (url, _):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/v1/messages", json=CHAT, timeout=0.2)
        assert wait_for_hangup(journal)["sent"] == 0


async def test_a_caller_that_goes_before_its_body_is_whole_is_in_the_journal(tmp_path: Path) -> None:
    journal, said = tmp_path / "journal", list[Any]()
    provider = StubProvider(Settings(latency=0.0, journal=journal))
    arriving = iter([{"type": "http.request", "body": b'{"mod', "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(arriving)

    async def send(message: Any) -> None:
        said.append(message)

    await provider({"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}, receive, send)
    (line,) = read_journal(journal)
    assert (line["event"], line["sent"], said) == ("hangup", 0, []) and "model" not in line, "nothing was answered"


async def test_a_script_is_followed_plain_and_streamed(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('[{"tool": "pay", "arguments": {"to": "x"}}]')
    tool = {"type": "function", "function": {"name": "pay"}}
    async with client(script=script) as stub:
        plain = await stub.post("/v1/chat/completions", json={**CHAT, "tools": [tool]})
        stream = await stub.post("/v1/chat/completions", json={**CHAT, "tools": [tool], "stream": True})
        other = await stub.post("/v1/chat/completions", json=CHAT)
    (call,) = plain.json()["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "pay" and json.loads(call["function"]["arguments"]) == {"to": "x"}
    assert plain.headers["content-type"] == "application/json"
    assert stream.headers["content-type"].startswith("text/event-stream") and '"pay"' in stream.text
    assert PLAIN["/v1/chat/completions"](other.json()) == TEXT, "without the tool there is no step"


def test_what_arrives_is_shown(tmp_path: Path) -> None:
    """A line for each request, in which a terminal obeys nothing."""
    shown = tmp_path / "shown"
    with shown.open("w") as out, running("--show", stdout=out) as (url, _):
        httpx.post(f"{url}/v1/chat/completions", json={"model": "m", "messages": []}, timeout=10)
        httpx.post(f"{url}/v1/messages", content=b"a\x1b[2J\nb", timeout=10)
    first, second = shown.read_text().splitlines()
    assert first == 'POST /v1/chat/completions {"model":"m","messages":[]}'
    assert second == "POST /v1/messages a\\x1b[2J\\nb"


def wait_for_hangup(journal: Path) -> dict[str, Any]:
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        last = read_journal(journal)[-1]
        if last.get("event") == "hangup":
            return last
        time.sleep(0.01)
    raise AssertionError(read_journal(journal))


# ----------------------------------------------------------------------------------------- the process


def test_sigterm_ends_it_even_during_a_stream() -> None:
    with running("--latency", "1s", "--chunks", "60") as (url, process):
        body = {**CHAT, "stream": True}
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as reply:
            next(reply.iter_raw())
            process.send_signal(signal.SIGTERM)
            assert process.wait(8) == 0


def test_it_listens_on_a_unix_socket_as_well(tmp_path: Path) -> None:
    path = tmp_path / "stub.sock"
    through_it = httpx.Client(transport=httpx.HTTPTransport(uds=str(path)))
    with running("--latency", "0", "--socket", str(path)) as (url, _), through_it:
        assert through_it.get("http://stub/v1/models").json() == httpx.get(f"{url}/v1/models").json()
    assert not path.exists()


def test_a_port_in_use_is_said_in_one_sentence() -> None:
    with running("--latency", "0") as (url, _), pytest.raises(ConfigurationError, match="cannot listen on"):
        stub_llm.listen_tcp("127.0.0.1", int(url.rpartition(":")[2])).__enter__()


def test_durations_carry_their_unit() -> None:
    read = {text: parse_duration(text) for text in ("50ms", "1.5ms", "0.2s", "0s", "0")}
    assert read == pytest.approx({"50ms": 0.05, "1.5ms": 0.0015, "0.2s": 0.2, "0s": 0.0, "0": 0.0})


@pytest.mark.parametrize("text", ["50", "ms", "-1s", "1m", "1 s", "١s", ""])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("wrong", ["chunks=0", "response_tokens=0", "error_rate=1.5", "latency=-1"])
def test_settings_that_make_no_sense_are_refused(wrong: str) -> None:
    name, _, value = wrong.partition("=")
    with pytest.raises(ValueError, match=r"at least 1|between 0 and 1"):
        Settings(**{name: float(value)})  # type: ignore[arg-type]


# ----------------------------------------------------------------------------- the vendor's own client


def test_the_openai_sdk_reads_every_endpoint() -> None:
    openai = pytest.importorskip("openai")
    messages = [{"role": "user", "content": "Hi"}]
    with running("--latency", "0") as (url, _), openai.OpenAI(base_url=f"{url}/v1", api_key=CANARY) as sdk:
        plain = sdk.chat.completions.create(model="gpt-4o", messages=messages)
        chunks = list(sdk.chat.completions.create(model="gpt-4o", messages=messages, stream=True))
        response = sdk.responses.create(model="gpt-4o", input="Hi")
        streamed = list(sdk.responses.create(model="gpt-4o", input="Hi", stream=True))
        embedding = sdk.embeddings.create(model="text-embedding-3-small", input="Hi")
        moderation = sdk.moderations.create(model="omni-moderation-latest", input="Hi")
        models = [model.id for model in sdk.models.list()]
    assert plain.choices[0].message.content == TEXT
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
    assert response.output_text == streamed[-1].response.output_text == TEXT
    assert len(embedding.data[0].embedding) == 1536
    assert moderation.results[0].flagged is False
    assert "gpt-4o-mini" in models
