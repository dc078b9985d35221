"""`mastio call`: one DPoP-signed call. The body goes to stdout, status and receipt to stderr."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from mastio_client.call import open_client, warn_if_due
from mastio_client.identity import Identity
from mastio_primitives.errors import ConfigurationError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--identity", type=Path, required=True, help="folder that the verb enroll wrote")
    parser.add_argument("method", metavar="METHOD")
    parser.add_argument("path", metavar="PATH")
    body = parser.add_mutually_exclusive_group()
    body.add_argument("--json", metavar="TEXT", help="JSON body")
    body.add_argument("--body", type=Path, metavar="FILE", help="body from a file, sent as application/octet-stream")


def run(args: argparse.Namespace) -> int:
    if not args.path.startswith("/"):
        raise ConfigurationError("PATH must begin with a slash.", "For example: mastio call … GET /v1/models")
    identity = Identity.load(args.identity)
    warn_if_due(identity, time.time())
    content, headers = _read_body(args)
    with (
        open_client(identity) as client,
        client.stream(args.method.upper(), args.path, content=content, headers=headers) as response,
    ):
        receipt = response.headers.get("mastio-receipt")
        print(f"{response.status_code}{f'  receipt {receipt}' if receipt else ''}", file=sys.stderr)
        for chunk in response.iter_bytes():
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    sys.stdout.buffer.write(b"\n")
    return 0 if response.status_code < 400 else 1


def _read_body(args: argparse.Namespace) -> tuple[bytes | None, dict[str, str]]:
    if args.json is not None:
        try:
            json.loads(args.json)
        except ValueError as error:
            raise ConfigurationError("The body is not JSON.", "Put it into single quotes.") from error
        return args.json.encode(), {"Content-Type": "application/json"}
    if args.body is not None:
        try:
            return args.body.read_bytes(), {"Content-Type": "application/octet-stream"}
        except OSError as error:
            raise ConfigurationError(f"{args.body} cannot be read.", "Name a file.") from error
    return None, {}
