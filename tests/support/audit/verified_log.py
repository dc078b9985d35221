"""One log, and what the verifier says of it in each place where it can be verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.audit.verification import command, export_of, rows_of, verify_url

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

Status = tuple[int, int | None]
PLACES = ("data", "export", "url")


class Log:
    """One log in SQLite, its kept checkpoint, and its verification as each place shows it."""

    def __init__(self, place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place = place
        self.data = place.data
        self._export = tmp_path / "export.ndjson"
        self._old = tmp_path / "old"
        self._capsys = capsys

    @property
    def kept(self) -> bytes:
        return (self.data / "log" / "checkpoint").read_bytes()

    def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        status = command("verify", *words, "--json")
        return status, json.loads(self._capsys.readouterr().out)

    def report(self, where: str, *old: bytes, vkeys: tuple[Any, ...] = ()) -> tuple[int, dict[str, Any]]:
        """Verify what is there now; `old` are checkpoints that the auditor holds."""
        words = [word for one in vkeys for word in ("--vkey", str(one.verifier))]
        for number, content in enumerate(old):
            self._old.with_suffix(f".{number}").write_bytes(content)
            words += ["--checkpoint", str(self._old.with_suffix(f".{number}"))]
        if where == "data":
            return self.run("--data", str(self.data), *words)
        if where == "export":
            self._export.write_bytes(export_of(rows_of(self.place), self.kept))
            return self.run("--export", str(self._export), *words)
        return verify_url(self.data, vkeys=vkeys, old=old)

    def verify(self, where: str, *old: bytes, vkeys: tuple[Any, ...] = ()) -> Status:
        status, report = self.report(where, *old, vkeys=vkeys)
        assert (status == 3) == (report["problem"] is not None), report
        return status, report["first_bad"]

    def export(self, content: bytes, *words: str) -> tuple[int, dict[str, Any]]:
        self._export.write_bytes(content)
        return self.run("--export", str(self._export), *words)
