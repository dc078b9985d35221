"""Runs a verb of the command `mastio` in this process."""

from __future__ import annotations

import argparse
from typing import Any


def run(module: Any, *words: str) -> int:
    """The exit status of the verb that `module` implements, with these words as its arguments."""
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    status: int = module.run(parser.parse_args(words))
    return status
