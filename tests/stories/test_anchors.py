"""Checkpoints are kept outside whole appliances, and tell when history was put back or forked."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from mastio.transparency import notes
from world import NGINX, Appliance, open_appliance, wait_until

WITHIN = 30.0

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def file_anchor(path: Path) -> str:
    return f'[[audit.anchors]]\nname = "outside"\nkind = "file"\npath = "{path}"\nevery = 1\n'


def grow(appliance: Appliance, times: int = 3) -> int:
    """The log's size after some more exchanges."""
    with appliance.admin() as admin:
        for _ in range(times):
            admin.get("/v1/admin/agents")
        checkpoint = admin.get("/v1/audit/log/checkpoint").content
    return notes.parse_checkpoint(notes.parse_note(checkpoint).text).size


def sizes(path: Path) -> list[int]:
    """Of the checkpoints in a file, in its order."""
    return [int(size) for size in re.findall(r"^test\.example/audit\n(\d+)\n", path.read_text(), re.MULTILINE)]


def metrics(appliance: Appliance) -> dict[str, float]:
    with appliance.admin() as admin:
        text = admin.get("/metrics").text
    return {name: float(value) for name, value in re.findall(r"^(mastio_audit_\S+) (\S+)$", text, re.MULTILINE)}


def test_a_whole_data_folder_that_was_put_back_is_not_continued(tmp_path: Path) -> None:
    path, older = tmp_path / "anchor", tmp_path / "older"
    with open_appliance(workers=2, stub=None, more=file_anchor(path)) as (appliance, _):
        size = grow(appliance)
        wait_until(lambda: path.exists() and sizes(path)[-1] >= size, WITHIN, "a checkpoint is anchored")
        assert len(sizes(path)) >= 1 and sizes(path) == sorted(set(sizes(path)))
        appliance.stop()
        for name in ("db", "log"):
            shutil.copytree(appliance.data / name, older / name)
        appliance.start()
        size = grow(appliance)
        wait_until(lambda: sizes(path)[-1] >= size, WITHIN, "a later checkpoint is anchored")
        assert metrics(appliance)['mastio_audit_anchor_size_entries{anchor="outside"}'] >= size
        appliance.stop()
        for name in ("db", "log"):
            shutil.rmtree(appliance.data / name)
            shutil.copytree(older / name, appliance.data / name)
        with pytest.raises(AssertionError, match="the anchor outside holds a checkpoint of size") as caught:
            appliance.start(6)
        assert str(path) in str(caught.value) and "older copy" in str(caught.value)
        appliance.stop()
        path.rename(tmp_path / "anchor.cut")
        appliance.start()
        assert appliance.verify() == 0


def test_an_anchor_that_is_away_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "mounted" / "anchor"
    with open_appliance(stub=None, more=file_anchor(path)) as (appliance, _):
        failures = 'mastio_audit_anchor_failures_total{anchor="outside"}'
        wait_until(lambda: metrics(appliance).get(failures, 0) >= 2, WITHIN, "it is tried again")
        assert appliance.is_ready() and grow(appliance) > 0
        assert "the audit anchor outside takes no checkpoint" in appliance.log()
        path.parent.mkdir()
        wait_until(path.exists, WITHIN, "a checkpoint is anchored")
        wait_until(lambda: "the audit anchor outside takes checkpoints again" in appliance.log(), 5, "and it says so")
        assert appliance.log().count("takes no checkpoint") == 1
