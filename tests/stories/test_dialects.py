"""Each API as its own clients speak it, plain and streamed: bytes go through, credentials do not, the log is honest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until
from support.scripted_provider import KEY, Provider, Script, run_provider

HELLO = [{"role": "user", "content": "hello"}]
CONTENTS = [{"role": "user", "parts": [{"text": "hello"}]}]


@dataclass(frozen=True)
class Api:
    """One way to ask for something. `{}` stands for the model where it is in the path."""

    kind: str
    path: str
    body: dict[str, Any]
    action: str
    plain: bytes
    stream: tuple[bytes, ...] = ()
    usage: tuple[int, int] | None = None
    content_type: str = "text/event-stream"
    stream_path: str = ""
    key_header: str = "authorization"
    prefix: str = "openai-"

    def at(self, model: str, stream: bool = False) -> str:
        return ((self.stream_path if stream else "") or self.path).replace("{}", model)

    def ask(self, model: str, stream: bool = False) -> dict[str, Any]:
        named = {} if "{}" in self.path else {"model": model}
        streamed = {"stream": True} if stream and not self.stream_path else {}
        return {**named, **self.body, **streamed}

    @property
    def error_keys(self) -> set[str]:
        if self.kind == "openai":
            return {"message", "type", "param", "code"}
        return {"type", "message"} if self.kind == "anthropic" else {"code", "message", "status"}


def event(data: str, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


GEMINI_1 = '{"candidates":[{"content":{"parts":[{"text":"a]}\\"["}]}}],"usageMetadata":{"promptTokenCount":9}}'
GEMINI_2 = '{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4}}'
GEMINI_PLAIN = b'{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"thoughtsTokenCount":4}}'
APIS = {
    "chat": Api(
        "openai", "/v1/chat/completions", {"messages": HELLO}, "llm.chat",
        b'{"choices":[], "usage":{"prompt_tokens":9,"completion_tokens":4}}',
        (event('{"choices":[{"delta":{"content":"a"}}]}'),
         event('{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}'), event("[DONE]")),
        (9, 4),
    ),
    "responses": Api(
        "openai", "/v1/responses", {"input": "hello"}, "llm.responses",
        b'{"output":[],"usage":{"input_tokens":9,"output_tokens":4}}',
        (event('{"type":"response.created","response":{"error":null}}', "response.created"),
         event('{"type":"response.output_text.delta","delta":"response.completed"}', "response.output_text.delta"),
         event('{"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":4}}}',
               "response.completed")),
        (9, 4),
    ),
    "embeddings": Api(
        "openai", "/v1/embeddings", {"input": "hello"}, "llm.embeddings",
        b'{"data":[],"usage":{"prompt_tokens":9,"total_tokens":9}}', usage=(9, 0),
    ),
    "moderations": Api("openai", "/v1/moderations", {"input": "hello"}, "llm.moderations", b'{"results":[]}'),
    "messages": Api(
        "anthropic", "/v1/messages", {"messages": HELLO, "max_tokens": 9}, "llm.chat",
        b'{"content":[],"usage":{"input_tokens":2,"cache_read_input_tokens":7,"output_tokens":4}}',
        (event('{"type":"message_start","message":{"usage":{"input_tokens":2,"cache_read_input_tokens":7,'
               '"output_tokens":1}}}', "message_start"),
         event('{"type":"content_block_delta","delta":{"text":"message_stop"}}', "content_block_delta"),
         event('{"type":"message_delta","usage":{"output_tokens":4}}', "message_delta"),
         event('{"type":"message_stop"}', "message_stop")),
        (9, 4), key_header="x-api-key", prefix="anthropic-",
    ),
    "count_tokens": Api(
        "anthropic", "/v1/messages/count_tokens", {"messages": HELLO}, "llm.count_tokens", b'{"input_tokens":9}',
        key_header="x-api-key", prefix="anthropic-",
    ),
    "gemini": Api(
        "gemini", "/v1beta/models/{}:generateContent", {"contents": CONTENTS}, "llm.chat", GEMINI_PLAIN,
        (f"data: {GEMINI_1}\r\n\r\n".encode(), f"data: {GEMINI_2}\r\n\r\n".encode()), (9, 4),
        stream_path="/v1beta/models/{}:streamGenerateContent?alt=sse", key_header="x-goog-api-key",
        prefix="x-goog-api-client",
    ),
    "gemini-array": Api(
        "gemini", "/v1/models/{}:generateContent", {"contents": CONTENTS}, "llm.chat", GEMINI_PLAIN,
        (f"[{GEMINI_1}".encode(), f",\r\n{GEMINI_2}".encode(), b"]"), (9, 4), content_type="application/json",
        stream_path="/v1/models/{}:streamGenerateContent", key_header="x-goog-api-key", prefix="x-goog-api-client",
    ),
}  # fmt: skip
STREAMED = [name for name, api in APIS.items() if api.stream]


@pytest.fixture(scope="module", params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    return APIS[request.param]


@pytest.fixture(scope="module")
def providers(appliance: Appliance) -> Iterator[dict[str, Provider]]:
    with (
        run_provider(appliance, "openai", "own-openai") as openai,
        run_provider(appliance, "anthropic", "own-anthropic") as anthropic,
        run_provider(appliance, "gemini", "own-gemini") as gemini,
    ):
        yield {"openai": openai, "anthropic": anthropic, "gemini": gemini}


@pytest.fixture
def provider(providers: dict[str, Provider], api: Api) -> Provider:
    chosen = providers[api.kind]
    chosen.script = Script(pieces=[api.plain])
    return chosen


def ends_of(appliance: Appliance, reply: httpx.Response) -> tuple[dict[str, Any], dict[str, Any]]:
    """Intent and outcome."""
    intent, outcome = appliance.entries_of(reply.headers["x-request-id"])
    assert (intent["phase"], outcome["phase"]) == ("intent", "outcome")
    return intent, outcome


@pytest.mark.smoke
def test_what_goes_up_and_what_comes_back(appliance: Appliance, agent: Identity, provider: Provider, api: Api) -> None:
    """Bytes and the dialect's headers as they came; the caller's credentials, cookies and query not."""
    provider.script.headers = {"set-cookie": "a=b", api.prefix + "x": "Ü 1", "server": "x", "x-internal": KEY}
    body = json.dumps({**api.ask(f"own-{api.kind}/real-model"), "x_unknown": {"a": [1, 2.5]}}, indent=1).encode()
    own = api.prefix + ("beta" if api.kind == "openai" else "y")  # of OpenAI's, others name an account
    mine = {"content-type": "application/json", own: "b; c,d", "cookie": "s=1",
            "x-forwarded-for": "1.2.3.4", "x-goog-user-project": "somebody", "x-api-key": "certificate",
            "x-goog-api-key": "certificate", "authorization": "Bearer certificate"}  # fmt: skip
    with appliance.by_certificate(agent) as client:
        reply = client.post(
            api.at(f"own-{api.kind}/real-model"), content=body, headers=mine, params={"key": "k", "beta": "true"}
        )
    assert (reply.status_code, reply.content) == (200, api.plain), reply.text
    sent = provider.last
    expected = body.replace(f'"own-{api.kind}/real-model"'.encode(), b'"real-model"')
    assert sent.body == expected
    assert sent.path.split("?")[0] == api.at("real-model").replace("/v1/models", "/v1beta/models")
    assert sent.path.partition("?")[2] == ("beta=true" if api.kind == "anthropic" else "")
    assert sent.header(api.key_header) == (f"Bearer {KEY}" if api.kind == "openai" else KEY)
    assert sent.header(own) == "b; c,d"
    assert sent.header("x-request-id") == reply.headers["x-request-id"]
    assert sent.header("anthropic-version") == ("2023-06-01" if api.kind == "anthropic" else None)
    everything = json.dumps([sent.path, *sent.headers])
    for secret in ("certificate", "s=1", "1.2.3.4", "key=k", "somebody"):
        assert secret not in everything
    assert reply.headers[api.prefix + "x"] and KEY not in str(reply.headers.raw)
    assert not {"set-cookie", "x-internal"} & reply.headers.keys()


def test_a_plain_answer_says_its_usage(appliance: Appliance, agent: Identity, provider: Provider, api: Api) -> None:
    with appliance.by_certificate(agent) as client:
        reply = client.post(api.at(f"own-{api.kind}/m"), json=api.ask(f"own-{api.kind}/m"))
    assert reply.status_code == 200, reply.text
    headers = reply.headers
    assert (headers["x-provider"], headers["x-model"], headers["x-cache"]) == (f"own-{api.kind}", "m", "BYPASS")
    intent, outcome = ends_of(appliance, reply)
    assert (intent["kind"], intent["target"], outcome["outcome"]) == (api.action, f"own-{api.kind}/m", {"status": "ok"})
    if api.usage is None:
        assert "x-tokens-input" not in headers and not outcome.get("usage")
        return
    read, written = api.usage
    assert (int(headers["x-tokens-input"]), int(headers.get("x-tokens-output", 0))) == (read, written)
    assert (outcome["usage"]["input_tokens"], outcome["usage"].get("output_tokens", 0)) == (read, written)


def test_an_alias_is_the_real_model_upstream(
    appliance: Appliance, agent: Identity, provider: Provider, api: Api
) -> None:
    with appliance.by_certificate(agent) as client:
        reply = client.post(api.at(f"alias-own-{api.kind}"), json=api.ask(f"alias-own-{api.kind}"))
    assert reply.status_code == 200, reply.text
    assert "real-model" in provider.last.path + provider.last.body.decode()
    assert b"alias" not in provider.last.path.encode() + provider.last.body


def test_nothing_in_a_body_changes_where_it_goes(
    appliance: Appliance, agent: Identity, provider: Provider, api: Api
) -> None:
    """Members that other gateways take as options are text for the provider. What may choose a model is denied."""
    odd = {"base_url": "http://127.0.0.1:1/v1", "api_base": "http://127.0.0.1:1", "api_key": "sk-mine", "provider": "x",
           "custom_llm_provider": "ollama", "extra_headers": {"authorization": "Bearer mine"}, "organization": "o",
           "api_version": "2099", "timeout": 0, "url": "file:///etc/passwd"}  # fmt: skip
    asked = {**api.ask(f"own-{api.kind}/m"), **odd}
    before = len(provider.asked)
    with appliance.by_certificate(agent) as client:
        routed = client.post(api.at(f"own-{api.kind}/m"), json={**asked, "fallbacks": ["gpt-4o"]})
        assert (routed.status_code, len(provider.asked)) == (403, before), routed.text
        reply = client.post(api.at(f"own-{api.kind}/m"), json=asked)
    assert reply.status_code == 200, reply.text
    assert odd.items() <= provider.last.document.items()
    assert provider.last.header(api.key_header) == (f"Bearer {KEY}" if api.kind == "openai" else KEY)


def test_what_a_provider_of_another_kind_cannot_do_is_refused_clearly(
    appliance: Appliance, agent: Identity, api: Api
) -> None:
    other = "openai" if api.kind == "gemini" else "gemini"
    with run_provider(appliance, other, "foreign") as provider, appliance.by_certificate(agent) as client:
        reply = client.post(api.at("foreign/m"), json={**api.ask("foreign/m"), "x_unknown": 1})
        assert provider.asked == []
    assert reply.status_code == 400 and reply.json()["error"].keys() == api.error_keys, reply.text
    assert "not_translatable" in reply.text
    (entry,) = appliance.entries_of(reply.headers["x-request-id"])
    assert entry["outcome"] == {"status": "refused", "code": "not_translatable"}


@pytest.mark.parametrize("status", [400, 404, 429])
def test_what_is_about_the_request_comes_back_as_it_is(
    appliance: Appliance, agent: Identity, provider: Provider, api: Api, status: int
) -> None:
    provider.script = Script(status, pieces=[b'{"error": "of the provider"}'], headers={"retry-after": "7"})
    with appliance.by_certificate(agent) as client:
        reply = client.post(api.at(f"own-{api.kind}/m"), json=api.ask(f"own-{api.kind}/m"))
    assert (reply.status_code, reply.content) == (status, b'{"error": "of the provider"}')
    assert reply.headers["retry-after"] == "7"
    assert ends_of(appliance, reply)[1]["outcome"] == {"status": "failed"}


@pytest.mark.parametrize(
    ("status", "body", "expected", "code"),
    [
        (401, b"{}", 502, "upstream_refused"),
        (403, b"{}", 502, "upstream_refused"),
        (400, b'{"error":"Incorrect key ' + KEY.encode() + b'"}', 502, "upstream_refused"),
        (500, b"{}", 502, "upstream_error"),
        (529, b"{}", 502, "upstream_error"),
        (302, b"", 502, "upstream_error"),
        (200, b"<html>", 502, "upstream_error"),
    ],
)
def test_what_is_not_is_said_in_the_callers_dialect(
    appliance: Appliance, agent: Identity, provider: Provider, api: Api, status: int, body: bytes, expected: int,
    code: str,
) -> None:  # fmt: skip
    provider.script = Script(status, pieces=[body] if body else [], headers={"location": "https://elsewhere.example/"})
    before = len(provider.asked)
    with appliance.by_certificate(agent) as client:
        reply = client.post(api.at(f"own-{api.kind}/m"), json=api.ask(f"own-{api.kind}/m"))
    assert (reply.status_code, code in reply.text, KEY in reply.text) == (expected, True, False)
    assert reply.json()["error"].keys() == api.error_keys
    assert ends_of(appliance, reply)[1]["outcome"] == {"status": "failed", "code": code}
    assert len(provider.asked) == before + (2 if status >= 500 else 1)


def test_googles_word_about_our_key_is_not_the_callers(
    appliance: Appliance, agent: Identity, providers: dict[str, Provider]
) -> None:
    said = b'{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}],"status":"INVALID_ARGUMENT"}}'
    providers["gemini"].script = Script(400, pieces=[said])
    with appliance.by_certificate(agent) as client:
        reply = client.post("/v1beta/models/own-gemini/m:generateContent", json={"contents": CONTENTS})
    assert (reply.status_code, reply.json()["error"]["status"]) == (502, "UNAVAILABLE")


# --- streams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("cut", [0, 1, 5])
def test_a_stream_comes_as_it_is_and_is_counted(
    appliance: Appliance, agent: Identity, providers: dict[str, Provider], name: str, cut: int
) -> None:
    """Whatever pieces the provider sends it in: whole events, bytes, or five at a time."""
    api = APIS[name]
    whole = b"".join(api.stream)
    pieces = [whole[at : at + cut] for at in range(0, len(whole), cut)] if cut else list(api.stream)
    providers[api.kind].script = Script(content_type=api.content_type, pieces=pieces)
    with appliance.by_certificate(agent) as client:
        reply = client.post(api.at(f"own-{api.kind}/m", True), json=api.ask(f"own-{api.kind}/m", True))
    shown = b"".join(piece for piece in api.stream if name != "chat" or b'"usage"' not in piece)  # nobody asked for it
    assert (reply.status_code, reply.content) == (200, shown)
    assert reply.headers["x-model"] == "m"
    if api.kind != "openai" and not cut:
        assert reply.headers["x-tokens-input"] == "9"
    _, outcome = ends_of(appliance, reply)
    usage = outcome["usage"]
    assert (outcome["outcome"], usage["input_tokens"], usage["output_tokens"]) == ({"status": "ok"}, 9, 4)


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("how", ["cut", "closed"])
def test_a_stream_that_breaks_ends_with_an_error_of_the_dialect(
    appliance: Appliance, agent: Identity, providers: dict[str, Provider], name: str, how: str
) -> None:
    """The connection is cut, or the body ends properly, before the answer does."""
    api = APIS[name]
    providers[api.kind].script = Script(content_type=api.content_type, pieces=api.stream[:1], cut=how == "cut")
    with appliance.by_certificate(agent) as client:
        reply = client.post(api.at(f"own-{api.kind}/m", True), json=api.ask(f"own-{api.kind}/m", True))
    assert reply.status_code == 200 and reply.content.startswith(api.stream[0])
    error = read_break(api, reply.content[len(api.stream[0]) :])
    assert error.keys() == api.error_keys and "upstream_error" in json.dumps(error)
    _, outcome = ends_of(appliance, reply)
    assert outcome["outcome"] == {"status": "failed", "code": "upstream_error"}
    if api.kind != "openai":
        assert outcome["usage"]["input_tokens"] == 9, "what is known of it is told"


def read_break(api: Api, rest: bytes) -> dict[str, Any]:
    """The error at the end of a stream."""
    if api.content_type == "application/json":
        assert rest.startswith(b",") and rest.endswith(b"]")
        document = json.loads(rest[1:-1])
    else:
        (line,) = [line for line in rest.splitlines() if line.startswith(b"data: ")]
        assert rest.endswith((b"\n\n", b"\r\n\r\n"))
        document = json.loads(line[6:])
    error: dict[str, Any] = document["error"]
    return error


SAID = {
    "chat": event('{"error":{"message":"overloaded","code":null}}'),
    "responses": event('{"type":"response.failed","response":{"error":{"code":"server_error"}}}', "response.failed"),
    "messages": event('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "error"),
    "gemini": b'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\r\n\r\n',
    "gemini-array": b',{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}]',
}


@pytest.mark.parametrize("name", STREAMED)
def test_a_providers_own_error_event_goes_through_and_is_a_failure(
    appliance: Appliance, agent: Identity, providers: dict[str, Provider], name: str
) -> None:
    api = APIS[name]
    providers[api.kind].script = Script(content_type=api.content_type, pieces=[api.stream[0], SAID[name]])
    with appliance.by_certificate(agent) as client:
        reply = client.post(api.at(f"own-{api.kind}/m", True), json=api.ask(f"own-{api.kind}/m", True))
    assert reply.content == api.stream[0] + SAID[name]
    assert ends_of(appliance, reply)[1]["outcome"] == {"status": "failed", "code": "upstream_error"}


@pytest.mark.parametrize("name", STREAMED)
def test_a_hang_up_ends_the_call_upstream(appliance: Appliance, agent: Identity, tmp_path: Path, name: str) -> None:
    api = APIS[name]
    slow = Stub(tmp_path, "--latency", "400ms", "--chunks", "50")
    appliance.add_provider(slow, "slow-one", api.kind)
    try:
        path, body = api.at("slow-one/m", True), api.ask("slow-one/m", True)
        with appliance.by_certificate(agent) as client, client.stream("POST", path, json=body) as reply:
            assert reply.status_code == 200
            next(reply.iter_bytes())
        wait_until(lambda: any(e.get("event") == "hangup" for e in slow.journal()), 5, "the provider saw the hang-up")
        wait_until(lambda: len(appliance.entries_of(reply.headers["x-request-id"])) == 2, 5, "the outcome is recorded")
        assert ends_of(appliance, reply)[1]["outcome"] == {"status": "cancelled"}
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/slow-one").status_code == 204


# --- models ---------------------------------------------------------------------------------------------------------


def test_models_are_listed_in_the_callers_shape(appliance: Appliance, stub: Stub, agent: Identity) -> None:
    """Each dialect lists what can be called in it, itself or by translation."""
    for kind in ("anthropic", "gemini"):
        appliance.add_provider(stub, f"stub-{kind}", kind)
    try:
        with appliance.by_certificate(agent) as client:
            openai = client.get("/v1/models").json()
            anthropic = client.get("/v1/models", headers={"anthropic-version": "2023-06-01"}).json()
            gemini = client.get("/v1beta/models").json()
            assert client.get("/v1/models", headers={"x-goog-api-client": "x"}).json() == gemini
    finally:
        with appliance.admin() as admin:
            for kind in ("anthropic", "gemini"):
                assert admin.delete(f"/v1/admin/providers/stub-{kind}").status_code == 204
    names = {item["id"] for item in openai["data"]}
    models = {"stub/gpt-4o", "stub-anthropic/claude-haiku-4-5", "stub-gemini/gemini-2.5-pro"}
    assert openai["object"] == "list" and models <= names
    assert names == {item["id"] for item in anthropic["data"]}
    assert names == {item["name"].removeprefix("models/") for item in gemini["models"]}
    claudes = [item["id"] for item in anthropic["data"]]
    assert "stub-anthropic/claude-sonnet-4-5" in claudes and {item["type"] for item in anthropic["data"]} == {"model"}
    assert (anthropic["has_more"], anthropic["first_id"], anthropic["last_id"]) == (False, claudes[0], claudes[-1])
    assert "models/stub-gemini/gemini-2.5-pro" in {item["name"] for item in gemini["models"]}


@pytest.mark.parametrize(
    ("path", "headers", "keys"),
    [
        ("/v1/models", {}, {"message", "type", "param", "code"}),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, {"type", "message"}),
        ("/v1/models", {"x-goog-api-client": "x"}, {"code", "message", "status"}),
        ("/v1beta/models", {}, {"code", "message", "status"}),
    ],
)
def test_strangers_are_refused_in_their_dialect(
    appliance: Appliance, path: str, headers: dict[str, str], keys: set[str]
) -> None:
    with appliance.client() as client:
        reply = client.get(path, headers=headers)
    assert (reply.status_code, reply.json()["error"].keys()) == (401, keys)
