"""The shared parts of the commands that administer a running appliance: connection, arguments, output. For plugins."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio_client.enroll import Refused, open_client, read_ca, send
from mastio_primitives.command_line import plain as plain
from mastio_primitives.files import write_private


class ChangeHeld(Exception):
    """The change was not carried out: it waits for another admin. `hold` is the appliance's answer."""

    def __init__(self, hold: dict[str, Any]) -> None:
        super().__init__()
        self.hold = hold


Call = Callable[[httpx.Client, argparse.Namespace], int | None]
"""Carries a sub-command out. The exit status is 0 where it gives none."""


def add_verb(verbs: Any, name: str, meaning: str, call: Call, *aliases: str) -> argparse.ArgumentParser:
    """A sub-command with the arguments that all of them share. `aliases` are other names of it."""
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=meaning, description=meaning, aliases=aliases)
    parser.set_defaults(call=call)
    parser.add_argument("--data", type=Path, help="data folder of an appliance on this machine (default: ./data)")
    parser.add_argument("--url", help="base URL of the appliance, with --ca and --token-file")
    parser.add_argument("--ca", type=Path, help="file with the appliance's CA certificate")
    parser.add_argument("--token-file", type=Path, help="file with an admin token")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def administer(args: argparse.Namespace) -> int:
    """Run the sub-command. Status 1 when the appliance refused; a change that waits for another admin is none of it."""
    with connect(args) as client:
        try:
            return args.call(client, args) or 0
        except Refused as refusal:
            print(f"mastio: {plain(refusal.message)}", file=sys.stderr)
            return 1
        except ChangeHeld as held:
            print_held(args, held.hold)
    return 0


def raise_if_held(reply: httpx.Response) -> None:
    """Four eyes: 202 with the path where another admin approves. Raises `ChangeHeld`, so that no verb takes it for
    done."""
    if reply.status_code != 202:
        return
    reply.read()
    document = json.loads(reply.content)
    if isinstance(document, dict) and "approve" in document:
        raise ChangeHeld(document)


def tell_warning(reply: httpx.Response) -> None:
    """To stderr: what was accepted all the same."""
    if (warning := reply.headers.get("Mastio-Warning")) is not None:
        print(f"mastio: {plain(warning)}", file=sys.stderr)


def print_held(args: argparse.Namespace, hold: dict[str, Any]) -> None:
    code, file = hold.get("claim"), getattr(args, "token_to", None)
    if code is not None and file is not None:
        try:
            write_private(file, f"{code}\n".encode("ascii"))
            del hold["claim"]
            code = None
        except OSError:
            print(f"mastio: {file} cannot be written, so the code is printed.", file=sys.stderr)
    if args.json:
        print(json.dumps(hold))
        return
    print(f"waits for another admin: mastio holds approve {plain(hold['id'])} (until {plain(hold['expires_at'])})")
    if code is not None:
        print(f"then the token is claimed once with this code (mastio admins claim): {plain(code)}")


def connect(args: argparse.Namespace) -> httpx.Client:
    """A client with the admin token. Raises `ConfigurationError`."""
    if args.url is not None:
        if args.ca is None or args.token_file is None or args.data is not None:
            raise ConfigurationError("--url needs --ca and --token-file.", "Or give --data alone.")
        base_url, ca_file, token_file = args.url, args.ca, args.token_file
    else:
        if args.ca is not None or args.token_file is not None:
            raise ConfigurationError("--ca and --token-file go with --url.", "Or give --data alone.")
        base_url, ca_file, token_file = _read_bootstrap(args.data or Path("data"))
    try:
        token = token_file.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"The admin token in {token_file} cannot be read.", "Check --token-file.") from error
    headers = {"Authorization": f"Bearer {token}", "Prefer": "handling=strict"}
    client = open_client(base_url.rstrip("/"), read_ca(ca_file), headers)
    client.event_hooks = {"response": [raise_if_held, tell_warning]}
    return client


def _read_bootstrap(data: Path) -> tuple[str, Path, Path]:
    try:
        known = json.loads((data / "bootstrap.json").read_text("utf-8"))
        return str(known["base_url"]), data / known["ca_file"], data / known["admin_token_file"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{data} is not the data folder of an appliance that was brought up.", "Give --data, or --url."
        ) from error


def item_path(collection: str, name: str, verb: str | None = None) -> str:
    path = f"{collection}/{quote(name, safe='')}"
    return path if verb is None else f"{path}/{verb}"


def with_reason(args: argparse.Namespace) -> dict[str, str]:
    return {"reason": args.reason} if args.reason else {}


def pages(client: httpx.Client, path: str, query: dict[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """Every item of a list, page by page."""
    cursor: str | None = None
    while True:
        asked = {"limit": "500", **(query or {}), **({"cursor": cursor} if cursor else {})}
        page = send(client, "GET", path, params=asked)
        yield from page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


def print_rows(args: argparse.Namespace, items: Iterator[dict[str, Any]], columns: Sequence[str]) -> None:
    """JSON as one list, or aligned columns."""
    rows = list(items)
    if args.json:
        print(json.dumps(rows))
        return
    texts = [[name.upper() for name in columns], *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(text[number]) for text in texts) for number in range(len(columns))]
    for text in texts:
        print("  ".join(cell.ljust(width) for cell, width in zip(text, widths, strict=True)).rstrip())


def print_one(args: argparse.Namespace, item: dict[str, Any]) -> None:
    if args.json:
        print(json.dumps(item))
        return
    width = max(map(len, item))
    for name, value in item.items():
        print(f"{name.ljust(width)}  {_cell(value)}".rstrip())


def _cell(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, list):
        return ",".join(_cell(item) for item in value)
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")  # never 4.65e-06
    return plain(value if isinstance(value, str) else json.dumps(value))


def read_text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The file {name} cannot be read as text.", "Give a file in UTF-8, or -.") from error
