"""`mastio enroll`: enrol this machine as an agent and write its identity folder."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from mastio_client.enroll import EnrollmentRequest, Refused, enroll, fetch_ca, read_ca
from mastio_primitives.command_line import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", required=True, help="base URL of the appliance")
    trust = parser.add_mutually_exclusive_group(required=True)
    trust.add_argument("--ca", type=Path, help="file with the appliance's CA certificate")
    trust.add_argument("--ca-sha256", metavar="HEX", help="fingerprint of the appliance's CA certificate")
    parser.add_argument("--name", required=True, help="the agent's name: 1 to 64 of a-z 0-9 . _ -")
    parser.add_argument("--token", help="one-time token, for enrolment without approval")
    parser.add_argument("--dpop-key", choices=("p256", "ed25519"), default="p256", help="kind of the DPoP key")
    parser.add_argument("--reason", help="what the agent is for; the operator sees it")
    parser.add_argument(
        "--timeout", type=float, default=3600.0, metavar="S", help="seconds to wait for approval, or for a turn"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the identity; must not exist yet")
    parser.add_argument("--json", action="store_true", help="print the identity as JSON")


def run(args: argparse.Namespace) -> int:
    base_url = args.url.rstrip("/")
    ca = read_ca(args.ca) if args.ca is not None else fetch_ca(base_url, args.ca_sha256)
    request = EnrollmentRequest(base_url, ca, args.name, args.token, args.reason, args.dpop_key, args.timeout)
    try:
        facts = enroll(request, args.out, lambda text: print(f"mastio: {text}", file=sys.stderr))
    except Refused as refusal:
        print(f"mastio: {plain(refusal.message)}", file=sys.stderr)
        return 1
    print(json.dumps({**facts, "identity": str(args.out)}) if args.json else args.out)
    return 0
