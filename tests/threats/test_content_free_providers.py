"""What providers are given and what they say stays nowhere either: translated calls, answers from memory, providers
that stand in for others, the secrets of clouds, and the access tokens that are fetched for them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mastio_client import Identity
from support.appliance import NGINX, Appliance, open_appliance
from support.scripted_provider import KEY, Provider, Script, run_provider
from support.threats.canaries import canary, files_of, find
from support.threats.judge import CHAT

FALLBACKS = """
[llm.fallbacks]
"down/m" = ["claude/m"]
"""
CLAUDE = "anthropic.claude-haiku-4-5-20251001-v1:0"
GEMINI = "/v1beta/models/vertex/gemini-2.5-flash:generateContent"


@dataclass
class Scene:
    appliance: Appliance
    canaries: dict[str, str] = field(default_factory=dict)
    replies: list[bytes] = field(default_factory=list)
    """What was shown to those who may not see a canary."""

    def plant(self, name: str) -> str:
        self.canaries[name] = canary(name)
        return self.canaries[name]

    def plant_word(self, name: str) -> str:
        """One that can be a header's value."""
        self.canaries[name] = f"{name.replace(' ', '-')}+/={secrets.token_urlsafe(18)}"
        return self.canaries[name]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(stub=None, more=FALLBACKS) as (appliance, _), ExitStack() as stack:
        scene = Scene(appliance)
        scene.canaries["provider key"] = KEY
        identity = appliance.enroll("caller")
        call_translated(scene, identity, stack)
        call_clouds(scene, identity, stack)
        with appliance.admin() as admin:
            for path in ("/metrics", "/v1/audit/export", "/v1/admin/providers", "/v1/admin/policies"):
                shown = admin.get(path)
                assert shown.status_code == 200
                scene.replies.append(shown.content)
        yield scene


def message(text: str, **arguments: str) -> Script:
    """Of Anthropic's API."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": arguments}
    content: list[Any] = [{"type": "text", "text": text}, *([use] if arguments else [])]
    document = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "tool_use" if arguments else "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2},
    }  # fmt: skip
    return Script(pieces=[json.dumps(document).encode()])


def call_translated(scene: Scene, identity: Identity, stack: ExitStack) -> None:
    """Chat completions of a model of Anthropic: by its name, from memory, in another's place, and in vain."""
    appliance = scene.appliance
    claude = stack.enter_context(run_provider(appliance, "anthropic", "claude"))
    down = stack.enter_context(run_provider(appliance, "openai", "down"))
    client = stack.enter_context(appliance.by_certificate(identity))
    asked = [
        {"role": "system", "content": scene.plant("system")}, {"role": "user", "content": scene.plant("prompt")},
    ]  # fmt: skip
    function = {"name": "f", "description": scene.plant("tool"), "parameters": {"type": "object"}}
    body = {"messages": asked, "tools": [{"type": "function", "function": function}], "temperature": 0, "seed": None}
    claude.script = message(scene.plant("answer"), a=scene.plant("arguments"))
    for kept in ("MISS", "HIT"):
        answer = client.post(CHAT, json={"model": "claude/m", **body})
        assert (answer.status_code, answer.headers["x-cache"]) == (200, kept), answer.text
        assert scene.canaries["answer"] in answer.json()["choices"][0]["message"]["content"]
    down.script = Script(500, pieces=[json.dumps({"error": {"message": scene.plant("failure")}}).encode()])
    answer = client.post(CHAT, json={"model": "down/m", **body})
    assert (answer.status_code, answer.headers["x-provider"]) == (200, "claude"), answer.text
    claude.script = Script(500, pieces=[json.dumps({"error": {"message": scene.plant("second failure")}}).encode()])
    scene.replies.append(client.post(CHAT, json={"model": "down/m", **body, "max_tokens": 7}).content)
    broken = json.dumps({"type": "message", "content": scene.plant("nonsense")}).encode()
    claude.script = Script(pieces=[broken])
    scene.replies.append(client.post(CHAT, json={"model": "claude/m", **body, "max_tokens": 8}).content)
    claude.script = Script(401, pieces=[json.dumps({"error": {"message": f"{KEY} is wrong"}}).encode()])
    scene.replies.append(client.post(CHAT, json={"model": "claude/m", **body, "max_tokens": 9}).content)
    # a member's name is told to who sent it, for that is what the refusal is about
    unknown = {"model": "claude/m", **body, scene.plant_word("member"): scene.plant("value")}
    refused = client.post(CHAT, json=unknown)
    assert refused.status_code == 400 and scene.canaries["member"] in refused.text
    scene.replies.append(refused.content.replace(scene.canaries["member"].encode(), b""))
    assert all(b"error" in reply for reply in scene.replies)


def call_clouds(scene: Scene, identity: Identity, stack: ExitStack) -> None:
    """By secrets of three clouds, with tokens fetched for two of them, and then refused."""
    appliance = scene.appliance
    tokens: Provider = stack.enter_context(run_provider(appliance, "openai", "tokens"))
    entra = {"tenant_id": "t-1", "client_id": "c-1", "client_secret": scene.plant_word("client secret"),
             "authority": tokens.url("login")}  # fmt: skip
    key = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for number, line in enumerate(key.decode().splitlines()[1:-1]):
        scene.canaries[f"line {number} of the account's key"] = line
    account = {"type": "service_account", "project_id": "p", "private_key_id": "k-1", "client_email": "a@p.example",
               "private_key": key.decode(), "token_uri": tokens.url("token")}  # fmt: skip
    aws = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": scene.plant_word("aws secret"),
           "session_token": scene.plant_word("session token"), "region": "eu-central-1"}  # fmt: skip
    named = {"entra": ("azure", entra, "v1"), "vertex": ("vertex", account, "v1"), "aws": ("bedrock", aws, "")}
    clouds = {
        name: stack.enter_context(run_provider(appliance, kind, name, api_key=json.dumps(secret), version=version))
        for name, (kind, secret, version) in named.items()
    }
    client = stack.enter_context(appliance.by_certificate(identity))
    hello = [{"role": "user", "content": scene.plant("cloud prompt")}]
    calls = {
        "entra": (CHAT, {"model": "entra/m", "messages": hello}),
        "vertex": (GEMINI, {"contents": [{"parts": [{"text": scene.canaries["cloud prompt"]}]}]}),
        "aws": ("/v1/messages", {"model": f"aws/{CLAUDE}", "max_tokens": 9, "messages": hello}),
    }
    good = {
        "entra": Script(pieces=[b'{"id":"c","choices":[]}']), "vertex": Script(pieces=[b'{"candidates":[]}']),
        "aws": message("Hello."),
    }  # fmt: skip
    for name, cloud in clouds.items():
        cloud.script = good[name]
        token = json.dumps({"access_token": scene.plant_word(f"{name} token"), "expires_in": 3600}).encode()
        tokens.script = Script(pieces=[token])
        path, body = calls[name]
        assert client.post(path, json=body).status_code == 200
        said = cloud.last.header("authorization") or ""
        if name == "aws":
            del scene.canaries["aws token"]
            scene.canaries["signature"] = said.rpartition("Signature=")[2]
            assert cloud.last.header("x-amz-security-token") == aws["session_token"]
        else:
            assert said == f"Bearer {scene.canaries[f'{name} token']}"
        refused = json.dumps({"message": f"{said} {json.dumps(named[name][1])}"}).encode()
        for status in (401, 403, 500, 400):
            cloud.script = Script(status, pieces=[refused])
            if name == "aws":
                cloud.script = Script(status, pieces=[aws["secret_access_key"].encode()])
            answer = client.post(path, json=body)
            assert answer.status_code == 502, answer.text
            scene.replies.append(answer.content)
        tokens.script = Script(400, pieces=[json.dumps({"error": scene.plant(f"{name} refusal")}).encode()])
        scene.replies.append(client.post(path, json=body).content)
    scene.canaries["assertion"] = next(
        asked.body.decode().partition("assertion=")[2] for asked in tokens.asked if b"assertion=" in asked.body
    )


def test_no_canary_is_in_any_file(scene: Scene) -> None:
    files = files_of(scene.appliance)
    assert any(b"llm.chat" in content for file, content in files.items() if "audit.sqlite" in file)
    assert len(scene.canaries) > 35
    assert find(scene.canaries, files.items()) == []


def test_no_canary_is_shown_to_others(scene: Scene) -> None:
    assert len(scene.replies) > 20
    assert find(scene.canaries, ((repr(reply[:300]), reply) for reply in scene.replies)) == []
