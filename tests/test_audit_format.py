"""The worked example of docs/audit-format.md: its commands run as they stand, on its export, and say what it says."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mastio.cli import main
from mastio_primitives.transparency import notes

PAGE = (Path(__file__).parent.parent / "docs" / "audit-format.md").read_text("utf-8")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """The example as a file."""
    found = re.search(r"<!-- table: audit-example -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    path = tmp_path / "log.ndjson"
    path.write_text(found[1])
    return path


def test_the_commands_of_the_example_say_what_it_says(export: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    printed = []
    for block in blocks:
        done = subprocess.run(
            ["sh", "-eu", "-c", block], cwd=export.parent, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.splitlines())
    hashes, tree, signature = printed
    leaves, prevs = hashes[:3], [line.split('"')[3] for line in hashes[3:]]
    assert prevs == ["0" * 64, *leaves[:2]] and len(set(leaves)) == 3
    end = json.loads(export.read_text().splitlines()[3])
    verifier = notes.parse_vkey(end["vkey"])
    checkpoint = notes.open_checkpoint(end["checkpoint"].encode(), [verifier])
    assert tree == [base64.b64encode(checkpoint.root).decode()] * 2
    assert signature == ["Signature Verified Successfully", verifier.key_id.hex()]


def test_the_commands_see_a_change(export: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    export.write_text(export.read_text().replace("stub/demo", "stub/memo").replace("\\n3\\n", "\\n4\\n"))
    for block, what in zip(
        re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL), ("chain", "tree", "signature"), strict=True
    ):
        done = subprocess.run(
            ["sh", "-eu", "-c", block], cwd=export.parent, capture_output=True, text=True, check=False
        )
        lines = done.stdout.splitlines()
        match what:
            case "chain":
                assert lines[1] != lines[5].split('"')[3]
            case "tree":
                assert lines[0] != lines[1]
            case _:
                assert done.returncode != 0 and "Verified Successfully" not in done.stdout


def test_our_own_command_says_the_same(export: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "verify", "--export", str(export), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["size"], report["open_intents"], report["first_bad"]) == (3, 0, None)
    assert report["root_base64"] in export.read_text()
