"""The containers: hardened as documented, and where an engine is, really brought up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ports import take_port

ROOT = Path(__file__).parent.parent
GB = 1024**3
MB = 1024**2


def run(*command: str, timeout: float = 60.0, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MASTIO_", "COMPOSE_"))}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, cwd=ROOT, env={**kept, **environment}
    )


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """`docker-compose.yml` as Compose reads it, without any variable set."""
    if shutil.which("docker") is None or run("docker", "compose", "version").returncode != 0:
        pytest.skip("Docker with Compose v2 is not installed")
    done = run("docker", "compose", "--profile", "postgres", "config", "--format", "json")
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = json.loads(done.stdout)
    return read


SERVICES = ("app", "edge", "postgres")


def test_there_are_these_services_and_the_database_only_on_request(project: dict[str, Any]) -> None:
    assert sorted(project["services"]) == sorted(SERVICES)
    assert [name for name in SERVICES if project["services"][name].get("profiles")] == ["postgres"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_may_do_nothing_that_it_need_not(project: dict[str, Any], name: str) -> None:
    service = project["services"][name]
    user, group = service["user"].split(":")
    assert int(user) > 0 and int(group) > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"] and not service.get("cap_add")
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged") and "network_mode" not in service
    assert 0 < service["pids_limit"] <= 512
    assert not any("docker.sock" in volume["source"] for volume in service["volumes"])


@pytest.mark.parametrize("name", SERVICES)
def test_logs_are_rotated_and_health_is_asked(project: dict[str, Any], name: str) -> None:
    service = project["services"][name]
    assert service["logging"]["driver"] == "json-file"
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])
    health = service["healthcheck"]
    assert (health["interval"], health["timeout"], health["retries"]) == ("30s", "5s", 5)
    assert health["start_period"] == "30s"


@pytest.mark.parametrize(
    ("name", "limits", "reservations"),
    [("app", (4.0, 2 * GB), (0.5, 256 * MB)), ("edge", (2.0, 256 * MB), (0.25, 32 * MB))],
)
def test_resources_are_limited_and_reserved(
    project: dict[str, Any], name: str, limits: tuple[float, int], reservations: tuple[float, int]
) -> None:
    said = project["services"][name]["deploy"]["resources"]
    assert (float(said["limits"]["cpus"]), int(said["limits"]["memory"])) == limits
    assert (float(said["reservations"]["cpus"]), int(said["reservations"]["memory"])) == reservations


def test_only_the_edge_can_be_reached_and_only_the_app_reaches_the_database(project: dict[str, Any]) -> None:
    services, networks = project["services"], project["networks"]
    assert [name for name in SERVICES if services[name].get("ports")] == ["edge"]
    members = {network: {name for name in SERVICES if network in services[name]["networks"]} for network in networks}
    assert members["backend"] == {"app", "edge"} and networks["backend"]["internal"] is True
    assert members["database"] == {"app", "postgres"} and networks["database"]["internal"] is True
    assert members["frontend"] == {"edge"} and members["outside"] == {"app"}


def test_the_edge_sees_only_what_was_rendered_for_it(project: dict[str, Any]) -> None:
    volumes = project["services"]["edge"]["volumes"]
    assert [(Path(volume["source"]).name, volume["read_only"]) for volume in volumes] == [("edge", True)]


# --- for real -------------------------------------------------------------------------------------------------------


def deploy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("./deploy.sh", *arguments, timeout=600.0)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    done = run("scripts/compose", "available", timeout=600.0)
    if done.returncode != 0:
        pytest.skip(done.stdout.strip())
    data = tmp_path / "data"
    yield data
    deploy("down", "--compose", "--data", str(data))


def containers(data: Path) -> str:
    return run("docker", "compose", "--env-file", str(data / "compose.env"), "ps", "--quiet").stdout


def test_up_twice_down_and_up_again(folder: Path) -> None:
    up = ("up", "--compose", "--demo", "--data", str(folder), "--port", str(take_port()))
    first = deploy(*up)
    assert first.returncode == 0, first.stderr
    assert "reply   Hello" in first.stdout and "\nreceipt " in first.stdout and "\nverified: " in first.stdout
    known = json.loads((folder / "bootstrap.json").read_text("utf-8"))
    assert Path(known["ca_file"]).exists() and Path(known["admin_token_file"]).exists()
    before = containers(folder)

    second = deploy(*up)
    assert second.returncode == 0, second.stderr
    assert "is already running" in second.stdout and containers(folder) == before
    assert deploy("status", "--data", str(folder)).returncode == 0

    assert "its data is kept" in deploy("down", "--data", str(folder)).stdout
    assert deploy("status", "--data", str(folder)).returncode == 1
    third = deploy("up", "--demo", "--data", str(folder))
    assert third.returncode == 0, third.stderr
    assert size_of(third.stdout) > size_of(second.stdout) > size_of(first.stdout)
    assert json.loads((folder / "bootstrap.json").read_text("utf-8")) == known


def size_of(said: str) -> int:
    return int(said.split("verified: ")[1].split()[0])


def test_a_wrong_setting_is_one_sentence_and_nothing_starts(folder: Path) -> None:
    folder.mkdir()
    (folder / "mastio.toml").write_text("[server]\nsurprise = 1\n", "utf-8")
    done = deploy("up", "--compose", "--data", str(folder))
    assert done.returncode == 2 and "server.surprise: unknown key." in done.stderr
    assert not (folder / "compose.env").exists()
