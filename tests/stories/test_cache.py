"""Answers from memory through the whole appliance: whose they are, when there is one, what is written about them."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import httpx
import openai
import pytest

from mastio_client import Identity
from mastio_client.enroll import EnrollmentRequest, enroll
from support.appliance import NGINX, Appliance, Stub, open_appliance, wait_until
from support.postgresql import create_database
from support.scripted_provider import KEY, Script, run_provider

CHAT = "/v1/chat/completions"
SAYS = [{"role": "user", "content": "hello"}]


@dataclass(frozen=True)
class Call:
    """A call that has one answer. `{}` in it stands for a text that makes it new."""

    path: str
    body: dict[str, Any]

    def at(self, text: str) -> tuple[str, bytes]:
        return self.path, json.dumps(self.body).replace("{}", text).encode()


GEMINI = {"contents": [{"parts": [{"text": "{}"}]}], "generationConfig": {"temperature": 0}}
OPENAI = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "{}"}], "temperature": 0}
CLAUDE = {
    "model": "claude/claude-sonnet-4-5", "max_tokens": 9, "temperature": 0,
    "messages": [{"role": "user", "content": "{}"}],
}  # fmt: skip
CALLS = {
    "chat": Call(CHAT, OPENAI),
    "chat stream": Call(CHAT, {**OPENAI, "stream": True, "stream_options": {"include_usage": True}}),
    "responses": Call("/v1/responses", {"model": "stub/gpt-4o", "input": "{}", "temperature": 0}),
    "responses stream": Call("/v1/responses", {"model": "stub/x", "input": "{}", "temperature": 0, "stream": True}),
    "embeddings": Call("/v1/embeddings", {"model": "stub/e", "input": "{}"}),
    "moderations": Call("/v1/moderations", {"model": "stub/omni", "input": "{}"}),
    "messages": Call("/v1/messages", CLAUDE),
    "messages stream": Call("/v1/messages", {**CLAUDE, "stream": True}),
    "count_tokens": Call("/v1/messages/count_tokens", {"model": "claude/c", "messages": CLAUDE["messages"]}),
    "translated": Call(CHAT, {**OPENAI, "model": "claude/claude-sonnet-4-5"}),
    "translated stream": Call(CHAT, {**OPENAI, "model": "claude/claude-sonnet-4-5", "stream": True}),
    "gemini": Call("/v1beta/models/google/gemini-2.5-flash:generateContent", GEMINI),
    "gemini stream": Call("/v1beta/models/google/gemini-2.5-flash:streamGenerateContent?alt=sse", GEMINI),
    "gemini array": Call("/v1beta/models/google/gemini-2.5-flash:streamGenerateContent", GEMINI),
}


@dataclass
class Scene:
    appliance: Appliance
    stub: Stub
    agent: Identity

    def client(self, identity: Identity | None = None) -> httpx.Client:
        client = self.appliance.by_certificate(identity or self.agent)
        client.headers["content-type"] = "application/json"
        return client


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(stub=("--latency", "40ms")) as (appliance, stub):
        assert stub is not None
        appliance.add_provider(stub, "claude", "anthropic")
        appliance.add_provider(stub, "google", "gemini")
        yield Scene(appliance, stub, appliance.enroll("asker"))


def post(client: httpx.Client, call: Call, text: str, control: str = "") -> httpx.Response:
    path, body = call.at(text)
    return client.post(path, content=body, headers={"cache-control": control} if control else {})


@pytest.mark.parametrize("name", CALLS)
def test_the_second_time_the_same_bytes_come_from_memory(scene: Scene, name: str) -> None:
    call, before = CALLS[name], len(scene.stub.arrivals())
    with scene.client() as client:
        first, second = post(client, call, name), post(client, call, name)
        other, bypass = post(client, call, f"{name}!"), post(client, call, name, "no-store")
    for reply in (first, second, other, bypass):
        assert reply.status_code == 200, reply.text
    words = [reply.headers["x-cache"] for reply in (first, second, other, bypass)]
    assert words == ["MISS", "HIT", "MISS", "BYPASS"]
    assert len(scene.stub.arrivals()) == before + 3
    assert second.content == first.content
    for header in ("content-type", "x-provider", "x-model"):
        assert second.headers[header] == first.headers[header]
    assert second.headers["x-cost-usd"] == "0" and 0 <= int(second.headers["age"]) < 30
    assert "age" not in first.headers and "x-saved-tokens" not in first.headers
    assert second.elapsed < first.elapsed
    assert second.headers["mastio-receipt"] != first.headers["mastio-receipt"]
    outcomes = [scene.appliance.entries_of(reply.headers["x-request-id"])[1] for reply in (first, second)]
    assert [outcome["outcome"] for outcome in outcomes] == [{"status": "ok"}] * 2
    assert [outcome["response"].get("cache") for outcome in outcomes] == [None, "hit"]
    assert outcomes[0]["response"]["digest"] == outcomes[1]["response"]["digest"]
    used, kept = (outcome.get("usage") or {} for outcome in outcomes)
    assert {kept[name] for name in ("input_tokens", "output_tokens", "cost_nano_usd")} == {0}
    for name in ("input_tokens", "output_tokens", "cost_nano_usd"):
        assert kept.get(f"saved_{name}") == used.get(name)
    if used:
        assert int(second.headers["x-saved-tokens"]) == used["input_tokens"] + used["output_tokens"] > 0
    if "cost_nano_usd" in used:
        assert float(second.headers["x-saved-cost-usd"]) == pytest.approx(used["cost_nano_usd"] / 1e9)


def test_an_official_client_sees_no_difference(scene: Scene) -> None:
    tls = scene.appliance.tls(scene.agent)
    with httpx.Client(verify=tls, trust_env=False) as http:
        address = f"{scene.appliance.base_url}/v1"
        client = openai.OpenAI(base_url=address, api_key="certificate", http_client=http, max_retries=0)

        def stream() -> list[Any]:
            asked = client.chat.completions.create(
                model="stub/gpt-4o", temperature=0, stream=True, messages=[{"role": "user", "content": "sdk"}]
            )
            return [chunk.model_dump() for chunk in asked]

        before = len(scene.stub.arrivals())
        assert stream() == stream() and len(scene.stub.arrivals()) == before + 1
        raw = client.embeddings.with_raw_response.create(model="stub/e", input="sdk")
        again = client.embeddings.with_raw_response.create(model="stub/e", input="sdk")
        assert (raw.headers["x-cache"], again.headers["x-cache"]) == ("MISS", "HIT")
        assert raw.parse().data == again.parse().data


def test_what_may_come_out_otherwise_is_asked_for_again_unless_the_caller_says_so(scene: Scene) -> None:
    call = Call(CHAT, {**OPENAI, "temperature": 1})
    with scene.client() as client:
        assert [post(client, call, "open").headers["x-cache"] for _ in range(2)] == ["BYPASS", "BYPASS"]
        asked = [post(client, call, "open", "max-age=60").headers["x-cache"] for _ in range(2)]
        assert asked == ["MISS", "HIT"]
        assert post(client, call, "open").headers["x-cache"] == "BYPASS"


@pytest.mark.parametrize("name", ["chat", "messages", "gemini"])
def test_who_wants_only_a_kept_answer_is_told_that_there_is_none(scene: Scene, name: str) -> None:
    before = len(scene.stub.arrivals())
    with scene.client() as client:
        refused = post(client, CALLS[name], "only if", "only-if-cached")
        assert refused.status_code == 504 and "not_cached" in refused.text, refused.text
        assert refused.headers["x-cache"] == "MISS" and "error" in refused.json()
        assert len(scene.stub.arrivals()) == before
        assert post(client, CALLS[name], "only if").headers["x-cache"] == "MISS"
        assert post(client, CALLS[name], "only if", "only-if-cached").headers["x-cache"] == "HIT"


def test_another_agent_never_gets_it(scene: Scene) -> None:
    other = scene.appliance.enroll("other")
    with scene.client() as one, scene.client(other) as two:
        words = [post(client, CALLS["chat"], "mine").headers["x-cache"] for client in (one, two, one, two)]
    assert words == ["MISS", "MISS", "HIT", "HIT"]


def test_a_policy_that_changes_forgets_everything_and_one_that_forbids_is_asked_first(scene: Scene) -> None:
    call = CALLS["chat stream"]
    with scene.client() as client, scene.appliance.admin() as admin:
        assert [post(client, call, "law").headers["x-cache"] for _ in range(2)] == ["MISS", "HIT"]
        rule = {"name": "quiet", "cedar": 'forbid(principal == Agent::"nobody", action, resource);'}
        assert admin.post("/v1/admin/policies", json=rule).status_code == 201
        assert [post(client, call, "law").headers["x-cache"] for _ in range(2)] == ["MISS", "HIT"]
        rule["cedar"] = 'forbid(principal == Agent::"asker", action == Action::"llm.chat", resource);'
        assert admin.put("/v1/admin/policies/quiet", json=rule).status_code == 200
        denied = post(client, call, "law")
        assert denied.status_code == 403 and "x-cache" not in denied.headers
        assert admin.delete("/v1/admin/policies/quiet").status_code in (200, 204)
        assert post(client, call, "law").status_code == 200


def enroll_again(appliance: Appliance, name: str) -> Identity:
    """Somebody else with the name of an agent that was revoked: an operator has to say so."""
    folder = appliance.data / "agents" / f"{name}-again"
    ca = (appliance.data / "ca" / "ca.crt").read_bytes()

    def approve(text: str) -> None:
        with appliance.admin() as admin:
            for request in admin.get("/v1/admin/enrollments").json()["items"]:
                if request["name"] == name and request["status"] == "pending":
                    assert admin.post(f"/v1/admin/enrollments/{request['id']}/approve").status_code == 200

    enroll(EnrollmentRequest(appliance.base_url, ca, name), folder, approve)
    return Identity.load(folder)


def test_a_revoked_agent_gets_no_answer_from_memory_and_who_has_its_name_later_neither(scene: Scene) -> None:
    first = scene.appliance.enroll("fleeting")
    with scene.client(first) as client, scene.appliance.admin() as admin:
        assert [post(client, CALLS["chat"], "gone").headers["x-cache"] for _ in range(2)] == ["MISS", "HIT"]
        assert admin.post("/v1/admin/agents/fleeting/revoke", json={}).status_code == 200
        refused = post(client, CALLS["chat"], "gone")
        assert refused.status_code == 401 and "x-cache" not in refused.headers
    with scene.client(enroll_again(scene.appliance, "fleeting")) as client:
        assert post(client, CALLS["chat"], "gone").headers["x-cache"] == "MISS"


async def ask_at_once(appliance: Appliance, tls: ssl.SSLContext, body: bytes, count: int) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=count)
    async with httpx.AsyncClient(
        base_url=appliance.base_url, verify=tls, trust_env=False, timeout=30, limits=limits
    ) as client:
        said = {"content-type": "application/json"}
        return await asyncio.gather(*(client.post(CHAT, content=body, headers=said) for _ in range(count)))


@pytest.mark.parametrize("name", ["chat", "chat stream"])
def test_fifty_at_once_reach_the_provider_once(name: str) -> None:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(stub=("--latency", "400ms")) as (appliance, stub):
        assert stub is not None
        tls = appliance.tls(appliance.enroll("crowd"))
        replies = asyncio.run(ask_at_once(appliance, tls, CALLS[name].at("stampede")[1], 50))
        assert [reply.status_code for reply in replies] == [200] * 50
        assert len(stub.arrivals()) == 1 and len({reply.content for reply in replies}) == 1
        words = [reply.headers["x-cache"] for reply in replies]
        assert (words.count("MISS"), words.count("HIT")) == (1, 49)
        outcomes = [
            entry for entry in appliance.entries() if entry["phase"] == "outcome" and entry["kind"] == "llm.chat"
        ]
        assert len(outcomes) == 50 and {entry["outcome"]["status"] for entry in outcomes} == {"ok"}
        assert sum(entry["usage"]["input_tokens"] > 0 for entry in outcomes) == 1, "used once"


@pytest.mark.parametrize("name", ["chat", "chat stream"])
def test_one_who_hangs_up_while_others_wait_takes_nobody_along(name: str) -> None:
    if NGINX is None:
        pytest.skip("nginx is not installed")

    async def story(appliance: Appliance, tls: ssl.SSLContext, body: bytes) -> list[httpx.Response]:
        said = {"content-type": "application/json"}
        async with httpx.AsyncClient(base_url=appliance.base_url, verify=tls, trust_env=False, timeout=30) as client:
            first = asyncio.create_task(client.post(CHAT, content=body, headers=said))
            await asyncio.sleep(0.3)
            others = [asyncio.create_task(client.post(CHAT, content=body, headers=said)) for _ in range(5)]
            await asyncio.sleep(0.3)
            first.cancel()
            return await asyncio.gather(*others)

    with open_appliance(stub=("--latency", "1s")) as (appliance, stub):
        assert stub is not None
        tls = appliance.tls(appliance.enroll("crowd"))
        replies = asyncio.run(story(appliance, tls, CALLS[name].at("hang up")[1]))
        assert [reply.status_code for reply in replies] == [200] * 5 and len({reply.content for reply in replies}) == 1
        assert len(stub.arrivals()) == 2, "the one who left, and one of those who waited"


def test_what_fails_is_never_kept() -> None:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(stub=("--latency", "0", "--error-rate", "1")) as (appliance, stub):
        assert stub is not None
        with appliance.by_certificate(appliance.enroll("unlucky")) as client:
            client.headers["content-type"] = "application/json"
            for name in ("chat", "chat stream"):
                replies = [post(client, CALLS[name], "fails") for _ in range(6)]
                assert all(reply.status_code >= 400 for reply in replies)
                assert "HIT" not in {reply.headers.get("x-cache") for reply in replies}
        assert len(stub.arrivals()) > 1


def rows(url: str) -> list[bytes]:
    """Everything in the shared table, as it is stored."""

    async def fetch() -> list[bytes]:
        connection = await asyncpg.connect(url.replace("+asyncpg", ""))
        try:
            found = await connection.fetch("SELECT key || sealed AS row FROM cache_answers")
            return [record["row"] for record in found]
        finally:
            await connection.close()

    return asyncio.run(fetch())


def test_on_postgresql_an_answer_outlives_its_worker_and_nobody_can_read_it_there(postgresql: str) -> None:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    url, canary = create_database(postgresql), "canary-in-the-table-5b1e"
    with open_appliance(database=url, workers=2) as (appliance, stub):
        assert stub is not None
        agents = [appliance.enroll(f"agent-{number}") for number in range(4)]
        first = []
        for agent in agents:
            with Scene(appliance, stub, agent).client() as client:
                first += [post(client, CALLS["chat"], canary), post(client, CALLS["chat stream"], canary)]
        assert [reply.headers["x-cache"] for reply in first] == ["MISS"] * 8
        wait_until(lambda: len(rows(url)) == 8, 5, "every answer is in the table")
        plain = first[0].json()["choices"][0]["message"]["content"].encode()
        assert not [row for row in rows(url) if canary.encode() in row or plain in row or b"choices" in row]
        before = [appliance.pid(f"worker-{slot}") for slot in range(2)]
        for slot in range(2):
            appliance.kill_worker(slot)
        wait_until(lambda: not {appliance.pid(f"worker-{slot}") for slot in range(2)} & set(before), 20, "new workers")
        appliance.wait_ready()
        again = []
        for agent in agents:
            with Scene(appliance, stub, agent).client() as client:
                again += [post(client, CALLS["chat"], canary), post(client, CALLS["chat stream"], canary)]
        assert [reply.headers["x-cache"] for reply in again] == ["HIT"] * 8
        assert [reply.content for reply in again] == [reply.content for reply in first]
        assert len(stub.arrivals()) == 8


def test_a_question_that_means_the_same_where_an_operator_wants_that() -> None:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    more = '[cache.semantic]\nprovider = "embedder"\nmodel = "e-1"\nfloor = 0.9\n'
    with open_appliance(more=more) as (appliance, stub):
        assert stub is not None
        agents = [appliance.enroll("one"), appliance.enroll("two")]
        with (
            run_provider(appliance, "openai", "embedder") as embedder,
            Scene(appliance, stub, agents[0]).client() as client,
            Scene(appliance, stub, agents[1]).client() as other,
        ):

            def ask(client: httpx.Client, text: str, embedding: list[float]) -> httpx.Response:
                embedder.script = Script(pieces=(json.dumps({"data": [{"embedding": embedding}]}).encode(),))
                return post(client, CALLS["chat"], text)

            first = ask(client, "What time is it?", [1.0, 0.0])
            near = ask(client, "what time is it", [1.0, 0.1])
            far = ask(client, "Who are you?", [0.0, 1.0])
            others = ask(other, "What is the time?", [1.0, 0.0])
            assert [reply.headers["x-cache"] for reply in (first, near, far, others)] == ["MISS", "HIT", "MISS", "MISS"]
            assert near.content == first.content and near.headers["x-cache-similarity"] == "0.9950"
            assert len(stub.arrivals()) == 3 and len(embedder.asked) == 4
            assert embedder.last.path == "/v1/embeddings" and embedder.last.header("authorization") == f"Bearer {KEY}"
            assert embedder.last.document["input"] == "What is the time?"
            assert appliance.entries_of(near.headers["x-request-id"])[1]["response"]["cache"] == "near"
            embedder.script = Script(status=500)
            assert post(client, CALLS["chat"], "Anything else?").headers["x-cache"] == "MISS"


def test_budgets_are_charged_once(scene: Scene) -> None:
    agent = scene.appliance.enroll("thrifty")
    call = Call(CHAT, {**OPENAI, "max_tokens": 50})
    with scene.client(agent) as client, scene.appliance.admin() as admin:
        budget = {"name": "thrift", "agent": "thrifty", "limit_tokens": 1000, "period": "total"}
        assert admin.post("/v1/admin/budgets", json=budget).status_code == 201
        replies = [post(client, call, "budget") for _ in range(60)]
        assert [reply.status_code for reply in replies] == [200] * 60, replies[-1].text
        used = replies[0].json()["usage"]["total_tokens"]
        assert 60 * used > 1000, "asked each time, it would have been spent"
        wait_until(lambda: admin.get("/v1/admin/budgets/thrift").json()["spent"] == used, 5, "spent once")
        wait_until(lambda: post(client, call, "budget", "no-store").status_code == 429, 10, "asking spends")


def test_metrics_tell_what_it_saves(scene: Scene) -> None:
    with scene.client() as client, scene.appliance.admin() as admin:
        call = Call(CHAT, {**OPENAI, "max_tokens": 7})

        def figure(name: str) -> float:
            found = [line for line in admin.get("/metrics").text.splitlines() if line.startswith(name)]
            return sum(float(line.rpartition(" ")[2]) for line in found)

        names = [f'mastio_cache_answers_total{{kind="llm.chat",result="{word}"}}' for word in ("hit", "miss", "bypass")]
        names += ['mastio_cache_saved_tokens_total{kind="llm.chat"}', 'mastio_cache_saved_usd_total{kind="llm.chat"}']
        before = [figure(name) for name in names]
        replies = [post(client, call, "metrics"), post(client, call, "metrics"), post(client, call, "m", "no-store")]
        grown = [figure(name) - old for name, old in zip(names, before, strict=True)]
        assert grown[:4] == [1, 1, 1, int(replies[1].headers["x-saved-tokens"])]
        assert grown[4] == pytest.approx(float(replies[1].headers["x-saved-cost-usd"])) and grown[4] > 0


def test_memory_only_is_memory_only(scene: Scene) -> None:
    """What is kept is in no file: neither the question nor the answer."""
    canary = "canary-in-the-cache-7f3a"
    with scene.client() as client:
        assert [post(client, CALLS["chat"], canary).headers["x-cache"] for _ in range(2)] == ["MISS", "HIT"]
    files = {path: path.read_bytes() for path in scene.appliance.data.rglob("*") if path.is_file()}
    assert files and not [path for path, data in files.items() if canary.encode() in data]


def test_no_entry_tells_by_what_an_answer_is_found(scene: Scene) -> None:
    for entry in scene.appliance.entries():
        assert set(entry.get("response") or {}) <= {"status", "bytes", "digest", "cache", "upstream_status", "models"}
