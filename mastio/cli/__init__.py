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
import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

from mastio import __version__
from mastio.cli.defaults import fill, read_defaults, relax
from mastio.errors import ConfigurationError

CLOSED_PIPE = 141
"""Exit status of a command whose reader has gone: 128 and SIGPIPE, as a shell has it."""

GROUP = "mastio.commands"

VERBS = {
    "serve": "run the appliance's processes on this host",
    "check": "check the settings and print what is in force",
    "edge": "render the edge's nginx configuration",
    "migrate": "bring the database up to this version's tables",
    "enroll": "enrol this machine as an agent",
    "renew": "renew an agent's certificate",
    "shim": "let unmodified clients of this machine be the agent",
    "call": "make one signed call",
    "chat": "make one chat completion",
    "agents": "list, show, suspend, revoke, reactivate agents; their API keys",
    "enrollments": "list, approve, reject enrolment requests; make one-time tokens",
    "keys": "list and rotate the appliance's own keys",
    "holds": "list, show, approve, reject what waits for a human",
    "admins": "list, add, change, remove admins; give an admin a new token",
    "policy": "list, show, set, remove, check, eval, replay policies; install those that come with the appliance",
    "completion": "print a script that completes this command in bash, zsh or fish",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb of the command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = make_parser().parse_args(words)
    try:
        return _run(chosen.verb, chosen.rest, read_defaults(os.environ, chosen.profile))
    except ConfigurationError as error:
        print(f"mastio: {error.message} {error.hint}".rstrip(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read has what they wanted. What is still buffered goes nowhere, so that the interpreter's own last
        # flush does not fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE


def make_parser() -> argparse.ArgumentParser:
    """The parser of what stands before a verb and its own words."""
    parser = _Parser(prog="mastio")
    parser.add_argument("--version", action="version", version=f"mastio {__version__}")
    parser.add_argument("--profile", metavar="NAME", help="defaults of this table in ~/.config/mastio/profiles.toml")
    parser.add_argument("verb", choices=list_verbs(), metavar="VERB", help="one of those below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


class _Parser(argparse.ArgumentParser):
    """Its help has the meaning of every verb, which is known only once all of their modules are loaded."""

    def format_help(self) -> str:
        verbs = "".join(f"  {verb:<12} {describe_verb(verb)}\n" for verb in list_verbs())
        return f"{super().format_help()}\nverbs:\n{verbs}"


def list_verbs() -> list[str]:
    """The names of all verbs: the kernel's own, then those of the installed plugins."""
    return [*VERBS, *sorted(_find_commands())]


def describe_verb(verb: str) -> str:
    """The meaning of a verb, in one line."""
    return VERBS[verb] if verb in VERBS else str(load_verb(verb).MEANING)


def load_verb(verb: str) -> Any:
    """The module of a verb: `add_arguments` and `run`."""
    if verb in VERBS:
        return importlib.import_module(f"mastio.cli.{verb.replace('-', '_')}")
    return _find_commands()[verb].load()


@lru_cache(maxsize=1)
def _find_commands() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _run(verb: str, words: Sequence[str], defaults: Mapping[str, str]) -> int:
    module = load_verb(verb)
    own = argparse.ArgumentParser(prog=f"mastio {verb}", description=describe_verb(verb))
    module.add_arguments(own)
    relax(own, defaults)
    args = own.parse_args(words)
    fill(args, own, defaults)
    status: int = module.run(args)
    sys.stdout.flush()
    return status
