"""Values that are always found are compiled beside the event loop, before their policies are in force, and bounded."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio_redaction.engine import Engine
from mastio_redaction.inspector import Finder, Inspector
from mastio_redaction.plugin import MOST_ALWAYS, Policies, Settings
from mastio_redaction.redaction_policy import RedactionRow, TypeRule
from mastio_redaction.replacement.strategies import Keys
from support.collections import Described
from support.loop_holds import MOST_HOLD, worst_hold

BLOCK = {"*": TypeRule("block")}


class Services(Described):
    """What the policies read: the directory, which is this object too."""

    def __init__(self) -> None:
        self.redaction: dict[str, RedactionRow] = {}
        self.directory = self


def row(name: str, *always: str) -> RedactionRow:
    return RedactionRow(name, BLOCK, always=always)


def open_policies(services: Services) -> tuple[Policies, Finder]:
    finder = Finder(Engine(()), None, ("LISTED",))
    inspector = Inspector(finder, Keys(b"k" * 32))
    made: Any = services
    return Policies(Settings(), made, finder, inspector), finder


async def test_many_values_do_not_hold_the_loop() -> None:
    values = tuple(f"a value that is always found, number {n}" for n in range(300))

    async def load() -> None:
        services = Services()
        policies, finder = open_policies(services)
        rows = {"many": row("many", *values)}
        await policies.prepare(rows)
        services.redaction = rows
        assert policies.in_force() is None
        assert [span.type for span in finder.engine.find(f"here is {values[7]}!")] == ["LISTED"]

    assert await worst_hold(load) < MOST_HOLD


def test_values_that_nobody_prepared_are_found_all_the_same() -> None:
    services = Services()
    policies, finder = open_policies(services)
    services.redaction = {"one": row("one", "Quiet Harbour")}
    policies.reload()
    assert finder.engine.find("at Quiet Harbour")
    services.redaction = {}
    policies.reload()
    assert not finder.engine.find("at Quiet Harbour")


def test_all_policies_together_have_so_many() -> None:
    services = Services()
    policies, _ = open_policies(services)
    long = [f"{n:03}" + "x" * 197 for n in range(MOST_ALWAYS // 200)]
    services.redaction = {"long": row("long", *long)}
    policies.verify(services.redaction["long"])  # as it is
    with pytest.raises(BadRequest, match="more than 20000 characters"):
        policies.verify(row("more", "abc"))
    policies.verify(row("same", *long[:3]))
    policies.verify(row("none"))
    with pytest.raises(BadRequest, match="empty"):
        policies.verify(row("blank", "   "))


async def test_values_that_cannot_be_looked_for_keep_the_last_good_ones() -> None:
    services = Services()
    policies, finder = open_policies(services)
    services.redaction = {"one": row("one", "Quiet Harbour")}
    assert policies.in_force() is None
    services.redaction = {"one": row("one", "Quiet Harbour"), "bad": row("bad", "   ")}
    await policies.prepare(services.redaction)
    assert "always" in str(policies.in_force()) and "always" in str(await policies.ready())
    assert finder.engine.find("at Quiet Harbour")


async def test_what_is_prepared_while_another_change_comes_into_force_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    services = Services()
    policies, finder = open_policies(services)
    first, second = {"one": row("one", "Quiet Harbour")}, {"one": row("one", "Quiet Harbour", "Loud Harbour")}
    await policies.prepare(first)
    await policies.prepare(second)
    monkeypatch.setattr(policies, "_compile", None)
    for rows in (first, second):
        services.redaction = rows
        assert policies.in_force() is None
    assert finder.engine.find("at Loud Harbour") and len(policies._engines) <= 3
