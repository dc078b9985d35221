"""The engine is compiled once: it takes a second."""

import pytest

from mastio_detectors.analysis.engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine()
