"""Connections in the table and in memory: whole, sealed, seen by other workers within a second, files read again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from mastio.exchange.errors import BadRequest
from mastio.store.sql import tables
from mastio_egress.collection import CONNECTIONS
from mastio_egress.connections.connection import ConnectionCredential, ConnectionLimits, ConnectionRow
from mastio_llm.collection import PROVIDERS
from mastio_llm.provider import ProviderRow
from support.stores import Opened, open_store

CANARY = "canary-of-the-store-77"
ROW = ConnectionRow(
    name="billing",
    base_url="https://api.example/v2",
    credential=ConnectionCredential("header", CANARY, {"header": "X-Key", "prefix": "Token "}),
    methods=("GET", "POST"),
    paths=("/v1/*", "*"),
    allow_addresses=("10.0.0.0/8",),
    redirects=True,
    redirect_hosts=("files.example",),
    inspect_request=True,
    inspect_response=True,
    limits=ConnectionLimits(10, 20, 30),
    timeouts={"connect": 1.5},
    keep_headers=("set-cookie",),
    request_headers=("x-amz-target",),
    ca="-----BEGIN CERTIFICATE-----",
    pin="ab" * 32,
)


async def seconds_until(condition: Callable[[], bool], limit: float = 5.0) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < limit, f"not within {limit} s"
        await asyncio.sleep(0.005)
    return time.monotonic() - began


def secret_of(opened: Opened, name: str = "billing") -> str | None:
    row = opened.directory.objects("connections").get(name)
    return row.credential.secret if row is not None and row.credential is not None else None


def has_secret(opened: Opened, secret: str | None) -> Callable[[], bool]:
    return lambda: secret_of(opened) == secret


async def test_every_field_is_kept(opened: Opened) -> None:
    store = opened.store.of(CONNECTIONS)
    await store.create(ROW)
    bare = ConnectionRow("bare", "https://open.example")
    await store.create(bare)
    assert await store.get("billing") == ROW == opened.directory.objects("connections")["billing"]
    assert await store.get("bare") == bare == opened.directory.objects("connections")["bare"]
    assert (await store.list(10)).items == [bare, ROW]
    with pytest.raises(BadRequest) as caught:
        await store.create(ROW)
    assert caught.value.code == "conflict"
    changed = await store.change("billing", lambda row: replace(row, methods=()))
    assert changed == replace(ROW, methods=()) == opened.directory.objects("connections")["billing"]
    await store.delete("billing")
    assert dict(opened.directory.objects("connections")) == {"bare": bare}
    for call in (store.get("billing"), store.delete("billing"), store.replace(ROW)):
        with pytest.raises(BadRequest) as caught:
            await call
        assert caught.value.code == "not_found"


async def test_the_secret_is_sealed_for_its_row(opened: Opened) -> None:
    await opened.store.of(CONNECTIONS).create(ROW)

    def steal(connection: Connection) -> dict[str, object]:
        row = dict(connection.execute(select(tables.objects)).one()._mapping)
        connection.execute(tables.objects.insert().values({**row, "name": "thief"}))
        return row

    row = await opened.database.write(steal)
    assert CANARY not in str(row) and str(row["secret"]).startswith("v1.")
    thief = await opened.store.of(CONNECTIONS).get("thief")
    assert thief.credential is not None and thief.credential.secret is None
    assert thief.credential.options == {"header": "X-Key", "prefix": "Token "}
    assert await opened.store.of(CONNECTIONS).get("billing") == ROW


async def test_another_worker_sees_a_change_within_a_second(opened: Opened) -> None:
    async with open_store(opened.url, opened.data) as other:
        store = opened.store.of(CONNECTIONS)
        await store.create(ROW)
        assert secret_of(opened) == CANARY  # here before the call returns
        assert await seconds_until(has_secret(other, CANARY)) < 1.0
        version = other.directory.version
        for turn in range(3):
            fresh = ConnectionCredential("header", f"rotated-{turn}-x", {"header": "X-Key", "prefix": ""})
            await store.change("billing", lambda row, fresh=fresh: replace(row, credential=fresh))  # type: ignore[misc]
            assert await seconds_until(has_secret(other, f"rotated-{turn}-x")) < 1.0
        assert other.directory.version > version
        await store.delete("billing")
        assert await seconds_until(lambda: not other.directory.objects("connections")) < 1.0


async def test_a_file_that_is_written_anew_is_read_again_by_all_workers(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    folder = opened.data / "secrets" / "connections"
    folder.mkdir()
    file, told = folder / "key", []
    file.write_text("first-secret\n")
    opened.directory.on_change(lambda: told.append(opened.directory.version))
    credential = ConnectionCredential("bearer", None, {}, str(file))
    async with open_store(opened.url, opened.data) as other:
        workers = (opened, other)
        await opened.store.of(CONNECTIONS).create(replace(ROW, credential=credential))
        for worker in workers:
            assert await seconds_until(has_secret(worker, "first-secret")) < 1.0
        told.clear()

        async def expect(secret: str | None) -> None:
            for worker in workers:
                assert await seconds_until(has_secret(worker, secret)) < 1.0

        await asyncio.sleep(0.6)
        assert told == []  # nothing is said where nothing changes
        put_in_place(file, "moved-secret")
        await expect("moved-secret")
        await seconds_until(lambda: bool(told))  # in the next turn of the event loop
        assert told == sorted(set(told))
        file.write_text("other-secret")  # as long as the one before
        await expect("other-secret")
        file.write_text("a line\r\nX-Injected: 1")
        await expect(None)
        file.write_text("fifth-secret")
        await expect("fifth-secret")
        file.unlink()
        await expect(None)
        put_in_place(file, "sixth-secret")
        await expect("sixth-secret")
        file.unlink()
        file.symlink_to(opened.data / "secrets" / "store-secrets.key")
        await expect(None)
    own_key = (opened.data / "secrets" / "store-secrets.key").read_text()
    assert "cannot be had" in caplog.text and own_key not in caplog.text and "Injected" not in caplog.text
    assert "-secret" not in caplog.text.replace("store-secrets", "")


def put_in_place(file: Path, text: str) -> None:
    draft = file.with_suffix(".new")
    draft.write_text(text)
    os.utime(draft, ns=(1, 1))  # as old as a file can be: it is another one all the same
    draft.replace(file)


async def test_a_providers_file_is_read_again_too(opened: Opened) -> None:
    folder = opened.data / "secrets" / "providers"
    folder.mkdir()
    (folder / "key").write_text("sk-first")
    row = ProviderRow("p", "openai", "https://x.example/v1", api_key_file=str(folder / "key"))
    await opened.store.of(PROVIDERS).create(row)
    assert opened.directory.objects("providers")["p"].api_key == "sk-first"
    put_in_place(folder / "key", "sk-second")
    assert await seconds_until(lambda: opened.directory.objects("providers")["p"].api_key == "sk-second") < 1.0


def test_a_secret_is_in_no_representation() -> None:
    assert CANARY not in repr(ROW) and CANARY not in f"{ROW.credential}"
