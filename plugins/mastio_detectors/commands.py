"""`mastio detectors`: list, show, add, set, remove detector policies; allow a tool; explain what is said of a text."""

from __future__ import annotations

import argparse
import re
from typing import Any

import httpx
import orjson

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import add_verb, administer, item_path, pages, print_one, print_rows, read_text
from mastio_client.enroll import Refused, send

MEANING = "list, show, add, change, remove detector policies; allow a tool, explain"

DETECTORS = "/v1/admin/detectors"
MATCHES = ("agents", "models", "kinds")
ACTIONS = ("block", "flag", "off")
CARRIERS = ("system", "user", "assistant", "tool", "definition", "other")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list detector policies", show_list)
    add_verb(verbs, "show", "show one detector policy", show_one).add_argument("name")
    _add_members(add_verb(verbs, "add", "add a detector policy", add_policy))
    _add_members(add_verb(verbs, "set", "change a detector policy; what is not named stays", change_policy))
    add_verb(verbs, "remove", "remove a detector policy", remove).add_argument("name")
    allow = add_verb(verbs, "allow", "allow a tool, whatever its definition looks like", allow_tool)
    allow.add_argument("tool")
    allow.add_argument("--agent", required=True, metavar="GLOB", help="for this agent, or group:NAME")
    allow.add_argument("--sha256", metavar="HEX", help="only the definition with this digest, as the log names it")
    explain = add_verb(verbs, "explain", "say what would be said of a text, and why", explain_text)
    explain.add_argument("file", help="a file, or - for what is typed")
    explain.add_argument("--agent", metavar="NAME", help="as if this agent had sent it")
    explain.add_argument("--model", metavar="PROVIDER/MODEL")
    explain.add_argument("--carrier", choices=CARRIERS, default="user", help="whose words they are (default: user)")


def _add_members(add: argparse.ArgumentParser) -> None:
    add.add_argument("name")
    for name, meaning in (("agents", "agents, or group:NAME"), ("models", "models"), ("kinds", "kinds of action")):
        add.add_argument(f"--{name}", action="append", default=[], metavar="GLOB", help=f"for these {meaning}")
    add.add_argument(
        "--class", action="append", default=[], metavar="CLASS=ACTION[:THRESHOLD[:BLOCK]]", dest="classes",
        help=f"what is done about a class; ACTION: {', '.join(ACTIONS)}; scores from 1 to 100",
    )  # fmt: skip
    add.add_argument("--definitions", choices=("observe", "block", "off"), help="about definitions of tools")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    rows = pages(client, DETECTORS)
    print_rows(args, rows if args.json else map(_flat, rows), ("name", *MATCHES, "classes", "definitions", "tools"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(DETECTORS, args.name)))


def add_policy(client: httpx.Client, args: argparse.Namespace) -> None:
    body: dict[str, Any] = {
        "name": args.name,
        "match": {name: getattr(args, name) for name in MATCHES},
        "classes": dict(map(parse_class, args.classes)),
        "definitions": args.definitions,
    }
    print_one(args, send(client, "POST", DETECTORS, json=body))


def change_policy(client: httpx.Client, args: argparse.Namespace) -> None:
    """A list that is given takes the place of the present one; classes are added to the present ones."""
    present, body = send(client, "GET", item_path(DETECTORS, args.name)), {}
    if match := {name: given for name in MATCHES if (given := getattr(args, name))}:
        body["match"] = {**present["match"], **match}
    if args.classes:
        body["classes"] = {**present["classes"], **dict(map(parse_class, args.classes))}
    if args.definitions is not None:
        body["definitions"] = args.definitions
    print_one(args, send(client, "PATCH", item_path(DETECTORS, args.name), json=body))


def parse_class(text: str) -> tuple[str, dict[str, Any]]:
    """`CLASS=ACTION[:THRESHOLD[:BLOCK]]`. Raises `ConfigurationError`."""
    match = re.fullmatch(r"([a-z]+)=([a-z]+)(?::([0-9]{1,3}))?(?::([0-9]{1,3}))?", text)
    if match is None:
        raise ConfigurationError(f"--class {text} is not CLASS=ACTION.", "For example: --class injection=flag:70")
    scores = {"threshold": match[3], "block_threshold": match[4]}
    return match[1], {"action": match[2], **{name: int(one) for name, one in scores.items() if one is not None}}


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(DETECTORS, args.name))


def allow_tool(client: httpx.Client, args: argparse.Namespace) -> None:
    """In the policy `allow-<agent>`, which is made where there is none."""
    name = "allow-" + re.sub(r"[^a-z0-9._-]+", "-", args.agent.lower())[:56]
    tool = {"name": args.tool, **({"sha256": args.sha256} if args.sha256 else {})}
    try:
        present = send(client, "GET", item_path(DETECTORS, name))
    except Refused as refusal:
        if refusal.code != "not_found":
            raise
        body = {"name": name, "match": {"agents": [args.agent]}, "tools": [tool]}
        print_one(args, send(client, "POST", DETECTORS, json=body))
        return
    if present["match"]["agents"] != [args.agent]:
        raise ConfigurationError(f"The policy {name} is for others.", "Add the tool over REST, or remove that policy.")
    body = {"tools": [*present["tools"], tool]}
    print_one(args, send(client, "PATCH", item_path(DETECTORS, name), json=body))


def explain_text(client: httpx.Client, args: argparse.Namespace) -> None:
    body: dict[str, Any] = {"text": read_text(args.file), "carrier": args.carrier}
    body |= {name: value for name in ("agent", "model") if (value := getattr(args, name)) is not None}
    said = send(client, "POST", f"{DETECTORS}/*/explain", json=body)
    if args.json:
        print(orjson.dumps(said).decode())
        return
    columns = ("label", "confidence", "does", "action", "threshold", "block_threshold", "start", "end", "hidden")
    print_rows(args, iter(said["findings"]), columns)
    print(said["verdict"])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """For a table: one cell for each."""
    match = {name: ", ".join(row["match"][name]) for name in MATCHES}
    classes = ", ".join(f"{name}={rule['action']}" for name, rule in row["classes"].items())
    return {**row, **match, "classes": classes, "tools": ", ".join(tool["name"] for tool in row["tools"])}
