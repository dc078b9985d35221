"""A damaged row hides no other one: the rest of the directory stays up to date, revocations included."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mastio.exchange import Restriction
from mastio.store.api_keys import NewApiKey
from mastio.store.base import (
    AllowedTool,
    BudgetRow,
    ClassRule,
    ConnectionRow,
    DetectorRow,
    PolicyRow,
    ProviderRow,
    RedactionRow,
    TypeRule,
)
from mastio.store.keys import FileKeys
from support.databases import create_migrated_file
from support.stores import NOW, Opened, enrol, open_store

SETS = ("redaction", "detectors", "budgets")
DAMAGE = {
    "redaction": [
        "UPDATE redaction SET document = substr(document, 1, 20) WHERE name = 'half'",
        "UPDATE redaction SET document = '[]' WHERE name = 'half'",
        'UPDATE redaction SET document = \'{"types": {"IBAN": {"action": "maybe"}}}\' WHERE name = \'half\'',
        "UPDATE redaction SET document = x'ff00' WHERE name = 'half'",
    ],
    "detectors": [
        "UPDATE detectors SET document = substr(document, 1, 20) WHERE name = 'half'",
        "UPDATE detectors SET document = '{\"tools\": [{\"sha256\": 1}]}' WHERE name = 'half'",
    ],
    "budgets": [
        "UPDATE budgets SET unit = 'furlongs' WHERE name = 'half'",
        "UPDATE budgets SET period = 'fortnight' WHERE name = 'half'",
        "UPDATE budgets SET amount = -1 WHERE name = 'half'",
        "UPDATE budgets SET amount = 'many' WHERE name = 'half'",
        "UPDATE budgets SET subject = 'alice' WHERE name = 'half'",
    ],
    "policies": ["UPDATE policies SET cedar = x'ff00' WHERE name = 'half'"],
    "providers": ["UPDATE providers SET models = '[' WHERE name = 'half'"],
    "connections": ["UPDATE connections SET document = '{' WHERE name = 'half'"],
    "agents": ["UPDATE agents SET groups = '[' WHERE name = 'half'"],
    "api_keys": ["UPDATE api_keys SET kinds = '[' WHERE agent = 'half'"],
}
CASES = [(section, statement) for section, statements in DAMAGE.items() for statement in statements]


async def fill(opened: Opened) -> None:
    """One object named `half` in every section."""
    store = opened.store
    for name in ("half", "mallory", "trudy"):
        await enrol(opened, name)
    await store.redaction.create(RedactionRow("half", {"IBAN": TypeRule("block")}, agents=("a*",), never=("x",)))
    await store.detectors.create(DetectorRow("half", agents=("a*",)))
    await store.budgets.create(BudgetRow("half", "tokens", 5, "day", "series"))
    await store.policies.create(PolicyRow("half", "permit(principal, action, resource);"))
    await store.providers.create(ProviderRow("half", "openai", "https://api.example/v1"))
    await store.connections.create(ConnectionRow("half", "https://api.example"))
    await store.api_keys.create(NewApiKey("half", "default", Restriction(), None), "op", NOW)


def damage(opened: Opened, section: str, statement: str) -> None:
    """As a failing disk would, and as if another worker had written the section since."""
    database = sqlite3.connect(opened.data / "db" / "control.sqlite", timeout=30)
    with database:
        database.execute(statement)
        database.execute(f"UPDATE revision SET value = value + 1, {section} = value + 1")
        if section in ("agents", "api_keys"):
            database.execute(f"UPDATE {section} SET version = (SELECT value FROM revision)")
    database.close()


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    FileKeys(tmp_path).ensure()
    return create_migrated_file(tmp_path)


@pytest.fixture
async def opened_sqlite(file_url: str, tmp_path: Path) -> AsyncIterator[Opened]:
    async with open_store(file_url, tmp_path) as one:
        yield one


@pytest.mark.parametrize(("section", "statement"), CASES)
async def test_a_damaged_row_hides_no_revocation(opened_sqlite: Opened, section: str, statement: str) -> None:
    opened = opened_sqlite
    await fill(opened)
    damage(opened, section, statement)
    async with open_store(opened.url, opened.data) as fresh:
        for one in (opened, fresh):
            await one.directory.refresh()
            assert one.directory.healthy
            rows = getattr(one.directory, section)
            if section in SETS:
                assert rows["half"].is_damaged
            elif section == "policies":
                assert not isinstance(rows["half"].cedar, str) and rows["half"].enabled, "it keeps every other set out"
            else:
                assert "half" not in {getattr(row, "agent", row.name) for row in rows.values()}, "it is refused"
        for name, one in (("mallory", opened), ("trudy", fresh)):
            await one.store.agents.revoke(name, None, NOW)
            assert one.directory.agents[name].status == "revoked"
        await opened.directory.refresh()
        assert opened.directory.agents["trudy"].status == "revoked"


@pytest.mark.parametrize("section", [*SETS, "policies"])
async def test_a_damaged_row_is_shown_and_can_be_replaced_or_removed(opened_sqlite: Opened, section: str) -> None:
    opened = opened_sqlite
    await fill(opened)
    collection = getattr(opened.store, section)
    good = await collection.get("half")
    damage(opened, section, DAMAGE[section][0])
    assert "half" in [row.name for row in (await collection.list(10)).items]
    if section in SETS:
        assert (await collection.get("half")).is_damaged
    await collection.replace(good)
    assert getattr(opened.directory, section)["half"] == good
    damage(opened, section, DAMAGE[section][0])
    await collection.delete("half")
    assert "half" not in getattr(opened.directory, section)


async def test_rows_are_what_was_written(opened_sqlite: Opened) -> None:
    rule = TypeRule("redact", "fpe")
    wanted = RedactionRow("all", {"*": rule}, ("a",), ("m",), ("k",), "request", False, "observe", ("abc",), ("def",))
    tools = (AllowedTool("t", "ab"), AllowedTool("u"))
    judged = DetectorRow("all", {"pii": ClassRule("block", 3, 5)}, ("a",), ("m",), ("k",), "block", tools)
    budget = BudgetRow("all", "usd", 7, "month", "s", "group", "team")
    store, directory = opened_sqlite.store, opened_sqlite.directory
    assert await store.redaction.create(wanted) == directory.redaction["all"] == wanted
    assert await store.detectors.create(judged) == directory.detectors["all"] == judged
    assert await store.budgets.create(budget) == directory.budgets["all"] == budget
