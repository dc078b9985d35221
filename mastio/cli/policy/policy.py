"""`mastio policy`: list, show, set, remove, check, eval, replay policies; install shipped ones; print the schema."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import httpx

from mastio.cedar.schema import write_schema
from mastio.cli.policy import check as policy_check
from mastio.cli.policy import eval as policy_eval
from mastio.cli.policy import replay as policy_replay
from mastio.cli.policy.sources import POLICIES
from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import add_verb, administer, item_path, pages, plain, print_one, print_rows
from mastio_client.enroll import Refused, send
from mastio_policy.shipped import Shipped, read_shipped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list policies", show_list)
    add_verb(verbs, "show", "print the source of a policy", show_one).add_argument("name")
    add = add_verb(verbs, "add", "add a policy from a file", add_policy)
    add.add_argument("name")
    add.add_argument("file", type=Path, help="Cedar source (- is stdin)")
    add.add_argument("--mode", choices=("enforce", "observe"), default="enforce")
    add.add_argument("--off", dest="enabled", action="store_false", help="keep it out of force")
    put = add_verb(verbs, "set", "write a policy from a file, or change how it is in force", set_policy)
    put.add_argument("name")
    put.add_argument("file", nargs="?", type=Path, help="Cedar source (- is stdin)")
    put.add_argument("--mode", choices=("enforce", "observe"))
    switch = put.add_mutually_exclusive_group()
    switch.add_argument("--on", dest="enabled", action="store_true", default=None)
    switch.add_argument("--off", dest="enabled", action="store_false")
    add_verb(verbs, "remove", "remove a policy", remove).add_argument("name")
    shipped = verbs.add_parser("shipped", help="list the policies that come with the appliance; print one")
    shipped.add_argument("--show", metavar="NAME", help="print its source")
    shipped.add_argument("--json", action="store_true", help="print JSON")
    shipped.set_defaults(local=show_shipped)
    install = add_verb(verbs, "install", "put policies that come with the appliance in force", install_shipped)
    install.add_argument("names", nargs="+", metavar="NAME", help="`all` for all of them")
    install.add_argument("--mode", choices=("enforce", "observe"), default="enforce")
    schema = verbs.add_parser("schema", help="print the Cedar schema: everything that a policy may speak of")
    schema.set_defaults(local=show_schema, json=False)
    policy_check.add_arguments(verbs)
    policy_eval.add_arguments(verbs)
    policy_replay.add_arguments(verbs)


def run(args: argparse.Namespace) -> int:
    local = getattr(args, "local", None)
    if local is None:
        return administer(args)
    try:
        return int(local(args))
    except Refused as refusal:
        print(f"mastio: {plain(refusal.message)}", file=sys.stderr)
        return 2


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    print_rows(args, pages(client, POLICIES), ("name", "mode", "enabled"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    policy = send(client, "GET", item_path(POLICIES, args.name))
    if args.json:
        print_one(args, policy)
    else:
        sys.stdout.write(policy["cedar"])


def add_policy(client: httpx.Client, args: argparse.Namespace) -> None:
    body = {"name": args.name, "cedar": read_source(args.file), "mode": args.mode, "enabled": args.enabled}
    print_one(args, send(client, "POST", POLICIES, json=body))


def set_policy(client: httpx.Client, args: argparse.Namespace) -> None:
    body = {name: value for name in ("mode", "enabled") if (value := getattr(args, name)) is not None}
    if args.file is not None:
        body["cedar"] = read_source(args.file)
    if not body:
        raise ConfigurationError("There is nothing to set.", "Give a file, --mode, --on or --off.")
    print_one(args, put_policy(client, args.name, body))


def put_policy(client: httpx.Client, name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Change the policy, or make it where there is none."""
    try:
        changed: dict[str, Any] = send(client, "PATCH", item_path(POLICIES, name), json=body)
    except Refused as refusal:
        if refusal.code != "not_found" or "cedar" not in body:
            raise
        changed = send(client, "POST", POLICIES, json={"name": name, **body})
    return changed


def read_source(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The file {file} cannot be read.", "Give a file with Cedar source.") from error


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(POLICIES, args.name))


def show_shipped(args: argparse.Namespace) -> int:
    shipped = {one.name: one for one in read_shipped()}
    if args.show is not None:
        sys.stdout.write(find_shipped(shipped, args.show).cedar)
        return 0
    rows = ({"name": one.name, "title": one.title, "maps": list(one.maps)} for one in shipped.values())
    print_rows(args, rows, ("name", "title"))
    return 0


def find_shipped(shipped: dict[str, Shipped], name: str) -> Shipped:
    if name not in shipped:
        raise ConfigurationError(f"No policy called {name} comes with the appliance.", "See mastio policy shipped.")
    return shipped[name]


def install_shipped(client: httpx.Client, args: argparse.Namespace) -> None:
    shipped = {one.name: one for one in read_shipped()}
    names = list(shipped) if args.names == ["all"] else args.names
    wanted = [find_shipped(shipped, name) for name in names]
    made = [put_policy(client, one.name, {"cedar": one.cedar, "mode": args.mode, "enabled": True}) for one in wanted]
    print_rows(args, iter(made), ("name", "mode", "enabled"))


def show_schema(args: argparse.Namespace) -> int:
    sys.stdout.write(write_schema())
    return 0
