"""Reading a log over REST from an appliance that is busy, damaged, or not there."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from mastio.exchange.errors import ConfigurationError
from mastio_audit.commands import places as audit_places
from mastio_audit.commands.places import fetch
from mastio_audit.verification.served import Absent
from mastio_client.enroll import Refused


def client_of(*replies: httpx.Response) -> tuple[httpx.Client, list[str]]:
    waiting, asked = list(replies), list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return httpx.Client(base_url="https://x.example", transport=httpx.MockTransport(answer)), asked


def refusal(status: int, code: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"code": code, "detail": "No.", "hint": "Later."}, headers=headers)


@pytest.mark.parametrize("status", [429, 503])
def test_who_is_told_to_come_again_does(status: int) -> None:
    busy = refusal(status, "overloaded", **{"Retry-After": "0"})
    client, asked = client_of(busy, busy, httpx.Response(200, content=b"tile"))
    assert fetch(client, "/tile") == b"tile" and asked == ["/tile"] * 3


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (refusal(404, "not_found"), Absent),
        (refusal(500, "audit_damaged"), Absent),
        (refusal(403, "role_required"), Refused),
        (refusal(401, "invalid_admin_token"), Refused),
        (refusal(503, "audit_unavailable"), ConfigurationError),
        (refusal(500, "internal"), ConfigurationError),
        (refusal(503, "overloaded", **{"Retry-After": "3600"}), ConfigurationError),
        (httpx.Response(404, text="<html>"), Refused),
        (httpx.Response(502), ConfigurationError),
    ],
)
def test_what_an_answer_means(reply: httpx.Response, error: Any) -> None:
    client, asked = client_of(reply)
    with pytest.raises(error):
        fetch(client, "/tile")
    assert len(asked) == 1


def test_it_is_not_tried_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_places, "PATIENCE", 0.3)
    client, asked = client_of(refusal(503, "overloaded", **{"Retry-After": "0"}))
    with pytest.raises(ConfigurationError):
        fetch(client, "/tile")
    assert 2 <= len(asked) <= 5


def test_nobody_is_there() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    client = httpx.Client(base_url="https://x.example", transport=httpx.MockTransport(answer))
    with pytest.raises(ConfigurationError, match="cannot be reached"):
        fetch(client, "/tile")
