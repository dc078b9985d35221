"""Verifies an export: a line for each entry, and a last line with signed checkpoint and key. Memory does not grow.

Pure: the lines are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO

import orjson

from mastio_audit.log.chain import FIELDS, MAX_ENTRY, ChainError
from mastio_audit.verification.recompute import Progress, Recomputation, Report
from mastio_primitives.transparency.merkle import WIDTH
from mastio_primitives.transparency.notes import parse_checkpoint, parse_note, parse_vkey

LONGEST = 4 * MAX_ENTRY
"""Bytes of a line; the last one is JSON of a note of 64 KiB at most."""

_EVERY = 1000
_MEMBERS = {"checkpoint", "vkey"}
_NAME = "the last line"
_ENTRY = b'{"%b"' % FIELDS[0].encode()


def verify_export(
    source: IO[bytes],
    progress: Progress,
    work: Recomputation,
    earlier: Callable[[int], Iterable[bytes]],
) -> Report:
    """Verify all of an export. `earlier` gives the entries before an index, of a log whose beginning is archived.

    Raises `OSError`, and what `earlier` raises.
    """
    last = b""
    try:
        while line := source.readline(LONGEST):
            if not last and line.startswith(_ENTRY) and (start := _find_start(line)):
                for seq, entry in enumerate(earlier(start)):
                    work.add(seq, entry)
            if last:
                work.add(work.size, last.removesuffix(b"\n"))
                if not work.size % _EVERY:
                    progress(work.size, None)
            last = line
        end = _read_end(last, work)
        return _finish(end, work, progress)
    except ChainError as error:
        return work.report(error)


def _find_start(line: bytes) -> int:
    """The index of the first entry, where that is one at which an archive can end; else 0."""
    try:
        seq = orjson.loads(line).get("seq")
    except (orjson.JSONDecodeError, AttributeError):
        return 0
    return seq if type(seq) is int and seq > 0 and not seq % WIDTH else 0


def _read_end(line: bytes, work: Recomputation) -> dict[str, str]:
    """The members of the last line. Raises `ChainError` where it is none."""
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError:
        document = None
    if isinstance(document, dict) and document.keys() == _MEMBERS and {type(one) for one in document.values()} == {str}:
        return document
    if line.startswith(_ENTRY):
        work.add(work.size, line.removesuffix(b"\n"))
    work.verifier.settle(None)
    raise ChainError("here the last line should be, with checkpoint and key", work.size)


def _finish(end: dict[str, str], work: Recomputation, progress: Progress) -> Report:
    """Compare with the last line. Raises `ChainError`."""
    size = work.size
    try:
        vkey = parse_vkey(end["vkey"])
        work.keys.believe(vkey)
        checkpoint = parse_checkpoint(parse_note(end["checkpoint"].encode()).text)
    except ValueError as error:
        work.verifier.settle(None)
        work.problems.append(f"{_NAME}: {error}")
        return work.report(None)
    work.verifier.settle(checkpoint.root if checkpoint.size == size else None)
    if checkpoint.size < size:
        raise ChainError("the checkpoint in the last line does not cover it", checkpoint.size)
    work.expect(_NAME, end["checkpoint"].encode())
    if checkpoint.size == size:
        work.allow_later_checkpoints()
    if vkey not in work.keys.known:
        work.problems.append("the key in the last line is none that is believed")
    progress(size, size)
    return work.report(None, size)
