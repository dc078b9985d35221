"""The store of a worker: database, hot copy, repository. Several may be open on one database at once."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from mastio.exchange.records import Enrollment
from mastio.pki.csr import encode_public_key
from mastio.pki.public import IssuedLeaf
from mastio.process.plan import secret_folders
from mastio.store.control import ControlStore
from mastio.store.enrollments import new_enrollment_id
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.sql.engine import Database
from support.collections import COLLECTIONS

NOW = 1_800_000_000.0
DAY = 86_400.0
PUBLIC_KEY = encode_public_key(ec.generate_private_key(ec.SECP256R1()).public_key())


@dataclass(frozen=True, slots=True)
class Opened:
    database: Database
    directory: HotDirectory
    store: ControlStore
    url: str
    data: Path


@asynccontextmanager
async def open_store(url: str, data: Path, patience: float = 5.0) -> AsyncIterator[Opened]:
    keys = FileKeys(data)
    database = Database(url, patience)
    folders = secret_folders(data)
    directory = HotDirectory(database, keys, collections=COLLECTIONS, secret_folders=folders)
    store = ControlStore(database, keys, refresh=directory.refresh, collections=COLLECTIONS, secret_folders=folders)
    await directory.start()
    try:
        yield Opened(database, directory, store, url, data)
    finally:
        await directory.close()
        await database.close()


def request_for(name: str, now: float = NOW) -> Enrollment:
    return Enrollment(
        id=new_enrollment_id(),
        name=name,
        status="pending",
        public_key=PUBLIC_KEY,
        created_at=now,
        expires_at=now + DAY,
    )


def leaf_for(name: str, now: float = NOW) -> IssuedLeaf:
    """A leaf as the authority would give it, without a signature: the store does not look into it."""
    serial = secrets.token_hex(16)
    return IssuedLeaf(
        name, f"spiffe://w.test/agent/{name}", f"pem {serial}", "chain", f"x5t-{serial}", serial, now, now + DAY, "int"
    )


def issue(enrollment: Enrollment) -> IssuedLeaf:
    return leaf_for(enrollment.name, enrollment.created_at)


async def enrol(opened: Opened, name: str, now: float = NOW) -> None:
    """An agent of this name, by approval."""
    asked = await opened.store.enrollments.request(request_for(name, now), 1000)
    await opened.store.enrollments.approve(asked.id, "op", None, now, issue)
