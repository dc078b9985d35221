"""`mastio audit receipt`: the verb `receipt` of an agent, among those of the log."""

from __future__ import annotations

from typing import Any

from mastio_client.cli import receipt

MEANING = "verify as an agent that an exchange of one's own is in the log"


def add_verbs(verbs: Any) -> None:
    """`mastio audit` prints what the verb raises."""
    parser = verbs.add_parser("receipt", help=MEANING, description=MEANING)
    receipt.add_arguments(parser)
    parser.set_defaults(call=receipt.verify)
