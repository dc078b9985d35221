"""`mastio audit checkpoint` and `mastio audit export`: what an auditor takes home, over REST or from what is stored."""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import connect
from mastio_audit.commands import places
from mastio_audit.log import tiles
from mastio_audit.log.store import LogReader
from mastio_primitives.transparency import arguments as log_arguments
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import Verifier

PAGE = 1000


def add_verbs(verbs: Any) -> None:
    checkpoint = places.add_verb(verbs, "checkpoint", "print the signed checkpoint of the log", show_checkpoint)
    places.add_place(checkpoint)
    log_arguments.add_vkey(checkpoint)
    export = places.add_verb(
        verbs, "export", "write the whole log, a line for each entry, and its checkpoint", export_log
    )
    places.add_place(export)
    places.add_archive(export)
    log_arguments.add_vkey(export)
    export.add_argument("--checkpoint", type=Path, metavar="FILE", help="end with the last signed checkpoint in there")
    export.add_argument("-o", "--out", type=Path, metavar="FILE", help="write to a file (default: stdout)")


def show_checkpoint(args: argparse.Namespace) -> int:
    """Raises `NoteError` where none of the keys that were given signed it."""
    places.verify_place(args)
    if args.url is not None:
        with connect(args) as client:
            signed = places.fetch(client, f"{places.LOG}/checkpoint")
        known = log_arguments.read_pins(args)
    else:
        args.checkpoint = None
        signed, known = places.read_signed(args), places.known_keys(args)
    checkpoint = places.open_signed(signed, known) if known else notes.parse_checkpoint(notes.parse_note(signed).text)
    if not args.json:
        log_arguments.write_out(None, [signed])
        return 0
    facts = {
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
        "root_base64": base64.b64encode(checkpoint.root).decode(),
        "note": signed.decode(),
    }
    print(json.dumps(facts))
    return 0


def export_log(args: argparse.Namespace) -> int:
    """Raises `ChainError` for a stored log that lacks entries, `NoteError`, `ConfigurationError`, `StoreError`."""
    places.verify_place(args)
    if args.url is not None:
        with connect(args) as client:
            log_arguments.write_out(args.out, _download(client))
        return 0
    signed, known = places.read_signed(args), places.known_keys(args)
    size = places.open_signed(signed, known).size
    signer = notes.parse_note(signed).signed_by(known)[0]
    with (
        asyncio.Runner() as runner,
        contextlib.closing(_read(runner, places.open_reader(args), size, signed, signer)) as lines,
    ):
        log_arguments.write_out(args.out, lines)
    return 0


def _download(client: httpx.Client) -> Iterator[bytes]:
    try:
        with client.stream("GET", "/v1/audit/export") as reply:
            if reply.status_code != 200:
                reply.read()
                raise places.explain(reply)
            yield from reply.iter_bytes()
    except httpx.HTTPError as error:
        raise ConfigurationError(
            f"The appliance at {client.base_url} cannot be reached, or broke off.",
            f"What was written is not whole: {error}",
        ) from error


def _read(
    runner: asyncio.Runner, reader: LogReader, size: int, signed: bytes, signer: Verifier
) -> Generator[bytes, None, None]:
    try:
        runner.run(reader.open())
        for start in range(0, size, PAGE):
            entries = runner.run(tiles.read_entries(reader, start, min(PAGE, size - start)))
            yield b"".join(entry + b"\n" for entry in entries)
    finally:
        runner.run(reader.close())
    yield orjson.dumps({"checkpoint": signed.decode(), "vkey": str(signer)}) + b"\n"
