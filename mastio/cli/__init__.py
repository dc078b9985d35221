"""The command `mastio`: one module for each verb, imported only when it is asked for.

Exit status: 0 done · 1 the thing asked about is not so · 2 used wrongly or cannot run · 3 tampering found.
Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from mastio import __version__
from mastio_primitives.command_line import AGENT_VERBS, CommandLine

VERBS = {
    "up": "bring the appliance up on this host",
    "restart": "apply the settings to the running appliance, worker by worker",
    "down": "stop the appliance on this host; its data stays",
    "status": "processes, disk and health of the appliance on this host",
    "logs": "follow the logs of the appliance on this host",
    "serve": "run the appliance's processes on this host",
    "check": "check the settings and print what is in force",
    "edge": "render the edge's nginx configuration",
    "migrate": "bring the database up to this version's tables",
    **AGENT_VERBS,
    "agents": "list, show, suspend, revoke, reactivate agents; their API keys",
    "enrollments": "list, approve, reject enrolment requests; make one-time tokens",
    "keys": "list and rotate the appliance's own keys",
    "holds": "list, show, approve, reject what waits for a human",
    "admins": "list, add, change, remove admins; give an admin a new token",
    "providers": "list, show, add, change, test, remove LLM providers",
    "connections": "list, show, add, change, rotate, remove connections to other APIs",
    "policy": "list, show, set, remove, check, eval, replay policies; install those that come with the appliance",
    "budgets": "list, show, add, remove limits of requests, tokens and USD",
    "detectors": "list, show, add, remove detector policies; allow a tool, explain",
    "redaction": "list, show, add, remove redaction policies; explain and reidentify",
    "audit": "list and verify the audit log; proofs, exports, checkpoints, receipts",
    "usage": "what calls of models used: requests, tokens, USD, by agent, model, day or group",
    "completion": "print a script that completes this command in bash, zsh or fish",
    "stub-llm": "run a stand-in for an LLM provider",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb of the command line and return its exit status."""
    return _command().main(sys.argv[1:] if argv is None else argv)


def make_parser() -> argparse.ArgumentParser:
    """The parser of what stands before a verb and its own words."""
    return _command().make_parser()


def load_verb(verb: str) -> Any:
    """The module of a verb: `add_arguments` and `run`."""
    return importlib.import_module(f"mastio.cli.{verb.replace('-', '_')}")


def _command() -> CommandLine:
    return CommandLine("mastio", __version__, VERBS, load_verb)
