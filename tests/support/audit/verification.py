"""A log with keys and checkpoints, and the ways to verify it: where it is stored, as an export, as tiles over REST.

The REST surface is the plugin's own hooks, called with values; no server stands between. Whoever tampers does so in the
database, in the files beside it, or in what is served.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson

from mastio.exchange.errors import MastioError
from mastio.exchange.values import Entry
from mastio_audit import commands as audit
from mastio_audit.admin_api import LOG, LogApi
from mastio_audit.log import chain
from mastio_audit.log.chain import Head
from mastio_audit.log.sqlite import SqliteReader
from mastio_audit.log.store import Batch, join
from mastio_audit.verification.recompute import Recomputation
from mastio_audit.verification.served import Absent, verify_served
from mastio_audit.verification.trust import Keyring
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.merkle import Tree, leaf_hash
from mastio_primitives.transparency.notes import Checkpoint, Signer

ORIGIN = "test.example/audit"
FIRST, SECOND, STRANGER = (Signer(ORIGIN, bytes([n]) * 32) for n in (1, 2, 3))
Change = Callable[[str, bytes], bytes]


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    audit.add_arguments(parser)
    return audit.run(parser.parse_args(words))


def event(number: int, **request: Any) -> Entry:
    return Entry(id=f"x-{number}", phase="event", kind="test", agent="demo", request=request or None)


def append(place: Any, entries: Iterable[Entry]) -> None:
    drafts = [chain.draft(entry) for entry in entries]

    def build(head: Head) -> Batch:
        made = chain.append(head, drafts, 1_700_000_000.25)
        return Batch(made.rows, made.head, made.nodes)

    async def run() -> None:
        store = place.store()
        await store.open()
        await store.append(build)
        await store.close()

    asyncio.run(run())


def rows_of(place: Any) -> list[bytes]:
    return [bytes(row[0]) for row in place.tamper("SELECT entry FROM entries ORDER BY seq")]


def checkpoint_of(entries: Iterable[bytes], *signers: Signer) -> bytes:
    tree = Tree()
    for entry in entries:
        tree.add(leaf_hash(entry))
    return notes.sign(Checkpoint(ORIGIN, tree.size, tree.root), signers or [FIRST])


def keep(data: Path, checkpoint: bytes, *signers: Signer) -> None:
    """What the appliance keeps beside its log."""
    (data / "log").mkdir(exist_ok=True)
    (data / "log" / "checkpoint").write_bytes(checkpoint)
    (data / "log" / "vkey").write_text("".join(f"{signer.verifier}\n" for signer in signers or [FIRST]))


def export_of(entries: Iterable[bytes], checkpoint: bytes, signer: Signer = FIRST) -> bytes:
    end = {"checkpoint": checkpoint.decode(), "vkey": str(signer.verifier)}
    return b"".join(entry + b"\n" for entry in entries) + orjson.dumps(end) + b"\n"


def rewrite(place: Any, start: int, kind: str = "forged") -> None:
    """What an attacker with the database's password does: every entry from `start` on anew, all of it consistent."""
    entries = [json.loads(entry) for entry in rows_of(place)]
    tree, last = Tree(), bytes(32)
    for seq, document in enumerate(entries):
        document["prev"] = last.hex()
        if seq == start:
            document["kind"] = kind
        made = chain.encode(document)
        last = leaf_hash(made)
        tree.add(last)
        if seq >= start:
            place.put(seq, made)
    place.tamper("DELETE FROM nodes")
    for node in tree.nodes:
        place.tamper("INSERT INTO nodes VALUES ($1, $2, $3)", node.level, node.index, node.hash)
    place.tamper("UPDATE head SET last_hash = $1, frontier = $2", last, join(tree.frontier))


class Served:
    """The log of a data folder as the plugin's REST hooks give it out. `change` tampers with what is served."""

    def __init__(self, data: Path, *signers: Signer, change: Change | None = None) -> None:
        keys: Any = SimpleNamespace(origin=ORIGIN, signers=lambda now: list(signers or [FIRST]))
        self._doors = LogApi(SqliteReader(data / "db" / "audit.sqlite"), keys, lambda: 0.0, data / "log" / "cosigned")
        self._loop = asyncio.new_event_loop()
        self._change = change

    def fetch(self, path: str) -> bytes:
        """As the verifier asks."""
        try:
            content = self.read(path)
        except MastioError as error:
            assert error.code in ("not_found", "audit_damaged"), error
            raise Absent(error.message) from error
        return content if self._change is None else self._change(path, content)

    def read(self, target: str) -> bytes:
        """Raises `MastioError`."""
        path, _, query = target.partition("?")
        kind = "audit.tile" if path.startswith("tile/") else "audit.checkpoint"
        params = {"path": path.removeprefix("tile/")}
        head: Any = SimpleNamespace(
            query=query.encode(), params=params, path=f"{LOG}/{path}", route=SimpleNamespace(kind=kind)
        )
        _, message = self._doors.read[kind](head, None, b"")
        recorded: Any = SimpleNamespace(message=message, principal=None)
        reply = self._loop.run_until_complete(self._doors.dispatch[kind](recorded))
        assert isinstance(reply.body, bytes)
        return reply.body

    def close(self) -> None:
        self._loop.run_until_complete(self._doors.close())
        self._loop.close()


def verify_url(
    data: Path,
    *signers: Signer,
    change: Change | None = None,
    vkeys: tuple[Signer, ...] = (),
    old: tuple[bytes, ...] = (),
) -> tuple[int, dict[str, Any]]:
    """As `mastio audit verify --url … --json`."""
    work = Recomputation(Keyring(one.verifier for one in vkeys))
    for one in old:
        work.expect("old", one)
    served = Served(data, *signers, change=change)
    try:
        report = verify_served(served.fetch, lambda done, size: None, work)
    finally:
        served.close()
    return 0 if report.problem is None else 3, json.loads(json.dumps(dataclasses.asdict(report)))
