"""One appliance for all attempts (the session's), a second agent in it, and a judge for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mastio_client import Identity
from support.appliance import NGINX, Appliance, Stub, open_appliance
from support.threats.agent_kit import Kit
from support.threats.four_workers import open_four_workers
from support.threats.judge import Judge


@pytest.fixture(scope="session")
def other(appliance: Appliance) -> Identity:
    return appliance.enroll("agent-two")


@pytest.fixture(scope="session")
def kit(appliance: Appliance, agent: Identity) -> Kit:
    return Kit(appliance, agent)


@pytest.fixture(scope="session")
def other_kit(appliance: Appliance, other: Identity) -> Kit:
    return Kit(appliance, other)


@pytest.fixture(autouse=True)
def fresh_tokens(request: pytest.FixtureRequest) -> None:
    for name in ("kit", "other_kit"):
        if name in request.fixturenames:
            request.getfixturevalue(name).freshen()


@pytest.fixture
def judge(appliance: Appliance, stub: Stub, agent: Identity, request: pytest.FixtureRequest) -> Judge:
    return Judge(appliance, stub, request.node.name)


@pytest.fixture(scope="session")
def impatient() -> Iterator[tuple[Appliance, Stub]]:
    """An appliance whose edge waits a second only, and whose leaves live for seven."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    edge, more = "header_timeout = 1\nbody_timeout = 1", "[pki]\nleaf_hours = 0.002\n"
    with open_appliance(edge=edge, more=more) as (appliance, stub):
        assert stub is not None
        yield appliance, stub


@pytest.fixture(scope="session")
def four() -> Iterator[tuple[Appliance, Stub]]:
    """An appliance with four workers."""
    with open_four_workers() as opened:
        yield opened


@pytest.fixture(scope="session")
def alice(four: tuple[Appliance, Stub]) -> Identity:
    """An agent of the appliance with four workers."""
    return four[0].enroll("alice")
