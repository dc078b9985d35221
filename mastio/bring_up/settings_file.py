"""Changing single values in a settings file that a person wrote: everything else stays as it is, comments too. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from mastio.exchange.errors import ConfigurationError

Value = str | int
_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?")


def set_values(text: str, values: dict[tuple[str, str], Value]) -> str:
    """The file with these values, by section and key. Raises `ConfigurationError` for one that cannot be changed."""
    wanted = _parse(text)
    for (section, key), value in values.items():
        table = wanted.setdefault(section, {})
        if not isinstance(table, dict):
            raise _not_changeable(section, key)
        if table.get(key) == value:
            continue
        table[key] = value
        text = _set(text, section, key, value)
        if not _says(text, wanted):
            raise _not_changeable(section, key)
    return text


def _set(text: str, section: str, key: str, value: Value) -> str:
    """Replace the line, add one below the header of the section, or add the section."""
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    header, current = None, ""
    for number, found in enumerate(lines):
        match = _HEADER.fullmatch(found.rstrip())
        if match:
            current = match[1].strip()
            header = number if current == section else header
        elif current == section and re.match(rf"\s*{re.escape(key)}\s*=", found):
            return "".join([*lines[:number], line, *lines[number + 1 :]])
    if header is not None:
        return "".join([*lines[: header + 1], line, *lines[header + 1 :]])
    return "".join([*lines, *(["\n"] if lines else []), f"[{section}]\n", line])


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"The settings file is not TOML: {error}.", "Correct it by hand.") from error


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _not_changeable(section: str, key: str) -> ConfigurationError:
    return ConfigurationError("The settings file cannot be changed safely.", f"Set {section}.{key} in it by hand.")
