"""Leaving a stage out is a type error: the type checker is run on code that tries."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PREAMBLE = """
from mastio.exchange.values import *
def received() -> Received: ...
def authenticated() -> Authenticated: ...
def read() -> Read: ...
def authorized() -> Authorized: ...
def inspected() -> Inspected: ...
def approved() -> Approved: ...
def reserved() -> Reserved: ...
def recorded() -> Recorded: ...
def dispatch(recorded: Recorded) -> None: ...
def allow() -> Allow: ...
def decided() -> Decision: ...
def action() -> Action: ...
def message() -> Message: ...
"""

GOOD = """
parsed = Read(Authenticated(received(), STRANGER, (), 0.0, 0), action(), message())
dispatch(Recorded(Reserved(Approved(Inspected(Authorized(parsed, allow()), message(), allow()), allow()), ()), 0))
"""

SKIPS = {
    "record": "dispatch(reserved())",
    "reserve": "Recorded(approved(), 0)",
    "approve": "Reserved(inspected(), ())",
    "inspect": "Approved(authorized(), allow())",
    "human": "Approved(inspected(), inspected().decision)",
    "authorize": "Inspected(read(), message(), allow())",
    "allow": "Authorized(read(), decided())",
    "read": "Authorized(authenticated(), allow())",
    "authenticate": "Read(received(), action(), message())",
}


def check_types(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "attempt.py"
    file.write_text(PREAMBLE + code)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--disable-error-code=empty-body",
        str(file),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_whole_order_type_checks(tmp_path: Path) -> None:
    done = check_types(GOOD, tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("stage", SKIPS)
def test_skipping_a_stage_does_not(stage: str, tmp_path: Path) -> None:
    done = check_types(SKIPS[stage], tmp_path)
    assert done.returncode == 1
    assert "incompatible type" in done.stdout
