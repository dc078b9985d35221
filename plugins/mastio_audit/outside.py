"""The files outside its data folder that the appliance may be configured to write."""

from __future__ import annotations

from pathlib import Path

from mastio.exchange.errors import ConfigurationError


def refuse_own(what: str, path: Path, data: Path) -> None:
    """Nothing may be written into what the appliance lives on. Its `logs/` are for reading, so they may hold a file.

    Raises `ConfigurationError`, beginning with `what`.
    """
    own, folder = data.resolve(), path.parent.resolve()
    if folder.is_relative_to(own) and not folder.is_relative_to(own / "logs"):
        raise ConfigurationError(f"{what} would write into the data folder.", "Name a file elsewhere, or in its logs/.")
