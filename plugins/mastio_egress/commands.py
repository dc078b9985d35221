"""`mastio connections`: list, show, add, set, rotate, remove connections to other APIs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import add_verb, administer, item_path, pages, print_one, print_rows
from mastio_client.enroll import send
from mastio_egress.connections.connection import CredentialKind
from mastio_egress.connections.secrets import OPTIONS

MEANING = "list, show, add, change, rotate, remove connections to other APIs"

CONNECTIONS = "/v1/admin/connections"
PARTS = {
    "inspect": {"request": "inspect_request", "response": "inspect_response"},
    "limits": {name: name for name in ("request_bytes", "response_bytes", "requests_per_minute")},
    "timeouts": {name: f"{name}_timeout" for name in ("connect", "read", "total")},
}
"""Objects of the API, and the arguments that their members come from."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list connections", show_list)
    add_verb(verbs, "show", "show one connection, without its secret", show_one).add_argument("name")
    add = add_verb(verbs, "add", "add a connection", add_connection, "create")
    add.add_argument("name")
    add.add_argument("--base-url", required=True, help="agents' paths are appended to it")
    _add_members(add)
    change = add_verb(verbs, "set", "change a connection; what is not named stays", change_connection)
    change.add_argument("name")
    change.add_argument("--base-url", help="another server needs the secret again")
    _add_members(change)
    change.add_argument("--no-credential", action="store_true", help="send no credential any more")
    change.add_argument("--no-upstream-ca", action="store_true", help="trust the system's authorities again")
    change.add_argument("--no-pin", action="store_true", help="accept every trusted certificate again")
    rotate = add_verb(verbs, "rotate", "give a connection a new secret; everything else stays", rotate_secret)
    rotate.add_argument("name")
    _add_secret(rotate, required=True)
    add_verb(verbs, "remove", "remove a connection", remove).add_argument("name")


def _add_secret(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Never an argument of its own: those are visible to every process of the machine."""
    secret = parser.add_mutually_exclusive_group(required=required)
    secret.add_argument("--secret-file", metavar="FILE", help="send the secret in this file; - reads it from stdin")
    secret.add_argument("--secret-path", metavar="PATH", help="a file that the appliance itself reads the secret from")


def _add_members(parser: argparse.ArgumentParser) -> None:
    kinds = get_args(CredentialKind)
    parser.add_argument("--credential", choices=kinds, metavar="KIND", help=", ".join(kinds))
    _add_secret(parser)
    for kind, options in OPTIONS.items():
        for name in options:
            parser.add_argument(_flag(name), help=f"of {kind}")
    lists = {
        "--method": ("METHOD", "a method that is allowed (default: all)"),
        "--path": ("GLOB", "a path that is allowed (default: all)"),
        "--allow-address": ("CIDR", "an address beyond the public ones"),
        "--redirect-host": ("HOST", "another host that redirects may lead to, without the credential"),
        "--request-header": ("NAME", "a header of agents that is sent beside the usual ones, such as x-amz-target"),
        "--keep-header": ("NAME", "set-cookie, www-authenticate: let through, though taken out by default"),
    }
    for flag, (metavar, meaning) in lists.items():
        parser.add_argument(flag, action="append", metavar=metavar, help=f"{meaning}; repeatable")
    switches = {
        "--redirects": "follow redirects",
        "--inspect-request": "inspect what agents send",
        "--inspect-response": "inspect what they get",
    }
    for flag, meaning in switches.items():
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=meaning)
    for name in PARTS["limits"].values():
        parser.add_argument(_flag(name), type=int, metavar="N")
    for name in PARTS["timeouts"].values():
        parser.add_argument(_flag(name), type=float, metavar="SECONDS")
    parser.add_argument("--upstream-ca", metavar="FILE", help="PEM: whom to trust instead of the system's authorities")
    parser.add_argument("--pin", metavar="HEX", help="SHA-256 of the one certificate that is accepted")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    rows = pages(client, CONNECTIONS)
    shown = rows if args.json else map(_flat, rows)
    print_rows(args, shown, ("name", "base_url", "credential", "secret_set", "methods", "paths"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(CONNECTIONS, args.name)))


def add_connection(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", CONNECTIONS, json={"name": args.name, **_members(args)}))


def change_connection(client: httpx.Client, args: argparse.Namespace) -> None:
    body = _members(args)
    for member, removed in (("credential", "no_credential"), ("ca", "no_upstream_ca"), ("pin", "no_pin")):
        if getattr(args, removed):
            if member in body:
                raise ConfigurationError(f"{_flag(removed)} forbids what else was given.", "Give one of them.")
            body[member] = None
    print_one(args, send(client, "PATCH", item_path(CONNECTIONS, args.name), json=body))


def rotate_secret(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "PATCH", item_path(CONNECTIONS, args.name), json={"credential": _secret(args)}))


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(CONNECTIONS, args.name))


def _members(args: argparse.Namespace) -> dict[str, Any]:
    """The members that were given, without defaults: the appliance adds and checks these."""
    options = {name: getattr(args, name) for names in OPTIONS.values() for name in names}
    body = {
        "base_url": args.base_url,
        "credential": _given({"kind": args.credential, **options, **_secret(args)}) or None,
        "methods": args.method,
        "paths": args.path,
        "allow_addresses": args.allow_address,
        "redirects": args.redirects,
        "redirect_hosts": args.redirect_host,
        "keep_headers": args.keep_header,
        "request_headers": args.request_header,
        "ca": None if args.upstream_ca is None else _read(args.upstream_ca, "--upstream-ca"),
        "pin": args.pin,
    }
    for part, members in PARTS.items():
        body[part] = _given({member: getattr(args, argument) for member, argument in members.items()}) or None
    return _given(body)


def _secret(args: argparse.Namespace) -> dict[str, str]:
    if args.secret_path is not None:
        return {"secret_file": args.secret_path}
    return {} if args.secret_file is None else {"secret": _read(args.secret_file, "--secret-file")}


def _read(source: str, argument: str) -> str:
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"What is in {source} cannot be read.", f"Check {argument}.") from error
    return text.strip()


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """For a table: one cell for each."""
    credential = row["credential"] or {"kind": None, "secret_set": None}
    return {**row, "credential": credential["kind"], "secret_set": credential["secret_set"]}
