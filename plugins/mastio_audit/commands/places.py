"""The sources of a log for the verbs of `mastio audit`: a data folder, a database, an appliance that serves it."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio.settings import read_settings
from mastio_audit.log.archive import JoinedReader
from mastio_audit.log.store import LogReader
from mastio_audit.verification.recompute import Progress
from mastio_audit.verification.served import Absent
from mastio_audit.verification.store import database_reader, sqlite_reader
from mastio_client.enroll import read_problem, refusal
from mastio_primitives.files import write_public
from mastio_primitives.transparency import arguments as log_arguments
from mastio_primitives.transparency.notes import (
    Checkpoint,
    NoteError,
    Verifier,
    open_checkpoint,
    parse_vkeys,
    split_notes,
)

LOG = "/v1/audit/log"
ARCHIVES = "archives"
"""File in the data folder's `log/`: folders with archives, a line each."""

PATIENCE = 20.0
_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_INTERVAL_TERMINAL, _INTERVAL_ELSEWHERE = 0.2, 5.0  # seconds between two lines of progress


def add_verb(verbs: Any, name: str, meaning: str, call: Any) -> argparse.ArgumentParser:
    """A verb with what all of them have."""
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=meaning, description=meaning)
    parser.set_defaults(call=call)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def add_place(parser: argparse.ArgumentParser) -> Any:
    """The arguments that say where the log is; the group that excludes one another is returned."""
    parser.add_argument("--ca", type=Path, metavar="FILE", help="with --url: the appliance's CA certificate")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="with --url: token of an auditor or admin")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--data", type=Path, metavar="DIR", help="data folder (default: ./data)")
    place.add_argument("--database", metavar="URL", help="the PostgreSQL database that holds the log")
    place.add_argument("--url", help="base URL of an appliance that serves it, with --ca and --token-file")
    return place


def add_archive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--archive",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a folder that `mastio audit archive` wrote; repeatable (default: those that the data folder knows)",
    )


def archives_of(args: argparse.Namespace) -> list[Path]:
    """The folders of `--archive`, then those that the data folder knows."""
    known = None
    if args.database is None and args.url is None:
        known = read_if_there(folder_of(args) / "log" / ARCHIVES)
    return [*args.archive, *(Path(line) for line in (known or b"").decode("utf-8").splitlines())]


def remember_archive(data: Path, folder: Path) -> None:
    """Write down in the data folder where an archive is. Raises `ConfigurationError`."""
    file = data / "log" / ARCHIVES
    lines = (read_if_there(file) or b"").decode("utf-8").splitlines()
    if str(folder) in lines:
        return
    try:
        write_public(file, "".join(f"{line}\n" for line in [*lines, folder]).encode())
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be written ({error.strerror}).", "Write the folder into it."
        ) from error


def parse_moment(option: str, text: str, now: float) -> float:
    """Unix time of RFC 3339, of a date (its first moment in UTC), or so long ago: `90d`, `12h`, `30m`, `10s`.

    Raises `ConfigurationError`.
    """
    ago = re.fullmatch(r"([0-9]{1,6})([dhms])", text)
    if ago:
        return max(0.0, now - int(ago[1]) * _SECONDS[ago[2]])
    try:
        moment = datetime.fromisoformat(text)
        return (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise ConfigurationError(
            f"{option} {text} is no time.", "Write 2026-01-31, 2026-01-31T12:00:00Z, or 90d, 12h, 30m (ago)."
        ) from error


def verify_place(args: argparse.Namespace) -> None:
    """Raises `ConfigurationError` for arguments that do not go together."""
    if args.url is None and (args.ca is not None or args.token_file is not None):
        raise ConfigurationError("--ca and --token-file go with --url.", "Or leave them out.")


def open_reader(args: argparse.Namespace) -> LogReader:
    """The stored log, with its archives. Raises `ConfigurationError`."""
    database = args.database or find_database(folder_of(args))
    reader = database_reader(database) if database else sqlite_reader(folder_of(args))
    return JoinedReader(reader, archives_of(args))


def folder_of(args: argparse.Namespace) -> Path:
    """The data folder."""
    return args.data if args.data is not None else Path("data")


def find_database(data: Path) -> str | None:
    """The PostgreSQL database that the settings in a data folder name; None where the log is SQLite's."""
    settings, _ = read_settings(data / "mastio.toml")
    return settings.database.url if settings.database.url.startswith("postgresql") else None


def read_signed(args: argparse.Namespace) -> bytes:
    """The signed checkpoint for what is stored: the last in `--checkpoint`, or the one kept beside the log.

    Raises `ConfigurationError`, `NoteError`.
    """
    if args.checkpoint is not None:
        return split_notes(log_arguments.read_bytes(args.checkpoint))[-1]
    kept = None if args.database is not None else read_if_there(folder_of(args) / "log" / "checkpoint")
    if kept is None:
        raise ConfigurationError("There is no signed checkpoint here.", "Ask the running appliance with --url.")
    return split_notes(kept)[-1]


def known_keys(args: argparse.Namespace) -> list[Verifier]:
    """The keys of `--vkey`, else those kept beside the log, the newest first.

    Raises `ConfigurationError`, `NoteError`.
    """
    pins = log_arguments.read_pins(args)
    if pins:
        return pins
    kept = None if args.database is not None else read_if_there(folder_of(args) / "log" / "vkey")
    if kept is None:
        raise ConfigurationError("The log's key is not known here.", "Give --vkey.")
    return parse_vkeys(kept)[::-1]


def open_signed(signed: bytes, verifiers: Sequence[Verifier]) -> Checkpoint:
    """A checkpoint that one of these signed. Raises `NoteError`."""
    try:
        return open_checkpoint(signed, verifiers)
    except NoteError as error:
        raise NoteError(f"the checkpoint: {error}") from error


def read_if_there(path: Path) -> bytes | None:
    """Raises `ConfigurationError` for a file that is there and cannot be read."""
    return log_arguments.read_bytes(path) if path.exists() else None


def fetch(client: httpx.Client, path: str) -> bytes:
    """The bytes that the appliance serves at a path. Raises `Absent`, `Refused`, and `ConfigurationError` where it
    cannot say.

    Repeats the request while the appliance answers with `Retry-After`, for up to `PATIENCE` seconds.
    """
    return get(client, path).content


def get(client: httpx.Client, path: str) -> httpx.Response:
    """The same with its headers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            reply = client.get(path)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConfigurationError(
                f"The appliance at {client.base_url} cannot be reached.", f"Check that it runs and the CA fits: {error}"
            ) from error
        if reply.status_code == 200:
            return reply
        pause = reply.headers.get("Retry-After", "") if reply.status_code in (429, 503) else ""
        if not pause.isdecimal() or time.monotonic() + int(pause) > deadline:
            raise explain(reply)
        time.sleep(max(int(pause), 0.1))


def explain(reply: httpx.Response) -> Exception:
    """The exception for a reply that is not a success."""
    known = read_problem(reply)
    if known.get("code") in ("not_found", "audit_damaged"):
        return Absent(str(known.get("detail")))
    return refusal(reply)


def show_progress() -> Progress:
    """Overwrites one line on a terminal; plain lines elsewhere, and none for a log that is verified in a moment."""
    terminal = sys.stderr.isatty()
    interval = _INTERVAL_TERMINAL if terminal else _INTERVAL_ELSEWHERE
    due = time.monotonic() + interval

    def show(done: int, size: int | None) -> None:
        nonlocal due
        if time.monotonic() < due and not (terminal and done == size):
            return
        due = time.monotonic() + interval
        line = f"verified {done} of {size} entries" if size is not None else f"verified {done} entries"
        print(f"\r{line}" if terminal else line, end="\n" if done == size or not terminal else "", file=sys.stderr)

    return show
