"""`mastio holds`: list, show, approve, reject what waits for another admin."""

from __future__ import annotations

import argparse

import httpx

from mastio.plugin.administer import add_verb, administer, item_path, pages, print_one, print_rows, with_reason
from mastio_client.enroll import send

HOLDS = "/v1/admin/holds"
STATUSES = ("pending", "approved", "used", "rejected", "expired", "failed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = add_verb(verbs, "list", "list holds, the oldest first", show_list)
    listing.add_argument("--status", choices=STATUSES)
    add_verb(verbs, "show", "show one hold: all that would be done", show_one).add_argument("id")
    for name, meaning, call in (
        ("approve", "carry it out, or let the agent; what it answers is printed, a token too", approve),
        ("reject", "let nothing come of it", reject),
    ):
        verb = add_verb(verbs, name, meaning, call)
        verb.add_argument("id")
        verb.add_argument("--reason")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    holds = ({**hold, "change": _change(hold)} for hold in pages(client, HOLDS, _query(args)))
    print_rows(args, holds, ("id", "status", "requested_by", "change", "expires_at", "decided_by"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(HOLDS, args.id)))


def approve(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", item_path(HOLDS, args.id, "approve"), json=with_reason(args)))


def reject(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", item_path(HOLDS, args.id, "reject"), json=with_reason(args)))


def _query(args: argparse.Namespace) -> dict[str, str]:
    return {"status": args.status} if args.status else {}


def _change(hold: dict[str, object]) -> str:
    parameters = hold.get("parameters")
    said = parameters if isinstance(parameters, dict) else {}
    if hold.get("agent") is not None:
        query = f"?{said['query']}" if said.get("query") else ""
        request = f"{said.get('method', '')} {said.get('path', '')}{query}" if said.get("headers") else ""
        return f"{hold.get('action', '')} {said.get('target', '')} {request}".strip()
    return f"{said.get('method', '')} {said.get('path', hold.get('action', ''))}".strip()
