"""`mastio audit verify`: recomputes everything from the entry bytes, wherever they are."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
import sys
from pathlib import Path
from typing import IO, Any

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import connect, plain
from mastio_audit.commands import places
from mastio_audit.log.archive import Archives
from mastio_audit.verification.export import verify_export
from mastio_audit.verification.recompute import Recomputation, Report
from mastio_audit.verification.served import verify_served
from mastio_audit.verification.store import verify_log
from mastio_audit.verification.trust import Keyring
from mastio_primitives.transparency import arguments as log_arguments
from mastio_primitives.transparency.notes import NoteError, parse_vkeys


def add_verbs(verbs: Any) -> None:
    verify = places.add_verb(verbs, "verify", "recompute the whole log and name the first bad index", run)
    place = places.add_place(verify)
    place.add_argument("--export", type=Path, metavar="FILE", help="an export of the log; - reads it from stdin")
    places.add_archive(verify)
    log_arguments.add_vkey(verify)
    log_arguments.add_older(verify)


def run(args: argparse.Namespace) -> int:
    """Raises `ConfigurationError`, `StoreError`, `Refused`."""
    places.verify_place(args)
    work = Recomputation(Keyring(log_arguments.read_pins(args)))
    for path in args.checkpoint:
        work.expect(str(path), log_arguments.read_bytes(path))
    if args.export is not None:
        report = _verify_export(args.export, work, Archives(args.archive))
    elif args.url is not None:
        with connect(args) as client:
            archives = Archives(args.archive)
            fetch = lambda path: archives.content(path) or places.fetch(client, f"{places.LOG}/{path}")  # noqa: E731
            report = verify_served(fetch, places.show_progress(), work)
    else:
        if args.database is None:
            _expect_own(places.folder_of(args) / "log", work)
        report = asyncio.run(verify_log(places.open_reader(args), places.show_progress(), work))
    _print(report, args.json)
    if report.problem is not None:
        return 3
    return 0 if report.beyond is None else 1


def _expect_own(folder: Path, work: Recomputation) -> None:
    """Adds the appliance's own copies to the verification: public keys, and the newest checkpoint."""
    vkeys, checkpoint = places.read_if_there(folder / "vkey"), places.read_if_there(folder / "checkpoint")
    if vkeys is not None:
        try:
            work.keys.believe(*parse_vkeys(vkeys))
        except NoteError as error:
            work.problems.append(f"{folder / 'vkey'}: {error}")
    if checkpoint is not None:
        work.expect(str(folder / "checkpoint"), checkpoint)


def _verify_export(path: Path, work: Recomputation, archives: Archives) -> Report:
    with contextlib.ExitStack() as stack:
        source: IO[bytes] = sys.stdin.buffer
        try:
            if str(path) != "-":
                source = stack.enter_context(path.open("rb"))
            return verify_export(source, places.show_progress(), work, archives.iterate)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read ({error.strerror}).", "Name an export.") from error


def _print(report: Report, as_json: bool) -> None:
    if as_json:
        print(json.dumps(dataclasses.asdict(report)))
        return
    print(f"size          {report.size}")
    print(f"root          {report.root}")
    print(f"              {report.root_base64}")
    print(f"head          {report.head}")
    print(f"checkpoints   {report.checkpoints}")
    for key in report.keys:
        print(f"key           {plain(key)}")
    if not report.pinned:
        print("              not pinned: the log itself says so; see --vkey")
    print(f"open intents  {report.open_intents}")
    if report.beyond is not None:
        print(
            f"mastio: The export ends before the checkpoint of size {report.beyond}. Make a newer export.",
            file=sys.stderr,
        )
    if report.problem is None:
        print("first bad     none")
    elif report.first_bad is None:
        print("first bad     none that can be named")
        print(f"{plain(report.problem)}.", file=sys.stderr)
    else:
        print(f"first bad     {report.first_bad}")
        print(f"Entry {report.first_bad}: {plain(report.problem)}.", file=sys.stderr)
