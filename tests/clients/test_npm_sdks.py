"""The story of the vendors' SDKs as their packages for JavaScript tell it: plain, streamed, tools, images, errors as
the SDK's own classes, giving up, lists. By certificate and through the shim; a script tells all cases in one run.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until
from support.node_scripts import run_lines
from support.scripted_provider import KEY, Asked, Provider, Script, run_provider
from support.shim_process import open_shim

KINDS = ("openai", "anthropic", "gemini")
SCRIPTS = {"openai": "openai.mjs", "anthropic": "anthropic.mjs", "gemini": "genai.mjs"}
PIXEL_64 = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).decode()
INPUT = {"city": "Turin"}
PIECES = ('{"city": ', '"Turin"}')
LEAST_CASES = 60


# --- what the providers answer, by the model that is asked ------------------------------------------------------------


def whole(document: Any, status: int = 200, **headers: str) -> Script:
    return Script(status, pieces=[orjson.dumps(document)], headers=headers)


def events(*said: Any, name: bool = False) -> Script:
    pieces = []
    for item in said:
        data = b"[DONE]" if item is None else orjson.dumps(item)
        pieces.append((f"event: {item['type']}\n".encode() if name else b"") + b"data: " + data + b"\n\n")
    return Script(content_type="text/event-stream", pieces=pieces)


def write_openai() -> dict[str, Script]:
    def said(choice: dict[str, Any], streamed: bool = False) -> dict[str, Any]:
        kind = "chat.completion.chunk" if streamed else "chat.completion"
        choices = [{"index": 0, "finish_reason": None, **choice}]
        return {"id": "c", "object": kind, "created": 1, "model": "m", "choices": choices}

    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "".join(PIECES)}}
    parts: list[dict[str, Any]] = [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": PIECES[0]}},
        {"index": 0, "function": {"arguments": PIECES[1]}},
    ]
    streamed = [said({"delta": {"role": "assistant", "tool_calls": [part]}}, True) for part in parts]
    ended = said({"delta": {}, "finish_reason": "tool_calls"}, True)
    made = said(
        {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    )
    seen = said({"message": {"role": "assistant", "content": "A pixel."}, "finish_reason": "stop"})
    return {
        "tools": whole(made),
        "toolsStreamed": events(*streamed, ended, None),
        "image": whole(seen),
        "breaking": events(said({"delta": {"content": "a"}}, True)),
        **write_errors({"error": {"message": "No.", "type": "t", "param": None, "code": "theirs"}}),
    }


def write_anthropic() -> dict[str, Script]:
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": INPUT}
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [use], "stop_reason": "tool_use",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    start = {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in PIECES
    ]
    streamed = [
        start, {"type": "content_block_start", "index": 0, "content_block": {**use, "input": {}}}, *deltas,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]  # fmt: skip
    seen = {**message, "content": [{"type": "text", "text": "A pixel."}], "stop_reason": "end_turn"}
    return {
        "tools": whole(message),
        "toolsStreamed": events(*streamed, name=True),
        "image": whole(seen),
        "breaking": events(start, name=True),
        **write_errors({"type": "error", "error": {"type": "theirs", "message": "No."}}),
    }


def write_gemini() -> dict[str, Script]:
    def said(part: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, **more}]}

    made = said({"functionCall": {"id": "1", "name": "weather", "args": INPUT}}, finishReason="STOP")
    return {
        "tools": whole(made),
        "toolsStreamed": events(made),
        "image": whole(said({"text": "A pixel."}, finishReason="STOP")),
        "breaking": events(said({"text": "a"})),
        **write_errors({"error": {"code": 400, "message": "No.", "status": "theirs"}}),
    }


def write_errors(document: Any) -> dict[str, Script]:
    return {
        "invalid": whole(document, 400),
        "missing": whole(document, 404),
        "limited": whole(document, 429, **{"retry-after": "7"}),
        "failing": whole(document, 500),
    }


WRITTEN = {"openai": write_openai, "anthropic": write_anthropic, "gemini": write_gemini}


# --- the run of a script ----------------------------------------------------------------------------------------------


@dataclass
class Told:
    """What a script printed, by its cases; what reached the written provider, by model; what the log had of it all."""

    kind: str
    lines: dict[str, dict[str, Any]]
    asked: dict[str, Asked]
    appliance: Appliance
    logged: int

    def outcomes(self, target: str) -> list[dict[str, Any]]:
        entries = self.appliance.entries(since=self.logged)
        return [entry for entry in entries if entry["phase"] == "outcome" and entry["target"] == target]

    def error(self, case: str) -> dict[str, Any]:
        assert "error" in self.lines[case], self.lines[case]
        return self.lines[case]


@pytest.fixture(scope="module")
def providers(appliance: Appliance, stub: Stub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Of each kind: the stub, a slow one, and one that answers what is written for the model."""
    slow = Stub(tmp_path_factory.mktemp("slow"), "--latency", "300ms", "--chunks", "50")
    with ExitStack() as stack:
        stack.callback(slow.stop)
        written: dict[str, Any] = {}
        for kind in KINDS:
            appliance.add_provider(stub, f"said-npm-{kind}", kind)
            appliance.add_provider(slow, f"slow-npm-{kind}", kind)
            written[kind] = stack.enter_context(run_provider(appliance, kind, f"npm-{kind}"))
            written[kind].by_model = WRITTEN[kind]()
        yield {**written, "slow": slow}
        with appliance.admin() as admin:
            for kind in KINDS:
                for name in ("said", "slow"):
                    assert admin.delete(f"/v1/admin/providers/{name}-npm-{kind}").status_code == 204


@pytest.fixture(scope="module", params=["certificate", "shim"])
def way(request: pytest.FixtureRequest, agent: Identity) -> Iterator[str]:
    if request.param == "certificate":
        yield "certificate"
        return
    with open_shim(agent) as shim:
        yield shim.url


@pytest.fixture(scope="module", params=KINDS)
def told(
    request: pytest.FixtureRequest, way: str, appliance: Appliance, agent: Identity, providers: dict[str, Any]
) -> Told:
    kind: str = request.param
    provider: Provider = providers[kind]
    logged = appliance.next_index()
    provider.asked.clear()
    lines = {line["case"]: line for line in run_lines(SCRIPTS[kind], agent, way)}
    return Told(kind, lines, {asked.model: asked for asked in provider.asked}, appliance, logged)


# --- its cases --------------------------------------------------------------------------------------------------------


def test_plain(told: Told) -> None:
    said = told.lines["plain"]
    assert said["text"].startswith("Hello from the stub") and said["wrote"] > 0
    read, request = said["heads"]
    assert read == str(said["read"])
    (outcome,) = [entry for entry in told.appliance.entries_of(request) if entry["phase"] == "outcome"]
    assert {"input_tokens": said["read"], "output_tokens": said["wrote"]}.items() <= outcome["usage"].items()
    assert told.kind != "openai" or said["request"] == request


def test_stream(told: Told) -> None:
    plain, said = told.lines["plain"], told.lines["stream"]
    assert (said["text"], said["wrote"]) == (plain["text"], plain["wrote"]) and said["pieces"] > 2


@pytest.mark.parametrize("case", ["tools", "toolsStreamed"])
def test_tools(told: Told, case: str) -> None:
    said = told.lines[case]
    assert (said["name"], said["input"]) == ("weather", INPUT), said
    tools = told.asked[case].document["tools"]
    assert "weather" in json.dumps(tools) and '"city"' in json.dumps(tools)


def test_image(told: Told) -> None:
    assert told.lines["image"]["text"] == "A pixel."
    assert PIXEL_64 in json.dumps(told.asked["image"].document)


ERRORS: dict[str, tuple[int, dict[str, str]]] = {
    "invalid": (400, {"openai": "BadRequestError", "anthropic": "BadRequestError"}),
    "refusedByUs": (422, {"openai": "UnprocessableEntityError", "anthropic": "UnprocessableEntityError"}),
    "stranger": (401, {"openai": "AuthenticationError", "anthropic": "AuthenticationError"}),
    "missing": (404, {"openai": "NotFoundError", "anthropic": "NotFoundError"}),
    "limited": (429, {"openai": "RateLimitError", "anthropic": "RateLimitError"}),
    "failing": (502, {"openai": "InternalServerError", "anthropic": "InternalServerError"}),
    "failingStreamed": (502, {"openai": "InternalServerError", "anthropic": "InternalServerError"}),
}
OURS = {
    "refusedByUs": "invalid_body", "stranger": "missing_credential",
    "failing": "upstream_error", "failingStreamed": "upstream_error",
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(told: Told, case: str) -> None:
    status, kinds = ERRORS[case]
    said = told.error(case)
    assert (said["error"], said["status"]) == (kinds.get(told.kind, "ApiError"), status), said
    code = OURS.get(case, "theirs")
    if told.kind == "openai":
        assert said["code"] == code
    elif code == "theirs" and told.kind == "anthropic":
        assert said["type"] == code
    else:
        assert code in said["message"]
    assert KEY not in json.dumps(said)
    if case == "limited" and told.kind != "gemini":  # whose class of errors has no headers
        assert said["retryAfter"] == "7"


def test_a_stream_that_breaks(told: Told) -> None:
    said = told.error("breaking")
    kinds = {"openai": "APIError", "anthropic": "APIError", "gemini": "ApiError"}
    assert said["error"] == kinds[told.kind] and "upstream_error" in json.dumps(said), said


@pytest.mark.parametrize("case", ["cancelled", "aborted"])
def test_giving_up(told: Told, providers: dict[str, Any], case: str) -> None:
    """Half-way through a stream, and before a plain answer: two calls, in this order, both ended at the provider."""
    if case == "cancelled":
        assert "first" in told.lines[case], told.lines[case]
    else:
        kinds = {"openai": "APIUserAbortError", "anthropic": "APIUserAbortError"}
        assert told.error(case)["error"] == kinds.get(told.kind, "AbortError")
    target = f"slow-npm-{told.kind}/m"
    wait_until(lambda: len(told.outcomes(target)) == 2, 5, "the log has both")
    outcome = told.outcomes(target)[("cancelled", "aborted").index(case)]
    assert outcome["outcome"] == {"status": "cancelled"}
    wait_until(lambda: not is_waited_for(providers["slow"], outcome["id"]), 5, "the provider saw the hang-up")


def is_waited_for(stub: Stub, call: str) -> bool:
    """Whether the call is under way at the provider. One that its caller gave up early never comes there."""
    hung_up = {line["request_id"] for line in stub.journal() if line.get("event") == "hangup"}
    return call in stub.arrivals() and call not in hung_up


def test_models(told: Told) -> None:
    names = {name.removeprefix("models/") for name in told.lines["models"]["names"]}
    model = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}[told.kind]
    assert f"said-npm-{told.kind}/{model}" in names


def test_what_only_one_of_them_has(told: Told) -> None:
    """Embeddings, moderations and responses; the count of tokens; what is not offered is not there."""
    lines, plain = told.lines, told.lines["plain"]
    if told.kind == "openai":
        assert lines["embeddings"]["sizes"] == [8, 8] and lines["embeddings"]["read"] > 0
        assert lines["moderations"]["flagged"] is False
        said = lines["responses"]
        assert said["text"] == said["streamed"] == plain["text"]
        assert said["ends"] == ["response.created", "response.completed"]
    elif told.kind == "anthropic":
        assert lines["count"]["input_tokens"] > 0
    else:
        assert told.error("notOffered")["status"] == 404


def test_there_are_no_fewer_cases_than_were_promised(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the story over both languages, as pytest collects them."""
    folder = Path(__file__).parent
    files = ["test_dialect_sdks.py", "test_npm_sdks.py"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    counts = [sum(f"{file}::" in line for line in done.stdout.splitlines()) for file in files]
    with capsys.disabled():
        print(f"\ncases of the SDKs' story: {counts[0]} in Python, {counts[1]} in JavaScript")
    assert min(counts) > 0 and sum(counts) >= LEAST_CASES
