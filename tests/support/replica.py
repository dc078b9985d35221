"""A second appliance that shares a database with a first one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from support.appliance import Appliance


@contextmanager
def open_replica(first: Appliance, url: str) -> Iterator[Appliance]:
    """A second appliance with a folder of its own: same database, authority and secrets."""
    replica = Appliance(first.data.with_name("replica"), workers=2, database=url)
    for name in ("ca", "secrets"):
        shutil.copytree(first.data / name, replica.data / name)
    try:
        replica.start()
        yield replica
    finally:
        replica.stop()
