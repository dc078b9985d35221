"""Fixtures that every test may use: one appliance for the whole run, and one agent in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mastio_client import Identity
from support.appliance import NGINX, Appliance, Stub, open_appliance
from support.postgresql import run_cluster

pytest_plugins = ("support.pytest_costs", "support.pytest_placement", "support.pytest_twins")


@pytest.fixture(scope="session")
def running() -> Iterator[tuple[Appliance, Stub]]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    # The tests that share it count what reaches the provider, and ask the same again and again.
    with open_appliance(more='[cache]\nanswers = "off"\n') as (appliance, stub):
        assert stub is not None
        yield appliance, stub


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running cluster, `DATABASE` standing for the database's name."""
    with run_cluster() as server:
        yield server


@pytest.fixture(scope="session")
def appliance(running: tuple[Appliance, Stub]) -> Appliance:
    return running[0]


@pytest.fixture(autouse=True)
def marked_log(request: pytest.FixtureRequest) -> None:
    """Each test reads only its own entries in the log of the shared appliance."""
    if "running" in request.fixturenames:
        request.getfixturevalue("running")[0].mark()


@pytest.fixture(scope="session")
def stub(running: tuple[Appliance, Stub]) -> Stub:
    return running[1]


@pytest.fixture(scope="session")
def agent(appliance: Appliance) -> Identity:
    return appliance.enroll("agent-one")
