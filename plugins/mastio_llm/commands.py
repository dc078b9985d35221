"""`mastio providers`: list, show, add, set, test, remove LLM providers."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import add_verb, administer, item_path, pages, plain, print_one, print_rows
from mastio_client.enroll import send

MEANING = "list, show, add, change, test, remove LLM providers"

PROVIDERS = "/v1/admin/providers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list providers", show_list)
    add_verb(verbs, "show", "show one provider, without its secret", show_one).add_argument("name")
    add = add_verb(verbs, "add", "add a provider", add_provider)
    add.add_argument("name")
    add.add_argument("--base-url", required=True, help="with the version segment, as the vendor documents it")
    add.add_argument(
        "--kind", default="openai", help="openai (the default), anthropic, gemini, azure, bedrock, vertex or ollama"
    )
    _add_members(add)
    change = add_verb(verbs, "set", "change a provider; what is not named stays", change_provider)
    change.add_argument("name")
    change.add_argument("--base-url", help="another server needs the key again")
    change.add_argument("--kind")
    _add_members(change)
    test = add_verb(verbs, "test", "try whether a provider can be called, without a call of a model", test_provider)
    test.add_argument("name")
    add_verb(verbs, "remove", "remove a provider", remove).add_argument("name")


def _add_members(parser: argparse.ArgumentParser) -> None:
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument("--api-key-from", metavar="FILE", help="send the key in this file; - reads it from stdin")
    secret.add_argument("--api-key-file", metavar="PATH", help="a file that the appliance itself reads the key from")
    parser.add_argument("--model", action="append", metavar="GLOB", help="models it serves (default: all); repeatable")
    parser.add_argument("--alias", action="append", metavar="ALIAS=MODEL", help="another name of a model; repeatable")
    parser.add_argument(
        "--allow-address", action="append", metavar="CIDR", help="an address beyond the public ones; repeatable"
    )
    parser.add_argument("--weight", type=int)


def run(args: argparse.Namespace) -> int:
    return administer(args)


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    print_rows(args, pages(client, PROVIDERS), ("name", "kind", "base_url", "models", "api_key_set"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(PROVIDERS, args.name)))


def add_provider(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "POST", PROVIDERS, json={"name": args.name, **_members(args)}))


def change_provider(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "PATCH", item_path(PROVIDERS, args.name), json=_members(args)))


def test_provider(client: httpx.Client, args: argparse.Namespace) -> int:
    """Status 1 where it cannot be called."""
    trial = send(client, "POST", item_path(PROVIDERS, args.name, "test"))
    if args.json:
        print(json.dumps(trial))
        return 0 if trial["ok"] else 1
    for step in trial["steps"]:
        print(f"{step['step']:<10}  {'ok' if step['ok'] else 'failed'}")
    if trial["models"] is not None:
        print(f"{'models':<10}  {trial['models']}")
    if not trial["ok"]:
        print(f"mastio: {plain(trial['reason'])} {plain(trial['hint'])}".replace("NAME", args.name), file=sys.stderr)
    return 0 if trial["ok"] else 1


def _members(args: argparse.Namespace) -> dict[str, Any]:
    """The members that were given, without defaults: the appliance adds these."""
    wanted = {
        "kind": args.kind,
        "base_url": args.base_url,
        "api_key": _read_key(args.api_key_from) if args.api_key_from else None,
        "api_key_file": args.api_key_file,
        "models": args.model,
        "aliases": dict(map(_parse_alias, args.alias)) if args.alias else None,
        "allow_addresses": args.allow_address,
        "weight": args.weight,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(PROVIDERS, args.name))


def _read_key(source: str) -> str:
    """Never an argument of its own: those are visible to every process of the machine."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"The key in {source} cannot be read.", "Check --api-key-from.") from error
    return text.strip()


def _parse_alias(text: str) -> tuple[str, str]:
    alias, separator, model = text.partition("=")
    if not separator or not alias or not model:
        raise ConfigurationError("An alias is not of the form ALIAS=MODEL.", "Example: --alias fast=gpt-4o-mini")
    return alias, model
