"""`mastio usage`: what calls of models used, by agent, model, day or group, from an appliance or from a stored log."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import httpx
import orjson

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import connect, plain
from mastio_audit import spending
from mastio_audit.commands import places
from mastio_audit.log.chain import ChainError, Row, timestamp
from mastio_audit.log.store import LogReader, StoreError
from mastio_audit.query import USAGE, parse_by
from mastio_audit.search import find_first
from mastio_audit.spending import COUNTS, DIMENSIONS, Dimension, Sums, UsageQuery
from mastio_client.enroll import Refused

MEANING = "what calls of models used: requests, tokens, USD, by agent, model, day or group"

SHOWN = ("requests", "failed", "input_tokens", "output_tokens", "usd", "estimated", "unpriced")
ARCHIVED = (
    "Entries of the beginning of this period are archived, so these sums lack what they used."
    " Read the stored log with --data and --archive."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    places.add_place(parser)
    places.add_archive(parser)
    parser.add_argument(
        "--since", metavar="T", help="from this time: RFC 3339, a date (UTC), or 90d, 12h ago (default: 30d)"
    )
    parser.add_argument("--until", metavar="T", help="before this time (default: now)")
    parser.add_argument(
        "--by",
        default="agent",
        metavar="WHAT",
        help=f"one or more of {', '.join(DIMENSIONS)}, with commas (default: agent)",
    )
    parser.add_argument("--agent", metavar="NAME", help="only what this agent used")
    parser.add_argument("--model", metavar="MODEL", help="only of this model, as PROVIDER/MODEL")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Raises `ConfigurationError`."""
    try:
        return _run(args)
    except StoreError as error:
        raise ConfigurationError(f"The audit log cannot be read: {error}.", "Name its place with --data.") from error
    except Refused as refusal:
        print(f"mastio: {plain(refusal.message)}", file=sys.stderr)
        return 1
    except ChainError as error:
        print(f"mastio: The log is not what was written: {plain(str(error))}.", file=sys.stderr)
        return 3


def _run(args: argparse.Namespace) -> int:
    places.verify_place(args)
    question = _parse(args, time.time())
    if args.url is not None:
        with connect(args) as client:
            sums, is_complete = _ask(client, question)
    else:
        if "group" in question.by:
            raise ConfigurationError(
                "A stored log does not say which groups agents are in.", "Ask the appliance with --url for --by group."
            )
        sums, is_complete = asyncio.run(_read(places.open_reader(args), question)), True
    _print(args, question, sums, is_complete)
    if not is_complete:
        print(f"mastio: {ARCHIVED}", file=sys.stderr)
    return 0


def _parse(args: argparse.Namespace, now: float) -> UsageQuery:
    try:
        by = parse_by(args.by)
    except ValueError as error:
        raise ConfigurationError(f"--by {args.by} is none.", f"Use one or more of {', '.join(DIMENSIONS)}.") from error
    since, until = (
        None if text is None else places.parse_moment(option, text, now)
        for option, text in (("--since", args.since), ("--until", args.until))
    )
    try:
        begin, end = spending.make_period(since, until, now)
    except ValueError as error:
        raise ConfigurationError("--since is later than --until.", "Exchange them.") from error
    return UsageQuery(begin, end, by, args.agent, args.model)


def _ask(client: httpx.Client, question: UsageQuery) -> tuple[Sums, bool]:
    """The sums of all parts that the appliance answers, and whether they cover the whole period."""
    query = {"by": ",".join(question.by)}
    query |= {name: timestamp(getattr(question, name)).decode() for name in ("since", "until")}
    query |= {name: value for name in ("agent", "model") if (value := getattr(question, name)) is not None}
    sums, is_complete = Sums(), True
    following: str | None = f"{USAGE}?{httpx.QueryParams(query)}"
    while following is not None:
        part = orjson.loads(places.get(client, following).content)
        for row in part["rows"]:
            sums.add(tuple(row[name] for name in question.by), [row[name] for name in COUNTS])
        sums.add_to_total([part["total"][name] for name in COUNTS])
        is_complete = is_complete and part["complete"]
        following = part["next"]
    return sums, is_complete


async def _read(reader: LogReader, question: UsageQuery) -> Sums:
    """The sums over the stored and the archived entries."""

    async def find(within: range, limit: int, contained: Sequence[bytes]) -> Sequence[Row]:
        return await reader.find(within, limit, contained, False)

    async def at_once(work: Callable[[], None]) -> None:
        work()

    try:
        await reader.open()
        extent = await reader.extent()
        end = extent.end if extent.head is None else extent.head.size
        begin = await find_first(reader, range(end), question.since)
        within = range(begin, await find_first(reader, range(begin, end), question.until))
        return (await spending.add_up(find, question, within, at_once, clock=lambda: 0.0, most_rows=sys.maxsize)).sums
    finally:
        await reader.close()


def _print(args: argparse.Namespace, question: UsageQuery, sums: Sums, is_complete: bool) -> None:
    rows, total = spending.describe_rows(sums, question.by), spending.describe(sums.total)
    if args.json:
        times = {name: timestamp(getattr(question, name)).decode() for name in ("since", "until")}
        print(json.dumps({**times, "by": question.by, "rows": rows, "total": total, "complete": is_complete}))
        return
    names = (*question.by, *SHOWN)
    texts = [[name.upper().replace("_TOKENS", "") for name in names]]
    texts += [[_cell(name, row) for name in names] for row in [*rows, {question.by[0]: "total", **total}]]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for text in texts:
        cells = [
            cell.ljust(width) if n < len(question.by) else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(text, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def _cell(name: str | Dimension, row: dict[str, Any]) -> str:
    if name == "usd":
        return f"{Decimal(row['cost_nano_usd']).scaleb(-9):.9f}".rstrip("0").rstrip(".")
    value = row.get(name, "")
    return plain(str(value)) if value != "" or name in COUNTS else ("-" if name in row else "")
