"""An admin tries a provider before agents do: each step is told, the key never, and the log has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mastio_client import Identity
from mastio_llm import commands as providers
from support.appliance import Appliance
from support.command_verbs import run
from support.scripted_provider import KEY, Provider, Script, run_provider

PATH = "/v1/admin/providers/tried"
LIST = Script(pieces=[b'{"data": [{"id": "m-1"}, {"id": "m-2"}]}'])


@pytest.fixture
def provider(appliance: Appliance) -> Iterator[Provider]:
    with run_provider(appliance, "openai", "tried") as opened:
        opened.script = LIST
        yield opened


def attempt(appliance: Appliance) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the admin is told, and the entries."""
    with appliance.admin() as admin:
        reply = admin.post(f"{PATH}/test")
    assert reply.status_code == 200 and KEY not in reply.text, reply.text
    return reply.json(), appliance.entries_of(reply.headers["x-request-id"])


def test_a_good_provider_passes_every_step(appliance: Appliance, provider: Provider) -> None:
    told, (intent, outcome) = attempt(appliance)
    assert told["ok"] and told["models"] == 2 and told["status"] == 200
    assert [step["step"] for step in told["steps"]] == ["resolve", "address", "connect", "credential", "request"]
    assert (provider.last.path, provider.last.header("authorization")) == ("/v1/models", f"Bearer {KEY}")
    assert (intent["kind"], intent["request"]["provider"]) == ("admin.providers-test", "tried")
    assert (outcome["response"]["step"], outcome["response"]["upstream_status"]) == ("passed", 200)
    assert outcome["usage"] is None


def test_the_step_that_fails_is_named(
    appliance: Appliance, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.script = Script(status=401, pieces=[f'{{"error": "wrong key {KEY}"}}'.encode()])
    told, (_, outcome) = attempt(appliance)
    assert (told["ok"], told["steps"][-1], told["status"]) == (False, {"step": "request", "ok": False}, 401)
    assert "refused the key" in told["reason"] and "--api-key-from" in told["hint"]
    assert (outcome["response"]["step"], outcome["outcome"]["status"]) == ("request", "ok")
    assert run(providers, "test", "tried", "--data", str(appliance.data)) == 1
    printed = capsys.readouterr()
    assert printed.out.split() == [
        "resolve", "ok", "address", "ok", "connect", "ok", "credential", "ok", "request", "failed",
    ]  # fmt: skip
    assert printed.err.count("\n") == 1 and "providers set tried" in printed.err and KEY not in printed.err
    asked = len(provider.asked)
    with appliance.admin() as admin:
        moved = {"base_url": "http://127.0.0.1:1/v1", "api_key": KEY}
        assert admin.patch(PATH, json=moved).status_code == 200
    assert attempt(appliance)[0]["steps"][-1] == {"step": "connect", "ok": False}
    with appliance.admin() as admin:
        there = {"base_url": provider.url().replace("http:", "https:"), "api_key": KEY}
        assert admin.patch(PATH, json=there).status_code == 200
    assert attempt(appliance)[0]["steps"][-1] == {"step": "tls", "ok": False}
    assert len(provider.asked) == asked, "the key went nowhere else"


def test_the_command_says_what_is_good(
    appliance: Appliance, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(providers, "test", "tried", "--data", str(appliance.data), "--json") == 0
    assert json.loads(capsys.readouterr().out)["models"] == 2
    assert run(providers, "test", "absent", "--data", str(appliance.data)) == 1
    assert "no provider of this name" in capsys.readouterr().err


def test_a_name_that_does_not_resolve_is_a_warning(appliance: Appliance, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--data", str(appliance.data), "--base-url", "https://absent.invalid/v1")
    assert run(providers, "add", "later", *words) == 0
    assert "absent.invalid" in capsys.readouterr().err
    with appliance.admin() as admin:
        told = admin.post("/v1/admin/providers/later/test").json()
        assert admin.delete("/v1/admin/providers/later").status_code == 204
    assert told["steps"] == [{"step": "resolve", "ok": False}] and "absent.invalid" in told["reason"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("collection", ["providers", "connections"])
def test_an_address_that_calls_would_refuse(appliance: Appliance, collection: str, host: str) -> None:
    """Is warned of, or refused for who prefers that; never with the address allowed."""
    path, url = f"/v1/admin/{collection}", f"http://{host}:9/v1"
    body = {"name": "inner", "base_url": url, **({"kind": "openai"} if collection == "providers" else {})}
    allowed = {"allow_addresses": ["127.0.0.1/32", "::1/128"]}
    strict = {"Prefer": "respond-async, handling=strict"}
    with appliance.admin() as admin:
        refused = admin.post(path, json=body, headers=strict)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_body")
        assert "base_url" in refused.text and "allow_addresses" in refused.text
        made = admin.post(path, json=body | allowed, headers=strict)
        assert made.status_code == 201 and "mastio-warning" not in made.headers
        assert admin.patch(f"{path}/inner", json={"allow_addresses": []}, headers=strict).status_code == 422
        assert admin.put(f"{path}/inner", json=body, headers=strict).status_code == 422
        warned = admin.put(f"{path}/inner", json=body, headers={"Prefer": "handling=lenient"})
        assert warned.status_code == 200 and "allow_addresses" in warned.headers["mastio-warning"]
        assert admin.delete(f"{path}/inner").status_code == 204


def test_the_command_adds_no_address_that_calls_would_refuse(
    appliance: Appliance, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--data", str(appliance.data), "--kind", "openai", "--base-url", "http://127.0.0.1:9/v1")
    assert run(providers, "add", "inner", *words) == 1
    assert "allow_addresses" in capsys.readouterr().err
    with appliance.admin() as admin:
        assert admin.get("/v1/admin/providers/inner").status_code == 404


def test_agents_try_no_providers(appliance: Appliance, agent: Identity, provider: Provider) -> None:
    with appliance.by_certificate(agent) as caller:
        assert caller.post(f"{PATH}/test").status_code == 403
    assert provider.asked == []
