"""What is left of a budget may be less than a model could write: a caller who set no limit is kept to what is left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, wait_until
from support.budgets import BUDGETS, make, read
from support.scripted_provider import Provider, Script, run_provider

READ, WRITTEN = 7, 40


@dataclass(frozen=True)
class Api:
    kind: str
    path: str
    body: dict[str, Any]
    limit: tuple[str, ...]
    usage: dict[str, Any]

    def ask(self) -> dict[str, Any]:
        return self.body if self.kind == "gemini" else {"model": f"last-{self.kind}/m", **self.body}


HELLO = [{"role": "user", "content": "hello"}]
APIS = {
    "chat": Api("openai", "/v1/chat/completions", {"messages": HELLO}, ("max_completion_tokens",),
                {"usage": {"prompt_tokens": READ, "completion_tokens": WRITTEN}}),
    "ollama": Api("ollama", "/v1/chat/completions", {"messages": HELLO}, ("max_tokens",),
                  {"usage": {"prompt_tokens": READ, "completion_tokens": WRITTEN}}),
    "responses": Api("openai", "/v1/responses", {"input": "hello"}, ("max_output_tokens",),
                     {"usage": {"input_tokens": READ, "output_tokens": WRITTEN}}),
    "gemini": Api("gemini", "/v1beta/models/last-gemini/m:generateContent",
                  {"contents": [{"parts": [{"text": "hello"}]}], "generationConfig": {"topK": 3}},
                  ("generationConfig", "maxOutputTokens"),
                  {"usageMetadata": {"promptTokenCount": READ, "candidatesTokenCount": WRITTEN}}),
}  # fmt: skip


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    return APIS[request.param]


@pytest.fixture
def provider(appliance: Appliance, api: Api) -> Iterator[Provider]:
    with run_provider(appliance, api.kind, f"last-{api.kind}") as running:
        running.script = Script(pieces=[json.dumps(api.usage).encode()])
        yield running


@pytest.fixture
def budget(appliance: Appliance, agent: Identity) -> Iterator[int]:
    limit = 1000
    make(appliance, last={"agent": agent.name, "limit_tokens": limit, "period": "total"})
    yield limit
    with appliance.admin() as admin:
        assert admin.delete(f"{BUDGETS}/last").status_code == 204


def limit_of(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        document = document.get(name, {})
    return document or None


def test_who_sets_no_limit_is_kept_to_what_is_left(
    appliance: Appliance, agent: Identity, provider: Provider, api: Api, budget: int
) -> None:
    """Far less than the model could write: and yet every call passes until it is spent, and not a token more."""
    passed, replies = 0, []
    with appliance.by_certificate(agent) as client:
        for _ in range(40):
            reply = client.post(api.path, json=api.ask())
            if reply.status_code != 200:
                break
            left = budget - passed * (READ + WRITTEN)
            bytes_read = len(httpx.Request("POST", "http://x", json=api.ask()).content)
            assert limit_of(provider.last.document, api.limit) == left - bytes_read
            passed += 1
            replies.append(reply)
    assert reply.status_code == 429 and "budget" in reply.text
    assert passed >= (budget - 200) // (READ + WRITTEN) and len(provider.asked) == passed
    spent = passed * (READ + WRITTEN)
    wait_until(lambda: read(appliance, "last")["spent"] == spent, 3, "all of it is counted")
    wait_until(lambda: read(appliance, "last")["reserved"] == 0, 3, "nothing is set aside any more")
    assert spent <= budget
    if api.kind == "gemini":
        assert provider.last.document["generationConfig"]["topK"] == 3


def test_a_limit_of_the_callers_own_is_not_touched(
    appliance: Appliance, agent: Identity, provider: Provider, api: Api, budget: int
) -> None:
    def limited(count: int) -> dict[str, Any]:
        inner: Any = count
        for name in reversed(api.limit[1:]):
            inner = {name: inner}
        return {**api.ask(), api.limit[0]: inner}

    with appliance.by_certificate(agent) as client:
        assert client.post(api.path, json=limited(50)).status_code == 200
        assert limit_of(provider.last.document, api.limit) == 50
        assert client.post(api.path, json=limited(5000)).status_code == 429
        assert len(provider.asked) == 1
