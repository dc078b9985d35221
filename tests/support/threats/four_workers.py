"""An appliance with four workers, and what is asked of it by certificate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import httpx
import pytest

from support.appliance import NGINX, Appliance, Stub, open_appliance
from support.threats.judge import SELF, Answer

WORKERS = 4
SLOTS = range(WORKERS)
FORM = urlencode({"grant_type": "client_credentials"}).encode()
FORM_TYPE = ("Content-Type", "application/x-www-form-urlencoded")


@contextmanager
def open_four_workers() -> Iterator[tuple[Appliance, Stub]]:
    """Four workers, and leaves that live longer than the grace of a renewal."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(workers=WORKERS, more="[pki]\nleaf_hours = 720\n") as (appliance, stub):
        assert stub is not None
        yield appliance, stub


def ask(client: httpx.Client, path: str) -> Answer:
    """One request by certificate alone."""
    if path == SELF:
        return Answer.of(client.get(path))
    return Answer.of(client.post(path, content=FORM, headers=[FORM_TYPE]))
