"""The last of the folder: how many attempts were made, and that each has a twin that succeeded."""

from __future__ import annotations

import pytest

from threats.attempts import TALLY


def test_each_attempt_has_a_twin(capsys: pytest.CaptureFixture[str]) -> None:
    if not TALLY.refused:
        pytest.skip("no attempts were made in this run")
    with_twin = TALLY.refused & TALLY.served
    with capsys.disabled():
        print(f"\n{len(with_twin)} of {len(TALLY.refused)} negative cases have a twin that succeeds")
    assert TALLY.refused - TALLY.served == set()
