"""Makes the next generation of the authority. The ring's file is the commit point; a crash before it changes nothing.

Two processes of one data folder never rotate at once (a lock file), each sees the other's ring.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from mastio.pki.authority import INTERMEDIATE_SECONDS, ROOT_SECONDS
from mastio.pki.certificates import Issuer, build_cross, build_intermediate, build_root
from mastio.pki.ring import AuthorityRing, Generation, next_id, read_issuer, read_ring, write_generation, write_ring


def rotate_intermediate(folder: Path, trust_domain: str, now: float, active_from: float, retire_at: float) -> None:
    """A new intermediate below the newest root. It signs from `active_from`; the ones before are trusted until
    `retire_at`. Unix seconds. Raises `ConfigurationError` when the authority cannot be read."""
    with _alone(folder):
        ring = read_ring(folder)
        root = ring.roots[-1]
        made = _make_intermediate(folder, trust_domain, root.id, read_issuer(folder, root), now, active_from)
        retired = ring.retire(now, retire_at, roots=False)
        write_ring(folder, replace(retired, intermediates=(*retired.intermediates, made)))


def rotate_root(folder: Path, trust_domain: str, now: float, active_from: float, retire_at: float) -> None:
    """A new root, its cross certificate by the one before, and a new intermediate below it. As `rotate_intermediate`.

    Clients that still hold the old root believe the edge until `retire_at`.
    """
    with _alone(folder):
        ring = read_ring(folder)
        key = ec.generate_private_key(ec.SECP256R1())
        new = Issuer(build_root(key, trust_domain, now, ROOT_SECONDS), key)
        cross = build_cross(new, read_issuer(folder, ring.roots[-1]))
        root = Generation(next_id(folder, "root"), new.certificate, now, active_from, cross=cross)
        write_generation(folder, root, key)
        made = _make_intermediate(folder, trust_domain, root.id, new, now, active_from)
        retired = ring.retire(now, retire_at, roots=True)
        write_ring(folder, AuthorityRing((*retired.roots, root), (*retired.intermediates, made)))


def _make_intermediate(
    folder: Path, trust_domain: str, root_id: str, root: Issuer, now: float, active_from: float
) -> Generation:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = build_intermediate(key, trust_domain, root, now, INTERMEDIATE_SECONDS)
    made = Generation(next_id(folder, "intermediate"), certificate, now, active_from, root=root_id)
    write_generation(folder, made, key)
    return made


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
