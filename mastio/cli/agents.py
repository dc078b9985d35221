"""`mastio agents`: list, show, suspend, revoke, reactivate agents, put them into groups; their API keys."""

from __future__ import annotations

import argparse
from typing import Any

import httpx

from mastio.plugin.administer import add_verb, administer, item_path, pages, plain, print_one, print_rows, with_reason
from mastio_client.enroll import send

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
        if call is revoke:
            which = verb.add_mutually_exclusive_group(required=True)
            which.add_argument("name", nargs="?")
            which.add_argument("--all", action="store_true", help="every agent there is")
        else:
            verb.add_argument("name")
        verb.add_argument("--reason")
    groups = add_verb(verbs, "groups", "set an agent's groups", set_groups)
    groups.add_argument("name")
    groups.add_argument("groups", nargs="*", metavar="GROUP", help="all of them; none leaves the agent without")
    switch = add_verb(verbs, "api-keys", "turn API keys on or off for an agent", set_api_keys)
    switch.add_argument("name")
    switch.add_argument("switch", choices=("on", "off"))
    add_verb(verbs, "keys", "list an agent's API keys, without the keys themselves", list_keys).add_argument("name")
    key = add_verb(verbs, "new-key", "make an API key for an agent", make_key)
    key.add_argument("name")
    for option, meaning in (
        ("kind", "action kinds that it is good for, as llm.*"),
        ("model", "models that it is good for: provider/model, a model's name, or an alias"),
        ("path", "paths that it is good for"),
    ):
        key.add_argument(f"--{option}", action="append", default=[], metavar="GLOB", help=f"{meaning}; repeatable")
    key.add_argument("--ttl", type=int, metavar="S", help="seconds that it is good for (default: without end)")
    key.add_argument("--label", metavar="TEXT", help="what it is for")
    remove = add_verb(verbs, "remove-key", "make an API key good for nothing", remove_key)
    remove.add_argument("name")
    remove.add_argument("id")


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
    path = f"{AGENTS}/*/revoke" if args.all else item_path(AGENTS, args.name, "revoke")
    print_one(args, send(client, "POST", path, json=with_reason(args)))


def reactivate(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", item_path(AGENTS, args.name, "reactivate"), json=with_reason(args)))


def set_groups(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "PATCH", item_path(AGENTS, args.name), json={"groups": args.groups}))


def set_api_keys(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "PATCH", item_path(AGENTS, args.name), json={"api_keys": args.switch}))


def list_keys(client: httpx.Client, args: argparse.Namespace) -> None:
    items = pages(client, item_path(AGENTS, args.name, "api-keys"))
    print_rows(args, items, ("id", "name", "kinds", "models", "paths", "expires_at", "last_used_at"))


def make_key(client: httpx.Client, args: argparse.Namespace) -> None:
    """Without --json the key alone is printed, ready for a tool's configuration."""
    body: dict[str, Any] = {"kinds": args.kind, "models": args.model, "paths": args.path}
    body |= {"name": args.label} if args.label is not None else {}
    body |= {"ttl_seconds": args.ttl} if args.ttl is not None else {}
    made = send(client, "POST", item_path(AGENTS, args.name, "api-keys"), json=body)
    if args.json:
        print_one(args, made)
    else:
        print(plain(made["key"]))


def remove_key(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(item_path(AGENTS, args.name, "api-keys"), args.id))
