"""`GET /v1/agents/self`: who the caller is, and how it was proven. From memory, like every exchange of an agent."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.records import Agent, Directory
from mastio.exchange.values import Action, Message, Principal, Recorded, Reply, RequestHead

KIND = "agent.self"
_NO_BODY = Message(b"")
_ACTION = Action(KIND, "Appliance", "self")


def read_self(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    """A body means nothing here; it is recorded, and not looked at."""
    return _ACTION, Message(body) if body else _NO_BODY


class Whoami:
    """Dispatches `agent.self`."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def dispatch(self, recorded: Recorded) -> Reply:
        """Raises `AuthenticationError` when the agent is gone since it was bound."""
        agent = self._directory.agents.get(recorded.principal.name)
        if agent is None:
            raise AuthenticationError("The agent is not enrolled here.", code="agent_unknown")
        body = orjson.dumps(describe(agent, recorded.principal))
        return Reply(200, [(b"content-type", b"application/json"), (b"cache-control", b"no-store")], body)


def describe(agent: Agent, principal: Principal) -> dict[str, object]:
    """The contract's members. `not_after` is RFC 3339 in UTC, whole seconds."""
    return {
        "name": agent.name,
        "spiffe_id": agent.spiffe_id,
        "status": agent.status,
        "groups": sorted(agent.groups),
        "not_after": datetime.fromtimestamp(int(agent.not_after), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "credential": principal.credential,
    }
