"""`mastio audit prove`: writes a proof that an entry is in the log (C2SP tlog-proof), or verifies one offline.

An appliance that runs proves for its newest checkpoint (`--url`). What is stored has no signing key beside it, so there
the proof is for a checkpoint that was signed already: the one that the appliance keeps, or one that is handed in.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from pathlib import Path
from typing import Any

import orjson

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import connect
from mastio_audit.commands import places
from mastio_audit.log import tiles
from mastio_audit.log.store import LogReader
from mastio_audit.verification.served import Absent
from mastio_primitives.transparency import arguments as log_arguments
from mastio_primitives.transparency import merkle, notes
from mastio_primitives.transparency.merkle import ProofError, leaf_hash
from mastio_primitives.transparency.notes import Checkpoint, Verifier


def add_verbs(verbs: Any) -> None:
    prove = places.add_verb(verbs, "prove", "prove that an entry is in the log, or verify such a proof", run)
    prove.add_argument("index", type=log_arguments.parse_index, nargs="?", metavar="INDEX", help="of the entry")
    places.add_place(prove)
    places.add_archive(prove)
    log_arguments.add_vkey(prove)
    prove.add_argument("--checkpoint", type=Path, metavar="FILE", help="prove for the last signed checkpoint in there")
    log_arguments.add_checkpoint_out(prove)
    prove.add_argument("--verify", type=Path, metavar="PROOF", help="verify this proof, with --entry or --export")
    given = prove.add_mutually_exclusive_group()
    given.add_argument("--entry", type=Path, metavar="FILE", help="the entry, as it is in an export")
    given.add_argument("--export", type=Path, metavar="FILE", help="an export that has the entry")


def run(args: argparse.Namespace) -> int:
    """Raises `ProofError`, `NoteError`, `ChainError`, `Absent`, `Refused`, `ConfigurationError`, `StoreError`."""
    places.verify_place(args)
    if args.verify is not None:
        return _verify(args)
    if args.index is None or args.entry is not None or args.export is not None:
        raise ConfigurationError("Name the INDEX of an entry.", "Or give --verify with --entry or --export.")
    if args.url is not None:
        if args.checkpoint is not None:
            raise ConfigurationError("--checkpoint goes with what is stored.", "The appliance signs a new one.")
        with connect(args) as client:
            proof = places.fetch(client, f"/v1/audit/proof/{args.index}")
        _, _, signed = notes.parse_proof(proof)
    else:
        signed = places.read_signed(args)
        checkpoint = places.open_signed(signed, places.known_keys(args))
        hashes = asyncio.run(_prove(places.open_reader(args), args.index, checkpoint))
        proof = notes.write_proof(args.index, hashes, signed)
    if args.checkpoint_out is not None:
        log_arguments.write_out(args.checkpoint_out, [signed])
    log_arguments.write_out(None, [proof])
    return 0


async def _prove(reader: LogReader, index: int, checkpoint: Checkpoint) -> list[bytes]:
    """The path from the stored entry. Raises `ProofError` for a log that is not that of the checkpoint."""
    if index >= checkpoint.size:
        raise Absent(f"There is no entry {index} below a checkpoint of size {checkpoint.size}.")
    try:
        await reader.open()
        [entry] = await tiles.read_entries(reader, index, 1)
        hashes = await tiles.read_proof(reader, merkle.inclusion(index, checkpoint.size), checkpoint.size)
    finally:
        await reader.close()
    merkle.verify_inclusion(index, leaf_hash(entry), 0, checkpoint.size, checkpoint.root, hashes)
    return hashes


def _verify(args: argparse.Namespace) -> int:
    index, hashes, signed = notes.parse_proof(log_arguments.read_bytes(args.verify))
    if args.index is not None and args.index != index:
        raise ProofError(f"it is for entry {index}")
    verifiers: list[Verifier] = log_arguments.read_pins(args)
    pinned = bool(verifiers)
    if args.export is not None:
        entry, vkey = _find(args.export, index)
        verifiers = verifiers or [notes.parse_vkey(vkey)]
    elif args.entry is not None:
        entry = log_arguments.read_bytes(args.entry).removesuffix(b"\n")
    else:
        raise ConfigurationError("--verify needs the entry.", "Give --entry or --export.")
    if not verifiers:
        raise ConfigurationError("--verify needs a key that you trust.", "Give --vkey.")
    checkpoint = places.open_signed(signed, verifiers)
    merkle.verify_inclusion(index, leaf_hash(entry), 0, checkpoint.size, checkpoint.root, hashes)
    if args.json:
        print(orjson.dumps({"index": index, "size": checkpoint.size, "root": checkpoint.root.hex()}).decode())
    else:
        print(f"entry {index} is in the log of {checkpoint.size} entries")
    if not pinned:
        print("mastio: The key was not pinned: the export itself says so.", file=sys.stderr)
    return 0


def _find(path: Path, index: int) -> tuple[bytes, str]:
    """An entry of an export, and the key in its last line."""
    try:
        with path.open("rb") as file:
            entry = next(itertools.islice(file, index, None), b"")
            last = entry
            for last in file:  # noqa: B007
                pass
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror}).", "Name an export.") from error
    try:
        return entry.removesuffix(b"\n"), str(orjson.loads(last)["vkey"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ProofError("the export has no last line with a key") from error
