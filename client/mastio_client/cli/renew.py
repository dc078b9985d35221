"""`mastio renew`: a new key and certificate for an enrolled agent, in the same folder."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from mastio_client.enroll import Refused
from mastio_client.identity import Identity
from mastio_client.renewal import renew, renew_if_due
from mastio_primitives.command_line import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--identity", type=Path, required=True, help="folder that the verb enroll wrote")
    parser.add_argument("--if-due", action="store_true", help="only when a third or less of its life is left")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    identity = Identity.load(args.identity)
    try:
        if args.if_due:
            renewed = renew_if_due(identity)
        else:
            renew(identity)
            renewed = True
    except Refused as refusal:
        print(f"mastio: {plain(refusal.message)}", file=sys.stderr)
        return 1
    ends = identity.leaf().not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    if args.json:
        print(json.dumps({"name": identity.name, "renewed": renewed, "not_after": ends}))
    else:
        print(f"{identity.name} {'renewed' if renewed else 'not due'}, valid until {ends}")
    return 0
