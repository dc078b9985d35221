"""`mastio edge`: render the edge's nginx configuration into the data folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from mastio.host.nginx import nginx_version
from mastio.http.edge import render
from mastio.plugin.loading import refuse
from mastio.process.plan import read_plan
from mastio.store.secrets.key_sources import open_keys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=Path("data"), help="data folder (default: ./data)")
    parser.add_argument("--config", type=Path, help="settings file (default: DATA/mastio.toml)")


def run(args: argparse.Namespace) -> int:
    data = args.data.resolve()
    plan, problems = read_plan(data, args.config)
    refuse(problems)
    secret = open_keys(data, plan.settings.secrets).key("edge").hex().encode("ascii")
    render(plan.settings, plan.routes, data, secret, plan.settings.edge.nginx or nginx_version())
    print(data / "edge" / "nginx.conf")
    return 0
