"""A command with verbs, such as `mastio`: parsing, defaults, exit status.

Exit status: 0 done · 1 the thing asked about is not so · 2 used wrongly or cannot run · 3 tampering found.
Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mastio_primitives.defaults import fill, read_defaults, relax
from mastio_primitives.errors import ConfigurationError

CLOSED_PIPE = 141
"""Exit status of a command whose reader has gone: 128 and SIGPIPE, as a shell has it."""

AGENT_VERBS = {
    "enroll": "enrol this machine as an agent",
    "renew": "renew an agent's certificate",
    "shim": "let unmodified clients of this machine be the agent",
    "call": "make one signed call",
    "chat": "make one chat completion",
    "receipt": "verify that a call of one's own is in the log",
}
"""The verbs of an agent, with their meanings. `mastio` and `mastio-client` have them."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command. `verbs`: the meaning of each. `load`: the module of a verb, with `add_arguments` and `run`."""

    name: str
    version: str
    verbs: Mapping[str, str]
    load: Callable[[str], Any]

    def main(self, words: Sequence[str]) -> int:
        """Run the verb that the words name and return its exit status."""
        chosen = self.make_parser().parse_args(words)
        try:
            return self._run(chosen.verb, chosen.rest, read_defaults(os.environ, chosen.profile))
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

    def make_parser(self) -> argparse.ArgumentParser:
        """The parser of the options before the verb."""
        parser = _Parser(self.verbs, prog=self.name)
        parser.add_argument("--version", action="version", version=f"{self.name} {self.version}")
        parser.add_argument(
            "--profile", metavar="NAME", help="defaults of this table in ~/.config/mastio/profiles.toml"
        )
        parser.add_argument("verb", choices=self.verbs, metavar="VERB", help="one of those below")
        parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        return parser

    def _run(self, verb: str, words: Sequence[str], defaults: Mapping[str, str]) -> int:
        module = self.load(verb)
        own = argparse.ArgumentParser(prog=f"{self.name} {verb}", description=self.verbs[verb])
        module.add_arguments(own)
        relax(own, defaults)
        args = own.parse_args(words)
        fill(args, own, defaults)
        status: int = module.run(args)
        sys.stdout.flush()
        return status


def plain(text: str) -> str:
    """The text on one line, with control characters escaped: strangers wrote some of it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class _Parser(argparse.ArgumentParser):
    """Its help has the meaning of every verb, which may be known only once all of their modules are loaded."""

    def __init__(self, verbs: Mapping[str, str], **settings: Any) -> None:
        super().__init__(**settings)
        self._verbs = verbs

    def format_help(self) -> str:
        verbs = "".join(f"  {verb:<12} {meaning}\n" for verb, meaning in self._verbs.items())
        return f"{super().format_help()}\nverbs:\n{verbs}"
