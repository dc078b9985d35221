"""LLM calls in every dialect: what is not a call is refused in the caller's words, what providers do wrong is told."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until
from support.provider_side import permit_provider_side
from support.scripted_provider import KEY, Script, run_provider
from support.threats.judge import CHAT, Answer, Judge, connect, message, read_answer, refusal, verify_error

HELLO = [{"role": "user", "content": "hello"}]
MIB = 1024 * 1024


@dataclass(frozen=True)
class Door:
    path: str
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        if "{}" in self.path:
            return "gemini"
        return "anthropic" if "messages" in self.path else "openai"

    @property
    def at(self) -> str:
        return self.path.replace("{}", self.model)

    @property
    def model(self) -> str:
        return f"threat-{self.kind}/m"

    def right(self, **more: Any) -> dict[str, Any]:
        named = {} if self.kind == "gemini" else {"model": self.model}
        return {**named, **self.body, **more}

    def with_member(self, fragment: bytes) -> bytes:
        return json.dumps(self.right()).encode()[:-1] + b',"x":' + fragment + b"}"


DOORS = {
    "chat": Door("/v1/chat/completions", {"messages": HELLO}),
    "responses": Door("/v1/responses", {"input": "hello"}),
    "embeddings": Door("/v1/embeddings", {"input": "hello"}),
    "moderations": Door("/v1/moderations", {"input": "hello"}),
    "messages": Door("/v1/messages", {"messages": HELLO, "max_tokens": 9}),
    "count": Door("/v1/messages/count_tokens", {"messages": HELLO}),
    "gemini": Door("/v1beta/models/{}:generateContent", {"contents": [{"parts": [{"text": "hello"}]}]}),
    "geministream": Door("/v1/models/{}:streamGenerateContent", {"contents": [{"parts": [{"text": "hello"}]}]}),
}


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    return DOORS[request.param]


@pytest.fixture(scope="module", autouse=True)
def providers(appliance: Appliance, stub: Stub) -> Iterator[None]:
    for kind in ("openai", "anthropic", "gemini"):
        appliance.add_provider(stub, f"threat-{kind}", kind)
    with permit_provider_side(appliance):
        yield
    with appliance.admin() as admin:
        for kind in ("openai", "anthropic", "gemini"):
            assert admin.delete(f"/v1/admin/providers/threat-{kind}").status_code == 204


class Caller:
    def __init__(self, appliance: Appliance, agent: Identity, judge: Judge) -> None:
        self._appliance = appliance
        self._agent = agent
        self._judge = judge

    def ask(self, door: Door, body: Any = None, path: str = "", **headers: str) -> Answer:
        content = body if isinstance(body, bytes) else json.dumps(door.right() if body is None else body).encode()
        with self._appliance.by_certificate(self._agent) as client:
            sent = {"content-type": "application/json", **headers}
            return Answer.of(client.post(path or door.at, content=content, headers=sent))

    def twin(self, door: Door, body: Any = None, path: str = "") -> None:
        self._judge.mark()
        self._judge.served(self.ask(door, body, path))


@pytest.fixture
def caller(appliance: Appliance, agent: Identity, judge: Judge) -> Caller:
    return Caller(appliance, agent, judge)


FRAGMENTS = {
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "digits": b"1" * 5_000,
    "nan": b"NaN",
    "twice": b'{"a":1,"\\u0061":2}',
    "surrogate": b'"\\ud800"',
    "latin1": '"é"'.encode("latin-1"),
    "comma": b"[1,]",
    "modeltwice": b'1,"model":"gpt-4o","model":"gpt-4o"',
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_what_is_not_strict_json_is_refused(judge: Judge, caller: Caller, door: Door, name: str) -> None:
    judge.refused(caller.ask(door, door.with_member(FRAGMENTS[name])), refusal(400, "invalid_json"), door.at)
    caller.twin(door, door.with_member(b'[{"a":1},"\\u0061"]'))


@pytest.mark.parametrize("name", ["text", "gzip"])
def test_what_is_declared_as_something_else_is_refused(judge: Judge, caller: Caller, door: Door, name: str) -> None:
    headers = {"content-type": "text/plain"} if name == "text" else {"content-encoding": "gzip"}
    answer = caller.ask(door, gzip.compress(b"{}"), **headers)
    judge.refused(answer, refusal(415, "unsupported_media_type"), door.at)
    caller.twin(door)


def test_a_body_beyond_the_limit_is_refused(judge: Judge, caller: Caller, door: Door) -> None:
    body = door.with_member(b'"' + b"a" * (10 * MIB) + b'"')
    judge.refused(caller.ask(door, body), refusal(413, "payload_too_large", "edge", "app"), door.at)
    caller.twin(door, door.with_member(b'"' + b"a" * MIB + b'"'))


COUNTS = {"negative": -1, "huge": 10**18, "text": "9", "float": 9.5, "bool": True, "list": [9]}
COUNTED = {
    "chat": ("max_tokens", "max_completion_tokens", "n"),
    "responses": ("max_output_tokens",),
    "messages": ("max_tokens",),
    "gemini": ("maxOutputTokens", "max_output_tokens", "candidateCount"),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "member"), [(name, member) for name, all_ in COUNTED.items() for member in all_])
def test_how_much_is_asked_for_is_a_number_that_can_be_meant(
    judge: Judge, caller: Caller, name: str, member: str, count: str
) -> None:
    door = DOORS[name]

    def body(value: Any) -> dict[str, Any]:
        return door.right(**({"generationConfig": {member: value}} if name == "gemini" else {member: value}))

    judge.refused(caller.ask(door, body(COUNTS[count])), refusal(422, "invalid_body"), door.at)
    caller.twin(door, body(1))


MEMBERS: dict[str, tuple[str, dict[str, Any]]] = {
    "messagesmodel": ("messages", {"model": ["claude"]}),
    "messagesstream": ("messages", {"stream": "yes"}),
    "messagestext": ("messages", {"messages": "hello"}),
    "countmodel": ("count", {"model": None}),
    "responsesmodel": ("responses", {"model": 5}),
    "responsesstream": ("responses", {"stream": 1}),
    "embeddingsmodel": ("embeddings", {"model": "m" * 257}),
    "geminicontents": ("gemini", {"contents": "hello"}),
    "geminimodel": ("gemini", {"model": "models/gemini-2.5-pro"}),
    "geministreammodel": ("geministream", {"model": "threat-gemini/m"}),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_of_the_wrong_kind_is_refused(judge: Judge, caller: Caller, name: str) -> None:
    door, wrong = DOORS[MEMBERS[name][0]], MEMBERS[name][1]
    judge.refused(caller.ask(door, door.right(**wrong)), refusal(422, "invalid_body"), door.at)
    caller.twin(door)


# --- addresses ------------------------------------------------------------------------------------------------------

INNER = {
    "file": "file:///etc/passwd",
    "loopback": "http://127.0.0.1/a.png",
    "name": "https://localhost:9443/v1/models",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "mapped": "http://[::ffff:127.0.0.1]/",
    "nat64": "http://[64:ff9b::a9fe:a9fe]/",
    "short": "http://127.1/",
    "number": "http://2130706433/",
    "hex": "http://0x7f000001/",
    "circled": "http://①②⑦.⓪.⓪.①/",
    "user": "http://example.com@127.0.0.1/",
    "backslash": "http://example.com\\@127.0.0.1/",
    "tab": "http://127.0.0.1\t.example.com/",
    "gopher": "gopher://example.com/",
    "internal": "http://db.internal/",
    "dot": "http://localhost./",
    "none": "//example.com/a.png",
}


def with_link(name: str, url: str) -> dict[str, Any]:
    """A right body of this door with an address in it."""
    part: dict[str, Any]
    if name == "chat":
        part = {"type": "image_url", "image_url": {"url": url}}
    elif name == "responses":
        part = {"type": "input_image", "image_url": url}
        return DOORS[name].right(input=[{"role": "user", "content": [part]}])
    elif name == "messages":
        part = {"type": "image", "source": {"type": "url", "url": url}}
    else:
        return DOORS[name].right(contents=[{"parts": [{"fileData": {"fileUri": url}}]}])
    return DOORS[name].right(messages=[{"role": "user", "content": [part]}])


@pytest.mark.parametrize("name", ["chat", "responses", "messages", "gemini"])
@pytest.mark.parametrize("inner", INNER)
def test_no_provider_is_asked_to_fetch_from_within(judge: Judge, caller: Caller, name: str, inner: str) -> None:
    door = DOORS[name]
    judge.refused(caller.ask(door, with_link(name, INNER[inner])), refusal(422, "invalid_body"), door.at)
    caller.twin(door, with_link(name, "https://images.example.com/a.png?size=1"))


def deeper_links(url: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Where else the APIs, or those who imitate them, have an address to fetch."""
    image = {"type": "image", "source": {"type": "url", "url": url}}
    document = {"type": "document", "source": {"type": "content", "content": [image]}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [document]}
    good = {"fileUri": "https://images.example.com/a.png"}
    shown = {"functionResponse": {"name": "f", "response": {}, "parts": [{"fileData": {"fileUri": url}}]}}
    video = {"type": "video_url", "video_url": {"url": url}}
    audio = {"type": "audio_url", "audio_url": url}
    variables = {"p": {"type": "input_image", "image_url": url}}

    def said(content: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": content}]}

    return {
        "video": ("chat", DOORS["chat"].right(**said([video]))),
        "audio": ("chat", DOORS["chat"].right(**said([audio]))),
        "document": ("messages", DOORS["messages"].right(**said([document]))),
        "result": ("messages", DOORS["messages"].right(**said([result]))),
        "count": ("count", DOORS["count"].right(**said([result]))),
        "twice": (
            "gemini",
            DOORS["gemini"].right(contents=[{"parts": [{"fileData": good, "file_data": {"file_uri": url}}]}]),
        ),
        "shown": ("gemini", DOORS["gemini"].right(contents=[{"parts": [shown]}])),
        "variables": ("responses", DOORS["responses"].right(prompt={"id": "p", "variables": variables})),
    }


@pytest.mark.parametrize("name", deeper_links(""))
def test_no_address_is_too_deep_to_be_found(judge: Judge, caller: Caller, name: str) -> None:
    place, body = deeper_links(INNER["metadata"])[name]
    judge.refused(caller.ask(DOORS[place], body), refusal(422, "invalid_body"), DOORS[place].at)
    caller.twin(DOORS[place], deeper_links("https://images.example.com/a.png")[name][1])


def test_a_marker_in_escapes_hides_nothing(judge: Judge, caller: Caller) -> None:
    door = DOORS["chat"]
    raw = json.dumps(with_link("chat", INNER["metadata"])).replace("image_url", "image\\u005furl").encode()
    judge.refused(caller.ask(door, raw), refusal(422, "invalid_body"), door.at)
    caller.twin(door, with_link("chat", "data:image/png;base64,AAAA"))


# --- paths ----------------------------------------------------------------------------------------------------------

PATHS = {
    "space": ("/v1beta/models/threat-gemini/a%20b:generateContent", 404, "model_not_found"),
    "percent": ("/v1beta/models/threat-gemini/a%25:generateContent", 404, "model_not_found"),
    "hidden": ("/v1beta/models/threat-gemini/.m:generateContent", 404, "model_not_found"),
    "mistyped": ("/v1beta/models/threat-gemin/m:generateContent", 404, "model_not_found"),
    "long": (f"/v1beta/models/threat-gemini/{'m' * 257}:generateContent", 422, "invalid_body"),
    "alt": ("/v1beta/models/threat-gemini/m:generateContent?alt=media", 400, "bad_request"),
    "altsse": ("/v1beta/models/threat-gemini/m:generateContent?alt=sse", 400, "bad_request"),
    "alttwice": ("/v1/models/threat-gemini/m:streamGenerateContent?alt=sse&alt=json", 400, "bad_request"),
    "altdollar": ("/v1/models/threat-gemini/m:streamGenerateContent?%24alt=proto", 400, "bad_request"),
}


@pytest.mark.parametrize("name", PATHS)
def test_odd_paths_and_queries_of_gemini_are_refused(judge: Judge, caller: Caller, name: str) -> None:
    path, status, code = PATHS[name]
    door = DOORS["gemini"]
    judge.refused(caller.ask(door, path=path), refusal(status, code), path)
    caller.twin(door, path="/v1/models/threat-gemini/m.5-pro_x@1:generateContent?alt=json")


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models/threat-gemini/m:embedContent",
        "/v1beta/models/threat-gemini/m",
        "/v1beta/models/:generateContent",
        "/v1beta/cachedContents",
        "/v1/messages/batches",
        "/v1/files",
        "/v1/responses/resp_1",
    ],
)
def test_what_is_not_offered_is_not_there(judge: Judge, caller: Caller, path: str) -> None:
    answer = caller.ask(DOORS["gemini"], path=path)
    assert answer.status == 404, answer.body
    judge.cut()
    caller.twin(DOORS["gemini"])


@pytest.mark.parametrize("name", ["messages", "gemini", "responses"])
def test_the_edge_speaks_the_callers_dialect(
    appliance: Appliance, agent: Identity, judge: Judge, caller: Caller, name: str
) -> None:
    """A header that is too large never reaches the app."""
    door = DOORS[name]
    with connect(appliance, agent) as tls:
        tls.sendall(message([f"POST {door.at} HTTP/1.1".encode(), b"Host: localhost", b"X: " + b"a" * 9_000]))
        answer = read_answer(tls)
    judge.refused(answer, refusal(431, "headers_too_large", "edge"), door.at)
    caller.twin(door)


# --- budgets --------------------------------------------------------------------------------------------------------

BUDGETS = "/v1/admin/budgets"


@contextmanager
def budget(appliance: Appliance, **members: Any) -> Iterator[None]:
    """A budget of the agent's, in force in the only worker when it is answered."""
    with appliance.admin() as admin:
        made = admin.post(BUDGETS, json={"name": "race", "agent": "agent-one", **members})
        assert made.status_code == 201, made.text
        yield
        assert admin.delete(f"{BUDGETS}/race").status_code == 204


@pytest.mark.parametrize("period", ["minute", "day"])
def test_a_spent_budget_is_told_in_every_dialect_and_nothing_gets_round_it(
    appliance: Appliance, judge: Judge, caller: Caller, door: Door, period: str
) -> None:
    code = "rate_limited" if period == "minute" else "budget_exceeded"
    with budget(appliance, limit_requests=0, period=period):
        judge.mark()
        judge.refused(caller.ask(door), refusal(429, code), door.at)
        judge.mark()
        body = door.right(stream=True) if door.kind != "gemini" else door.right()
        hidden = {"x-budget": "none", "x-forwarded-for": "10.0.0.1", "x-ratelimit-remaining-requests": "9"}
        judge.refused(caller.ask(door, body, **hidden), refusal(429, code), door.at)
    caller.twin(door)


RACES: dict[str, dict[str, Any]] = {
    "requests": {"limit_requests": 7, "period": "month"},
    "tokens": {"limit_tokens": 400, "period": "week"},
    "usd": {"limit_usd": "0.0004", "period": "total"},
}
USED = {"tokens": ("input_tokens", "output_tokens"), "usd": ("cost_nano_usd",)}


@pytest.mark.parametrize("unit", RACES)
def test_fifty_at_once_do_not_overspend(
    appliance: Appliance, agent: Identity, stub: Stub, judge: Judge, caller: Caller, unit: str
) -> None:
    body = {"model": "stub/gpt-4o", "messages": HELLO, "max_tokens": 10}

    def call(number: int) -> Answer:
        with appliance.by_certificate(agent) as client:
            return Answer.of(client.post(CHAT, json={**body, "stream": number % 3 == 0}))

    with budget(appliance, **RACES[unit]):
        judge.mark()
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(call, range(50)))
        outcomes = [entry for entry in judge.entries() if entry["phase"] == "outcome" and entry["kind"] == "llm.chat"]
        passed = [answer.header("x-request-id") for answer in answers if answer.status == 200]
        assert sorted(passed) == sorted(judge.arrivals()) == sorted(entry["id"] for entry in outcomes)
        assert {verify_error(answer, CHAT) for answer in answers if answer.status != 200} == {"budget_exceeded"}
        with appliance.admin() as admin:
            wait_until(lambda: admin.get(f"{BUDGETS}/race").json()["reserved"] == 0, 2, "nothing is set aside")
            found = admin.get(f"{BUDGETS}/race").json()
    used = sum(entry["usage"][name] for entry in outcomes for name in USED.get(unit, ()))
    if unit == "requests":
        assert found["spent"] == len(passed) == 7
    else:
        spent = round(found["spent"] * 10**9) if unit == "usd" else found["spent"]
        assert spent == used and 0 < len(passed) < 50
    assert found["left"] >= 0
    judge.harmless()
    caller.twin(DOORS["chat"])


# --- providers that do wrong ----------------------------------------------------------------------------------------

FIRST = {
    "openai": b'data: {"choices":[]}\n\n',
    "anthropic": b'event: ping\ndata: {"type":"ping"}\n\n',
    "gemini": b'data: {"candidates":[]}\r\n\r\n',
}
END = {
    "openai": b"data: [DONE]\n\n",
    "anthropic": b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "gemini": b'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n',
}
PATH = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/wrong/m:streamGenerateContent?alt=sse",
}


def wrongs(first: bytes, end: bytes) -> dict[str, Script]:
    events = "text/event-stream"
    return {
        "flood": Script(content_type=events, pieces=[first, b"data: ", *[b"a" * MIB] * 100]),
        "bytes": Script(content_type=events, pieces=[first, b"\xff\xfe\x00" * 1000]),
        "gzip": Script(content_type=events, pieces=[gzip.compress(first + end)], headers={"content-encoding": "gzip"}),
        "nothing": Script(content_type=events, pieces=[]),
        "half": Script(content_type=events, pieces=[first, end[:-3]]),
        "html": Script(content_type="text/html", pieces=[b"<html>"]),
        "cut": Script(content_type=events, pieces=[first], cut=True),
    }


@pytest.mark.parametrize("kind", PATH)
@pytest.mark.parametrize("how", wrongs(b"", b""))
def test_a_provider_that_does_wrong_is_told_as_such(
    appliance: Appliance, agent: Identity, judge: Judge, kind: str, how: str
) -> None:
    named = {} if kind == "gemini" else {"model": "wrong/m"}
    body = {**named, "messages": HELLO, "contents": [], "max_tokens": 9, "stream": True}
    with run_provider(appliance, kind, "wrong") as provider, appliance.by_certificate(agent) as client:
        provider.script = wrongs(FIRST[kind], END[kind])[how]
        started, memory = time.monotonic(), rss(appliance)
        wrong = client.post(PATH[kind], json=body)
        assert time.monotonic() - started < 5 and rss(appliance) < memory + 64 * MIB
        assert wrong.status_code == (502 if how in ("gzip", "nothing", "html") else 200), wrong.text[:200]
        assert "upstream_error" in wrong.text and KEY not in wrong.text
        assert wrong.content.startswith(FIRST[kind]) == (wrong.status_code == 200)
        outcome = appliance.entries_of(wrong.headers["x-request-id"])[1]["outcome"]
        assert outcome == {"status": "failed", "code": "upstream_error"}
        provider.script = Script(content_type="text/event-stream", pieces=[FIRST[kind], END[kind]])
        right = client.post(PATH[kind], json=body)
    assert right.content == FIRST[kind] + END[kind]
    assert appliance.entries_of(right.headers["x-request-id"])[1]["outcome"] == {"status": "ok"}


def rss(appliance: Appliance) -> int:
    return appliance.memory()
