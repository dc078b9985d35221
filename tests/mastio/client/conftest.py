"""One appliance for all tests of this folder; each test uses names of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.control_server import Served, serve


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("data")) as running:
        yield running
