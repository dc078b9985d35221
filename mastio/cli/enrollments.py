"""`mastio enrollments`: list, show, approve, reject enrolment requests; make, list, remove one-time tokens."""

from __future__ import annotations

import argparse

import httpx

from mastio.plugin.administer import add_verb, administer, item_path, pages, plain, print_one, print_rows, with_reason
from mastio_client.enroll import send

REQUESTS = "/v1/admin/enrollments"
TOKENS = "/v1/admin/enrollment-tokens"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = add_verb(verbs, "list", "list enrolment requests, the oldest first", show_list)
    listing.add_argument("--status", choices=("pending", "issued", "rejected", "expired"))
    add_verb(verbs, "show", "show one enrolment request", show_one).add_argument("id")
    for name, meaning, call in (
        ("approve", "issue the certificate that is asked for", approve),
        ("reject", "refuse the request", reject),
    ):
        verb = add_verb(verbs, name, meaning, call)
        verb.add_argument("id")
        verb.add_argument("--reason")
    token = add_verb(verbs, "token", "make a one-time token", make_token)
    token.add_argument("--name", required=True, metavar="GLOB", help="the agent's name, or a pattern with * and ?")
    token.add_argument("--ttl", type=int, default=3600, metavar="S", help="seconds that it is good for (default: 3600)")
    token.add_argument("--uses", type=int, default=1, metavar="N", help="how many agents it enrols (default: 1)")
    add_verb(verbs, "tokens", "list one-time tokens, without the tokens themselves", list_tokens)
    add_verb(verbs, "remove-token", "make a one-time token good for nothing", remove_token).add_argument("id")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    items = pages(client, REQUESTS, {"status": args.status} if args.status else {})
    print_rows(args, items, ("id", "name", "status", "created_at", "reason"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(REQUESTS, args.id)))


def approve(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", item_path(REQUESTS, args.id, "approve"), json=with_reason(args)))


def reject(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", item_path(REQUESTS, args.id, "reject"), json=with_reason(args)))


def make_token(client: httpx.Client, args: argparse.Namespace) -> None:
    """Without --json the token alone is printed, ready for `--token`."""
    made = send(client, "POST", TOKENS, json={"name": args.name, "ttl_seconds": args.ttl, "uses": args.uses})
    if args.json:
        print_one(args, made)
    else:
        print(plain(made["token"]))


def list_tokens(client: httpx.Client, args: argparse.Namespace) -> None:
    print_rows(args, pages(client, TOKENS), ("id", "name", "uses_left", "expires_at", "created_by"))


def remove_token(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(TOKENS, args.id))
