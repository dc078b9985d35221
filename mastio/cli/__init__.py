"""The command `mastio`: one module for each verb, imported only when it is asked for.

A plugin brings verbs of its own: modules named in the entry-point group `mastio.commands`, active or not, because an
admin may administer another machine. Each has `MEANING` (one line), `add_arguments(parser)`, and `run(args)`, which
returns the exit status.

Exit status: 0 done · 1 the thing asked about is not so · 2 used wrongly or cannot run · 3 tampering found.
Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from mastio import __version__
from mastio_primitives.command_line import AGENT_VERBS, CommandLine

GROUP = "mastio.commands"

APPLIANCE_VERBS = {
    "up": "bring the appliance up on this host",
    "restart": "apply the settings to the running appliance, worker by worker",
    "down": "stop the appliance on this host; its data stays",
    "status": "processes, disk and health of the appliance on this host",
    "logs": "follow the logs of the appliance on this host",
    "serve": "run the appliance's processes on this host",
    "check": "check the settings and print what is in force",
    "edge": "render the edge's nginx configuration",
    "migrate": "bring the database up to this version's tables",
}
ADMIN_VERBS = {
    "agents": "list, show, suspend, revoke, reactivate agents; their API keys",
    "enrollments": "list, approve, reject enrolment requests; make one-time tokens",
    "keys": "list and rotate the appliance's own keys",
    "holds": "list, show, approve, reject what waits for a human",
    "admins": "list, add, change, remove admins; give an admin a new token",
    "policy": "list, show, add, set, remove, check, eval, replay policies; install those that come with the appliance",
    "plugin": "write a new plugin, with its tests",
    "completion": "print a script that completes this command in bash, zsh or fish",
}
KERNEL_VERBS = APPLIANCE_VERBS | AGENT_VERBS | ADMIN_VERBS

FOLDERS = dict.fromkeys(APPLIANCE_VERBS, "appliance.") | dict.fromkeys(AGENT_VERBS, "agent.") | {"policy": "policy."}
"""The packages of verbs that are not in this one."""


class Verbs(Mapping[str, str]):
    """The meaning of every verb by its name: the kernel's, then those of the installed plugins.

    The names are known without loading anything; the meaning of a plugin's verb is in its module.
    """

    def __init__(self) -> None:
        self._of_plugins: dict[str, Any] | None = None

    def __iter__(self) -> Iterator[str]:
        yield from KERNEL_VERBS
        yield from sorted(self._commands())

    def __len__(self) -> int:
        return len(KERNEL_VERBS) + len(self._commands())

    def __contains__(self, verb: object) -> bool:
        return verb in KERNEL_VERBS or verb in self._commands()

    def __getitem__(self, verb: str) -> str:
        return KERNEL_VERBS[verb] if verb in KERNEL_VERBS else str(self.load(verb).MEANING)

    def load(self, verb: str) -> Any:
        """The module of a verb. Raises `KeyError`."""
        if verb in KERNEL_VERBS:
            return importlib.import_module(f"mastio.cli.{FOLDERS.get(verb, '')}{verb}")
        return self._commands()[verb].load()

    def _commands(self) -> dict[str, Any]:
        if self._of_plugins is None:
            self._of_plugins = {entry.name: entry for entry in entry_points(group=GROUP)}
        return self._of_plugins


VERBS = Verbs()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb of the command line and return its exit status."""
    return _command().main(sys.argv[1:] if argv is None else argv)


def make_parser() -> argparse.ArgumentParser:
    """The parser of what stands before a verb and its own words."""
    return _command().make_parser()


def load_verb(verb: str) -> Any:
    """The module of a verb: `add_arguments` and `run`. Raises `KeyError`."""
    return VERBS.load(verb)


def _command() -> CommandLine:
    return CommandLine("mastio", __version__, VERBS, load_verb)
