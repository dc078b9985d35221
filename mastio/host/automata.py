"""Automata over many expressions, compiled once and then kept beside this file as Python keeps its own code.
For plugins.

Compiling takes a second and much memory, loading some milliseconds. What is kept is named by everything that it was
compiled from, and is trusted as this code is: whoever may write there may write this file. Where nobody may, as in a
read-only image, it is compiled at each start.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import hyperscan

KEPT = Path(__file__).parent / "__pycache__"


def open_automaton(
    expressions: Sequence[bytes], flags: Sequence[int], mode: int = hyperscan.HS_MODE_BLOCK, kept: Path = KEPT
) -> hyperscan.Database:
    """The automaton of `expressions`, whose numbers are their places, each with its flags.

    Raises `hyperscan.error` for what does not compile.
    """
    file = kept / f"automaton-{_digest(expressions, flags, mode)}.hs"
    with contextlib.suppress(OSError, hyperscan.HyperscanError, ValueError):
        return _load(file.read_bytes(), mode)
    database = compile_automaton(expressions, flags, mode)
    data = bytes(hyperscan.dumpb(database))
    with contextlib.suppress(OSError):
        _keep(file, hashlib.sha256(data).digest() + data)
    return database


def compile_automaton(
    expressions: Sequence[bytes], flags: Sequence[int], mode: int = hyperscan.HS_MODE_BLOCK
) -> hyperscan.Database:
    """As `open_automaton`, kept nowhere: for few expressions, and for those that are secret. Raises the same."""
    database = hyperscan.Database(mode=mode)
    database.compile(
        expressions=list(expressions), ids=list(range(len(expressions))), elements=len(expressions), flags=list(flags)
    )
    return database


def _load(kept: bytes, mode: int) -> hyperscan.Database:
    """Raises `ValueError` for what was not written to its end, and `HyperscanError` for what is of another machine."""
    digest, data = kept[:32], kept[32:]
    if hashlib.sha256(data).digest() != digest:
        raise ValueError("damaged")
    database = hyperscan.loadb(data, mode)
    database.scratch = hyperscan.Scratch(database)  # as compiling makes it
    return database


def _keep(file: Path, data: bytes) -> None:
    """Whole or not at all: others may be starting at the same time."""
    file.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as made:
        made.write(data)
    Path(made.name).replace(file)


def _digest(expressions: Sequence[bytes], flags: Sequence[int], mode: int) -> str:
    """Of all that the automaton depends on."""
    digest = hashlib.sha256(f"{version('hyperscan')} {mode} {len(expressions)}".encode())
    for expression, flag in zip(expressions, flags, strict=True):
        digest.update(b"%d %d " % (flag, len(expression)) + expression)
    return digest.hexdigest()[:32]
