"""The part of `scripts/compose` that runs inside the app image, where Python is.

`settle` writes the settings as `deploy.sh --native` does and prints what `docker-compose.yml` needs of them, as lines
`NAME='value'`; `welcome` prints how to use the appliance.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

from mastio.bring_up.native import describe_redaction, print_welcome
from mastio.bring_up.up_settings import UpOptions, ensure_stub_port, write_settings
from mastio.exchange.errors import ConfigurationError, MastioError
from mastio.plugin.loading import refuse
from mastio.process.plan import read_plan
from mastio.settings import Settings

POSTGRES = "postgres"
"""The host in the database's URL that stands for the container beside the app."""


def main() -> int:
    args = _parser().parse_args()
    try:
        if args.step == "settle":
            print("\n".join(f"{name}='{value}'" for name, value in settle(args).items()))
        else:
            known = json.loads((args.data / "bootstrap.json").read_text("utf-8"))
            print_welcome(args.data, known, args.mastio, args.data / "my-agent", already=args.already)
    except (ConfigurationError, MastioError) as error:
        print(f"mastio: {error.message} {error.hint}".rstrip(), file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mastio.bring_up.compose")
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("settle")
    step.add_argument("--data", type=Path, required=True)
    step.add_argument("--config", type=Path, required=True)
    step.add_argument("--port", type=int)
    step.add_argument("--public-url")
    step.add_argument("--workers", type=int)
    step.add_argument("--database")
    step.add_argument("--redact", action=argparse.BooleanOptionalAction)
    step.add_argument("--demo", action="store_true")
    step = steps.add_parser("welcome")
    step.add_argument("--data", type=Path, required=True)
    step.add_argument("--mastio", required=True, help="how the command is called from outside")
    step.add_argument("--already", action="store_true")
    return parser


def settle(args: argparse.Namespace) -> dict[str, str]:
    """Write the settings, check them, and say what the containers need to know. Raises `ConfigurationError`."""
    write_settings(args.config, UpOptions(args.port, args.public_url, args.workers, args.database, args.redact))
    if args.demo:
        ensure_stub_port(args.config)
    plan, problems = read_plan(args.data, args.config)
    refuse(problems)
    settings = plan.settings
    try:
        bind = str(ipaddress.ip_address(settings.edge.bind))
    except ValueError as error:
        raise ConfigurationError("edge.bind must be an address.", "Use 0.0.0.0 for all of this host's.") from error
    return {
        "MASTIO_PORT": str(settings.edge.port),
        "MASTIO_BIND": bind,
        "MASTIO_STUB_PORT": str(settings.server.stub_port),
        "MASTIO_REDACTION": describe_redaction(plan),
        **_database(settings),
    }


def _database(settings: Settings) -> dict[str, str]:
    url = urlsplit(settings.database.url)
    if url.hostname != POSTGRES:
        return {"COMPOSE_PROFILES": ""}
    user, name = url.username or "", url.path.removeprefix("/")
    if url.password is not None or not all(re.fullmatch(r"[a-z_][a-z0-9_]*", word) for word in (user, name)):
        raise ConfigurationError(
            "The URL of the database in the container must have a plain user and name, and no password.",
            "Use postgresql+asyncpg://mastio@postgres/mastio.",
        )
    return {"COMPOSE_PROFILES": POSTGRES, "MASTIO_POSTGRES_USER": user, "MASTIO_POSTGRES_DB": name}


if __name__ == "__main__":
    sys.exit(main())
