"""The folder of third-party test vectors. A test that needs them skips with the reason if they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("MASTIO_VECTORS", Path(__file__).parents[3] / "shared" / "vectors"))


def vectors(name: str) -> Path:
    """The folder or file of that name below the vectors, or a skip."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"the vectors {name} are not here (set MASTIO_VECTORS)")
    return path
