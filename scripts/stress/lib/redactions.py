"""Redaction policies while it is measured what they cost, set as an admin does: by `mastio redaction`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

Step = Literal["without", "inbound", "both"]
STEPS: tuple[Step, ...] = ("without", "inbound", "both")

ACTIONS: dict[Step, tuple[str, str]] = {
    "without": ("off", "off"),
    "inbound": ("redact", "off"),
    "both": ("redact", "redact"),
}
"""What is done with values of every type in requests and in replies."""

DIRECTIONS = ("request", "response")
COMMAND_SECONDS = 30.0
SEEN_SECONDS = 1.5
"""A change is in force everywhere within a second."""


def set_redaction(data: Path, step: Step) -> None:
    """Raises `RuntimeError` when the appliance does not take it."""
    clear_redaction(data)
    for direction, action in zip(DIRECTIONS, ACTIONS[step], strict=True):
        done = _redaction(data, "add", f"stress-{direction}", "--direction", direction, "--type", f"*={action}")
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
    time.sleep(SEEN_SECONDS)


def clear_redaction(data: Path) -> None:
    """Those of a run before may be there, or not."""
    for direction in DIRECTIONS:
        _redaction(data, "remove", f"stress-{direction}")


def _redaction(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mastio", "redaction", *words, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS)
