"""A stock tool is let in: an operator makes a key on the command line, and an SDK that knows nothing of us uses it."""

import json
import subprocess
import sys

import httpx
import openai
import pytest

from mastio_client import DPoPAuth, Identity
from support.appliance import Appliance

MESSAGES = [{"role": "user", "content": "hello"}]


def mastio(appliance: Appliance, *words: str, status: int = 0) -> str:
    """What `mastio agents …` prints."""
    command = [sys.executable, "-m", "mastio", "agents", words[0], "--data", str(appliance.data), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def sdk(appliance: Appliance, key: str, identity: Identity | None = None, **headers: str) -> openai.OpenAI:
    http = httpx.Client(verify=appliance.tls(identity), trust_env=False)
    return openai.OpenAI(
        api_key=key, base_url=f"{appliance.base_url}/v1", http_client=http, max_retries=0, default_headers=headers
    )


def say(client: openai.OpenAI, model: str = "stub/gpt-4o") -> str:
    with client:
        text = client.chat.completions.create(model=model, messages=MESSAGES).choices[0].message.content  # type: ignore[call-overload]
    return str(text)


def test_a_key_from_the_command_line_to_an_sdk(appliance: Appliance) -> None:
    appliance.enroll("editor")
    assert mastio(appliance, "keys", "editor").split() == [
        "ID", "NAME", "KINDS", "MODELS", "PATHS", "EXPIRES_AT", "LAST_USED_AT",
    ]  # fmt: skip
    bounds = ["--kind", "llm.*", "--kind", "agent.self", "--model", "stub/gpt-4o", "--path", "/v1/*"]
    key = mastio(appliance, "new-key", "editor", *bounds, "--ttl", "600", "--label", "my editor").strip()
    assert key.startswith("mastio_sk_") and len(key) == 53
    with pytest.raises(openai.AuthenticationError) as off:
        say(sdk(appliance, key))
    assert off.value.code == "api_keys_off"  # type: ignore[comparison-overlap]
    mastio(appliance, "api-keys", "editor", "on")
    assert say(sdk(appliance, key)).startswith("Hello")
    with sdk(appliance, key) as client:
        assert [model.id for model in client.models.list()] == ["stub/gpt-4o"]
        pieces = client.chat.completions.create(model="stub/gpt-4o", messages=MESSAGES, stream=True)  # type: ignore[call-overload]
        assert len([piece for piece in pieces if piece.choices]) > 1
    with pytest.raises(openai.PermissionDeniedError):
        say(sdk(appliance, key), "stub/gpt-4o-mini")
    (row,) = json.loads(mastio(appliance, "keys", "editor", "--json"))
    assert (row["name"], row["kinds"], row["models"], row["paths"]) == (
        "my editor", ["llm.*", "agent.self"], ["stub/gpt-4o"], ["/v1/*"],
    )  # fmt: skip
    assert row["expires_at"] is not None and "key" not in row
    mastio(appliance, "remove-key", "editor", row["id"])
    with pytest.raises(openai.AuthenticationError):
        say(sdk(appliance, key))
    assert "no API key" in mastio(appliance, "remove-key", "editor", row["id"], status=1)
    assert "no agent" in mastio(appliance, "new-key", "nobody-here", status=1)
    made = json.loads(mastio(appliance, "new-key", "editor", "--json"))
    assert (made["name"], made["kinds"], made["expires_at"]) == ("default", [], None)
    mastio(appliance, "api-keys", "editor", "off")
    with pytest.raises(openai.AuthenticationError):
        say(sdk(appliance, made["key"]))


def test_an_sdk_that_insists_on_a_key_calls_by_its_certificate(appliance: Appliance, agent: Identity) -> None:
    assert say(sdk(appliance, "certificate", agent)).startswith("Hello")
    with pytest.raises(openai.AuthenticationError):
        say(sdk(appliance, "certificate"))


@pytest.mark.parametrize("name", ["x-api-key", "x-goog-api-key", "api-key"])
def test_a_proof_takes_the_place_of_the_sdks_own_key(appliance: Appliance, agent: Identity, name: str) -> None:
    """Whatever an SDK was made with does not go out beside the token."""
    with httpx.Client(auth=DPoPAuth(agent), verify=appliance.tls(), trust_env=False) as http:
        body = {"model": "stub/gpt-4o", "messages": MESSAGES}
        sent = http.post(f"{appliance.base_url}/v1/chat/completions", json=body, headers={name: "unused"})
    assert sent.status_code == 200, sent.text
