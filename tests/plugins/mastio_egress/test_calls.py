"""Where a connection's credential is put in, and where it is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mastio.exchange.values import Action, Principal
from mastio_egress.calls import Calls, _may_renew, _send
from mastio_egress.connections.connection import ConnectionCredential, ConnectionRow
from mastio_egress.connections.credentials import Outgoing
from mastio_egress.connections.registry import OpenConnection
from mastio_egress.redirects import Hop

CREDENTIAL = ConnectionCredential("bearer", "a-secret-of-the-upstream")
ROW = ConnectionRow("api", "https://api.example", CREDENTIAL, redirects=True, redirect_hosts=("files.example",))
OWN, OTHER = "https://api.example:443", "https://files.example:443"


class Pool:
    def __init__(self, url: str, sent: list[tuple[str, dict[str, str]]]) -> None:
        self._url = url
        self._sent = sent

    def send(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self._sent.append((self._url, dict(headers)))


@pytest.mark.parametrize("origin", [OWN, OTHER])
async def test_the_credential_goes_to_the_connections_own_origin_alone(origin: str) -> None:
    sent: list[tuple[str, dict[str, str]]] = []
    services: Any = SimpleNamespace(upstreams=SimpleNamespace(open=lambda url, *_: Pool(url, sent)))
    recorded: Any = SimpleNamespace(message=SimpleNamespace(stream=None))
    await _send(OpenConnection(services, ROW), Hop(origin, Outgoing("GET", "/x", [("x-mine", "1")], b"")), recorded)
    shown = {"authorization": "Bearer a-secret-of-the-upstream"}
    expected = (OTHER, {"x-mine": "1"}) if origin == OTHER else (ROW.base_url, {"x-mine": "1", **shown})
    assert sent == [expected]


async def test_a_hop_is_recorded_as_the_agents_own() -> None:
    noted: list[Any] = []

    async def note(*said: Any) -> int:
        noted.append(said)
        return 1

    alice, action = Principal("alice", frozenset({"agent"})), Action("egress.http", "Connection", "api")
    recorded: Any = SimpleNamespace(principal=alice, action=action, head=SimpleNamespace(id="id"))
    nobody: Any = None
    await Calls(nobody, nobody, note)._record_hop(recorded, Hop(OWN, Outgoing("GET", "/x?y", [], b"")))
    ((entry, *whose),) = noted
    assert entry.request["path"] == "/x" and whose == [alice, action]


@pytest.mark.parametrize(("origin", "status", "body", "renews"), [
    (OWN, 401, b"", True), (OWN, 403, b"", False), (OWN, 401, None, False), (OTHER, 401, b"", False),
])  # fmt: skip
def test_a_token_is_renewed_on_the_word_of_its_upstream_alone(
    origin: str, status: int, body: bytes | None, renews: bool
) -> None:
    asked = Outgoing("GET", "/x", [], body)
    opened: Any = SimpleNamespace(origin=OWN, injection=SimpleNamespace(forget=lambda sent: sent is asked))
    upstream: Any = SimpleNamespace(status=status)
    assert _may_renew(opened, Hop(origin, asked), asked, upstream) is renews
