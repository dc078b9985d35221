"""`mastio budgets`: list, show, add, change, remove limits of requests, tokens and USD."""

from __future__ import annotations

import argparse
from typing import Any, get_args

import httpx

from mastio.exchange.budgets import Period
from mastio.plugin.administer import add_verb, administer, item_path, pages, print_one, print_rows
from mastio_client.enroll import send

MEANING = "list, show, add, change, remove limits of requests, tokens and USD"

BUDGETS = "/v1/admin/budgets"
WHOSE = ("agent", "group", "model")
LIMITS = ("limit_usd", "limit_tokens", "limit_requests")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list budgets and what is spent of them", show_list)
    add_verb(verbs, "show", "show one budget and what is spent of it", show_one).add_argument("name")
    _add_members(add_verb(verbs, "add", "add a budget", add_budget), is_new=True)
    change = add_verb(verbs, "set", "change a budget; what is not named stays", change_budget)
    _add_members(change, is_new=False)
    add_verb(verbs, "remove", "remove a budget", remove).add_argument("name")


def _add_members(parser: argparse.ArgumentParser, *, is_new: bool) -> None:
    parser.add_argument("name")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--agent", metavar="NAME", help="of one agent (default: everybody's together)")
    whose.add_argument("--group", metavar="NAME", help="of all members of a group together")
    whose.add_argument("--model", metavar="GLOB", help="of a model: provider/model, its own name, or an alias")
    limit = parser.add_mutually_exclusive_group(required=is_new)
    limit.add_argument("--usd", dest="limit_usd", metavar="AMOUNT", help="US dollars, with nine decimals at most")
    limit.add_argument("--tokens", dest="limit_tokens", type=int, metavar="N", help="tokens, read and written")
    limit.add_argument("--requests", dest="limit_requests", type=int, metavar="N", help="requests")
    parser.add_argument("--period", required=is_new, choices=get_args(Period), help="when it renews, in UTC")


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    columns = ("name", *WHOSE, *LIMITS, "period", "spent", "reserved", "left", "renews_at")
    print_rows(args, pages(client, BUDGETS), columns)


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(BUDGETS, args.name)))


def add_budget(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", BUDGETS, json={"name": args.name, **_members(args)}))


def change_budget(client: httpx.Client, args: argparse.Namespace) -> None:
    """The count goes on where only the limit is another."""
    print_one(args, send(client, "PATCH", item_path(BUDGETS, args.name), json=_members(args)))


def _members(args: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name in (*WHOSE, *LIMITS, "period") if (value := getattr(args, name)) is not None}


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(BUDGETS, args.name))
