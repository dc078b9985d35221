"""`mastio audit receipt`: an agent verifies that an exchange of its own is in the log. The entry goes to stdout."""

from __future__ import annotations

import argparse
import base64
import json
import sys
from pathlib import Path
from typing import Any

from mastio_audit.commands import places
from mastio_client.call import open_client
from mastio_client.identity import Identity
from mastio_client.receipt import fetch_vkey, verify_receipt
from mastio_primitives.transparency.notes import split_notes


def add_verbs(verbs: Any) -> None:
    receipt = places.add_verb(verbs, "receipt", "verify as an agent that an exchange of one's own is in the log", run)
    receipt.add_argument("index", type=places.parse_index, metavar="INDEX", help="what Mastio-Receipt said")
    receipt.add_argument("--identity", type=Path, required=True, help="folder that mastio enroll wrote")
    places.add_vkey(receipt)
    places.add_older(receipt)
    places.add_checkpoint_out(receipt)


def run(args: argparse.Namespace) -> int:
    """Raises what `verify_receipt` raises."""
    verifiers = places.read_pins(args)
    older = [note for path in args.checkpoint for note in split_notes(places.read_bytes(path))]
    with open_client(Identity.load(args.identity)) as client:
        known = verifiers or [fetch_vkey(client)]
        found = verify_receipt(client, args.index, known, older)
    if args.checkpoint_out is not None:
        places.write_out(args.checkpoint_out, [found.signed])
    pinned = "" if verifiers else " (not pinned: the appliance itself says so)"
    if args.json:
        facts = {
            "index": found.index,
            "size": found.checkpoint.size,
            "root": found.checkpoint.root.hex(),
            "root_base64": base64.b64encode(found.checkpoint.root).decode(),
            "checkpoints": len(older),
            "keys": [str(one) for one in known],
            "pinned": bool(verifiers),
            "entry": found.entry.decode(),
        }
        print(json.dumps(facts))
        return 0
    places.write_out(None, [found.entry + b"\n"])
    print(f"entry {found.index} is in the log of {found.checkpoint.size} entries{pinned}", file=sys.stderr)
    if older:
        print(f"the log extends {len(older)} older checkpoints", file=sys.stderr)
    return 0
