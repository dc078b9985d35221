"""An identity's key and certificate on disk, replaced together: a crash leaves the old pair or the new one.

`mastio enroll` writes plain files. The first renewal turns them into links, in steps that never change what a reader
sees, and each renewal then switches one link:

    agent.key, agent.crt, chain.pem, agent.json -> .pair/<same name>        .pair -> .pair-<hex>

Two files cannot be renamed at once, and a key without its certificate is no identity. Files are mode 0600.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mastio_primitives.files import sync_folder, write_private

NAMES = ("agent.key", "agent.crt", "chain.pem", "agent.json")
"""The files that a renewal changes."""

LINK = ".pair"
DRAFT = ".link"


def find_pair(folder: Path) -> Path:
    """The folder of a matching key and certificate: read both from here, not through two links one after the other."""
    link = folder / LINK
    return link.resolve() if link.is_symlink() else folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """No other process renews this identity meanwhile. Waits for one that does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def switch(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Replace all of `NAMES` in one step. Call while `alone`. Raises `OSError`; then nothing has changed."""
    before = find_pair(folder)
    if before == folder:
        _remove_copy(folder)
        before = _write_pair(folder, {name: (folder / name).read_bytes() for name in NAMES})
        _point(folder / LINK, before.name)
    for name in NAMES:  # also where a crash came between two of them: what a link leads to is the same file
        if not (folder / name).is_symlink():
            _point(folder / name, f"{LINK}/{name}")
    after = _write_pair(folder, contents)
    _point(folder / LINK, after.name)  # the switch
    for pair in folder.glob(f"{LINK}-*"):
        if pair.name != after.name:
            shutil.rmtree(pair, ignore_errors=True)
    for draft in folder.glob(f"{DRAFT}-*"):
        draft.unlink(missing_ok=True)


def _remove_copy(folder: Path) -> None:
    """A folder that was copied link by link into plain files has one more copy of them, where the link should be."""
    copy = folder / LINK
    if copy.is_dir() and not any((folder / name).is_symlink() for name in NAMES):
        shutil.rmtree(copy)


def _write_pair(folder: Path, contents: Mapping[str, bytes]) -> Path:
    pair = folder / f"{LINK}-{secrets.token_hex(8)}"
    pair.mkdir(mode=0o700)
    try:
        for name in NAMES:
            write_private(pair / name, contents[name])
    except OSError:
        shutil.rmtree(pair, ignore_errors=True)
        raise
    return pair


def _point(link: Path, target: str) -> None:
    """Make `link` lead to `target`, replacing what was there in one step, durably."""
    draft = link.with_name(f"{DRAFT}-{secrets.token_hex(8)}")
    draft.symlink_to(target)
    draft.replace(link)
    sync_folder(link.parent)
