"""Verification of a log whose key was rotated, in each place: the second key is learnt from the log itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.keys import write_succession
from support.audit.verification import (
    FIRST,
    SECOND,
    STRANGER,
    append,
    checkpoint_of,
    event,
    export_of,
    keep,
    rewrite,
    rows_of,
    verify_url,
)
from support.audit.verified_log import PLACES, Log

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place


class TestRotation:
    """The first key is pinned; the second signs alone."""

    @pytest.fixture
    def rotated(self, sqlite_place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Log:
        request = {"vkey": str(SECOND.verifier), "note": write_succession(FIRST, SECOND.verifier)}
        named = Entry(id="y", phase="event", kind="audit.key", request=request)
        append(sqlite_place, [*(event(number) for number in range(4)), named, *(event(9) for _ in range(4))])
        keep(sqlite_place.data, checkpoint_of(rows_of(sqlite_place), SECOND), FIRST, SECOND)
        return Log(sqlite_place, tmp_path, capsys)

    def verify(self, log: Log, where: str, *vkeys: Any) -> tuple[int, dict[str, Any]]:
        words = [word for one in vkeys for word in ("--vkey", str(one.verifier))]
        if where == "export":
            return log.export(export_of(rows_of(log.place), log.kept, SECOND), *words)
        return verify_url(log.data, SECOND, vkeys=vkeys) if where == "url" else log.report("data", vkeys=vkeys)

    @pytest.mark.parametrize("where", PLACES)
    def test_who_trusts_the_first_learns_the_second_from_the_log(self, rotated: Log, where: str) -> None:
        status, report = self.verify(rotated, where, FIRST)
        assert (status, report["keys"]) == (0, [str(FIRST.verifier), str(SECOND.verifier)])
        status, report = self.verify(rotated, where, STRANGER)
        assert (status, report["first_bad"]) == (3, None)

    @pytest.mark.parametrize("where", PLACES)
    @pytest.mark.parametrize("by", ["nobody", "a stranger", "itself"])
    def test_and_only_from_a_note_that_a_trusted_key_signed(self, rotated: Log, where: str, by: str) -> None:
        document = json.loads(rotated.place.entry(4))
        signer = {"a stranger": STRANGER, "itself": SECOND}.get(by)
        note = "x" if signer is None else write_succession(signer, SECOND.verifier)
        document["request"] = {"vkey": str(SECOND.verifier), "note": note}
        rotated.place.put(4, chain.encode(document))
        rewrite(rotated.place, 5, "test")
        keep(rotated.data, checkpoint_of(rows_of(rotated.place), SECOND), FIRST, SECOND)
        status, report = self.verify(rotated, where, FIRST)
        assert (status, report["first_bad"], report["keys"]) == (3, None, [str(FIRST.verifier)])
        assert self.verify(rotated, where)[0] == 0, "who pinned nothing believes what the place says"

    def test_a_database_alone_tells_its_keys(self, rotated: Log) -> None:
        keep(rotated.data, rotated.kept, FIRST)
        (rotated.data / "log" / "vkey").unlink()
        assert rotated.report("data")[1]["keys"] == [str(SECOND.verifier)]
        assert rotated.verify("data") == (0, None)
