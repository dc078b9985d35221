"""The sources of the key `store-secrets` outside the data folder: a file elsewhere, or an external command.

Whoever has the data folder alone, a backup of it or its disk, then has no secret that is sealed in the database. The
key is asked for once in each process, before it serves anything, and kept in memory. What a command prints is shown
to nobody, not even where it is no key.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic

from mastio.exchange.errors import ConfigurationError
from mastio.settings import Secrets
from mastio.store.secrets.file_keys import FileKeys

COMMAND_SECONDS = 10.0
MAX_OUTPUT = 1024
"""Bytes: a key is 64 digits, and nobody needs to keep more of what is none."""

_KEY = re.compile(rb"[0-9A-Fa-f]{64}")


def open_keys(data: Path, settings: Secrets) -> FileKeys:
    """The appliance's keys. Nothing is read or run before a key is asked for."""
    elsewhere: Mapping[str, Callable[[], bytes]] = {}
    if settings.key_command:
        elsewhere = {"store-secrets": partial(run_key_command, settings.key_command)}
    elif settings.key_file:
        elsewhere = {"store-secrets": partial(read_key_file, Path(settings.key_file))}
    return FileKeys(data, elsewhere=elsewhere)


def read_key_file(path: Path) -> bytes:
    """Raises `ConfigurationError`."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_OUTPUT)
    except OSError as error:
        raise ConfigurationError(
            f"The key file {path} cannot be read.", "Check secrets.key_file, and that the appliance may read it."
        ) from error
    return _parse(text, f"The key file {path} does not hold 64 hex digits.", "Correct what secrets.key_file names.")


def run_key_command(command: Sequence[str], seconds: float = COMMAND_SECONDS) -> bytes:
    """Run without a shell, in a process group of its own. Raises `ConfigurationError`."""
    name = Path(command[0]).name
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigurationError(
            f"The key command {name} cannot be run.", "Check secrets.key_command: an absolute path, and its arguments."
        ) from error
    try:
        deadline = monotonic() + seconds
        text = _read(process, deadline)
        status = process.wait(max(0.0, deadline - monotonic())) if len(text) <= MAX_OUTPUT else 0
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise ConfigurationError(
            f"The key command {name} did not end within {seconds:g} seconds.", "Run it by hand as the appliance's user."
        ) from error
    finally:
        _end(process)
    if status != 0:
        raise ConfigurationError(
            f"The key command {name} ended with status {status}.", "Run it by hand as the appliance's user."
        )
    return _parse(text, f"The key command {name} did not print 64 hex digits.", "It must print them and nothing else.")


def _read(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """The output of the process until it closes its output, or a little more than a key may have. Raises
    `TimeoutError`."""
    assert process.stdout is not None
    text = b""
    while len(text) <= MAX_OUTPUT:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(process.stdout.fileno(), MAX_OUTPUT + 1)
        if not piece:
            return text
        text += piece
    return text


def _end(process: subprocess.Popen[bytes]) -> None:
    """One that has not ended yet is ended, with whatever it started."""
    assert process.stdout is not None
    process.stdout.close()
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _parse(text: bytes, wrong: str, hint: str) -> bytes:
    stripped = text.strip()
    if not _KEY.fullmatch(stripped):
        raise ConfigurationError(wrong, hint)
    return bytes.fromhex(stripped.decode("ascii"))
