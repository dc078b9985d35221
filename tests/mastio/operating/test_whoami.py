from __future__ import annotations

from mastio.exchange.records import Agent
from mastio.exchange.values import Principal
from mastio.operating.whoami import describe


def test_an_agent_sees_itself() -> None:
    agent = Agent("alice", "spiffe://t/agent/alice", "active", frozenset({"b", "a"}), {}, "x5t", 1_800_000_000.9)
    credential = {"type": "certificate", "x5t#S256": "x5t"}
    assert describe(agent, Principal("alice", frozenset({"agent"}), credential=credential)) == {
        "name": "alice",
        "spiffe_id": "spiffe://t/agent/alice",
        "status": "active",
        "groups": ["a", "b"],
        "not_after": "2027-01-15T08:00:00Z",
        "credential": credential,
    }
