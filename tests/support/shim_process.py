"""A running `mastio shim` for a test, as a user starts it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from mastio_client import Identity
from support.appliance import UNVERIFIED, wait_until


class Shim:
    """`url` is what it printed; `said` is all that it has printed so far."""

    def __init__(self, identity: Identity, *arguments: str) -> None:
        self._log = Path(tempfile.mkstemp(prefix="mastio-shim-")[1])
        command = [sys.executable, "-m", "mastio", "shim", "--identity", str(identity.folder)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([*command, *(arguments or ("--listen", "127.0.0.1:0"))], stderr=log)
        wait_until(lambda: re.search(r"http://\S+ is the agent", self.said), 20, "the shim listens")
        found = re.search(r"(http://\S+) is the agent", self.said)
        assert found is not None
        self.url = found[1]

    @property
    def said(self) -> str:
        return self._log.read_text()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self) -> httpx.Client:
        """An unmodified client."""
        return httpx.Client(base_url=self.url, trust_env=False, timeout=30, verify=UNVERIFIED)

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> int:
        return self._process.wait(seconds)

    def stop(self) -> None:
        if self._process.poll() is None:
            self.terminate()
            self._process.wait(20)
        self._log.unlink(missing_ok=True)


@contextmanager
def open_shim(identity: Identity) -> Iterator[Shim]:
    shim = Shim(identity)
    try:
        yield shim
    finally:
        shim.stop()
