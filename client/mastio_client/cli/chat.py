"""`mastio chat`: one chat completion, printed as text; the receipt goes to stderr."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import httpx

from mastio_client.call import chat, warn_if_due
from mastio_client.identity import Identity


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--identity", type=Path, required=True, help="folder that the verb enroll wrote")
    parser.add_argument("--model", required=True, help="model, as provider/model or an alias")
    parser.add_argument("--stream", action="store_true", help="print the reply as it arrives")
    parser.add_argument("text", metavar="TEXT")


def run(args: argparse.Namespace) -> int:
    receipt = None
    identity = Identity.load(args.identity)
    warn_if_due(identity, time.time())
    try:
        for piece, response in chat(identity, args.model, args.text, stream=args.stream):
            print(piece, end="", flush=True)
            receipt = response.headers.get("mastio-receipt")
    except httpx.HTTPStatusError as error:
        print(f"mastio: {error.response.status_code} {error.response.text}", file=sys.stderr)
        return 1
    print()
    if receipt is not None:
        print(f"receipt {receipt}", file=sys.stderr)
    return 0
