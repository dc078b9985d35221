"""`mastio receipt`: an agent verifies that a call of its own is in the log. The entry goes to stdout."""

from __future__ import annotations

import argparse
import base64
import json
import sys
from pathlib import Path

from mastio_client.call import open_client
from mastio_client.enroll import Refused
from mastio_client.identity import Identity
from mastio_client.receipt import NoteError, ProofError, Receipt, fetch_vkey, verify_receipt
from mastio_primitives.command_line import plain
from mastio_primitives.transparency import arguments as log_arguments
from mastio_primitives.transparency.notes import Verifier


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", type=log_arguments.parse_index, metavar="INDEX", help="what Mastio-Receipt said")
    parser.add_argument("--identity", type=Path, required=True, help="folder that the verb enroll wrote")
    log_arguments.add_vkey(parser)
    log_arguments.add_older(parser)
    log_arguments.add_checkpoint_out(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Exit status 1: the appliance refused. 3: the log is not what it should be."""
    try:
        return verify(args)
    except Refused as refusal:
        print(f"mastio: {plain(refusal.message)}", file=sys.stderr)
        return 1
    except (NoteError, ProofError) as error:
        print(f"mastio: This does not hold: {plain(str(error))}.", file=sys.stderr)
        return 3


def verify(args: argparse.Namespace) -> int:
    """Verify and print. Raises what `verify_receipt` raises."""
    pins, older = log_arguments.read_pins(args), log_arguments.read_older(args)
    with open_client(Identity.load(args.identity)) as client:
        known = pins or [fetch_vkey(client)]
        found = verify_receipt(client, args.index, known, older)
    if args.checkpoint_out is not None:
        log_arguments.write_out(args.checkpoint_out, [found.signed])
    if args.json:
        print(json.dumps(_describe(found, known, len(older), pinned=bool(pins))))
        return 0
    log_arguments.write_out(None, [found.entry + b"\n"])
    pinned = "" if pins else " (not pinned: the appliance itself says so)"
    print(f"entry {found.index} is in the log of {found.checkpoint.size} entries{pinned}", file=sys.stderr)
    if older:
        print(f"the log extends {len(older)} older checkpoints", file=sys.stderr)
    return 0


def _describe(found: Receipt, known: list[Verifier], older: int, *, pinned: bool) -> dict[str, object]:
    return {
        "index": found.index,
        "size": found.checkpoint.size,
        "root": found.checkpoint.root.hex(),
        "root_base64": base64.b64encode(found.checkpoint.root).decode(),
        "checkpoints": older,
        "keys": [str(one) for one in known],
        "pinned": pinned,
        "entry": found.entry.decode(),
    }
