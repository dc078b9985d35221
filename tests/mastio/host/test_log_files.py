"""Log files are bounded, keep what was written, and processes that write go on writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastio.host.log_files import EDGE, OWN, LogFiles


class Folder:
    """A folder of log files with a size of 100 bytes, and how often the edge was told to open its files anew."""

    def __init__(self, path: Path, kept: int = 3) -> None:
        self.path = path
        self.reopened = 0
        self._files = LogFiles(path, 100, kept, self._reopen)

    def _reopen(self) -> None:
        self.reopened += 1

    def rotate(self) -> None:
        self._files.rotate()

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    @property
    def names(self) -> list[str]:
        return sorted(file.name for file in self.path.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("name", EDGE)
def test_a_large_file_of_the_edge_is_moved_and_opened_anew(folder: Folder, name: str) -> None:
    (folder.path / name).write_text("a" * 101)
    folder.rotate()
    assert folder.names == [f"{name}.1"] and folder.reopened == 1
    folder.rotate()
    assert folder.reopened == 1


def test_our_own_file_is_emptied_under_the_processes_that_append_to_it(folder: Folder) -> None:
    with (folder.path / OWN).open("a") as stream:
        stream.write("a" * 101)
        stream.flush()
        folder.rotate()
        stream.write("next\n")
        stream.flush()
    assert folder.read(OWN) == "next\n" and folder.read(f"{OWN}.1") == "a" * 101
    assert (folder.path / f"{OWN}.1").stat().st_mode & 0o777 == 0o600
    assert folder.reopened == 0 and folder.names == [OWN, f"{OWN}.1"]


@pytest.mark.parametrize("name", [EDGE[0], OWN])
def test_the_oldest_is_removed(folder: Folder, name: str) -> None:
    for number in range(6):
        (folder.path / name).write_text(f"{number}" * 101)
        folder.rotate()
    assert [folder.read(f"{name}.{n}")[0] for n in (1, 2, 3)] == ["5", "4", "3"]
    assert not (folder.path / f"{name}.4").exists()


def test_one_older_file_may_be_all(tmp_path: Path) -> None:
    folder = Folder(tmp_path, kept=1)
    for number in range(3):
        (tmp_path / OWN).write_text(f"{number}" * 101)
        folder.rotate()
    assert folder.names == [OWN, f"{OWN}.1"] and folder.read(f"{OWN}.1")[0] == "2"


def test_what_is_small_or_no_log_file_stays(folder: Folder) -> None:
    (folder.path / OWN).write_text("a" * 100)
    (folder.path / "audit.jsonl").write_text("a" * 1000)
    (folder.path / EDGE[0]).symlink_to("/dev/null")
    before = folder.names
    folder.rotate()
    assert folder.names == before and folder.reopened == 0
