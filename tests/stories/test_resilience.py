"""Providers fail; callers notice as little as can be, and never get two halves of two answers."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance
from support.scripted_provider import Provider, Script, run_provider

CHAT = "/v1/chat/completions"
GOOD = Script(pieces=[b'{"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}'])
EVENTS = Script(content_type="text/event-stream", pieces=[b'data: {"choices":[]}\n\n', b"data: [DONE]\n\n"])
DOWN = Script(500)


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Identity]]:
    """One worker, and a fallback in the settings."""
    settings = """
[llm.fallbacks]
"lonely/m" = ["second/m", "claude/m"]
"lonely/busy" = ["first/one"]
"""
    with open_appliance(stub=None, more=settings) as (appliance, _):
        yield appliance, appliance.enroll("caller")


@pytest.fixture(scope="module")
def providers(world: tuple[Appliance, Identity]) -> Iterator[dict[str, Provider]]:
    appliance, _ = world
    one = {"aliases": {"both": "one"}, "weight": 3, "timeouts": {"first": 1.1}}
    with (
        run_provider(appliance, "openai", "first", **one) as first,
        run_provider(appliance, "openai", "second", aliases={"both": "two"}, weight=1) as second,
        run_provider(appliance, "openai", "lonely") as lonely,
        run_provider(appliance, "anthropic", "claude") as claude,
    ):
        yield {"first": first, "second": second, "lonely": lonely, "claude": claude}


@pytest.fixture(autouse=True)
def all_well(providers: dict[str, Provider]) -> None:
    for provider in providers.values():
        provider.script, provider.next = GOOD, []
        provider.asked.clear()


@pytest.fixture
def ask(world: tuple[Appliance, Identity]) -> Iterator[Any]:
    appliance, identity = world
    with appliance.by_certificate(identity) as client:

        def post(model: str, **more: Any) -> httpx.Response:
            return client.post(CHAT, json={"model": model, "messages": [{"role": "user", "content": "hi"}], **more})

        yield post


def outcome(world: tuple[Appliance, Identity], reply: httpx.Response) -> tuple[Any, Any]:
    """The target of the intent, and the outcome entry. There is one of each, however often was tried."""
    intent, end = world[0].entries_of(reply.headers["x-request-id"])
    assert (intent["phase"], end["phase"]) == ("intent", "outcome")
    return intent["target"], end


def test_what_fails_once_is_tried_again_and_the_caller_does_not_notice(
    world: Any, ask: Any, providers: dict[str, Provider]
) -> None:
    providers["lonely"].next = [DOWN]
    reply = ask("lonely/m2")
    assert reply.status_code == 200 and len(providers["lonely"].asked) == 2
    target, end = outcome(world, reply)
    assert (target, end["outcome"]["status"], end["response"]["tries"]) == ("lonely/m2", "ok", 2)
    assert end["usage"]["input_tokens"] == 3  # of the try that answered


def test_what_fails_twice_is_told(world: Any, ask: Any, providers: dict[str, Provider]) -> None:
    providers["lonely"].script = DOWN
    reply = ask("lonely/m2")
    assert (reply.status_code, len(providers["lonely"].asked)) == (502, 2)
    assert outcome(world, reply)[1]["outcome"] == {"status": "failed", "code": "upstream_error"}


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_what_trying_again_cannot_help_is_tried_once(ask: Any, providers: dict[str, Provider], status: int) -> None:
    providers["lonely"].script = Script(status)
    ask("lonely/m2")
    assert len(providers["lonely"].asked) == 1


@pytest.mark.parametrize(("after", "tries"), [("1", 2), ("30", 1), (None, 1), ("Fri, 31 Dec 1999 23:59:59 GMT", 1)])
def test_retry_after_is_honoured_where_it_is_short(
    ask: Any, providers: dict[str, Provider], after: str | None, tries: int
) -> None:
    providers["lonely"].next = [Script(429, headers={"retry-after": after} if after else {})]
    started = time.monotonic()
    reply = ask("lonely/m2")
    assert len(providers["lonely"].asked) == tries
    assert reply.status_code == (200 if tries == 2 else 429)
    assert (time.monotonic() - started >= 1) is (tries == 2)
    assert tries == 2 or reply.headers.get("retry-after") == after


def test_providers_of_one_alias_share_its_calls_by_weight(ask: Any, providers: dict[str, Provider]) -> None:
    answered = Counter(ask("both").headers["x-provider"] for _ in range(60))
    assert answered.keys() == {"first", "second"} and answered["first"] > answered["second"]
    assert {asked.document["model"] for asked in providers["first"].asked} == {"one"}
    assert {asked.document["model"] for asked in providers["second"].asked} == {"two"}


@pytest.mark.parametrize("how", [DOWN, Script(429), Script(401), Script(pieces=[b"<html>"]), Script(delay=1.5)])
@pytest.mark.parametrize("stream", [False, True])
def test_one_takes_over_for_the_other(
    world: Any, ask: Any, providers: dict[str, Provider], how: Script, stream: bool
) -> None:
    """Wherever the call went first: whoever failed, the other one answers."""
    providers["first"].script = how
    providers["second"].script = EVENTS if stream else GOOD
    for _ in range(3):
        reply = ask("both", stream=stream)
        assert (reply.status_code, reply.headers["x-provider"], reply.headers["x-model"]) == (200, "second", "two")
        assert reply.content == b"".join((EVENTS if stream else GOOD).pieces)
        target, end = outcome(world, reply)
        assert end["outcome"]["status"] == "ok"
        assert end["response"].get("target") == ("second/two" if target == "first/one" else None)


@pytest.mark.parametrize("stream", [False, True])
def test_a_chain_of_fallbacks_crosses_apis(world: Any, ask: Any, providers: dict[str, Provider], stream: bool) -> None:
    for name in ("lonely", "second"):
        providers[name].script = DOWN
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    content = [{"type": "text", "text": "I am here."}]
    whole = {**message, "content": content, "usage": {"input_tokens": 3, "output_tokens": 4}}
    begun = {**message, "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}
    if stream:
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I am here."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
            {"type": "message_stop"},
        ]
        pieces = [b"event: %b\ndata: %b\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events]
        providers["claude"].script = Script(content_type="text/event-stream", pieces=pieces)
    else:
        providers["claude"].script = Script(pieces=[json.dumps(whole).encode()])
    reply = ask("lonely/m", stream=stream)
    assert (reply.status_code, reply.headers["x-provider"]) == (200, "claude") and "I am here." in reply.text
    assert [len(providers[name].asked) for name in ("lonely", "second", "claude")] == [2, 2, 1]
    target, end = outcome(world, reply)
    assert (target, end["response"]["target"], end["response"]["tries"]) == ("lonely/m", "claude/m", 5)
    assert end["usage"]["output_tokens"] == 4


def test_nothing_is_tried_again_once_something_was_sent(world: Any, ask: Any, providers: dict[str, Provider]) -> None:
    providers["lonely"].script = Script(content_type="text/event-stream", pieces=EVENTS.pieces[:1], cut=True)
    reply = ask("lonely/m", stream=True)
    assert (
        reply.status_code == 200 and reply.content.startswith(EVENTS.pieces[0]) and b"upstream_error" in reply.content
    )
    assert [len(providers[name].asked) for name in ("lonely", "second", "claude")] == [1, 0, 0]
    assert outcome(world, reply)[1]["outcome"]["status"] == "failed"


def test_the_outcome_of_a_stream_that_breaks_says_whose_it_was(
    world: Any, ask: Any, providers: dict[str, Provider]
) -> None:
    providers["lonely"].script = DOWN
    providers["second"].script = Script(content_type="text/event-stream", pieces=EVENTS.pieces[:1], cut=True)
    reply = ask("lonely/m", stream=True)
    assert b"upstream_error" in reply.content
    target, end = outcome(world, reply)
    assert (target, end["outcome"]["status"]) == ("lonely/m", "failed")
    assert (end["response"]["target"], end["response"]["tries"]) == ("second/m", 3)


def test_a_stream_that_ends_before_it_began_is_another_providers(ask: Any, providers: dict[str, Provider]) -> None:
    providers["lonely"].script = Script(content_type="text/event-stream", pieces=[b"data: {"], cut=True)
    providers["second"].script = EVENTS
    reply = ask("lonely/m", stream=True)
    assert (reply.status_code, reply.headers["x-provider"], reply.content) == (200, "second", b"".join(EVENTS.pieces))


def test_no_policy_no_fallback(world: Any, ask: Any, providers: dict[str, Provider]) -> None:
    """A fallback is an action like any other: whoever may not use it does not get there by a failure."""
    appliance, _ = world
    forbid = 'forbid (principal, action, resource == Model::"second/two");'
    with appliance.admin() as admin:
        assert admin.post("/v1/admin/policies", json={"name": "not-two", "cedar": forbid}).status_code == 201
        try:
            wait_for(lambda: all(ask("both").headers.get("x-provider") == "first" for _ in range(8)))
            providers["second"].asked.clear()
            providers["first"].script = DOWN
            assert [ask("both").status_code for _ in range(6)] == [502] * 6  # whichever was drawn first
            assert not providers["second"].asked
        finally:
            assert admin.delete("/v1/admin/policies/not-two").status_code == 204


def test_a_provider_that_makes_wait_is_left_alone_and_comes_back(
    world: Any, ask: Any, providers: dict[str, Provider]
) -> None:
    wait_for(lambda: ask("first/one").status_code == 200)
    providers["first"].script = Script(delay=1.4)
    with_pauses = [ask("first/one") for _ in range(11)]
    assert [reply.status_code for reply in with_pauses] == [504] * 10 + [503]
    assert int(with_pauses[10].headers["retry-after"]) >= 1
    assert with_pauses[10].json()["error"]["code"] == "upstream_paused"
    before = len(providers["first"].asked)
    assert ask("both").headers["x-provider"] == "second" and len(providers["first"].asked) == before
    assert ask("lonely/m2").status_code == 200  # nobody else is concerned
    providers["lonely"].script = Script(429)
    reply = ask("lonely/busy")
    assert (reply.status_code, reply.headers["x-provider"], len(providers["first"].asked)) == (429, "lonely", before)
    assert "target" not in outcome(world, reply)[1]["response"]  # that of who answered, not of who was passed over
    providers["first"].script = GOOD
    wait_for(lambda: ask("first/one").status_code == 200, 10)


ODD = Script(pieces=[b'{"choices":[{"index":0,"message":{"tool_calls":[{"id":"c","function":5}]}}]}'])


@pytest.mark.parametrize(("path", "how"), [(CHAT, Script(403)), (CHAT, Script(422)), ("/v1/messages", ODD)])
def test_nobody_shuts_a_provider_to_others_by_what_they_ask_for(
    world: Any, ask: Any, providers: dict[str, Provider], path: str, how: Script
) -> None:
    wait_for(lambda: ask("first/one").status_code == 200)
    providers["first"].next = [how] * 12
    with world[0].by_certificate(world[1]) as client:
        body = {"model": "first/mine", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
        replies = [client.post(path, json=body).status_code for _ in range(12)]
    assert 200 not in replies and not providers["first"].next
    assert "first" in {ask("both").headers["x-provider"] for _ in range(12)}


@pytest.mark.parametrize(
    "how",
    [
        Script(pieces=[b'{"models":[{"name":"models/odd","supportedGenerationMethods":5}]}']),
        Script(pieces=[b'{"models":[5,{"name":7},{"name":"a","supportedGenerationMethods":{"generateContent":1}}]}']),
        Script(pieces=[b"[" * 2000]),
        Script(500),
        Script(delay=12),
    ],
)
def test_one_providers_list_does_not_keep_the_others_from_being_told(
    world: tuple[Appliance, Identity], providers: dict[str, Provider], how: Script
) -> None:
    appliance, identity = world
    with run_provider(appliance, "gemini", "lister") as lister, appliance.by_certificate(identity) as client:
        lister.script = how
        started = time.monotonic()
        reply = client.get("/v1/models")
        assert reply.status_code == 200 and time.monotonic() - started < 8
        names = {model["id"] for model in reply.json()["data"]}
        assert "both" in names and not any("odd" in name for name in names)


def test_a_list_has_an_end(world: tuple[Appliance, Identity], providers: dict[str, Provider]) -> None:
    appliance, identity = world
    listed = b",".join(b'{"name":"m%d","supportedGenerationMethods":["generateContent"]}' % n for n in range(20_000))
    long = b'{"name":"%b","supportedGenerationMethods":["generateContent"]}' % (b"n" * 300)
    with run_provider(appliance, "gemini", "lister") as lister, appliance.by_certificate(identity) as client:
        lister.script = Script(pieces=[b'{"models":[%b,%b]}' % (long, listed)])
        reply = client.get("/v1/models")
        names = {model["id"] for model in reply.json()["data"] if model["id"].startswith("lister/")}
        assert "lister/m0" in names and 1000 <= len(names) <= 2001 and max(map(len, names)) < 300


def test_nobody_shuts_a_provider_to_others_by_hanging_up(world: Any, ask: Any, providers: dict[str, Provider]) -> None:
    wait_for(lambda: ask("first/one").status_code == 200)
    providers["first"].next = [Script(delay=0.6)] * 12
    with world[0].by_certificate(world[1]) as client:
        for _ in range(12):
            with pytest.raises(httpx.ReadTimeout):
                client.post(CHAT, json={"model": "first/mine", "messages": []}, timeout=0.15)
    wait_for(lambda: not providers["first"].next)
    assert "first" in {ask("both").headers["x-provider"] for _ in range(12)}


def wait_for(condition: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
