"""A log with entries to archive, in a place, and the command that archives it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.audit.verification import append, checkpoint_of, command, event, keep, rows_of

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

SIZE = 700
"""Two complete bundles and a bit."""

LATER = "2100-01-01"


class Archived:
    """A log of `SIZE` entries in a place, and the command that archives it."""

    def __init__(self, place: Place, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place = place
        self.folder = folder
        self._capsys = capsys
        append(place, [event(number, bytes=number) for number in range(SIZE)])
        self.entries = rows_of(place)
        self.signed = checkpoint_of(self.entries)
        keep(place.data, self.signed)
        (place.data / "mastio.toml").write_text(f'[database]\nurl = "{place.url}"\n' if place.kind != "sqlite" else "")

    def run(self, *words: str) -> tuple[int, str, str]:
        status = command(*words)
        said = self._capsys.readouterr()
        return status, said.out, said.err

    def archive(self, before: str = LATER, *words: str) -> dict[str, Any]:
        status, out, err = self.run(
            "archive", "--data", str(self.place.data), "--before", before, "--to", str(self.folder), "--json", *words
        )
        assert status == 0, err
        done: dict[str, Any] = json.loads(out)
        return done

    def verify(self, *words: str) -> tuple[int, dict[str, Any] | str]:
        status, out, err = self.run("verify", "--data", str(self.place.data), "--json", *words)
        return status, json.loads(out) if out else err

    def ask(self, question: Callable[[Any], Any]) -> Any:
        async def run() -> Any:
            reader = self.place.reader()
            await reader.open()
            try:
                return await question(reader)
            finally:
                await reader.close()

        return asyncio.run(run())


def rows_all(log: Archived) -> list[bytes]:
    return [*log.entries[:512], *rows_of(log.place)]
