"""`mastio agents`: list, show, suspend, revoke, reactivate agents, and put them into groups."""

from __future__ import annotations

import argparse

import httpx

from mastio.cli.administer import add_verb, administer, item_path, pages, print_one, print_rows, with_reason
from mastio.client.enroll import send

AGENTS = "/v1/admin/agents"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = add_verb(verbs, "list", "list agents", show_list)
    listing.add_argument("--status", choices=("active", "suspended", "revoked"))
    add_verb(verbs, "show", "show one agent", show_one).add_argument("name")
    for name, meaning, call in (
        ("suspend", "refuse an agent until it is reactivated", suspend),
        ("revoke", "refuse an agent and put its certificates on the revocation list", revoke),
        ("reactivate", "undo a suspension or a revocation", reactivate),
    ):
        verb = add_verb(verbs, name, meaning, call)
        verb.add_argument("name")
        verb.add_argument("--reason")
    groups = add_verb(verbs, "groups", "set an agent's groups", set_groups)
    groups.add_argument("name")
    groups.add_argument("groups", nargs="*", metavar="GROUP", help="all of them; none leaves the agent without")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    items = pages(client, AGENTS, {"status": args.status} if args.status else {})
    print_rows(args, items, ("name", "status", "not_after", "groups", "spiffe_id"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(AGENTS, args.name)))


def suspend(client: httpx.Client, args: argparse.Namespace) -> None:
    body = {"status": "suspended", **with_reason(args)}
    print_one(args, send(client, "PATCH", item_path(AGENTS, args.name), json=body))


def revoke(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", item_path(AGENTS, args.name, "revoke"), json=with_reason(args)))


def reactivate(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", item_path(AGENTS, args.name, "reactivate"), json=with_reason(args)))


def set_groups(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "PATCH", item_path(AGENTS, args.name), json={"groups": args.groups}))
