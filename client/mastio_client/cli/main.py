"""The command `mastio-client`: the verbs of an agent. The appliance's command `mastio` has the same."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from mastio_client import __version__
from mastio_client.cli import call, chat, enroll, receipt, renew, shim
from mastio_primitives.command_line import AGENT_VERBS, CommandLine

MODULES: dict[str, ModuleType] = {
    "enroll": enroll, "renew": renew, "shim": shim, "call": call, "chat": chat, "receipt": receipt,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb of the command line and return its exit status."""
    command = CommandLine("mastio-client", __version__, AGENT_VERBS, MODULES.__getitem__)
    return command.main(sys.argv[1:] if argv is None else argv)
