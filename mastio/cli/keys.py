"""`mastio keys`: which generations of the appliance's keys there are; make the next one."""

from __future__ import annotations

import argparse

import httpx

from mastio.cli.administer import add_verb, administer, pages, print_one, print_rows
from mastio.client.enroll import send

KEYS = "/v1/admin/keys"
NAMES = ("token", "intermediate", "root", "edge")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "status", "list every generation of every key", show_status)
    rotate = add_verb(verbs, "rotate", "make the next generation of a key, without a refused call", rotate_key)
    rotate.add_argument(
        "name", choices=NAMES, help="token signing, intermediate CA, root CA, or the edge's certificate"
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
    columns = ("name", "id", "state", "active_from", "retire_at", "not_after")
    print_rows(args, pages(client, KEYS), columns)


def rotate_key(client: httpx.Client, args: argparse.Namespace) -> None:
    body = {"name": args.name, "immediately": args.immediately, **({"reason": args.reason} if args.reason else {})}
    print_one(args, send(client, "POST", KEYS, json=body))
