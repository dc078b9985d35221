"""The main job, as a stranger would do it: enrol, call, stream, look into the log."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import openai
import pytest

from mastio_client import DPoPAuth, Identity
from support.appliance import Appliance, Stub, wait_until

BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
RECEIPT = "mastio-receipt"

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("how", ["proof", "certificate"])
def test_a_proven_call_is_answered_and_recorded(appliance: Appliance, stub: Stub, agent: Identity, how: str) -> None:
    with appliance.agent(agent) if how == "proof" else appliance.by_certificate(agent) as client:
        reply = client.post("/v1/chat/completions", json=BODY)
    assert reply.status_code == 200, reply.text
    assert reply.json()["choices"][0]["message"]["content"]
    headers = reply.headers
    assert (headers["x-provider"], headers["x-model"], headers["x-cache"]) == ("stub", "gpt-4o", "BYPASS")
    assert int(headers["x-tokens-input"]) > 0 and int(headers["x-tokens-output"]) == 10
    for part in ("auth", "policy", "inspect", "audit", "upstream", "total"):
        assert f"{part};dur=" in headers["server-timing"]
    intent, outcome = appliance.entries_of(headers["x-request-id"])
    assert (intent["phase"], intent["seq"], intent["kind"]) == ("intent", int(headers[RECEIPT]), "llm.chat")
    assert (intent["agent"], intent["target"]) == ("agent-one", "stub/gpt-4o")
    assert intent["decision"] == {"effect": "allow", "rule": "starter"}
    assert (outcome["phase"], outcome["outcome"], outcome["usage"]["output_tokens"]) == (
        "outcome",
        {"status": "ok"},
        10,
    )
    assert stub.arrivals().count(headers["x-request-id"]) == 1


def test_a_stream_comes_in_pieces_and_ends_after_its_outcome(appliance: Appliance, agent: Identity) -> None:
    with (
        appliance.agent(agent) as client,
        client.stream("POST", "/v1/chat/completions", json={**BODY, "stream": True}) as reply,
    ):
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in reply.iter_lines() if line]
        outcomes = [e for e in appliance.entries_of(reply.headers["x-request-id"]) if e["phase"] == "outcome"]
    assert lines[-1] == "data: [DONE]"
    text = "".join(json.loads(line[6:])["choices"][0]["delta"].get("content") or "" for line in lines[:-1])
    assert text.startswith("Hello from the stub provider")
    assert [e["outcome"] for e in outcomes] == [{"status": "ok"}]


def test_bytes_pass_untouched_in_the_same_dialect(appliance: Appliance, agent: Identity) -> None:
    """A body with unknown members, odd spacing and escapes: the digest in the log is of the very bytes."""
    raw = b'{ "model":"gpt-4o",\t"messages":[{"role":"user","content":"\\u00e9 \xc3\xa9"}],"x_unknown":{"a":[1,2.50]} }'
    with appliance.agent(agent) as client:
        reply = client.post("/v1/chat/completions", content=raw, headers={"content-type": "application/json"})
    assert reply.status_code == 200
    assert appliance.entries_of(reply.headers["x-request-id"])[0]["request"]["bytes"] == len(raw)


def test_models_are_those_that_the_caller_may_use(appliance: Appliance, agent: Identity) -> None:
    with appliance.agent(agent) as client:
        listed = [item["id"] for item in client.get("/v1/models").json()["data"]]
    assert "stub/gpt-4o" in listed


def test_a_hang_up_cancels_the_upstream(appliance: Appliance, agent: Identity, tmp_path: Path) -> None:
    slow = Stub(tmp_path, "--latency", "400ms", "--chunks", "50")
    appliance.add_provider(slow, "slow")
    try:
        with (
            appliance.agent(agent) as client,
            client.stream("POST", "/v1/chat/completions", json={**BODY, "model": "slow/x", "stream": True}) as reply,
        ):
            request_id = reply.headers["x-request-id"]
            next(reply.iter_bytes())
        wait_until(lambda: any(e.get("event") == "hangup" for e in slow.journal()), 5, "the provider saw the hang-up")
        wait_until(lambda: len(appliance.entries_of(request_id)) == 2, 5, "the outcome is recorded")
        assert appliance.entries_of(request_id)[1]["outcome"] == {"status": "cancelled"}
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/slow").status_code == 204


def test_a_hang_up_before_the_reply_cancels_the_upstream(appliance: Appliance, agent: Identity, tmp_path: Path) -> None:
    slow = Stub(tmp_path, "--latency", "10s")
    appliance.add_provider(slow, "sleepy")
    try:
        with appliance.by_certificate(agent) as client, pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", json={**BODY, "model": "sleepy/x"}, timeout=0.5)
        wait_until(lambda: any(e.get("event") == "hangup" for e in slow.journal()), 5, "the provider saw the hang-up")
        (request_id,) = slow.arrivals()
        wait_until(lambda: len(appliance.entries_of(request_id)) == 2, 5, "the outcome is recorded")
        assert appliance.entries_of(request_id)[1]["outcome"] == {"status": "cancelled"}
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/sleepy").status_code == 204


def test_an_unreachable_provider_is_502_and_its_outcome_says_so(appliance: Appliance, agent: Identity) -> None:
    body = {"name": "gone", "kind": "openai", "base_url": "http://127.0.0.1:1/v1", "allow_addresses": ["127.0.0.1/32"]}
    with appliance.admin() as admin, appliance.agent(agent) as client:
        assert admin.post("/v1/admin/providers", json=body).status_code == 201
        reply = client.post("/v1/chat/completions", json={**BODY, "model": "gone/x"})
        assert admin.delete("/v1/admin/providers/gone").status_code == 204
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_unreachable")
    outcome = appliance.entries_of(reply.headers["x-request-id"])[1]["outcome"]
    assert outcome == {"status": "failed", "code": "upstream_unreachable"}


def test_an_inner_address_is_not_connected_to(appliance: Appliance, stub: Stub, agent: Identity) -> None:
    """The same provider without `allow_addresses`: refused, and nothing arrives."""
    before = len(stub.arrivals())
    with appliance.admin() as admin, appliance.agent(agent) as client:
        for host in ("127.0.0.1", "localhost"):
            body = {"name": "inner", "kind": "openai", "base_url": f"http://{host}:{stub.port}/v1"}
            assert admin.post("/v1/admin/providers", json=body).status_code == 201
            reply = client.post("/v1/chat/completions", json={**BODY, "model": "inner/x"})
            assert admin.delete("/v1/admin/providers/inner").status_code == 204
            assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_forbidden_address")
    assert len(stub.arrivals()) == before


def test_default_is_deny(appliance: Appliance, stub: Stub, agent: Identity) -> None:
    """Without the starter policy the same call is denied, recorded once, and never reaches the provider."""
    with appliance.admin() as admin, appliance.agent(agent) as client:
        starter = admin.get("/v1/admin/policies/starter").json()
        assert admin.patch("/v1/admin/policies/starter", json={"enabled": False}).status_code == 200
        before = len(stub.arrivals())
        reply = client.post("/v1/chat/completions", json=BODY)
        assert admin.patch("/v1/admin/policies/starter", json={"enabled": True}).status_code == 200
        again = client.post("/v1/chat/completions", json=BODY)
    assert "llm.chat" in starter["cedar"]
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "denied")
    (entry,) = appliance.entries_of(reply.headers["x-request-id"])
    assert (entry["phase"], entry["decision"]["effect"], entry["outcome"]["code"]) == ("event", "deny", "denied")
    assert reply.headers["mastio-receipt"] == str(entry["seq"])
    assert again.status_code == 200
    assert len(stub.arrivals()) == before + 1


def test_the_command_line(appliance: Appliance, agent: Identity) -> None:
    def mastio(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "mastio", *words], capture_output=True, text=True, check=False)

    identity = str(agent.folder)
    chat = mastio("chat", "--identity", identity, "--model", "stub/gpt-4o", "Hello")
    assert (chat.returncode, chat.stdout.startswith("Hello from the stub")) == (0, True), chat.stderr
    streamed = mastio("chat", "--identity", identity, "--model", "stub/gpt-4o", "--stream", "Hello")
    assert streamed.stdout == chat.stdout
    call = mastio("call", "--identity", identity, "GET", "/v1/agents/self")
    assert json.loads(call.stdout)["name"] == "agent-one"
    refused = mastio("call", "--identity", identity, "GET", "/v1/admin/agents")
    assert refused.returncode == 1 and "403" in refused.stderr
    assert mastio("call", "--identity", "/nowhere", "GET", "/").returncode == 2
    assert mastio("audit", "verify", "--data", str(appliance.data)).returncode == 0
    assert mastio("check", "--data", str(appliance.data)).returncode == 0


def test_the_official_sdk_with_dpop(appliance: Appliance, agent: Identity) -> None:
    with httpx.Client(auth=DPoPAuth(agent), verify=appliance.tls(), trust_env=False) as transport:
        client = openai.OpenAI(base_url=f"{appliance.base_url}/v1", api_key="unused", http_client=transport)
        reply = client.chat.completions.create(model="stub/gpt-4o", messages=[{"role": "user", "content": "hi"}])
        assert reply.choices[0].message.content.startswith("Hello")
        pieces = client.chat.completions.create(
            model="stub/gpt-4o", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        assert "".join(p.choices[0].delta.content or "" for p in pieces if p.choices).startswith("Hello")
        with pytest.raises(openai.UnprocessableEntityError) as refused:
            client.chat.completions.create(model="", messages=[])
        assert refused.value.code == "invalid_body"
