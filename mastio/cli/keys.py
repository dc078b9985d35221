"""`mastio keys`: which generations of the appliance's keys there are; make the next one."""

from __future__ import annotations

import argparse
from typing import Any

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import ChangeHeld, add_verb, administer, pages, plain, print_held, print_rows, with_reason
from mastio_client.enroll import send

KEYS = "/v1/admin/keys"
NAMES = ("token", "audit", "intermediate", "root", "edge")
HELD_BY_NOBODY = ("token", "intermediate", "edge")
COLUMNS = ("name", "id", "state", "active_from", "retire_at", "not_after")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "status", "list every generation of every key", show_status)
    rotate = add_verb(verbs, "rotate", "make the next generation of keys, without a refused call", rotate_keys)
    rotate.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="token, audit, intermediate, root, edge; no name means all but audit and root, which others have pinned",
    )
    rotate.add_argument(
        "--immediately",
        action="store_true",
        help="for a key that is known to others: refuse from now on whatever it signed",
    )
    rotate.add_argument("--reason")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_status(client: httpx.Client, args: argparse.Namespace) -> None:
    print_rows(args, pages(client, KEYS), COLUMNS)


def rotate_keys(client: httpx.Client, args: argparse.Namespace) -> None:
    for name in args.names:
        if name not in NAMES:
            raise ConfigurationError(f"There is no key {plain(name)}.", f"Name one of {', '.join(NAMES)}.")
    bodies = (
        {"name": name, "immediately": args.immediately, **with_reason(args)} for name in args.names or HELD_BY_NOBODY
    )
    made: list[dict[str, Any]] = []
    held: list[dict[str, Any]] = []
    for body in bodies:
        try:
            made.append(send(client, "POST", KEYS, json=body))
        except ChangeHeld as waiting:
            held.append(waiting.hold)
    if args.json or made:
        print_rows(args, iter([*made, *held]), COLUMNS)
    if not args.json:
        for hold in held:
            print_held(args, hold)
