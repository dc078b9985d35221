"""`mastio redaction`: list, show, add, set, remove redaction policies; explain them; say what a token stood for."""

from __future__ import annotations

import argparse
from typing import Any, get_args

import httpx
import orjson

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import add_verb, administer, item_path, pages, print_one, print_rows, read_text
from mastio_client.enroll import send
from mastio_redaction.redaction_policy import Direction, Strategy, Treatment

MEANING = "list, show, add, change, remove redaction policies; explain and reidentify"

REDACTION = "/v1/admin/redaction"
MATCHES = ("agents", "models", "kinds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list redaction policies", show_list)
    add_verb(verbs, "show", "show one redaction policy", show_one).add_argument("name")
    _add_members(add_verb(verbs, "add", "add a redaction policy", add_policy))
    _add_members(add_verb(verbs, "set", "change a redaction policy; what is not named stays", change_policy))
    add_verb(verbs, "remove", "remove a redaction policy", remove).add_argument("name")
    explain = add_verb(verbs, "explain", "say what would be found in a text, and what done with it", explain_text)
    explain.add_argument("file", help="a file, or - for what is typed")
    explain.add_argument("--agent", metavar="NAME", help="as if this agent had sent it")
    explain.add_argument("--model", metavar="PROVIDER/MODEL")
    explain.add_argument("--kind", default="llm.chat")
    explain.add_argument("--direction", choices=("request", "response"), default="request")
    again = add_verb(verbs, "reidentify", "put originals back for encrypted tokens; recorded in the log", reidentify)
    again.add_argument("file", help="a file, or - for what is typed")
    again.add_argument("--reason", required=True)


def _add_members(add: argparse.ArgumentParser) -> None:
    add.add_argument("name")
    add.add_argument("--agents", action="append", default=[], metavar="GLOB", help="for these agents, or group:NAME")
    add.add_argument("--models", action="append", default=[], metavar="GLOB", help="for these models")
    add.add_argument("--kinds", action="append", default=[], metavar="GLOB", help="for these kinds of action")
    add.add_argument("--direction", choices=get_args(Direction), help="of texts (default: both)")
    add.add_argument(
        "--type", action="append", default=[], metavar="TYPE=ACTION[:STRATEGY]", dest="types",
        help=f"what is done with a type, or with * for all others; ACTION: {', '.join(get_args(Treatment))}; "
        f"STRATEGY: {', '.join(get_args(Strategy))} (default: tag)",
    )  # fmt: skip
    add.add_argument("--restore", action=argparse.BooleanOptionalAction, help="put originals back in replies")
    add.add_argument(
        "--observe", action=argparse.BooleanOptionalAction, help="change nothing, only say what would be done"
    )
    add.add_argument("--always", action="append", default=[], metavar="VALUE", help="a value that is always found")
    add.add_argument("--never", action="append", default=[], metavar="VALUE", help="a value that is not meant")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    rows = pages(client, REDACTION)
    print_rows(
        args, rows if args.json else map(_flat, rows), ("name", *MATCHES, "direction", "types", "restore", "mode")
    )


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(REDACTION, args.name)))


def add_policy(client: httpx.Client, args: argparse.Namespace) -> None:
    if not args.types:
        raise ConfigurationError("There is no --type.", "For example: --type CREDIT_CARD=redact:mask")
    print_one(args, send(client, "POST", REDACTION, json={"name": args.name, **_members(args, {}, {})}))


def change_policy(client: httpx.Client, args: argparse.Namespace) -> None:
    """A list that is given takes the place of the present one; types are added to the present ones."""
    present = send(client, "GET", item_path(REDACTION, args.name))
    body = _members(args, present["match"], present["types"])
    print_one(args, send(client, "PATCH", item_path(REDACTION, args.name), json=body))


def _members(args: argparse.Namespace, match: dict[str, Any], types: dict[str, Any]) -> dict[str, Any]:
    """The members that were given. `match` and `types` are what the policy has of them."""
    matches = {name: given for name in (*MATCHES, "direction") if (given := getattr(args, name))}
    given = {
        "match": {**match, **matches} if matches else None,
        "types": {**types, **dict(map(parse_type, args.types))} if args.types else None,
        "restore": args.restore,
        "mode": None if args.observe is None else ("observe" if args.observe else "enforce"),
        "always": args.always or None,
        "never": args.never or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def parse_type(text: str) -> tuple[str, dict[str, str]]:
    """`TYPE=ACTION[:STRATEGY]`. Raises `ConfigurationError`; what the words mean the appliance judges."""
    name, equals, rule = text.partition("=")
    action, _, strategy = rule.partition(":")
    if not name or not equals or not action:
        raise ConfigurationError(f"--type {text} is not TYPE=ACTION.", "For example: --type CREDIT_CARD=redact:mask")
    return name, {"action": action, **({"strategy": strategy} if strategy else {})}


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(REDACTION, args.name))


def explain_text(client: httpx.Client, args: argparse.Namespace) -> None:
    body: dict[str, Any] = {"text": read_text(args.file), "kind": args.kind, "direction": args.direction}
    body |= {name: value for name in ("agent", "model") if (value := getattr(args, name)) is not None}
    said = send(client, "POST", f"{REDACTION}/*/explain", json=body)
    if args.json:
        print(orjson.dumps(said).decode())
        return
    print_rows(args, said["findings"], ("type", "start", "end", "confidence", "action", "strategy", "policy"))
    print(said["text"] if said["text"] is not None else "blocked")


def reidentify(client: httpx.Client, args: argparse.Namespace) -> None:
    body = {"text": read_text(args.file), "reason": args.reason}
    said = send(client, "POST", f"{REDACTION}/*/reidentify", json=body)
    print(orjson.dumps(said).decode() if args.json else said["text"])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """For a table: one cell for each."""
    types = ", ".join(f"{name}={rule['action']}:{rule['strategy']}" for name, rule in row["types"].items())
    match = {name: ", ".join(row["match"][name]) for name in MATCHES}
    return {**row, **match, "direction": row["match"]["direction"], "types": types}
