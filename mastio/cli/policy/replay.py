"""`mastio policy replay`: what would policies have said of what is in the audit log?"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson

from mastio.cli.policy.sources import add_place, describe_provider, read_agents, read_providers, read_rows
from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import connect, plain
from mastio_audit.commands.places import find_database
from mastio_audit.log.store import LogReader
from mastio_audit.verification.store import database_reader, sqlite_reader
from mastio_policy.replaying import Directory, Replay, Tally, read_time
from mastio_policy.rules import RulesError, parse_rules

PAGE = 1000
ENTRIES = "/v1/audit/entries"
CHANGES = ("same", "newly_denied", "newly_held", "newly_allowed", "unknown")


def add_arguments(verbs: Any) -> None:
    parser = verbs.add_parser(
        "replay",
        help="say what policies would have decided about the past, from audit entries alone",
        description="Without --policies: those of the appliance, the observed ones as if they were in force.",
    )
    add_place(parser)
    parser.add_argument("--export", type=Path, metavar="FILE", help="an export of the log instead of the log itself")
    parser.add_argument("--days", type=float, metavar="N", help="only the last N days")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="INDEX", help="the first entry")
    parser.add_argument("--to", dest="last", type=int, metavar="INDEX", help="the last entry")
    parser.set_defaults(local=run)


def run(args: argparse.Namespace) -> int:
    """Status 1 where anything would have been decided otherwise."""
    try:
        policies = parse_rules((row.name, row.cedar) for row in read_rows(args) if row.enabled)
    except RulesError as error:
        raise ConfigurationError(str(error), "See mastio policy check.") from error
    replay = Replay(policies, read_directory(args))
    since = None if args.days is None else time.time() - args.days * 86_400
    for line in read_entries(args):
        try:
            entry = orjson.loads(line)
        except ValueError as error:
            raise ConfigurationError("An entry is not JSON.", "Run mastio audit verify.") from error
        if "seq" not in entry or entry["seq"] < args.first:
            continue  # the last line of an export is its checkpoint
        if args.last is not None and entry["seq"] > args.last:
            break
        if since is None or read_time(entry["time"]) >= since:
            replay.look(entry)
    tally = replay.tally
    print(json.dumps(as_json(tally)) if args.json else "\n".join(map(plain, as_text(tally))))
    return 1 if sum(tally.changes.values()) > tally.changes["same"] + tally.changes["unknown"] else 0


def read_directory(args: argparse.Namespace) -> Directory:
    """Agents and providers as they are today; nothing where only files are given."""
    if args.policies and args.export and args.data is None and args.url is None:
        return Directory()
    with connect(args) as client:
        agents = {name: (one["groups"], one["attributes"]) for name, one in read_agents(client).items()}
        return Directory(agents, {name: describe_provider(one) for name, one in read_providers(client).items()})


def read_entries(args: argparse.Namespace) -> Iterator[bytes]:
    """Every entry from `--from` on, in order, in constant memory."""
    if args.export is not None:
        try:
            with args.export.open("rb") as file:
                yield from file
        except OSError as error:
            raise ConfigurationError(f"The export {args.export} cannot be read.", "Check --export.") from error
    elif args.url is not None:
        with connect(args) as client:
            yield from _read_served(client, args.first)
    else:
        folder = args.data or Path("data")
        database = find_database(folder)
        yield from _read_stored(database_reader(database) if database else sqlite_reader(folder), args.first)


def _read_served(client: httpx.Client, first: int) -> Iterator[bytes]:
    following: str | None = f"{ENTRIES}?limit={PAGE}" + (f"&from={first}" if first else "")
    while following is not None:
        reply = client.get(following)
        if reply.status_code != 200:
            raise ConfigurationError("The appliance does not give its entries.", "Use a token of an auditor or admin.")
        yield from reply.content.splitlines()
        link = reply.links.get("next")
        following = link["url"] if link is not None else None


def _read_stored(reader: LogReader, first: int) -> Iterator[bytes]:
    with asyncio.Runner() as runner:
        runner.run(reader.open())
        try:
            while rows := runner.run(reader.read(first, PAGE)):
                yield from (entry for _, entry in rows)
                first = rows[-1][0] + 1
        finally:
            runner.run(reader.close())


def as_json(tally: Tally) -> dict[str, Any]:
    return {
        "entries": tally.entries,
        "decisions": tally.cases,
        **{change: tally.changes[change] for change in CHANGES},  # type: ignore[index]
        "examples": {change: indices for change, indices in tally.examples.items() if indices},
        "decided_by": dict(tally.decided.most_common()),
        "not_judged": {
            name: {"times": tally.blinded[name], "missing": sorted(tally.blind[name])} for name in tally.blind
        },
    }


def as_text(tally: Tally) -> list[str]:
    said = as_json(tally)
    lines = [f"{said['entries']} entries, {said['decisions']} decisions about actions of agents"]
    for change in CHANGES:
        shown = ", ".join(map(str, said["examples"].get(change, ())))
        lines.append(f"  {change.replace('_', ' '):<14} {said[change]:>8}{f'  such as entry {shown}' if shown else ''}")
    for name, blind in said["not_judged"].items():
        missing = ", ".join(blind["missing"])
        lines.append(f"not judged from entries: {name}, {blind['times']} times: they do not tell {missing}")
    return lines
