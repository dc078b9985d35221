"""Admins from the command line: each with a token of their own, which is in no other place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.appliance import Appliance


def mastio(*words: str | Path, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    more = ["--data", str(data)] if data else []
    command = [sys.executable, "-m", "mastio", *map(str, words), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_admins_on_the_command_line(appliance: Appliance, tmp_path: Path) -> None:
    data, file = appliance.data, tmp_path / "token"
    made = json.loads(
        mastio("admins", "add", "otto", "--role", "operator", "--ttl", "3600", "--json", data=data).stdout
    )
    assert made["token"].startswith("mastio_admin_") and made["created_by"] == "first"
    kept = mastio("admins", "add", "audrey", "--role", "auditor", "--token-to", file, data=data)
    assert kept.returncode == 0 and "mastio_admin_" not in kept.stdout
    assert file.stat().st_mode & 0o777 == 0o600 and file.read_text().startswith("mastio_admin_")
    shown = mastio("admins", "list", data=data).stdout
    assert "otto" in shown and "audrey" in shown and "mastio_admin_" not in shown
    as_otto = ["--url", appliance.base_url, "--ca", data / "ca" / "ca.crt", "--token-file", file]
    file.write_text(made["token"])
    assert mastio("agents", "list", *as_otto).returncode == 0
    refused = mastio("admins", "list", *as_otto)
    assert refused.returncode == 1 and "role" in refused.stderr
    rotated = mastio("admins", "rotate", "otto", "--token-to", file, data=data)
    assert rotated.returncode == 0 and file.read_text().strip() != made["token"]
    assert mastio("admins", "change", "otto", "--no-end", data=data).returncode == 0
    assert json.loads(mastio("admins", "show", "otto", "--json", data=data).stdout)["expires_at"] is None
    assert mastio("agents", "list", *as_otto).returncode == 0
    for name in ("otto", "audrey"):
        assert mastio("admins", "remove", name, data=data).returncode == 0
    assert mastio("agents", "list", *as_otto).returncode == 1
    assert mastio("admins", "show", "otto", data=data).returncode == 1
    again = mastio("admins", "add", "otto", "--role", "operator", data=data)
    assert again.returncode == 1 and "had" in again.stderr
    last = mastio("admins", "remove", "first", data=data)
    assert last.returncode == 1 and "Give another admin the role admin" in last.stderr
