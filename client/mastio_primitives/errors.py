"""The error with which a program ends at its start. Pure."""

from __future__ import annotations


class ConfigurationError(Exception):
    """The appliance cannot start or a command cannot run: one sentence, and a hint what to do. Exit status 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
