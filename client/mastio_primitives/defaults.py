"""Defaults for options that every command would repeat: from the environment, or from a named profile.

    MASTIO_DATA, MASTIO_URL, MASTIO_CA, MASTIO_TOKEN_FILE, MASTIO_IDENTITY     paths, and the base URL
    MASTIO_PROFILE                                                             a table of the file below
    $XDG_CONFIG_HOME/mastio/profiles.toml (~/.config/…)                        [NAME] with data, url, ca, …

An option of the command line counts more than the environment, and the environment more than the profile that
`MASTIO_PROFILE` names; a profile on the command line counts more than the environment. A place is taken whole from one
of them: `data`, or `url` with its `ca` and `token_file`. So no command sends the token of one appliance to another.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from mastio_primitives.errors import ConfigurationError

NAMES = ("data", "url", "ca", "token_file", "identity")
REMOTE = ("url", "ca", "token_file")
PLACE = frozenset({"data", *REMOTE})
PLACES = ("data", "url", "database", "export")
"""Options that name an appliance or its log. A command needs one of them."""


def read_defaults(environment: Mapping[str, str], profile: str | None = None) -> dict[str, str]:
    """The values by name. `profile`: that of the command line. Raises `ConfigurationError`."""
    given = {name: value for name in NAMES if (value := environment.get(f"MASTIO_{name.upper()}"))}
    name = profile or environment.get("MASTIO_PROFILE")
    known = _read_profile(environment, name) if name else {}
    first, second = (known, given) if profile else (given, known)
    if PLACE & first.keys():
        second = {key: value for key, value in second.items() if key not in PLACE}
    return {**second, **first}


def _read_profile(environment: Mapping[str, str], name: str) -> dict[str, str]:
    base = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".config")
    file = Path(base) / "mastio" / "profiles.toml"
    try:
        profiles = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"The profiles in {file} cannot be read.", f"Write a table [{name}] there.") from error
    found = profiles.get(name)
    if not isinstance(found, dict):
        raise ConfigurationError(f"There is no profile {name} in {file}.", f"It has: {', '.join(profiles) or 'none'}.")
    unknown = sorted(key for key, value in found.items() if key not in NAMES or not isinstance(value, str))
    if unknown:
        raise ConfigurationError(
            f"The profile {name} in {file} has {unknown[0]}, which is none of its texts.", f"Use {', '.join(NAMES)}."
        )
    return found


def relax(parser: argparse.ArgumentParser, defaults: Mapping[str, str]) -> None:
    """Make required options that have a default optional, and replace the default paths of commands."""
    for one in _parsers(parser):
        for action in one._actions:
            if action.option_strings and action.dest in defaults:
                action.required = False
                if isinstance(action.default, Path):
                    action.default = Path(defaults[action.dest])
        for group in one._mutually_exclusive_groups:
            if any(action.dest in defaults for action in group._group_actions):
                group.required = False


def fill(args: argparse.Namespace, parser: argparse.ArgumentParser, defaults: Mapping[str, str]) -> None:
    """Set the options of the command that were left out."""
    types = {action.dest: action.type for one in _parsers(parser) for action in one._actions}
    said = vars(args)
    names = ["identity"]
    if not any(said.get(place) for place in PLACES):
        names += ["data"] if "data" in defaults and "data" in said else REMOTE
    elif said.get("url") and said["url"] == defaults.get("url"):
        names += REMOTE
    if said.get("ca_sha256"):
        names = [name for name in names if name != "ca"]
    for name in names:
        if name in said and said[name] is None and name in defaults:
            make = types.get(name)
            said[name] = make(defaults[name]) if callable(make) else defaults[name]
    if said.get("url") and {"ca", "ca_sha256"} <= said.keys() and not (said["ca"] or said["ca_sha256"]):
        raise ConfigurationError("Nothing says whose certificates to trust.", "Give --ca, or --ca-sha256.")


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and those of its verbs."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _parsers(one)
