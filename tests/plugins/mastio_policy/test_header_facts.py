"""Headers of a connection as facts: by name, each optional; decisions are remembered by those that are named."""

from __future__ import annotations

import pytest

from mastio.cedar.source import CedarError, verify_cedar
from mastio.exchange.values import Action, Allow, Principal
from mastio_policy.collection import PolicyRow
from mastio_policy.plugin import Policies, Settings
from support.collections import Described

ALICE = Principal("alice", frozenset({"agent"}), version=1)
NAMED = 'context.headers has destination && context.headers.destination == "/a"'
GUARDED = f"context has headers && {NAMED}"
QUOTED = 'context.headers has "x-amz-target" && context.headers["x-amz-target"] like "Get*"'


class Directory(Described):
    def __init__(self, *rows: PolicyRow) -> None:
        self.policies = {row.name: row for row in rows}


def policies_of(condition: str, effect: str = "permit") -> Policies:
    cedar = f"{effect}(principal, action, resource) when {{ {condition} }};"
    rows = [PolicyRow("p", cedar)]
    if effect == "forbid":
        rows.append(PolicyRow("all", "permit(principal, action, resource);"))
    made = Policies(Directory(*rows), Settings(), lambda: 0.0)  # type: ignore[arg-type]
    assert made.problem is None, made.problem
    return made


async def allows(policies: Policies, *headers: tuple[str, str], kind: str = "egress.http") -> bool:
    action = Action(kind, "Connection", "files", {"headers": list(headers)})
    if kind != "egress.http":
        action = Action(kind, "Model", "p/m", {})
    return isinstance(await policies.authorize(ALICE, action), Allow)


@pytest.mark.parametrize("condition", [NAMED, GUARDED, QUOTED])
def test_a_source_may_name_any_header(condition: str) -> None:
    verify_cedar(f"permit(principal, action, resource) when {{ {condition} }};")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ('context.headers.destination == "/a"', "optional attribute"),
        ('context.headers has Destination && context.headers.Destination == "/a"', "lower case"),
        ("context.headers has destination && context.headers.destination > 3", "Line 1"),
        (" && ".join(f"context.headers has h{n}" for n in range(21)), "more than"),
        (" && ".join("context.headers has h" for _ in range(500)), "operators in a row"),
    ],
)
def test_what_is_no_header_is_refused(condition: str, said: str) -> None:
    with pytest.raises(CedarError, match=said):
        verify_cedar(f"permit(principal, action, resource) when {{ {condition} }};")


@pytest.mark.parametrize("condition", [NAMED, GUARDED])
async def test_a_header_decides(condition: str) -> None:
    for effect, served in (("permit", True), ("forbid", False)):
        policies = policies_of(condition, effect)
        assert await allows(policies, ("destination", "/a")) is served
        for headers in ([], [("destination", "/b")], [("other", "/a")], [("destination", "/a"), ("destination", "/b")]):
            assert await allows(policies, *headers) is not served
        assert await allows(policies, kind="llm.chat") is not served


async def test_a_quoted_name() -> None:
    assert await allows(policies_of(QUOTED), ("x-amz-target", "GetItem"))
    assert not await allows(policies_of(QUOTED), ("x-amz-target", "PutItem"))


async def test_decisions_are_remembered_by_the_headers_that_are_named() -> None:
    policies = policies_of(NAMED)
    for n in range(100):
        assert await allows(policies, ("destination", "/a"), ("user-agent", str(n)), ("traceparent", str(n)))
    assert len(policies._decisions) == 1
