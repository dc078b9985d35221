"""What each program loads, and the signs of life by which they know of each other."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mastio.host.control_down import WITHIN, ControlDown
from mastio.host.host_memory import GONE_SECONDS, LIVENESS, HostMemory, make_host_memory, read_sign
from mastio.host.liveness import ControlState, Liveness, process_name
from mastio.pki.authority import Authority
from mastio.pki.public import PublicAuthority
from mastio.settings import CONTROL_SLOT

NOT_IN_A_WORKER = ("fastapi", "starlette", "alembic", "mastio.control.application", "mastio.control.program")
LOAD = """
import sys, json, pathlib
import mastio.process.forked, {program}
mastio.process.forked.load(pathlib.Path("/nowhere"), None)
print(json.dumps(sorted(sys.modules)))
"""


def loaded_by(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOAD.format(program=program)], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_a_worker_loads_no_framework_and_no_administration() -> None:
    """With all plugins that are active by default."""
    loaded = loaded_by("mastio.process.data_plane")
    assert not {name for name in NOT_IN_A_WORKER if name in loaded} and "mastio_audit" in loaded
    assert {"fastapi", "mastio.control.application"} <= loaded_by("mastio.control.program"), "control does"


def test_the_data_plane_reads_no_key(tmp_path: Path) -> None:
    """It knows all that the whole authority knows of certificates, without a key on the disk."""
    whole = Authority.ensure(tmp_path, "test.example", 1_800_000_000.0)
    for key in (tmp_path / "ca").glob("*.key"):
        key.unlink()
    public = PublicAuthority(tmp_path, 1_800_000_000.0)
    assert public.trust() == whole.trust() and public.root_sha256 == whole.root_sha256
    assert (public.ring, public.not_after) == (whole.ring, whole.not_after)


# --- signs of life ---------------------------------------------------------------------------------------------------


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def host() -> HostMemory:
    return HostMemory(make_host_memory())


def test_who_gives_no_sign_of_life_is_down(host: HostMemory) -> None:
    clock = Clock()
    one, other = Liveness(host, range(2), clock), Liveness(host, range(2), clock)
    assert not one.is_alive(CONTROL_SLOT), "it has not begun"
    other.sign(CONTROL_SLOT)
    clock.now += GONE_SECONDS - 0.1
    one.sign(1)
    up = {labels: value for figures in other.measure() for labels, value in figures.values}
    assert up == {("control",): 1.0, ("worker-0",): 0.0, ("worker-1",): 1.0}
    clock.now += 0.2
    assert not one.is_alive(CONTROL_SLOT) and one.is_alive(1)


def test_every_slot_has_a_place_before_the_proofs() -> None:
    assert LIVENESS + CONTROL_SLOT < 4096 // 8
    assert [process_name(slot) for slot in (0, 127, CONTROL_SLOT)] == ["worker-0", "worker-127", "control"]


async def test_workers_say_what_control_says_of_itself(host: HostMemory, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    liveness, problems = Liveness(host, ()), ["ca: it has ended"]
    state = ControlState(tmp_path, liveness)
    assert await state.ready() == "control: it does not run"
    liveness.sign(CONTROL_SLOT)
    assert await state.ready() is None

    async def find() -> list[str]:
        return list(problems)

    publishing = asyncio.create_task(state.publish(find))
    for wanted in ("control: ca: it has ended", None):
        for _ in range(400):
            if await state.ready() == wanted:
                break
            await asyncio.sleep(0.01)
        assert await state.ready() == wanted
        problems.clear()
    publishing.cancel()


def test_the_edge_is_told_when_control_stays_away(tmp_path: Path) -> None:
    said: list[str] = []
    down, file = ControlDown(tmp_path, said.append), tmp_path / "edge" / "control-down"
    for name in ("edge", "run"):
        (tmp_path / name).mkdir()
    file.touch()
    down.begin(0.0, 30.0)
    down.look(29.0, is_running=True, signed_at=0.0)
    assert not file.exists(), "the first start may take long"
    (tmp_path / "run" / "control.ready").touch()
    down.look(30.0, is_running=True, signed_at=29.9)
    down.look(30.0 + WITHIN, is_running=False, signed_at=29.9)
    assert not file.exists() and said == [], "it is being replaced"
    down.look(30.1 + WITHIN, is_running=False, signed_at=29.9)
    assert file.exists() and len(said) == 1
    down.look(40.0, is_running=True, signed_at=39.9)
    assert not file.exists() and said[1:] == ["control is back"]
    for at in (41.0, 44.0, 47.0):
        down.look(at, is_running=True, signed_at=40.0)
    assert file.exists(), "it stands still"


def test_the_edge_is_told_as_soon_as_the_disk_takes_it(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "run").mkdir()
    down, file = ControlDown(tmp_path, said.append), tmp_path / "edge" / "control-down"
    with pytest.raises(OSError):
        down.look(30.0, is_running=False, signed_at=0.0)  # there is no folder
    (tmp_path / "edge").mkdir()
    down.look(30.1, is_running=False, signed_at=0.0)
    assert file.exists() and len(said) == 1


def test_the_supervisor_reads_a_sign_without_the_library_of_a_worker() -> None:
    descriptor, clock = make_host_memory(), Clock()
    host = HostMemory(descriptor)
    assert read_sign(descriptor, CONTROL_SLOT) == 0
    Liveness(host, (), clock).sign(CONTROL_SLOT)
    assert read_sign(descriptor, CONTROL_SLOT) == clock.now
