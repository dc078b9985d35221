"""`mastio serve`: run the appliance's processes until SIGTERM. With `--edge`, nginx is one of them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from mastio.exchange.errors import ConfigurationError
from mastio.process.supervisor import StartError, Supervisor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=Path("data"), help="data folder (default: ./data)")
    parser.add_argument("--config", type=Path, help="settings file (default: DATA/mastio.toml)")
    parser.add_argument("--edge", metavar="NGINX", help="path of nginx, to run the edge as well")


def run(args: argparse.Namespace) -> int:
    os.environ["PYTHONSAFEPATH"] = "1"  # no process imports from the folder that this one was started in
    try:
        return Supervisor(args.data.resolve(), args.config, args.edge).run()
    except StartError as error:
        if str(error):
            raise ConfigurationError(str(error)) from error
        return 2
