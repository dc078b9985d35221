"""`mastio budgets`: list, show, add, remove limits of requests, tokens and USD."""

from __future__ import annotations

import argparse
from typing import Any, get_args

import httpx

from mastio.administer import add_verb, administer, item_path, pages, print_one, print_rows
from mastio.budgets import Period
from mastio_client.enroll import send

MEANING = "list, show, add, remove limits of requests, tokens and USD"

BUDGETS = "/v1/admin/budgets"
WHOSE = ("agent", "group", "model")
LIMITS = ("limit_usd", "limit_tokens", "limit_requests")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list budgets and what is spent of them", show_list)
    add_verb(verbs, "show", "show one budget and what is spent of it", show_one).add_argument("name")
    add = add_verb(verbs, "add", "add a budget", add_budget)
    add.add_argument("name")
    whose = add.add_mutually_exclusive_group()
    whose.add_argument("--agent", metavar="NAME", help="of one agent (default: everybody's together)")
    whose.add_argument("--group", metavar="NAME", help="of all members of a group together")
    whose.add_argument("--model", metavar="GLOB", help="of a model: provider/model, its own name, or an alias")
    limit = add.add_mutually_exclusive_group(required=True)
    limit.add_argument("--usd", dest="limit_usd", metavar="AMOUNT", help="US dollars, with nine decimals at most")
    limit.add_argument("--tokens", dest="limit_tokens", type=int, metavar="N", help="tokens, read and written")
    limit.add_argument("--requests", dest="limit_requests", type=int, metavar="N", help="requests")
    add.add_argument("--period", required=True, choices=get_args(Period), help="when it renews, in UTC")
    add_verb(verbs, "remove", "remove a budget", remove).add_argument("name")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    columns = ("name", *WHOSE, *LIMITS, "period", "spent", "reserved", "left", "renews_at")
    print_rows(args, pages(client, BUDGETS), columns)


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(BUDGETS, args.name)))


def add_budget(client: httpx.Client, args: argparse.Namespace) -> None:
    given = {name: getattr(args, name) for name in (*WHOSE, *LIMITS)}
    body: dict[str, Any] = {"name": args.name, "period": args.period}
    body |= {name: value for name, value in given.items() if value is not None}
    print_one(args, send(client, "POST", BUDGETS, json=body))


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(BUDGETS, args.name))
