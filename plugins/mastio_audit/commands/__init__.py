"""`mastio audit`: what an operator, an auditor or an agent does with the log.

Its verbs stand in `audit_list`, `audit_verify`, `audit_prove`, `audit_read`, `audit_receipt` and `audit_archive`. Exit
status: 0 all of it holds, 1 the appliance refused, 2 used wrongly or nothing to read, 3 tampering or damage.
"""

from __future__ import annotations

import argparse
import sys

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import plain
from mastio_audit.commands import archive as audit_archive
from mastio_audit.commands import listing as audit_list
from mastio_audit.commands import prove as audit_prove
from mastio_audit.commands import reading as audit_read
from mastio_audit.commands import receipt as audit_receipt
from mastio_audit.commands import verify as audit_verify
from mastio_audit.log.chain import ChainError
from mastio_audit.log.store import StoreError
from mastio_audit.verification.served import Absent
from mastio_client.enroll import Refused
from mastio_primitives.transparency.merkle import ProofError
from mastio_primitives.transparency.notes import NoteError

MEANING = "list and verify the audit log; proofs, exports, checkpoints, receipts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs below `mastio audit`."""
    verbs = parser.add_subparsers(dest="audit_verb", metavar="VERB", required=True)
    for module in (audit_list, audit_verify, audit_prove, audit_read, audit_receipt, audit_archive):
        module.add_verbs(verbs)


def run(args: argparse.Namespace) -> int:
    """Carry out `mastio audit …`; returns the exit status."""
    try:
        status: int = args.call(args)
    except ConfigurationError as error:
        print(f"mastio: {error.message} {error.hint}".rstrip(), file=sys.stderr)
        return 2
    except StoreError as error:
        print(
            f"mastio: The audit log cannot be read: {error}. Name its place with --data or --database.", file=sys.stderr
        )
        return 2
    except (Refused, Absent) as refusal:
        print(f"mastio: {plain(str(refusal))}", file=sys.stderr)
        return 1
    except (ChainError, NoteError, ProofError) as error:
        print(f"mastio: This does not hold: {plain(str(error))}.", file=sys.stderr)
        return 3
    return status
