"""Bodies that are written to keep a worker busy. Whatever becomes of them, another agent is served meanwhile."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from support.appliance import wait_until
from support.dialect_samples import Talk
from support.egress_scene import Scene, open_scene
from support.scripted_provider import run_provider

JSON = "application/json"
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/claude/m:generateContent"
EGRESS = "/v1/egress/looked/echo"
USER = {"role": "user", "content": "x"}
MODEL = "claude/m"
FORBID = 'forbid (principal == Agent::"mallory", action == Action::"llm.chat", resource);'


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Providers of other APIs than those that are called, and a connection whose requests are inspected."""
    with (
        open_scene() as opened,
        run_provider(opened.appliance, "anthropic", "claude") as claude,
        run_provider(opened.appliance, "openai", "gpt"),
    ):
        claude.script = Talk("anthropic").whole("Hello.")
        opened.connect("looked", inspect={"request": True})
        made = opened.admin.post("/v1/admin/policies", json={"name": "stalls", "cedar": FORBID})
        assert made.status_code == 201, made.text
        opened.appliance.settle()
        yield opened


@pytest.fixture(scope="module")
def agents(scene: Scene) -> dict[str, Any]:
    return {name: scene.appliance.enroll(name) for name in ("mallory", "trudy")}


class Case(NamedTuple):
    """Who sends what where, and what becomes of it."""

    path: str
    body: bytes
    status: int
    code: str | None = None
    content_type: str = JSON
    agent: str = "trudy"


def call(document: dict[str, Any]) -> bytes:
    return json.dumps({"model": MODEL, "max_tokens": 9, **document}).encode()


CASES = {
    "messages": Case(CHAT, call({"messages": [USER] * 100_000}), 413, "too_many_parts"),
    "items": Case(RESPONSES, call({"input": [USER] * 100_000}), 413, "too_many_parts"),
    "blocks": Case(
        MESSAGES,
        call({"model": "gpt/m", "messages": [{**USER, "content": [{"type": "text", "text": "x"}] * 100_000}]}),
        413,
    ),
    "contents": Case(GEMINI, json.dumps({"contents": [{"parts": [{"text": "x"}]}] * 60_000}).encode(), 413),
    "members": Case(CHAT, call({f"m{n}": 1 for n in range(200_000)}), 413, "too_many_parts"),
    "objects": Case(CHAT, b'{"model":"claude/m","messages":[' + b"{}," * 3_000_000 + b"{}]}", 413, "too_many_parts"),
    "escapes": Case(CHAT, call({"messages": [{"role": "user", "content": "\n" * 4_000_000}]}), 200),
    "long": Case(CHAT, call({"messages": [USER] * 20_000}), 200),
    "forbidden": Case(CHAT, call({"messages": [USER] * 30_000}), 403, "denied", agent="mallory"),
    "lines": Case(EGRESS, b"{}\n" * 350_000, 413, "too_many_parts", "application/x-ndjson"),
    "pairs": Case(EGRESS, b"a&" * 1_500_000, 413, "too_many_parts", "application/x-www-form-urlencoded"),
    "empty objects": Case(EGRESS, b"[" + b"{}," * 3_000_000 + b"{}]", 413, "too_many_parts"),
    "long lines": Case(EGRESS, b'{"a":"b"}\n' * 10_000, 200, None, "application/x-ndjson"),
    "short texts": Case(EGRESS, json.dumps(["abcd"] * 30_000).encode(), 200),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_another_agent_is_served_meanwhile(scene: Scene, agents: dict[str, Any], name: str) -> None:
    case = CASES[name]
    replies: list[httpx.Response] = []

    def attack() -> None:
        with scene.appliance.agent(agents[case.agent]) as agent:
            headers = {"content-type": case.content_type}
            replies.append(agent.post(case.path, content=case.body, headers=headers, timeout=60))

    attacking = threading.Thread(target=attack)
    attacking.start()
    served = 0
    while attacking.is_alive() or not served:
        assert scene.agent.get("/v1/agents/self").status_code == 200
        served += 1
    attacking.join()
    (reply,) = replies
    assert reply.status_code == case.status, reply.text[:300]
    if case.code is not None:
        assert case.code in reply.text
    assert scene.agent.post(CHAT, json={"model": MODEL, "max_tokens": 9, "messages": [USER]}).status_code == 200
    print(f"{name}: {served} calls of another agent meanwhile; the loop was {worst_lag(scene)} s late at worst so far")


def worst_lag(scene: Scene) -> float | None:
    """Of the last minute, in seconds; None in a worker's first second."""
    found = re.search(r'^mastio_event_loop_lag_seconds\{worker="0"\} (\S+)$', scene.admin.get("/metrics").text, re.M)
    return None if found is None else float(found[1])


def test_the_lag_of_each_worker_is_in_the_metrics(scene: Scene) -> None:
    wait_until(lambda: worst_lag(scene) is not None, 10, "the first figure")


def test_a_refusal_is_in_the_callers_dialect(scene: Scene, agents: dict[str, Any]) -> None:
    with scene.appliance.agent(agents["trudy"]) as agent:
        said = agent.post(MESSAGES, content=CASES["blocks"].body, headers={"content-type": JSON}).json()
        assert said["type"] == "error" and said["error"]["type"]
        said = agent.post(GEMINI, content=CASES["contents"].body, headers={"content-type": JSON}).json()
        assert said["error"]["code"] == 413
        said = agent.post(EGRESS, content=CASES["lines"].body).json()
        assert (said["code"], said["status"]) == ("too_many_parts", 413)


def test_another_agent_is_served_while_a_long_policy_is_judged(scene: Scene) -> None:
    one = 'permit(principal, action, resource) when { context.tools.names.contains("x") };\n'
    body = {"name": "long", "cedar": one * 700}
    replies: list[httpx.Response] = []

    def write() -> None:
        with scene.appliance.admin() as admin:
            replies.append(admin.post("/v1/admin/policies", json=body))

    writing = threading.Thread(target=write)
    writing.start()
    served = 0
    while writing.is_alive() or not served:
        assert scene.agent.get("/v1/agents/self").status_code == 200
        served += 1
    writing.join()
    assert replies[0].status_code == 201, replies[0].text
    assert scene.admin.delete("/v1/admin/policies/long").status_code == 204
    too_much = {
        "name": "long",
        "cedar": f"permit(principal, action, resource) when {{ {' || '.join(['true'] * 900)} }};",
    }
    assert scene.admin.post("/v1/admin/policies", json=too_much).status_code == 422
    print(f"a long policy: {served} calls of another agent meanwhile; the loop was {worst_lag(scene)} s late at worst")


def test_wide_bodies_of_admins_and_strangers_are_refused_before_they_are_parsed(scene: Scene) -> None:
    """Each twin is the same request made as it should be."""
    wide = json.dumps({f"a{n}": n for n in range(4500)}).encode()
    twins = {
        "/v1/admin/providers": {
            "name": "twin", "kind": "openai", "base_url": "https://api.example/v1",
            "models": [f"m{n}*" for n in range(200)],
        },
        "/v1/admin/enrollment-tokens": {"name": "twin*"},
        "/v1/admin/redaction": {"name": "twin", "types": {"*": {"action": "off"}}, "match": {"agents": ["twin*"]}},
    }  # fmt: skip
    for path, twin in twins.items():
        refused = scene.admin.post(path, content=wide, headers={"content-type": JSON})
        assert (refused.status_code, refused.json()["code"]) == (413, "too_many_parts"), refused.text
        assert scene.admin.post(path, json=twin).status_code == 201
    with scene.appliance.client() as stranger:
        refused = stranger.post("/v1/enrollments", content=wide, headers={"content-type": JSON})
        assert (refused.status_code, refused.json()["code"]) == (413, "too_many_parts"), refused.text
    assert scene.appliance.enroll("twin").folder.exists()


def test_globs_have_few_stars(scene: Scene) -> None:
    body = {"name": "starred", "base_url": "https://api.example", "paths": ["/" + "*a" * 11]}
    refused = scene.admin.post("/v1/admin/connections", json=body)
    assert refused.status_code == 422 and "more than 10 stars" in refused.text
    assert scene.admin.post("/v1/admin/connections", json={**body, "paths": ["/" + "*a" * 10]}).status_code == 201
