"""An automaton is compiled once; whatever is wrong with what was kept, it is compiled again."""

from __future__ import annotations

from pathlib import Path

import hyperscan
import pytest

from mastio.host.automata import open_automaton


def ends(database: hyperscan.Database, text: bytes) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    database.scan(text, match_event_handler=lambda number, _start, end, _flags, _context: found.append((number, end)))
    return found


def test_what_was_kept_finds_the_same(tmp_path: Path) -> None:
    for _ in range(2):
        assert ends(open_automaton([b"ab", b"c+"], [0, hyperscan.HS_FLAG_SINGLEMATCH], kept=tmp_path), b"xabcc") == [
            (0, 3),
            (1, 4),
        ]
        assert len(list(tmp_path.iterdir())) == 1
    open_automaton([b"ab", b"c+"], [0, 0], kept=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2, "another flag, another automaton"


@pytest.mark.parametrize("damage", [b"", b"x" * 40, None])
def test_what_is_damaged_is_compiled_again(tmp_path: Path, damage: bytes | None) -> None:
    open_automaton([b"ab"], [0], kept=tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] if damage is None else damage)
    assert ends(open_automaton([b"ab"], [0], kept=tmp_path), b"ab") == [(0, 2)]
    assert file.read_bytes() == whole


def test_what_another_automaton_left_is_not_believed(tmp_path: Path) -> None:
    """It loads, and would find something else."""
    open_automaton([b"cd"], [0], kept=tmp_path)
    (other,) = tmp_path.iterdir()
    foreign = other.read_bytes()
    open_automaton([b"ab"], [0], kept=tmp_path)
    (file,) = set(tmp_path.iterdir()) - {other}
    whole = file.read_bytes()
    file.write_bytes(whole[:32] + foreign[32:])
    assert ends(open_automaton([b"ab"], [0], kept=tmp_path), b"ab cd") == [(0, 2)]
    assert file.read_bytes() == whole


def test_where_nothing_can_be_kept_it_works_all_the_same(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    assert ends(open_automaton([b"ab"], [0], kept=nowhere / "x"), b"ab") == [(0, 2)]


def test_what_does_not_compile_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(hyperscan.HyperscanError):
        open_automaton([b"("], [0], kept=tmp_path)
    assert list(tmp_path.iterdir()) == []
