"""Scripts of `tests/clients/npm`, whose packages `scripts/test` installs by the lock, run as a user would run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mastio_client import Identity

FOLDER = Path(__file__).parents[1] / "clients" / "npm"
NODE = shutil.which("node")


def run_lines(script: str, identity: Identity, *more: str) -> list[dict[str, Any]]:
    """What the script printed, line by line. It is handed nothing but the identity folder and `more`."""
    if NODE is None or not (FOLDER / "node_modules").exists():
        pytest.skip("node, or what `npm ci --prefix tests/clients/npm` installs, is not here")
    environment = {**os.environ, "NODE_EXTRA_CA_CERTS": str(identity.ca_file)}
    command = [NODE, script, str(identity.folder), *more]
    done = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
