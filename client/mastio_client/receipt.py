"""Verifies for an agent that its call is in the log, and that the log was only extended.

A reply has the header `Mastio-Receipt`, the index of the call's first entry. The appliance is not trusted: this module
hashes the entry's bytes, the proof must lead to a checkpoint that a known key signed, and that checkpoint must extend
every older one that the agent kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from mastio_client.enroll import Refused, refusal
from mastio_primitives.transparency import merkle, notes
from mastio_primitives.transparency.merkle import ProofError
from mastio_primitives.transparency.notes import Checkpoint, NoteError, Verifier

LOG = "/v1/audit/log"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A verified entry, the signed checkpoint that covers it, and the proof between them. Keep `signed`."""

    index: int
    entry: bytes
    checkpoint: Checkpoint
    signed: bytes
    proof: bytes


def fetch_vkey(client: httpx.Client) -> Verifier:
    """The key that the appliance names. Prefer a key from another source, and pin it. Raises `NoteError`."""
    return notes.parse_vkey(_get(client, f"{LOG}/vkey").decode("utf-8", "replace"))


def verify_receipt(
    client: httpx.Client, index: int, verifiers: Sequence[Verifier], older: Sequence[bytes] = ()
) -> Receipt:
    """Verify the entry at `index`, which is the client's own, and that the log extends each signed checkpoint `older`.

    Raises `NoteError` or `ProofError` where something does not hold, `Refused` where there is no such entry for this
    client, `ConfigurationError` where the appliance does not answer.
    """
    kept = [notes.open_checkpoint(one, verifiers) for one in older]
    lines = _get(client, f"/v1/audit/entries?from={index}&limit=1").split(b"\n")
    if _seq(lines[0]) != index:
        raise Refused(f"Entry {index} is not one of this agent's.", "not_found")
    proof = _get(client, f"/v1/audit/proof/{index}")
    at, hashes, signed = notes.parse_proof(proof)
    if at != index:
        raise ProofError("the proof is for another entry")
    checkpoint = notes.open_checkpoint(signed, verifiers)
    leaf = merkle.leaf_hash(lines[0])
    merkle.verify_inclusion(index, leaf, 0, checkpoint.size, checkpoint.root, hashes)
    for old in kept:
        verify_extension(client, old, checkpoint)
    return Receipt(index, lines[0], checkpoint, signed, proof)


def verify_extension(client: httpx.Client, old: Checkpoint, new: Checkpoint) -> None:
    """Verifies that the log of `new` begins with that of `old`; both are trusted. Raises as `verify_receipt`."""
    if old.origin != new.origin:
        raise ProofError("the older checkpoint is of another log")
    if old.size > new.size:
        raise ProofError(f"the log had {old.size} entries and has {new.size}")
    if old.size == 0:
        return
    content = _get(client, f"{LOG}/checkpoint?old={old.size}&size={new.size}")
    size, hashes, _ = notes.parse_extension(content)
    if size != old.size:
        raise ProofError("the proof is for another size")
    merkle.verify_consistency(old.size, new.size, old.root, new.root, hashes)


def _seq(line: bytes) -> Any:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document.get("seq") if isinstance(document, dict) else None


def _get(client: httpx.Client, path: str) -> bytes:
    reply = client.get(path)
    if reply.status_code == 200:
        return reply.content
    raise refusal(reply)


__all__ = ["NoteError", "ProofError", "Receipt", "fetch_vkey", "verify_extension", "verify_receipt"]
