"""A plugin of somebody else, written by `mastio plugin new`: its own tests, its collection over REST and the command
line, its decision, and its objects after a restart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastio.cli.plugin import FILES, write_plugin
from mastio.exchange.errors import ConfigurationError
from mastio.settings import DEFAULT_PLUGINS
from support.appliance import NGINX, Appliance, Stub

COLLECTION = "/v1/admin/guard"
CHAT = {"model": "stub/demo", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `PYTHONPATH` is with the plugin installed."""
    folder = tmp_path_factory.mktemp("plugin") / "mastio-guard"
    write_plugin("guard", folder)
    metadata = folder / "mastio_guard-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mastio-guard\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[mastio.plugins]\nguard = mastio_guard.plugin:plugin\n\n"
        "[mastio.commands]\nguard = mastio_guard.commands:command\n"
    )
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))


@pytest.fixture(scope="module")
def appliance(path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    active = json.dumps([*DEFAULT_PLUGINS, "guard"])
    folder = tmp_path_factory.mktemp("guarded")
    opened = Appliance(folder / "data", more=f"\n[plugins]\nactive = {active}\n")
    opened.environment["PYTHONPATH"] = path
    stub = Stub(folder)
    try:
        opened.start()
        opened.add_provider(stub)
        yield opened
    finally:
        opened.stop()
        stub.stop()


def run(path: str, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


def test_its_own_tests_pass(path: str) -> None:
    folder = Path(path.split(os.pathsep)[0])
    ran = run(path, "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "tests", folder=folder)
    assert ran.returncode == 0 and " passed" in ran.stdout, ran.stdout + ran.stderr


def test_a_collection_is_three_files() -> None:
    """Declaration, verb, and the line that adds it to the plugin."""
    of_collection = [file for file in FILES if Path(file).stem in ("collection", "commands", "plugin")]
    assert len(of_collection) == 3


def test_what_an_admin_lists_is_denied_at_once(appliance: Appliance, path: str) -> None:
    identity = appliance.enroll("alice")
    with appliance.admin() as admin, appliance.by_certificate(identity) as agent:
        assert agent.post("/v1/chat/completions", json=CHAT).status_code == 200
        made = admin.post(COLLECTION, json={"name": "first", "target": "stub/demo", "reason": "Not this month."})
        assert (made.status_code, made.json()) == (
            201,
            {"name": "first", "target": "stub/demo", "reason": "Not this month."},
        )
        refused = agent.post("/v1/chat/completions", json=CHAT)
        assert refused.status_code == 403 and "Not this month." in refused.text, refused.text
        assert appliance.entries_of(refused.headers["x-request-id"])[0]["decision"]["rule"] == "guard.first"
        assert admin.post(COLLECTION, json={"name": "first", "target": "x"}).status_code == 409
        unknown = admin.post(COLLECTION, json={"name": "odd", "target": "x", "more": 1})
        assert (unknown.status_code, unknown.json()["code"]) == (422, "invalid_body"), unknown.text
        assert agent.get(COLLECTION).status_code == 403, "it is for admins"
        document = admin.get("/openapi.json").json()
        assert document["paths"][COLLECTION]["post"]["operationId"] == "post_v1_admin_guard"
        assert document["paths"][f"{COLLECTION}/{{name}}"]["patch"]["requestBody"]
    listed = run(path, "mastio", "guard", "list", "--json", "--data", str(appliance.data))
    assert [row["name"] for row in json.loads(listed.stdout)] == ["first"], listed.stderr
    changed = run(path, "mastio", "guard", "set", "first", "--target", "stub/none", "--data", str(appliance.data))
    assert changed.returncode == 0 and "stub/none" in changed.stdout, changed.stderr
    with appliance.by_certificate(identity) as agent:
        assert agent.post("/v1/chat/completions", json=CHAT).status_code == 200
    assert "guard" in run(path, "mastio", "--help").stdout


def test_objects_outlive_a_restart(appliance: Appliance, path: str) -> None:
    added = run(path, "mastio", "guard", "add", "kept", "--target", "stub/kept", "--data", str(appliance.data))
    assert added.returncode == 0, added.stderr
    appliance.stop()
    appliance.start()
    with appliance.admin() as admin:
        assert admin.get(f"{COLLECTION}/kept").json()["target"] == "stub/kept"
    assert run(path, "mastio", "guard", "remove", "kept", "--data", str(appliance.data)).returncode == 0
    with appliance.admin() as admin:
        assert admin.get(f"{COLLECTION}/kept").status_code == 404


@pytest.mark.parametrize(
    "name", ["Guard", "a b", "llm", "policies", "class", "mastio", "audit", "server", "", "../x", "a-b", "x" * 33]
)
def test_names_that_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        write_plugin(name, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    write_plugin("guard", tmp_path / "new")
    with pytest.raises(ConfigurationError, match="is there already"):
        write_plugin("guard", tmp_path / "new")
