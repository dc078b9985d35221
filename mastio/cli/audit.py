"""`mastio audit`: what an operator or an auditor does with the log.

`verify` recomputes everything from the entry bytes, beside a running appliance. Exit status: 0 all of it holds,
3 tampering or damage, the first bad index is named, 2 used wrongly or no log to read.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
import time
from pathlib import Path

from mastio.errors import ConfigurationError
from mastio.settings import read_settings
from mastio_audit.store import StoreError
from mastio_audit.verify import Progress, Report, database_reader, sqlite_reader, verify_log

_INTERVAL_TERMINAL, _INTERVAL_ELSEWHERE = 0.2, 5.0  # seconds between two lines of progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs below `mastio audit`."""
    verbs = parser.add_subparsers(dest="audit_verb", metavar="VERB", required=True)
    verify = verbs.add_parser("verify", help="recompute the whole log and name the first bad index")
    place = verify.add_mutually_exclusive_group()
    place.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="data folder (default ./data)")
    place.add_argument("--database", metavar="URL", help="the PostgreSQL database that holds the log")
    verify.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Carry out `mastio audit …`; returns the exit status."""
    try:
        database = args.database or find_database(args.data)
        reader = database_reader(database) if database else sqlite_reader(args.data)
        report = asyncio.run(verify_log(reader, _progress()))
    except ConfigurationError as error:
        return _cannot_run(error.message, error.hint)
    except StoreError as error:
        return _cannot_run(f"The audit log cannot be read: {error}.", "Name its place with --data or --database.")
    _print(report, args.json)
    return 0 if report.first_bad is None else 3


def find_database(data: Path) -> str | None:
    """The PostgreSQL database that the settings in a data folder name; None where the log is SQLite's."""
    settings, _ = read_settings(data / "mastio.toml")
    return settings.database.url if settings.database.url.startswith("postgresql") else None


def _print(report: Report, as_json: bool) -> None:
    if as_json:
        print(json.dumps(dataclasses.asdict(report)))
        return
    print(f"size          {report.size}")
    print(f"head          {report.head}")
    print(f"open intents  {report.open_intents}")
    print(f"first bad     {'none' if report.first_bad is None else report.first_bad}")
    if report.problem is not None:
        print(f"Entry {report.first_bad}: {report.problem}.", file=sys.stderr)


def _cannot_run(message: str, hint: str) -> int:
    print(message, hint, file=sys.stderr)
    return 2


def _progress() -> Progress:
    """Overwrites one line on a terminal; plain lines elsewhere, and none for a log that is verified in a moment."""
    terminal = sys.stderr.isatty()
    interval = _INTERVAL_TERMINAL if terminal else _INTERVAL_ELSEWHERE
    due = time.monotonic() + interval

    def show(done: int, size: int) -> None:
        nonlocal due
        if time.monotonic() < due and not (terminal and done == size):
            return
        due = time.monotonic() + interval
        line = f"verified {done} of {size} entries"
        print(f"\r{line}" if terminal else line, end="\n" if done == size or not terminal else "", file=sys.stderr)

    return show
