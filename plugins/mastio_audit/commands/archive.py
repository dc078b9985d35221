"""`mastio audit archive`: moves old, sealed segments of the log out of the store into a folder."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mastio.exchange.errors import ConfigurationError
from mastio_audit.commands import places
from mastio_audit.log.archiving import Archived, Limits, archive, file_cursors
from mastio_audit.log.postgres import PostgresStore
from mastio_audit.log.sqlite import SqliteStore
from mastio_audit.log.store import AuditStore
from mastio_primitives.transparency import arguments as log_arguments

OWNER = "archive/0"
"""The owner of the audit entry about archiving."""


def add_verbs(verbs: Any) -> None:
    verb = places.add_verb(verbs, "archive", "move sealed segments of the log out of the store into a folder", run)
    place = verb.add_mutually_exclusive_group()
    place.add_argument("--data", type=Path, metavar="DIR", help="data folder (default: ./data)")
    place.add_argument("--database", metavar="URL", help="the PostgreSQL database that holds the log")
    verb.add_argument(
        "--before",
        required=True,
        metavar="T",
        help="only entries before this time: RFC 3339, a date, or 90d (days ago)",
    )
    verb.add_argument("--to", required=True, type=Path, metavar="DIR", help="the folder of the archive")
    log_arguments.add_vkey(verb)
    verb.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="a signed checkpoint (default: the one kept beside the log)"
    )
    verb.add_argument(
        "--ignore-sink",
        action="append",
        default=[],
        metavar="NAME",
        help="a sink that is not in use any more; repeatable",
    )


def run(args: argparse.Namespace) -> int:
    """Raises `ConfigurationError`, `StoreError`, `ChainError`, `NoteError`."""
    before = places.parse_moment("--before", args.before, time.time())
    signed, known = places.read_signed(args), places.known_keys(args)
    checkpoint = places.open_signed(signed, known)
    public = {"checkpoint": signed, "vkey": "".join(f"{one}\n" for one in reversed(known)).encode()}
    folder = args.to.resolve()

    def remember() -> None:
        if args.database is None:
            places.remember_archive(places.folder_of(args), folder)

    async def move(store: AuditStore) -> Archived:
        try:
            await store.open()
            limits = Limits(before, checkpoint, await _read_sinks(store, args))
            return await archive(store, folder, limits, public, remember)
        finally:
            await store.close()

    done = asyncio.run(move(_open_store(args)))
    if args.json:
        print(json.dumps(dataclasses.asdict(done)))
    else:
        print(f"moved         {done.end - done.start} entries, from {done.start}")
        print(f"stays         entry {done.end} and later: {done.reason}")
    return 0


async def _read_sinks(store: AuditStore, args: argparse.Namespace) -> Mapping[str, int]:
    """The next index of each sink that is in use."""
    if not isinstance(store, PostgresStore):
        return file_cursors(places.folder_of(args) / "sinks", args.ignore_sink)
    return {name: at for name, at in (await store.cursors()).items() if name not in args.ignore_sink}


def _open_store(args: argparse.Namespace) -> AuditStore:
    database = args.database or places.find_database(places.folder_of(args))
    if database:
        return PostgresStore(database, OWNER)
    file = places.folder_of(args) / "db" / "audit.sqlite"
    if not file.is_file():
        raise ConfigurationError("There is no audit log in this folder.", "Name the data folder with --data.")
    return SqliteStore(file, inline=False)
