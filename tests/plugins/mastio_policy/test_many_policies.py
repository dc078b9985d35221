"""Many policies: judged and made ready beside the event loop, bounded, and decided by in a few milliseconds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio.exchange.values import Action, Allow, Deny, Principal
from mastio_policy.collection import PolicyRow
from mastio_policy.plugin import FEW_RULES, MOST_RULES, Policies, Settings
from support.collections import Described
from support.loop_holds import MOST_HOLD, worst_hold

ALICE = Principal("alice", frozenset({"agent"}), credential={"type": "token"}, version=1)
ONE = 'permit(principal, action, resource) when { context.tools.names.contains("x") };\n'
ROWS = {f"p{n}": PolicyRow(f"p{n}", ONE * 400) for n in range(3)}


class Directory(Described):
    def __init__(self, policies: dict[str, PolicyRow]) -> None:
        self.policies = policies


def open_policies(rows: dict[str, PolicyRow]) -> Policies:
    directory: Any = Directory(rows)
    return Policies(directory, Settings(), lambda: 0.0)


async def test_no_work_on_many_policies_holds_the_loop() -> None:
    assert len(ROWS) * 400 > FEW_RULES

    async def load_and_decide() -> None:
        policies = open_policies({})
        await policies.prepare(ROWS)
        policies._directory.policies = ROWS  # type: ignore[misc]
        policies.reload()
        assert policies.problem is None
        for n in range(3):
            action = Action("llm.chat", "Model", f"stub/m{n}", {"tools.names": ("x",)})
            assert isinstance(await policies.authorize(ALICE, action), Allow)

    assert await worst_hold(load_and_decide) < MOST_HOLD


async def test_policies_that_nobody_prepared_come_into_force_all_the_same() -> None:
    policies = open_policies(ROWS)
    action = Action("llm.chat", "Model", "stub/m", {"tools.names": ("x",)})
    assert isinstance(await policies.authorize(ALICE, action), Allow)


def test_so_many_may_be_enabled() -> None:
    rows = {
        f"p{n}": PolicyRow(f"p{n}", "permit(principal, action, resource);" * 1000) for n in range(MOST_RULES // 1000)
    }
    policies = open_policies({})
    policies._directory.policies = rows  # type: ignore[misc]
    policies.verify(rows["p0"])  # as it is
    one_more = PolicyRow("more", "permit(principal, action, resource);")
    with pytest.raises(BadRequest, match="there may be 5000"):
        policies.verify(one_more)
    policies.verify(PolicyRow("more", one_more.cedar, enabled=False))
    del rows["p1"]
    policies.verify(one_more)


async def test_a_change_that_is_prepared_while_another_comes_into_force_is_in_force_too() -> None:
    policies = open_policies({})
    directory: Any = policies._directory
    first, second = {"p0": ROWS["p0"]}, {"p0": ROWS["p0"], "p1": ROWS["p1"]}
    await policies.prepare(first)
    await policies.prepare(second)
    for rows in (first, second):
        directory.policies = rows
        assert policies.in_force() is None
        assert policies._book is not None and len(policies._book.enforced) == 400 * len(rows)
    assert policies._ready == []


async def test_what_came_into_force_while_others_were_made_ready_decides_from_then_on() -> None:
    """A decision by the policies before is not remembered as one of these."""
    policies = open_policies(ROWS)
    action = Action("llm.chat", "Model", "stub/m", {"tools.names": ("x",)})
    deciding = asyncio.ensure_future(policies.authorize(ALICE, action))
    await asyncio.sleep(0)
    assert not deciding.done(), "they are many, so they are made ready beside the loop"
    policies._directory.policies = {"never": PolicyRow("never", ONE.replace("permit", "forbid"))}  # type: ignore[misc]
    policies.reload()
    await deciding
    assert isinstance(await policies.authorize(ALICE, action), Deny)
