"""What the reply to the list of models says of a provider's key and address."""

from __future__ import annotations

from typing import Any

import pytest

from mastio_llm.provider import ProviderRow
from mastio_llm.trial import Trial, judge

LIST = b'{"data": [{"id": "a"}, {"id": "b"}]}'
DENIED = {b"x-amzn-errortype": b"AccessDeniedException:http://internal.amazon.com/"}
UNKNOWN = {b"x-amzn-errortype": b"UnrecognizedClientException"}
CASES: dict[str, tuple[str, int, bytes, dict[bytes, bytes], str | None, int | None]] = {
    "openai": ("openai", 200, LIST, {}, None, 2),
    "anthropic": ("anthropic", 200, LIST, {}, None, 2),
    "gemini": ("gemini", 200, b'{"models": [{"name": "models/x"}]}', {}, None, None),
    "no JSON": ("openai", 200, b"<html>", {}, "does not answer like", None),
    "no list": ("openai", 200, b'{"status": "ok"}', {}, "does not answer like", None),
    "a list of nothing": ("ollama", 200, b'{"object": "list", "data": null}', {}, None, 0),
    "wrong key": ("openai", 401, b"{}", {}, "refused the key", None),
    "forbidden": ("anthropic", 403, b"{}", {}, "refused the key", None),
    "wrong key, Gemini": (
        "gemini", 400, b'{"error": {"status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}', {},
        "refused the key", None,
    ),
    "bad request, Gemini": ("gemini", 400, b'{"error": {"status": "INVALID_ARGUMENT"}}', {}, "no list of models", None),
    "wrong version": ("openai", 404, b"", {}, "no list of models", None),
    "no list there": ("vertex", 404, b"", {}, None, None),
    "Bedrock": ("bedrock", 200, b'{"asyncInvokeSummaries": []}', {}, None, None),
    "Bedrock, may not list": ("bedrock", 403, b"{}", DENIED, None, None),
    "Bedrock, wrong key": ("bedrock", 403, b"{}", UNKNOWN, "refused the key", None),
    "elsewhere": ("openai", 302, b"", {}, "elsewhere", None),
    "busy": ("openai", 429, b"", {}, "failed (status 429)", None),
    "down": ("openai", 503, b"", {}, "failed (status 503)", None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_reply_is_judged(name: str) -> None:
    kind, status, body, headers, reason, models = CASES[name]
    row = ProviderRow("p", kind, "https://api.example/v1", "key", ("*",), {}, (), 1, {})  # type: ignore[arg-type]
    trial: Any = judge(Trial(status=status), row, headers, body)
    if reason is None:
        assert trial.failed is None and trial.passed == ["request"]
        assert models is None or trial.models == models
    else:
        assert trial.failed == "request" and reason in trial.reason and trial.hint
        assert "request" not in trial.passed


def test_a_provider_without_a_key_is_told_so() -> None:
    row = ProviderRow("p", "openai", "https://api.example/v1", None, ("*",), {}, (), 1, {})
    assert "without a key" in judge(Trial(status=401), row, {}, b"").reason
