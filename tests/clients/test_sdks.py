"""The official OpenAI and Anthropic SDKs in the ways that docs/clients.md names, streaming and errors included."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import monotonic

import anthropic
import httpx
import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from mastio_client import DPoPAuth, Identity, async_certificate_client, certificate_client
from mastio_client import httpx2 as newer
from support.appliance import Appliance, Stub, open_appliance, wait_until
from support.shim_process import Shim, open_shim

MODEL = "stub/gpt-4o"
HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello"}]
CLAUDE = "claude/claude-sonnet-4-5"
WAYS = ("certificate", "proof", "shim")


@pytest.fixture(scope="module", autouse=True)
def claude(appliance: Appliance, stub: Stub) -> Iterator[None]:
    """Providers that speak the other APIs."""
    appliance.add_provider(stub, "claude", "anthropic")
    appliance.add_provider(stub, "google", "gemini")
    yield
    with appliance.admin() as admin:
        for name in ("claude", "google"):
            assert admin.delete(f"/v1/admin/providers/{name}").status_code == 204


@pytest.fixture(scope="module")
def shim(agent: Identity) -> Iterator[Shim]:
    with open_shim(agent) as running:
        yield running


@contextmanager
def opened(way: str, identity: Identity, shim: Shim) -> Iterator[tuple[str, httpx.Client]]:
    """The base URL and the transport for an SDK."""
    if way == "certificate":
        client, url = certificate_client(identity), identity.base_url
    elif way == "proof":
        client = httpx.Client(auth=DPoPAuth(identity), verify=identity.tls(certificate=False), trust_env=False)
        url = identity.base_url
    else:
        client, url = httpx.Client(trust_env=False), shim.url
    with client:
        yield url, client


@contextmanager
def opened_newer(way: str, identity: Identity, shim: Shim) -> Iterator[tuple[str, httpx2.Client]]:
    """The same with httpx's successor, which the Anthropic SDK insists on."""
    if way == "certificate":
        client, url = newer.certificate_client(identity), identity.base_url
    elif way == "proof":
        context = identity.tls(certificate=False)
        client, url = httpx2.Client(auth=newer.DPoPAuth(identity), verify=context, trust_env=False), identity.base_url
    else:
        client, url = httpx2.Client(trust_env=False), shim.url
    with client:
        yield url, client


@pytest.fixture(params=WAYS)
def openai_client(request: pytest.FixtureRequest, agent: Identity, shim: Shim) -> Iterator[openai.OpenAI]:
    with opened(request.param, agent, shim) as (url, transport):
        yield openai.OpenAI(base_url=f"{url}/v1", api_key="certificate", http_client=transport, max_retries=0)


@pytest.fixture(params=WAYS)
def anthropic_client(request: pytest.FixtureRequest, agent: Identity, shim: Shim) -> Iterator[anthropic.Anthropic]:
    with opened_newer(request.param, agent, shim) as (url, transport):
        yield anthropic.Anthropic(base_url=url, api_key="certificate", http_client=transport, max_retries=0)


def test_openai_plain_and_streamed(openai_client: openai.OpenAI) -> None:
    reply = openai_client.chat.completions.create(model=MODEL, messages=HELLO)
    assert (reply.choices[0].message.content or "").startswith("Hello")
    stream = openai_client.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
    text = "".join(piece.choices[0].delta.content or "" for piece in stream if piece.choices)
    assert text == reply.choices[0].message.content
    assert MODEL in {model.id for model in openai_client.models.list()}


def test_openai_in_parallel(openai_client: openai.OpenAI) -> None:
    def call(number: int) -> str:
        return openai_client.chat.completions.create(model=MODEL, messages=HELLO, user=str(number)).object

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(call, range(60))) == {"chat.completion"}


def test_openai_errors_are_its_own(openai_client: openai.OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as invalid:
        openai_client.chat.completions.create(model="", messages=[])
    assert invalid.value.code == "invalid_body"


def test_an_unknown_model_is_not_found() -> None:
    """An appliance without a provider knows none."""
    with open_appliance(stub=None) as (appliance, _):
        identity = appliance.enroll("modelless")
        with open_shim(identity) as own:
            for way in WAYS:
                with opened(way, identity, own) as (url, transport):
                    client = openai.OpenAI(base_url=f"{url}/v1", api_key="x", http_client=transport, max_retries=0)
                    with pytest.raises(openai.NotFoundError) as unknown:
                        client.chat.completions.create(model="gpt-4o", messages=HELLO)
                    assert unknown.value.code == "model_not_found"


@pytest.mark.parametrize("way", WAYS)
def test_a_revoked_agent_is_an_authentication_error(appliance: Appliance, way: str) -> None:
    """With what it had until now, and again as a new process would: without a token."""
    name = f"sdk-revoked-{way}"
    identity = appliance.enroll(name)
    with (
        open_shim(identity) as own,
        opened(way, identity, own) as (url, transport),
        opened_newer(way, identity, own) as (_, newer_transport),
        appliance.admin() as admin,
    ):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="certificate", http_client=transport, max_retries=0)
        claude = anthropic.Anthropic(base_url=url, api_key="certificate", http_client=newer_transport, max_retries=0)
        assert client.models.list().data and claude.models.list().data
        assert admin.post(f"/v1/admin/agents/{name}/revoke", json={}).status_code in (200, 202)
        wait_until(lambda: transport.get(f"{url}/v1/models").status_code == 401, 2, "the agent is refused")
        with pytest.raises(openai.AuthenticationError, match="revoked"):
            client.chat.completions.create(model=MODEL, messages=HELLO)
        with pytest.raises(anthropic.AuthenticationError, match="revoked"):
            claude.models.list()
    with open_shim(identity) as own, opened_newer(way, identity, own) as (url, transport):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="certificate", http_client=transport, max_retries=0)
        with pytest.raises(openai.AuthenticationError) as refused:
            client.models.list()
        assert "revoked" in refused.value.response.text


UNMODIFIED = """
import anthropic, openai
from google import genai
client = openai.OpenAI()
reply = client.chat.completions.create(model="stub/gpt-4o", messages=[{"role": "user", "content": "hello"}])
assert reply.choices[0].message.content.startswith("Hello")
assert "stub/gpt-4o" in [model.id for model in client.models.list()]
claude = anthropic.Anthropic()
said = claude.messages.create(model="claude/x", max_tokens=9, messages=[{"role": "user", "content": "hello"}])
assert said.content[0].text.startswith("Hello")
assert "claude/claude-sonnet-4-5" in [model.id for model in claude.models.list()]
google = genai.Client()
assert google.models.generate_content(model="google/x", contents="hello").text.startswith("Hello")
assert "models/google/gemini-2.5-pro" in [model.name for model in google.models.list()]
"""


def run_unmodified(environment: dict[str, str]) -> None:
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    command = [sys.executable, "-c", UNMODIFIED]
    done = subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_through_the_shim_with_nothing_but_the_environment(shim: Shim) -> None:
    """The very lines that the shim printed."""
    exports = [line.split()[1:] for line in shim.said.splitlines() if line.startswith("  export ")]
    run_unmodified(dict(pair.split("=", 1) for words in exports for pair in words))


def test_by_api_key_with_nothing_but_the_environment(appliance: Appliance) -> None:
    identity = appliance.enroll("stock-tool")
    with appliance.admin() as admin:
        assert admin.patch("/v1/admin/agents/stock-tool", json={"api_keys": True}).status_code == 200
        made = admin.post("/v1/admin/agents/stock-tool/api-keys", json={"ttl_seconds": 600})
        assert made.status_code == 201, made.text
    key, url = made.json()["key"], appliance.base_url
    trust = {"SSL_CERT_FILE": str(identity.ca_file)}
    openai_way = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": key}
    openai_way |= {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": key}
    run_unmodified({**trust, **openai_way, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_AUTH_TOKEN": key})
    run_unmodified({**trust, **openai_way, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key})


def test_anthropic_lists_the_models(anthropic_client: anthropic.Anthropic) -> None:
    assert CLAUDE in {model.id for model in anthropic_client.models.list()}


@pytest.mark.parametrize("way", WAYS)
def test_pieces_reach_the_sdk_one_by_one(
    appliance: Appliance, agent: Identity, shim: Shim, tmp_path: Path, way: str
) -> None:
    slow = Stub(tmp_path, "--latency", "200ms", "--chunks", "4")
    appliance.add_provider(slow, f"drip-{way}")
    try:
        with opened(way, agent, shim) as (url, transport):
            client = openai.OpenAI(base_url=f"{url}/v1", api_key="certificate", http_client=transport)
            stream = client.chat.completions.create(model=f"drip-{way}/x", messages=HELLO, stream=True)
            arrived = [monotonic() for piece in stream if piece.choices and piece.choices[0].delta.content]
        assert len(arrived) == 4 and all(later - earlier > 0.1 for earlier, later in pairwise(arrived))
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete(f"/v1/admin/providers/drip-{way}").status_code == 204


def async_transport(way: str, identity: Identity) -> httpx.AsyncClient:
    if way == "certificate":
        return async_certificate_client(identity)
    if way == "proof":
        context: ssl.SSLContext = identity.tls(certificate=False)
        return httpx.AsyncClient(auth=DPoPAuth(identity), verify=context, trust_env=False)
    return httpx.AsyncClient(trust_env=False)


@pytest.mark.parametrize("way", WAYS)
async def test_openai_async_many_at_once(appliance: Appliance, agent: Identity, shim: Shim, way: str) -> None:
    url = shim.url if way == "shim" else agent.base_url
    before = tokens_of(appliance, agent.name)
    async with async_transport(way, agent) as transport:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="certificate", http_client=transport, max_retries=0)
        replies = await asyncio.gather(
            *(client.chat.completions.create(model=MODEL, messages=HELLO, user=str(number)) for number in range(40))
        )
        assert len(replies) == 40
        text = ""
        async for piece in await client.chat.completions.create(model=MODEL, messages=HELLO, stream=True):
            text += (piece.choices[0].delta.content or "") if piece.choices else ""
        assert text.startswith("Hello")
    assert tokens_of(appliance, agent.name) - before == (1 if way == "proof" else 0)


def test_many_threads_fetch_one_token(appliance: Appliance) -> None:
    identity = appliance.enroll("threads")
    auth = DPoPAuth(identity)

    def call(_: int) -> int:
        with httpx.Client(auth=auth, verify=identity.tls(certificate=False), trust_env=False) as client:
            return client.get(f"{identity.base_url}/v1/models", headers={"x-api-key": "sk-else"}).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(call, range(48))) == {200}
    assert tokens_of(appliance, "threads") == 1


def tokens_of(appliance: Appliance, name: str) -> int:
    entries = appliance.entries()
    return sum(e["kind"] == "oauth.token" and e["phase"] == "intent" and e["agent"] == name for e in entries)


def test_nobody_else_gets_a_proof(appliance: Appliance, agent: Identity) -> None:
    asked: list[httpx.Request] = []

    def record(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200)

    with httpx.Client(auth=DPoPAuth(agent), transport=httpx.MockTransport(record)) as client:
        for url in ("https://evil.example/v1/models", agent.base_url.replace("https", "http") + "/v1/models",
                    f"https://localhost:{appliance.port + 1}/v1/models"):  # fmt: skip
            with pytest.raises(httpx.RequestError, match="not the appliance"):
                client.get(url)
    assert asked == []
