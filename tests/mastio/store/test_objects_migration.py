"""The migration to one table of objects: what admins had described is the same afterwards, its secrets and its damage
too."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, text

from mastio.process.plan import secret_folders
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.secrets.sealed import Sealer
from mastio.store.sql import migrate
from mastio.store.sql.engine import Database
from mastio.store.sql.migrate import upgrade
from mastio_egress.collection import CONNECTIONS
from mastio_limits.budget import BudgetRow
from mastio_limits.collection import BUDGETS
from mastio_llm.collection import PROVIDERS
from mastio_policy.collection import POLICIES
from mastio_redaction.collection import REDACTION
from support.collections import COLLECTIONS

CEDAR = "permit(principal, action, resource);"
CONNECTION = (
    '{"base_url":"https://api.example","credential":{"kind":"bearer","options":{}},"methods":["GET"],"paths":["/v1/*"],'
    '"allow_addresses":[],"redirects":false,"redirect_hosts":[],"inspect_request":true,"inspect_response":false,'
    '"limits":{"request_bytes":5,"response_bytes":6,"requests_per_minute":7},"timeouts":{"read":5},"keep_headers":[],'
    '"request_headers":[],"ca":null,"pin":null}'
)
BARE = CONNECTION.replace('{"kind":"bearer","options":{}}', "null")
REDACTED = (
    '{"types":{"IBAN":{"action":"block","strategy":"tag"}},"agents":[],"models":[],"kinds":[],"direction":"both",'
    '"restore":true,"mode":"enforce","always":[],"never":[]}'
)


def run(url: str, work: Any) -> Any:
    async def connect() -> Any:
        database = Database(url)
        try:
            return await database.write(work)
        finally:
            await database.close()

    return asyncio.run(connect())


def make_old(url: str, sealer: Sealer, file: Path) -> None:
    """The tables of version 0007, with objects of each collection."""

    def create(connection: Connection) -> None:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0007")
        is_sqlite = connection.dialect.name == "sqlite"
        connection.execute(text("UPDATE revision SET value = 40, providers = 31, policies = 32, budgets = 33"))

        def insert(table: str, **values: Any) -> None:
            names = ", ".join(values)
            places = ", ".join(f":{name}" for name in values)
            connection.execute(text(f"INSERT INTO {table} ({names}, version) VALUES ({places}, 30)"), values)

        lists = {"models": '["*"]', "aliases": '{"fast":"m"}', "timeouts": '{"read":5}'}
        lists["allow_addresses"] = '["10.0.0.0/8"]'
        sealed = sealer.seal("sk-canary", "providers/main")
        main = {"kind": "openai", "base_url": "https://api.example/v1", "weight": 7, **lists}
        insert("providers", name="main", api_key=sealed, **main)
        insert("providers", name="filed", api_key_file=str(file), **main)
        insert("providers", name="half", **{**main, "models": "["})
        insert("policies", name="guard", cedar=CEDAR, enabled=True, mode="enforce")
        insert("policies", name="odd", cedar=CEDAR, enabled=False, mode="enforced")
        insert(
            "budgets", name="day", unit="tokens", amount=5, period="day", scope="agent", subject="alice", series="s1"
        )
        insert("budgets", name="all", unit="usd", amount=10**12, period="total", series="s2")
        insert(
            "connections", name="billing", document=CONNECTION, secret=sealer.seal("a-secret", "connections/billing")
        )
        insert("connections", name="bare", document=BARE)
        insert("redaction", name="all", document=REDACTED)
        insert("redaction", name="half", document=REDACTED[:30])
        if is_sqlite:
            connection.execute(text("UPDATE policies SET cedar = CAST(x'70ff' AS TEXT) WHERE name = 'odd'"))

    if url.startswith("sqlite"):
        migrate._make_file(Path(url.partition("///")[2]))
    run(url, create)


async def test_what_was_described_is_the_same(empty_url: str, tmp_path: Path) -> None:
    keys = FileKeys(tmp_path)
    keys.ensure()
    file = tmp_path / "secrets" / "providers" / "key"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("sk-file")
    await asyncio.to_thread(make_old, empty_url, Sealer(keys), file)
    await asyncio.to_thread(upgrade, empty_url)
    database = Database(empty_url)
    directory = HotDirectory(database, keys, collections=COLLECTIONS, secret_folders=secret_folders(tmp_path))
    await directory.start()
    try:
        providers = PROVIDERS.find_rows(directory)
        assert {name: row.api_key for name, row in providers.items()} == {"main": "sk-canary", "filed": "sk-file"}
        assert providers["main"].aliases == {"fast": "m"} and providers["main"].timeouts == {"read": 5.0}
        assert (providers["filed"].weight, providers["filed"].allow_addresses) == (7, ("10.0.0.0/8",))
        policies = POLICIES.find_rows(directory)
        assert (policies["guard"].cedar, policies["guard"].enabled) == (CEDAR, True)
        assert policies["odd"].is_damaged and policies["odd"].mode == "enforced" and not policies["odd"].enabled
        assert policies["odd"].cedar == (None if empty_url.startswith("sqlite") else CEDAR)
        assert BUDGETS.find_rows(directory) == {
            "day": BudgetRow("day", "tokens", 5, "day", "s1", "agent", "alice"),
            "all": BudgetRow("all", "usd", 10**12, "total", "s2"),
        }
        connections = CONNECTIONS.find_rows(directory)
        credential = connections["billing"].credential
        assert credential is not None and credential.secret == "a-secret"
        assert connections["billing"].limits.requests_per_minute == 7 and connections["bare"].credential is None
        redaction = REDACTION.find_rows(directory)
        assert redaction["all"].types["IBAN"].action == "block" and redaction["half"].is_damaged
        assert directory.in_force == 40
    finally:
        await directory.close()
        await database.close()


def test_nothing_of_the_old_tables_is_left(empty_url: str, tmp_path: Path) -> None:
    keys = FileKeys(tmp_path)
    keys.ensure()
    make_old(empty_url, Sealer(keys), tmp_path / "none")
    upgrade(empty_url)
    counts = run(
        empty_url,
        lambda connection: connection.execute(
            text("SELECT collection, count(*) FROM objects GROUP BY collection ORDER BY collection")
        ).all(),
    )
    assert [tuple(row) for row in counts] == [
        ("budgets", 2), ("connections", 2), ("policies", 2), ("providers", 3), ("redaction", 2),
    ]  # fmt: skip
    found = run(empty_url, lambda connection: connection.execute(text("SELECT name, value FROM sections")).all())
    sections = {row.name: row.value for row in found}
    assert sections == {
        "budgets": 33, "connections": 0, "detectors": 0, "policies": 32, "providers": 31, "redaction": 0,
    }  # fmt: skip
    with pytest.raises(NotImplementedError, match="backup"):
        run(empty_url, downgrade)


def downgrade(connection: Connection) -> None:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.downgrade(config, "0007")
