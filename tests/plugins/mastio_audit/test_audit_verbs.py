"""`mastio audit prove`, `export`, `checkpoint` over what is stored; consistency proofs as the REST hooks write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mastio.exchange.errors import BadRequest
from mastio_primitives.transparency import merkle, notes
from mastio_primitives.transparency.merkle import leaf_hash
from support.audit.verification import (
    FIRST,
    STRANGER,
    Served,
    append,
    checkpoint_of,
    command,
    event,
    export_of,
    keep,
    rewrite,
    rows_of,
)
from support.tier import positions

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

SIZE = 300


class Run:
    """The command, and what it printed to stdout."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capsysbinary

    def __call__(self, *words: str) -> tuple[int, bytes]:
        status = command(*words)
        self.printed = self._capture.readouterr()
        return status, self.printed.out


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    return Run(capsysbinary)


@pytest.fixture
def log(place: Place) -> list[bytes]:
    append(place, [event(number) for number in range(SIZE)])
    return rows_of(place)


@pytest.fixture
def where(place: Place, log: list[bytes]) -> list[str]:
    """Beside a data folder stand its checkpoint and key, beside a database an auditor's own."""
    signed = checkpoint_of(log[:290])
    if place.kind == "sqlite":
        keep(place.data, signed)
        return place.arguments
    (place.data / "kept").write_bytes(checkpoint_of(log[:7]) + signed)
    return [*place.arguments, "--checkpoint", str(place.data / "kept"), "--vkey", str(FIRST.verifier)]


class TestProve:
    @pytest.mark.parametrize("index", [0, 255, 256, 289])
    def test_a_proof_leads_to_the_checkpoint_and_is_verified_offline(
        self, where: list[str], log: list[bytes], run: Run, tmp_path: Path, index: int
    ) -> None:
        out = tmp_path / "out"
        status, proof = run("prove", *where, str(index), "--checkpoint-out", str(out))
        at, hashes, signed = notes.parse_proof(proof)
        assert (status, at, signed) == (0, index, out.read_bytes())
        checkpoint = notes.open_checkpoint(signed, [FIRST.verifier])
        merkle.verify_inclusion(at, leaf_hash(log[index]), 0, 290, checkpoint.root, hashes)
        files = {"proof": proof, "entry": log[index], "line": log[index] + b"\n", "other": log[index - 1]}
        files["export"] = export_of(log, checkpoint_of(log))
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        offline = ["prove", "--verify", str(tmp_path / "proof")]
        vkey = ["--vkey", str(FIRST.verifier)]
        for given in ("entry", "line"):
            assert run(*offline, *vkey, "--entry", str(tmp_path / given))[0] == 0
        for more in ([], vkey, [str(index)]):
            assert run(*offline, *more, "--export", str(tmp_path / "export"))[0] == 0
            assert (b"not pinned" in self.err(run)) == (more != vkey)
        status, printed = run(*offline, *vkey, "--entry", str(tmp_path / "entry"), "--json")
        assert json.loads(printed) == {"index": index, "size": 290, "root": checkpoint.root.hex()}
        assert run(*offline, *vkey, "--entry", str(tmp_path / "other")) == (3, b"")
        assert run(*offline, "--vkey", str(STRANGER.verifier), "--entry", str(tmp_path / "entry")) == (3, b"")
        assert run(*offline, *vkey, "--entry", str(tmp_path / "entry"), str(index + 1)) == (3, b"")
        assert run(*offline, "--entry", str(tmp_path / "entry")) == (2, b"")

    @staticmethod
    def err(run: Run) -> bytes:
        return run.printed.err

    def test_every_flipped_byte_of_a_proof(self, where: list[str], log: list[bytes], run: Run, tmp_path: Path) -> None:
        _, proof = run("prove", *where, "3")
        (tmp_path / "entry").write_bytes(log[3])
        words = ["prove", "--verify", str(tmp_path / "proof"), "--vkey", str(FIRST.verifier)]
        for at in positions(len(proof), 3):
            (tmp_path / "proof").write_bytes(proof[:at] + bytes([proof[at] ^ 1]) + proof[at + 1 :])
            assert run(*words, "--entry", str(tmp_path / "entry"))[0] == 3, at

    def test_what_is_not_covered_yet(self, where: list[str], run: Run) -> None:
        assert run("prove", *where, "290") == (1, b"")

    def test_a_log_that_was_altered_proves_nothing(self, place: Place, where: list[str], run: Run) -> None:
        place.put(3, place.entry(3).replace(b'"kind":"test"', b'"kind":"tess"'))
        assert run("prove", *where, "3") == (3, b"")
        place.tamper("DELETE FROM entries WHERE seq = 3")
        assert run("prove", *where, "3") == (3, b"")

    @pytest.mark.parametrize("words", [(), ("--entry", "x", "1"), ("--verify", "/nowhere", "--entry", "x")])
    def test_used_wrongly(self, run: Run, words: tuple[str, ...]) -> None:
        assert run("prove", *words) == (2, b"")
        assert run.printed.err.count(b"\n") == 1

    @pytest.mark.parametrize("index", ["-1", "1.0", "x", "\u0661"])
    def test_an_index_is_a_number_in_plain_digits(self, where: list[str], run: Run, index: str) -> None:
        with pytest.raises(SystemExit) as caught:
            run("prove", *where, "--", index)
        assert caught.value.code == 2

    def test_a_key_that_is_none(self, where: list[str], run: Run, tmp_path: Path) -> None:
        """Neither a word, nor a file of something else, nor one that is not text."""
        (tmp_path / "binary").write_bytes(b"\xff\xfe")
        for given in ("word", str(tmp_path / "binary")):
            assert run("prove", *where, "1", "--vkey", given) == (2, b"")
            assert run.printed.err.startswith(f"mastio: --vkey {given} ".encode())

    def test_without_a_key_beside_a_database_one_must_be_given(self, sqlite_place: Place, run: Run) -> None:
        append(sqlite_place, [event(1)])
        keep(sqlite_place.data, checkpoint_of(rows_of(sqlite_place)))
        (sqlite_place.data / "log" / "vkey").unlink()
        assert run("prove", *sqlite_place.arguments, "0") == (2, b"")
        assert run.printed.err == b"mastio: The log's key is not known here. Give --vkey.\n"


class TestExport:
    def test_what_is_exported_is_verified(self, where: list[str], log: list[bytes], run: Run, tmp_path: Path) -> None:
        status, content = run("export", *where)
        assert status == 0 and content == export_of(log[:290], checkpoint_of(log[:290]))
        out = tmp_path / "out.ndjson"
        assert run("export", *where, "-o", str(out)) == (0, b"") and out.read_bytes() == content
        status, printed = run("verify", "--export", str(out), "--vkey", str(FIRST.verifier), "--json")
        assert (status, json.loads(printed)["size"]) == (0, 290)

    def test_what_is_not_whole_is_no_file(self, place: Place, where: list[str], run: Run, tmp_path: Path) -> None:
        place.tamper("DELETE FROM entries WHERE seq = 200")
        folder = tmp_path / "new"
        folder.mkdir()
        assert run("export", *where, "-o", str(folder / "out")) == (3, b"")
        assert list(folder.iterdir()) == []

    def test_a_file_that_cannot_be_written(self, where: list[str], run: Run, tmp_path: Path) -> None:
        out = tmp_path / "none" / "out"
        assert run("export", *where, "-o", str(out)) == (2, b"")
        assert run.printed.err == f"mastio: {out} cannot be written (No such file or directory). ".encode() + (
            b"Name a file that can.\n"
        )


class TestCheckpoint:
    def test_it_is_printed_as_it_was_signed(self, sqlite_place: Place, run: Run) -> None:
        append(sqlite_place, [event(1)])
        signed = checkpoint_of(rows_of(sqlite_place))
        keep(sqlite_place.data, signed)
        assert run("checkpoint", *sqlite_place.arguments) == (0, signed)
        status, printed = run("checkpoint", *sqlite_place.arguments, "--json")
        assert (status, json.loads(printed)["size"], json.loads(printed)["note"]) == (0, 1, signed.decode())
        assert run("checkpoint", *sqlite_place.arguments, "--vkey", str(STRANGER.verifier)) == (3, b"")

    def test_none_is_there(self, tmp_path: Path, run: Run) -> None:
        assert run("checkpoint", "--data", str(tmp_path)) == (2, b"")


class TestPast:
    """The log as it was, over the REST hooks."""

    @pytest.fixture
    def served(self, sqlite_place: Place) -> Any:
        append(sqlite_place, [event(number) for number in range(SIZE)])
        served = Served(sqlite_place.data)
        yield served
        served.close()

    @pytest.mark.parametrize(("old", "size"), [(1, 300), (7, 8), (256, 300), (255, 257), (299, 300), (300, 300)])
    def test_an_older_log_is_the_beginning_of_a_newer(
        self, sqlite_place: Place, served: Served, old: int, size: int
    ) -> None:
        rows = rows_of(sqlite_place)
        at, hashes, signed = notes.parse_extension(served.fetch(f"checkpoint?old={old}&size={size}"))
        assert (at, signed) == (old, checkpoint_of(rows[:size]))
        roots = [notes.open_checkpoint(checkpoint_of(rows[:n]), [FIRST.verifier]).root for n in (old, size)]
        merkle.verify_consistency(old, size, roots[0], roots[1], hashes)
        assert served.fetch(f"checkpoint?size={old}") == checkpoint_of(rows[:old])
        assert notes.parse_extension(served.fetch(f"checkpoint?old={old}"))[2] == checkpoint_of(rows)

    @pytest.mark.parametrize("query", ["old=0", "old=301", "old=8&size=7", "old=-1", "old=1&old=1", "new=1", "size="])
    def test_what_cannot_be_asked(self, served: Served, query: str) -> None:
        with pytest.raises(BadRequest):
            served.read(f"checkpoint?{query}")

    def test_a_size_that_is_not_reached_yet(self, served: Served) -> None:
        with pytest.raises(BadRequest) as caught:
            served.read("checkpoint?size=301")
        assert caught.value.code == "not_found"

    def test_an_older_log_does_not_fit_one_that_was_rewritten(self, sqlite_place: Place, served: Served) -> None:
        old = notes.open_checkpoint(served.fetch("checkpoint?size=200"), [FIRST.verifier])
        rewrite(sqlite_place, 100)
        _, hashes, signed = notes.parse_extension(served.fetch("checkpoint?old=200"))
        new = notes.open_checkpoint(signed, [FIRST.verifier])
        with pytest.raises(merkle.ProofError):
            merkle.verify_consistency(200, new.size, old.root, new.root, hashes)
