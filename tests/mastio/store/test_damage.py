"""A damaged row hides no other one: the rest of the directory stays up to date, revocations included."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from mastio.exchange.errors import BadRequest, ConfigurationError, Unavailable
from mastio.exchange.values import Restriction
from mastio.store.api_keys import NewApiKey
from mastio.store.secrets.file_keys import FileKeys
from mastio_detectors.collection import DETECTORS
from mastio_detectors.detector_policy import AllowedTool, ClassRule, DetectorRow
from mastio_egress.collection import CONNECTIONS
from mastio_egress.connections.connection import ConnectionRow
from mastio_limits.budget import BudgetRow
from mastio_limits.collection import BUDGETS
from mastio_llm.collection import PROVIDERS
from mastio_llm.provider import ProviderRow
from mastio_policy.collection import POLICIES, PolicyRow
from mastio_redaction.collection import REDACTION
from mastio_redaction.redaction_policy import RedactionRow, TypeRule
from support.collections import COLLECTIONS
from support.databases import create_migrated_file
from support.stores import NOW, Opened, enrol, open_store

SETS = ("redaction", "detectors", "budgets")
DOCUMENTS = {
    "redaction": [
        "substr(document, 1, 20)",
        "'[]'",
        'json_set(document, \'$.types\', json(\'{"IBAN": {"action": "maybe"}}\'))',
        "x'ff00'",
        "CAST(x'7bff' AS TEXT)",
        "replace(document, 'agents', 'agentz')",
        "json_remove(document, '$.agents')",
        "replace(document, 'strategy', 'strategz')",
    ],
    "detectors": [
        "substr(document, 1, 20)",
        "json_set(document, '$.tools', json('[{\"sha256\": 1}]'))",
        "replace(document, 'classes', 'clastes')",
        "replace(document, 'block_threshold', 'block_thresholt')",
        "json_remove(document, '$.tools[0].sha256')",
    ],
    "budgets": [
        "json_set(document, '$.unit', 'furlongs')",
        "json_set(document, '$.period', 'fortnight')",
        "json_set(document, '$.limit', -1)",
        "json_set(document, '$.limit', 'many')",
        "json_set(document, '$.subject', 'alice')",
        "CAST(CAST(document AS BLOB) || x'ff00' AS TEXT)",
    ],
    "policies": ["x'ff00'", "CAST(x'70ff' AS TEXT)"],
    "providers": ["json_set(document, '$.models', '[')", "CAST(x'ff00' AS TEXT)"],
    "connections": ["'{'", "CAST(x'ff00' AS TEXT)"],
}
"""What the document of the object `half` becomes, as SQL."""

DAMAGE = {
    **{
        section: [f"UPDATE objects SET document = {it} WHERE collection = '{section}' AND name = 'half'" for it in them]
        for section, them in DOCUMENTS.items()
    },
    "agents": [
        "UPDATE agents SET groups = '[' WHERE name = 'half'",
        "UPDATE agents SET attributes = '[]' WHERE name = 'half'",
        "UPDATE agents SET status_reason = CAST(x'ff00' AS TEXT) WHERE name = 'half'",
        "UPDATE agents SET not_after = 'soon' WHERE name = 'half'",
        "UPDATE agents SET status = 'activf' WHERE name = 'half'",
        "UPDATE agents SET cert_sha256 = x'ff00' WHERE name = 'half'",
    ],
    "api_keys": [
        "UPDATE api_keys SET kinds = '[' WHERE agent = 'half'",
        "UPDATE api_keys SET created_by = CAST(x'ff00' AS TEXT) WHERE agent = 'half'",
        "UPDATE api_keys SET expires_at = 'x' WHERE agent = 'half'",
    ],
    "admins": [
        "UPDATE admins SET token_hash = x'ff00' WHERE name = 'half'",
        "UPDATE admins SET token_hash = CAST(x'ff00' AS TEXT) WHERE name = 'half'",
        "UPDATE admins SET role = 'admjn' WHERE name = 'half'",
        "UPDATE admins SET expires_at = 'x' WHERE name = 'half'",
    ],
}
CASES = [(section, statement) for section, statements in DAMAGE.items() for statement in statements]


async def fill(opened: Opened) -> None:
    """One object named `half` in every section."""
    store = opened.store
    for name in ("half", "mallory", "trudy"):
        await enrol(opened, name)
    await store.of(REDACTION).create(RedactionRow("half", {"IBAN": TypeRule("block")}, agents=("a*",), never=("x",)))
    await store.of(DETECTORS).create(
        DetectorRow("half", {"pii": ClassRule("block", 3, 5)}, ("a*",), tools=(AllowedTool("t", "ab"),))
    )
    await store.of(BUDGETS).create(BudgetRow("half", "tokens", 5, "day", "series"))
    await store.of(POLICIES).create(PolicyRow("half", "permit(principal, action, resource);"))
    await store.of(PROVIDERS).create(ProviderRow("half", "openai", "https://api.example/v1"))
    await store.of(CONNECTIONS).create(ConnectionRow("half", "https://api.example"))
    await store.admins.add("half", "admin", "mastio_admin_half", NOW)
    await store.api_keys.create(NewApiKey("half", "default", Restriction(), None), "op", NOW)


def rows_of(opened: Opened, section: str) -> Any:
    return opened.directory.objects(section) if section in DOCUMENTS else getattr(opened.directory, section)


def store_of(opened: Opened, section: str) -> Any:
    known = {one.name: one for one in COLLECTIONS}
    return opened.store.of(known[section]) if section in known else getattr(opened.store, section)


def damage(opened: Opened, section: str, statement: str) -> None:
    """As a failing disk would, and as if another worker had written the section since."""
    database = sqlite3.connect(opened.data / "db" / "control.sqlite", timeout=30)
    with database:
        database.execute(statement)
        if section in DOCUMENTS:
            database.execute("UPDATE revision SET value = value + 1")
            database.execute("UPDATE sections SET value = (SELECT value FROM revision) WHERE name = ?", (section,))
        else:
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
            rows = rows_of(one, section)
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
    collection = store_of(opened, section)
    good = await collection.get("half")
    damage(opened, section, DAMAGE[section][0])
    assert "half" in [row.name for row in (await collection.list(10)).items]
    if section in SETS:
        assert (await collection.get("half")).is_damaged
    await collection.replace(good)
    assert rows_of(opened, section)["half"] == good
    damage(opened, section, DAMAGE[section][0])
    await collection.delete("half")
    assert "half" not in rows_of(opened, section)


async def test_rows_are_what_was_written(opened_sqlite: Opened) -> None:
    rule = TypeRule("redact", "fpe")
    wanted = RedactionRow("all", {"*": rule}, ("a",), ("m",), ("k",), "request", False, "observe", ("abc",), ("def",))
    tools = (AllowedTool("t", "ab"), AllowedTool("u"))
    judged = DetectorRow("all", {"pii": ClassRule("block", 3, 5)}, ("a",), ("m",), ("k",), "block", tools)
    budget = BudgetRow("all", "usd", 7, "month", "s", "group", "team")
    store, directory = opened_sqlite.store, opened_sqlite.directory
    assert await store.of(REDACTION).create(wanted) == directory.objects("redaction")["all"] == wanted
    assert await store.of(DETECTORS).create(judged) == directory.objects("detectors")["all"] == judged
    assert await store.of(BUDGETS).create(budget) == directory.objects("budgets")["all"] == budget


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE signing_keys SET created_at = 'x' WHERE purpose = 'audit'",
        "UPDATE signing_keys SET retire_at = 'x' WHERE purpose = 'audit'",
        "UPDATE signing_keys SET secret = x'ff00' WHERE purpose = 'audit'",
        "UPDATE signing_keys SET secret = CAST(x'ff00' AS TEXT) WHERE purpose = 'audit'",
    ],
)
async def test_a_damaged_signing_key_hides_no_other_one(opened_sqlite: Opened, statement: str) -> None:
    opened = opened_sqlite
    await enrol(opened, "mallory")
    for purpose in ("token", "audit"):
        await opened.store.signing_keys.ensure(purpose, NOW)
    await opened.store.signing_keys.rotate("token", NOW + 1, NOW + 1, NOW + 9)
    damage(opened, "signing_keys", statement)
    async with open_store(opened.url, opened.data) as fresh:
        for one in (opened, fresh):
            await one.directory.refresh()
            assert [key.purpose for key in one.directory.signing_keys] == ["token", "token"]
        await fresh.store.agents.revoke("mallory", None, NOW)
        assert fresh.directory.agents["mallory"].status == "revoked"
        with pytest.raises(ConfigurationError):
            await fresh.store.signing_keys.ensure("audit", NOW)


@pytest.mark.parametrize("name", ["x'ff00'", "CAST(x'ff00' AS TEXT)"])
@pytest.mark.parametrize("section", sorted({*DAMAGE} - {"api_keys"}))
async def test_a_damaged_name_hides_no_revocation(opened_sqlite: Opened, section: str, name: str) -> None:
    opened = opened_sqlite
    await fill(opened)
    table = "objects" if section in DOCUMENTS else section
    of_section = f"name = 'half' AND collection = '{section}'" if section in DOCUMENTS else "name = 'half'"
    damage(opened, section, f"UPDATE {table} SET name = {name} WHERE {of_section}")
    async with open_store(opened.url, opened.data) as fresh:
        await fresh.store.agents.revoke("mallory", None, NOW)
        for one in (opened, fresh):
            await one.directory.refresh()
            assert one.directory.agents["mallory"].status == "revoked"
        rows = fresh.directory.objects(section) if section in DOCUMENTS else rows_of(fresh, section)
        assert all(isinstance(row.name, str) for row in rows.values())
        assert "half" not in {row.name for row in rows.values()}
        if section in (*SETS, "policies"):
            assert [row.is_damaged for row in rows.values()] == [True], "it keeps every other set out"


async def test_an_error_of_the_database_is_no_damage(opened_sqlite: Opened) -> None:
    """Nothing is known of any row then: the last copy stays, and it is said."""
    opened = opened_sqlite
    await fill(opened)
    before = dict(opened.directory.agents)
    damage(opened, "budgets", "ALTER TABLE objects RENAME TO lost")
    with pytest.raises(Unavailable):
        await opened.directory.refresh()
    assert not opened.directory.healthy
    assert opened.directory.agents == before


LISTED = [case for case in CASES if case[0] not in (*SETS, "policies", "api_keys")]


@pytest.mark.parametrize(("section", "statement"), LISTED)
async def test_a_damaged_row_is_left_out_of_the_list(opened_sqlite: Opened, section: str, statement: str) -> None:
    opened = opened_sqlite
    await fill(opened)
    collection = store_of(opened, section)
    whole = [item.name for item in (await collection.list(10)).items]
    damage(opened, section, statement)
    page = await collection.list(10)
    assert [item.name for item in page.items] == [name for name in whole if name != "half"] and not page.more
    with pytest.raises(BadRequest) as refused:
        await collection.get("half")
    assert refused.value.code == "conflict"


@pytest.mark.parametrize("statement", DAMAGE["api_keys"])
async def test_a_damaged_api_key_is_left_out_of_the_list(opened_sqlite: Opened, statement: str) -> None:
    opened = opened_sqlite
    await fill(opened)
    key, _ = await opened.store.api_keys.create(NewApiKey("half", "other", Restriction(), None), "op", NOW)
    damage(opened, "api_keys", f"{statement} AND name = 'default'")
    assert [item.id for item in (await opened.store.api_keys.list("half", 10, 0)).items] == [key.id]


async def test_pages_are_full_where_rows_are_damaged(opened_sqlite: Opened) -> None:
    opened = opened_sqlite
    names = [f"agent-{number}" for number in range(7)]
    for name in names:
        await enrol(opened, name)
    damage(
        opened, "agents", "UPDATE agents SET groups = '[' WHERE name IN ('agent-0', 'agent-1', 'agent-2', 'agent-4')"
    )
    agents = opened.store.agents
    first, second = await agents.list(2), await agents.list(2, "agent-5")
    assert ([agent.name for agent in first.items], first.more) == (["agent-3", "agent-5"], True)
    assert ([agent.name for agent in second.items], second.more) == (["agent-6"], False)


async def test_values_of_the_wrong_type_are_damage_on_every_database(opened: Opened) -> None:
    await fill(opened)
    texts = {
        "agents": ("groups", '{"a": 1}'),
        "admins": ("role", "admjn"),
        "redaction": ("document", '{"types": {}, "agentz": ["a"]}'),
        "detectors": ("document", '{"clastes": {}}'),
    }

    def write(connection: Connection, version: int) -> None:
        for section, (column, value) in texts.items():
            table, among = ("objects", f" AND collection = '{section}'") if section in DOCUMENTS else (section, "")
            statement = f"UPDATE {table} SET {column} = :value, version = :version WHERE name = 'half'{among}"
            connection.execute(text(statement), {"value": value, "version": version})

    await opened.database.change(write, *texts)
    await opened.directory.refresh()
    for section in ("redaction", "detectors"):
        assert opened.directory.objects(section)["half"].is_damaged
    assert "half" not in opened.directory.agents and not opened.directory.admins
    await opened.store.agents.revoke("mallory", None, NOW)
    assert opened.directory.agents["mallory"].status == "revoked"
    assert [agent.name for agent in (await opened.store.agents.list(10)).items] == ["mallory", "trudy"]
