"""`mastio admins`: list, show, add, change, remove named admins, and give one a new token.

A new admin's token is best made by its holder: `new-token` prints what others may know of it, `claim` takes a one-time
code to the appliance.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.presented_credentials import ADMIN_PREFIX, digest_secret
from mastio.plugin.administer import add_verb, administer, item_path, pages, print_one, print_rows
from mastio_client.enroll import send
from mastio_primitives.files import write_private

ADMINS = "/v1/admin/admins"
ROLES = ("admin", "operator", "auditor")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_verb(verbs, "list", "list admins", show_list)
    add_verb(verbs, "show", "show one admin", show_one).add_argument("name")
    add = add_verb(verbs, "add", "add an admin, and print the token, which is shown once", add_admin)
    add.add_argument("name")
    add.add_argument("--role", required=True, choices=ROLES)
    _add_token_to(add)
    own = verbs.add_parser("new-token", help="make a token here, and print only its SHA-256, for add --token-sha256")
    own.add_argument("--token-to", type=Path, required=True, metavar="FILE", help="write the token there (0600)")
    own.set_defaults(local=make_token)
    claim = add_verb(verbs, "claim", "make a token here in place of the one-time code in --token-file", claim_token)
    claim.add_argument("name")
    claim.add_argument("--token-to", type=Path, required=True, metavar="FILE", help="write the token there (0600)")
    change = add_verb(verbs, "change", "change an admin's role or end", change_admin)
    change.add_argument("name")
    change.add_argument("--role", choices=ROLES)
    for verb in (add, change):
        end = verb.add_mutually_exclusive_group()
        end.add_argument("--ttl", type=int, metavar="S", help="seconds that the token is good for (default: no end)")
        end.add_argument("--expires-at", metavar="TIME", help="its end, as 2030-01-31T00:00:00Z")
        if verb is change:
            end.add_argument("--no-end", action="store_true", help="the token has no end any more")
    rotate = add_verb(verbs, "rotate", "a new token for an admin; the old one is refused at once", rotate_admin)
    rotate.add_argument("name")
    _add_token_to(rotate)
    add_verb(verbs, "remove", "refuse an admin's token; the name is never given again", remove).add_argument("name")


def _add_token_to(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--token-to",
        type=Path,
        metavar="FILE",
        help="write the token, or the code that it is claimed with, there (0600) instead of printing it",
    )
    which.add_argument(
        "--token-sha256", metavar="HEX", help="of a token that its holder made with new-token: nobody else sees it"
    )


def run(args: argparse.Namespace) -> int:
    local: Callable[[argparse.Namespace], int] | None = getattr(args, "local", None)
    return administer(args) if local is None else local(args)


def make_token(args: argparse.Namespace) -> int:
    print(digest_secret(_keep_new_token(args.token_to).encode("ascii")))
    return 0


def _keep_new_token(file: Path) -> str:
    """A new token, which is in the file. Raises `ConfigurationError`: nothing was sent anywhere."""
    token = ADMIN_PREFIX.decode("ascii") + secrets.token_urlsafe(32)
    try:
        write_private(file, f"{token}\n".encode("ascii"))
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written.", "Check --token-to.") from error
    return token


def claim_token(client: httpx.Client, args: argparse.Namespace) -> None:
    token = _keep_new_token(args.token_to)
    body = {"token_sha256": digest_secret(token.encode("ascii"))}
    print_one(args, send(client, "POST", item_path(ADMINS, args.name, "rotate"), json=body))


def show_list(client: httpx.Client, args: argparse.Namespace) -> None:
    print_rows(args, pages(client, ADMINS), ("name", "role", "expires_at", "created_at", "created_by"))


def show_one(client: httpx.Client, args: argparse.Namespace) -> None:
    print_one(args, send(client, "GET", item_path(ADMINS, args.name)))


def add_admin(client: httpx.Client, args: argparse.Namespace) -> None:
    body = {"name": args.name, "role": args.role, **_end(args), **_own(args)}
    print_token(args, send(client, "POST", ADMINS, json=body))


def change_admin(client: httpx.Client, args: argparse.Namespace) -> None:
    body = {**({"role": args.role} if args.role else {}), **_end(args)}
    if args.no_end:
        body["expires_at"] = None
    print_one(args, send(client, "PATCH", item_path(ADMINS, args.name), json=body))


def rotate_admin(client: httpx.Client, args: argparse.Namespace) -> None:
    print_token(args, send(client, "POST", item_path(ADMINS, args.name, "rotate"), json=_own(args)))


def remove(client: httpx.Client, args: argparse.Namespace) -> None:
    send(client, "DELETE", item_path(ADMINS, args.name))


def _own(args: argparse.Namespace) -> dict[str, str]:
    return {"token_sha256": args.token_sha256} if args.token_sha256 else {}


def _end(args: argparse.Namespace) -> dict[str, Any]:
    if args.ttl is not None:
        return {"ttl_seconds": args.ttl}
    return {"expires_at": args.expires_at} if args.expires_at else {}


def print_token(args: argparse.Namespace, made: dict[str, Any]) -> None:
    """Prints the new admin. The token is shown only now, so it is printed when its file cannot be written."""
    if args.token_to is not None and "token" in made:
        try:
            write_private(args.token_to, f"{made['token']}\n".encode("ascii"))
            del made["token"]
        except OSError:
            print(f"mastio: {args.token_to} cannot be written, so the token is printed.", file=sys.stderr)
    print_one(args, made)
