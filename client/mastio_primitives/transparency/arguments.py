"""Arguments of the verbs that verify the log, for agents and auditors: trusted keys, kept checkpoints, an index."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

from mastio_primitives.errors import ConfigurationError
from mastio_primitives.transparency.notes import NoteError, Verifier, parse_vkeys, split_notes


def add_vkey(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vkey",
        action="append",
        default=[],
        metavar="KEY",
        help="a key of the log that you trust, or a file with such keys; repeatable (default: what the place says)",
    )


def add_older(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checkpoint",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="signed checkpoints, one or several, that the log must begin with; repeatable",
    )


def add_checkpoint_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checkpoint-out", type=Path, metavar="FILE", help="write the signed checkpoint of the proof there as well"
    )


def parse_index(text: str) -> int:
    """The index of an entry. Raises `ValueError`."""
    if not text.isascii() or not text.isdecimal():
        raise ValueError(text)
    return int(text)


def read_pins(args: argparse.Namespace) -> list[Verifier]:
    """The keys of `--vkey`. Raises `ConfigurationError`."""
    return [verifier for one in args.vkey for verifier in _read_pin(one)]


def _read_pin(given: str) -> list[Verifier]:
    path = Path(given)
    try:
        return parse_vkeys(path.read_bytes() if path.is_file() else given.encode())
    except NoteError as error:
        raise ConfigurationError(
            f"--vkey {given} is neither a key nor a file of keys: {error}.", "It has the form name+id+key."
        ) from error
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--vkey {given} cannot be read.", "Give a key, or a file.") from error


def read_bytes(path: Path) -> bytes:
    """Raises `ConfigurationError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror}).", "Name a file.") from error


def write_out(out: Path | None, pieces: Iterable[bytes]) -> None:
    """To stdout, or to a file that appears whole or not at all. Raises `ConfigurationError`."""
    if out is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    draft = out.with_name(f".{out.name}.part")
    try:
        with draft.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        draft.replace(out)
    except OSError as error:
        raise ConfigurationError(f"{out} cannot be written ({error.strerror}).", "Name a file that can.") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def read_older(args: argparse.Namespace) -> list[bytes]:
    """The signed checkpoints of `--checkpoint`. Raises `ConfigurationError`, `NoteError`."""
    return [note for path in args.checkpoint for note in split_notes(read_bytes(path))]
