"""`mastio audit list`: entries of the log, the newest first, from what is stored or from an appliance."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import connect, plain
from mastio_audit.commands import places
from mastio_audit.log.store import LogReader
from mastio_audit.query import ENTRIES
from mastio_audit.search import EFFECTS, EntryFilter, find_first, search

LIMIT, PAGE = 50, 1000
COLUMNS = ("INDEX", "TIME", "ID", "AGENT", "KIND", "PHASE", "DECISION", "OUTCOME", "TARGET")


def add_verbs(verbs: Any) -> None:
    verb = places.add_verb(verbs, "list", "list entries of the log, the newest first", run)
    places.add_place(verb)
    places.add_archive(verb)
    verb.add_argument("--agent", metavar="NAME", help="only entries about this agent")
    verb.add_argument("--kind", metavar="KIND", help="only this kind, such as llm.chat, or llm.* for all that begin so")
    verb.add_argument("--since", metavar="T", help="only since this time: RFC 3339, a date, or 90d, 12h, 30m ago")
    verb.add_argument("--request-id", metavar="ID", help="only the exchange with this X-Request-Id")
    verb.add_argument("--decision", choices=EFFECTS, help="only what policy decided so")
    verb.add_argument("--limit", type=int, default=LIMIT, metavar="N", help=f"at most N entries (default: {LIMIT})")


def run(args: argparse.Namespace) -> int:
    """Raises `ConfigurationError`, `Refused`, `StoreError`, `ChainError`."""
    places.verify_place(args)
    if args.limit < 1:
        raise ConfigurationError("--limit must be 1 or more.", "Leave it out for the newest entries.")
    since = None if args.since is None else places.parse_moment("--since", args.since, time.time())
    wanted = EntryFilter(args.agent, args.kind, args.request_id, args.decision, since)
    if args.url is not None:
        with connect(args) as client:
            write(itertools.islice(_ask(client, wanted, args.limit), args.limit), args.json)
        return 0
    with (
        asyncio.Runner() as runner,
        contextlib.closing(_read(runner, places.open_reader(args), wanted, args.limit)) as found,
    ):
        write(itertools.islice(found, args.limit), args.json)
    return 0


def write(entries: Iterable[bytes], as_json: bool) -> None:
    """To stdout: the stored bytes, a line each, or a table."""
    if as_json:
        sys.stdout.buffer.writelines(entry + b"\n" for entry in entries)
        sys.stdout.buffer.flush()
        return
    rows = itertools.chain([COLUMNS], map(_describe, entries))
    while page := list(itertools.islice(rows, PAGE)):
        widths = [max(map(len, column)) for column in zip(*page, strict=True)]
        for row in page:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _describe(entry: bytes) -> tuple[str, ...]:
    one = orjson.loads(entry)
    outcome = one["outcome"] or {}
    result = " ".join(filter(None, (outcome.get("status"), outcome.get("code"))))
    cells = (str(one["seq"]), one["time"][:23] + "Z", one["id"], one["agent"], one["kind"], one["phase"],
             (one["decision"] or {}).get("effect"), result, one["target"])  # fmt: skip
    return tuple(plain(cell) if cell else "-" for cell in cells)


def _ask(client: httpx.Client, wanted: EntryFilter, limit: int) -> Iterator[bytes]:
    query = {"order": "desc", "limit": str(min(limit, PAGE))}
    for name in ("agent", "kind", "request_id", "decision"):
        if (value := getattr(wanted, name)) is not None:
            query[name] = value
    if wanted.since is not None:
        query["since"] = datetime.fromtimestamp(wanted.since, UTC).isoformat().replace("+00:00", "Z")
    following: str | None = f"{ENTRIES}?{httpx.QueryParams(query)}"
    while following is not None:
        reply = places.get(client, following)
        yield from reply.content.splitlines()
        following = reply.links.get("next", {}).get("url")


def _read(runner: asyncio.Runner, reader: LogReader, wanted: EntryFilter, limit: int) -> Generator[bytes, None, None]:
    """Yields entries from the store and the archives. A log without a head is read up to its last entry."""
    try:
        runner.run(reader.open())
        extent = runner.run(reader.extent())
        within = range(extent.end if extent.head is None else extent.head.size)
        if wanted.since is not None:
            within = range(runner.run(find_first(reader, within, wanted.since)), within.stop)
        while within:
            page = runner.run(search(reader, wanted, within, min(limit, PAGE), newest_first=True))
            yield from (entry for _, entry in page.rows)
            if page.following is None:
                return
            within = range(within.start, page.following + 1)
    finally:
        runner.run(reader.close())
