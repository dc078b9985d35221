"""An identity's key and certificate on disk, replaced together: a crash leaves the old pair or the new one.

`mastio enroll` writes plain files. The first renewal turns them into links, in steps that never change what a reader
sees, and each renewal then switches one link:

    agent.key, agent.crt, chain.pem, agent.json -> .pair/<same name>        .pair -> .pair-<hex>

Two files cannot be renamed at once, and a key without its certificate is no identity. Files are mode 0600.

Windows lets few users make links. There `.pair` is a file with the name of the folder, and the four files are copies of
those in it, for other software.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mastio_client.file_lock import lock
from mastio_primitives.files import sync_folder, write_private

NAMES = ("agent.key", "agent.crt", "chain.pem", "agent.json")
"""The files that a renewal changes."""

LINK = ".pair"
DRAFT = ".link"
HAS_LINKS = sys.platform != "win32"


def find_pair(folder: Path) -> Path:
    """The folder of a matching key and certificate: read both from here, not through two links one after the other."""
    link = folder / LINK
    if link.is_symlink():
        return link.resolve()
    return folder / link.read_text("ascii") if link.is_file() else folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the lock under which an identity is renewed. Waits for another process that holds it."""
    if sys.platform == "win32":  # a folder cannot be opened
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    else:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def switch(folder: Path, contents: Mapping[str, bytes], *, links: bool = HAS_LINKS) -> None:
    """Replace all of `NAMES` in one step. Call while `alone`. Raises `OSError`; then nothing has changed."""
    after = _switch_link(folder, contents) if links else _switch_name(folder, contents)
    for pair in folder.glob(f"{LINK}-*"):
        if pair.name != after:
            shutil.rmtree(pair, ignore_errors=True)
    for draft in folder.glob(f"{DRAFT}-*"):
        draft.unlink(missing_ok=True)


def _switch_link(folder: Path, contents: Mapping[str, bytes]) -> str:
    """The name of the new pair's folder, to which the link leads now."""
    before = find_pair(folder)
    if before == folder:
        _remove_copy(folder)
        before = _write_pair(folder, {name: (folder / name).read_bytes() for name in NAMES})
    if not (folder / LINK).is_symlink():
        _point(folder / LINK, before.name)
    for name in NAMES:  # also where a crash came between two of them: what a link leads to is the same file
        if not (folder / name).is_symlink():
            _point(folder / name, f"{LINK}/{name}")
    after = _write_pair(folder, contents)
    _point(folder / LINK, after.name)  # the switch
    return after.name


def _switch_name(folder: Path, contents: Mapping[str, bytes]) -> str:
    """The same without links. After a crash the copies may be older than the pair."""
    _remove_copy(folder)
    after = _write_pair(folder, contents)
    write_private(folder / LINK, after.name.encode("ascii"))  # the switch
    for name in NAMES:
        write_private(folder / name, contents[name])
    return after.name


def _remove_copy(folder: Path) -> None:
    """Removes a copy of the pair that stands where the link should be: a copy of the folder that followed the links."""
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
