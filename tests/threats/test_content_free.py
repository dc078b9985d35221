"""Nothing of what passes through stays behind: not in the log, a database, a log file, a metric, an error or an export.

Canaries go in at every place where content and secrets go in, in good calls and in broken ones. Then everything that
the appliance wrote or shows is searched for them, in every form that a program might have brought them into.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from mastio_client import Identity
from mastio_llm.stubs.template import PII, SENTENCE
from support.appliance import NGINX, Appliance, open_appliance, wait_until
from support.threats.agent_kit import Kit
from support.threats.canaries import canary, files_of, find, forms
from support.threats.judge import CHAT, SELF, TOKEN

SYSLOG = """
[[audit.sinks]]
name = "cef"
kind = "syslog"
address = "tcp://127.0.0.1:1"
format = "cef"
from = "start"
"""


def test_every_form_is_found_where_it_is() -> None:
    """The search itself can fail to find: each form, in the midst of other bytes."""
    canary = "canary-é+/=-" + secrets.token_hex(8)
    raw = canary.encode()
    for text in (
        *(raw, json.dumps({"a": canary}).encode(), raw.hex().encode(), quote(canary).encode()),
        *(base64.b64encode(b"x" * n + raw + b"y" * m) for n in range(4) for m in range(4)),
        *(base64.urlsafe_b64encode(b"x" * n + raw) for n in range(4)),
    ):
        assert any(form in text for form in forms(canary)), text
    assert not any(form in b"canary" * 50 for form in forms(canary))


@dataclass
class Scene:
    appliance: Appliance
    jsonl: Path
    canaries: dict[str, str]
    replies: list[bytes]
    """What was shown to those who may not see a canary: errors, metrics, exports."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    jsonl = tmp_path_factory.mktemp("siem") / "siem.jsonl"
    sink = f'[[audit.sinks]]\nname = "file"\nkind = "file"\npath = "{jsonl}"\nfrom = "start"\n'
    with open_appliance(stub=("--latency", "1ms", "--pii"), workers=2, more=sink + SYSLOG) as (appliance, stub):
        assert stub is not None
        scene = Scene(appliance, jsonl, {f"reply: {name}": text for name, text in PII.items()}, [])
        scene.canaries["reply: sentence"] = SENTENCE
        act(scene, appliance.enroll("caller"), stub.url)
        yield scene


def act(scene: Scene, identity: Identity, url: str) -> None:
    """Good calls and bad ones, with canaries wherever something is taken in."""
    appliance, known = scene.appliance, scene.canaries
    for name in ("prompt", "broken", "tool", "header", "query", "provider key", "cookie", "basic", "huge"):
        known[name] = canary(name)
    kit = Kit(appliance, identity)
    known["token"] = kit.token
    known["assertion"] = kit.assertion()
    known["proof"] = kit.proof(path=SELF)
    known["agent key"] = (identity.folder / "agent.key").read_text().split("\n")[1]
    with appliance.admin() as admin:
        known["admin token"] = admin.headers["authorization"].removeprefix("Bearer ")
        provider = {
            "name": "second", "kind": "openai", "base_url": url, "api_key": "sk-" + secrets.token_urlsafe(24),
            "models": ["*"], "allow_addresses": ["127.0.0.0/8"],
        }  # fmt: skip
        known["provider key"] = provider["api_key"]  # type: ignore[assignment]
        assert admin.post("/v1/admin/providers", json=provider).status_code == 201
        assert admin.patch("/v1/admin/agents/caller", json={"api_keys": True}).status_code == 200
        made = admin.post("/v1/admin/agents/caller/api-keys", json={})
        known["API key"] = made.json()["key"].removeprefix("mastio_sk_")
        known["enrolment token"] = appliance.enrollment_token("later").removeprefix("mastio_enroll_")
        named = admin.post("/v1/admin/admins", json={"name": "vera", "role": "auditor"}).json()["token"]
        known["auditor's token"] = named.removeprefix("mastio_admin_")
        scene.replies.append(admin.post("/v1/admin/policies", content=json.dumps(known["broken"])[:-3]).content)
    tools = [{"type": "function", "function": {"name": "f", "description": known["tool"]}}]
    asked = {"role": "user", "content": known["prompt"]}
    body = {"model": "second/gpt-4o", "messages": [asked], "tools": tools, "temperature": 0}
    said = {"X-Custom": quote(known["header"]), "Cookie": f"session={quote(known['cookie'])}"}
    appliance.settle()  # an answer is kept for the policies of its moment
    with appliance.by_certificate(identity) as client:
        for stream, kept in ((False, "MISS"), (True, "MISS"), (False, "HIT"), (True, "HIT")):
            answer = client.post(CHAT, json={**body, "stream": stream}, headers=said)
            assert (answer.status_code, answer.headers["x-cache"]) == (200, kept), answer.text
            assert any(text in answer.text for text in PII.values()), "the canaries did come back to the caller"
        for bad in (
            client.post(CHAT, content=json.dumps({"model": known["broken"], "x": known["broken"]})[:-2]),
            client.post(CHAT, json={**body, "model": [known["broken"]]}),
            client.post(CHAT, json={**body, "stream": known["broken"]}),
            client.post(f"{CHAT}?key={quote(known['query'])}", content=known["huge"].encode() * 400_000),
            client.get(f"/v1/audit/entries?from={quote(known['query'])}"),
            client.get(f"{SELF}?key={quote(known['query'])}"),
            client.post(TOKEN, data={"grant_type": known["broken"], "client_assertion": known["assertion"]}),
        ):
            if bad.request.url.path != SELF:
                assert bad.status_code >= 400, bad.text
            scene.replies.append(bad.content)
    with appliance.client() as stranger:
        for headers in (
            {"Authorization": f"Bearer {known['admin token']}x"},
            {"Authorization": f"Bearer mastio_sk_{known['API key']}x"},
            {"Authorization": f"DPoP {known['token']}", "DPoP": known["proof"]},
            {"Authorization": "Basic " + base64.b64encode(known["basic"].encode()).decode()},
            {"DPoP": quote(known["header"])},
        ):
            scene.replies.append(stranger.post(CHAT, json=body, headers=headers).content)
        by_key = {"Authorization": f"Bearer {made.json()['key']}"}
        wait_until(lambda: stranger.post(CHAT, json=body, headers=by_key).status_code == 200, 5, "the key is known")
    with appliance.admin() as admin:
        for path in ("/metrics", "/v1/audit/export", "/v1/admin/providers", "/v1/admin/agents/caller/api-keys",
                     "/v1/admin/enrollment-tokens", "/v1/admin/admins",
                     "/v1/audit/log/tile/entries/000.p/1"):  # fmt: skip
            shown: httpx.Response = admin.get(path)
            assert shown.status_code == 200
            scene.replies.append(shown.content)
    size = len(appliance.entries())
    jsonl = scene.jsonl
    wait_until(lambda: jsonl.exists() and jsonl.read_bytes().count(b"\n") >= size, 20, "the sink has it all")


def test_no_canary_is_in_any_file(scene: Scene) -> None:
    files = {**files_of(scene.appliance), str(scene.jsonl): scene.jsonl.read_bytes()}
    assert {"audit.sqlite", "control.sqlite", "out.log", "siem.jsonl"} <= {Path(file).name for file in files}
    assert any(b"llm.chat" in content for file, content in files.items() if "audit.sqlite" in file)
    assert find(scene.canaries, files.items()) == []


def test_no_canary_is_shown_to_others(scene: Scene) -> None:
    """What an error repeats, a caller's proxy keeps; what metrics and exports say, others read."""
    assert len(scene.replies) > 15 and any(b"mastio_" in reply for reply in scene.replies)
    assert find(scene.canaries, ((repr(reply[:200]), reply) for reply in scene.replies)) == []
