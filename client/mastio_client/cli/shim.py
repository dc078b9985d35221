"""`mastio shim`: a plain-HTTP loopback door for unmodified clients. Runs until SIGTERM; all it says is on stderr."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mastio_client.identity import Identity
from mastio_client.shim.rules import parse_listen
from mastio_client.shim.server import run as run_shim


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--identity", type=Path, required=True, help="folder that the verb enroll wrote")
    parser.add_argument(
        "--listen",
        default="127.0.0.1:9480",
        metavar="ADDRESS:PORT",
        help="a loopback address (%(default)s); port 0 picks a free one",
    )


def run(args: argparse.Namespace) -> int:
    address, port = parse_listen(args.listen)
    run_shim(Identity.load(args.identity), address, port, say)
    return 0


def say(text: str) -> None:
    print(f"mastio shim: {text}", file=sys.stderr, flush=True)
