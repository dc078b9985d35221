"""Who pays for a call is the appliance's to say, as its key is: a caller names no organization and no project."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mastio_client import Identity
from support.appliance import NGINX, Appliance, open_appliance
from support.scripted_provider import Provider, Script, run_provider

SAY = {"model": "paid/m", "messages": [{"role": "user", "content": "hello"}]}
SENT = {
    "openai-organization": "org-other", "openai-project": "proj-other", "idempotency-key": "key-1",
    "openai-beta": "assistants=v2",
}  # fmt: skip
ANSWER = b'{"id":"1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}'


class Scene:
    def __init__(self, appliance: Appliance, provider: Provider) -> None:
        self.appliance, self.provider = appliance, provider
        self.identity: Identity = appliance.enroll("payer")
        provider.script = Script(pieces=(ANSWER,))

    def sent_up(self) -> dict[str, str]:
        with self.appliance.by_certificate(self.identity) as client:
            reply = client.post("/v1/chat/completions", json=SAY, headers=SENT)
            assert reply.status_code == 200, reply.text
        return {name: value for name, value in self.provider.last.headers if name in SENT}


@pytest.fixture(params=["", '[llm]\nrequest_headers = ["OpenAI-Organization"]\n'], ids=["default", "named"])
def scene(request: pytest.FixtureRequest) -> Iterator[tuple[str, Scene]]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with (
        open_appliance(stub=None, more=request.param) as (appliance, _),
        run_provider(appliance, "openai", "paid") as provider,
    ):
        yield request.param, Scene(appliance, provider)


def test_a_caller_does_not_say_who_pays_unless_the_settings_let_it(scene: tuple[str, Scene]) -> None:
    settings, opened = scene
    expected = {"openai-beta": "assistants=v2"}
    if settings:
        expected["openai-organization"] = "org-other"
    assert opened.sent_up() == expected
