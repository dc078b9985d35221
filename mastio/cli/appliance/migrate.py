"""`mastio migrate`: bring the database up to this version's tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from mastio.plugin.loading import refuse
from mastio.settings import read_settings
from mastio.store.sql.migrate import is_current, upgrade


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=Path("data"), help="data folder (default: ./data)")
    parser.add_argument("--config", type=Path, help="settings file (default: DATA/mastio.toml)")
    parser.add_argument("--database", metavar="URL", help="this database instead of the one in the settings")
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 when there is something to do")


def run(args: argparse.Namespace) -> int:
    data = args.data.resolve()
    url = args.database
    if url is None:
        settings, problems = read_settings(args.config or data / "mastio.toml")
        refuse(problems)
        url = settings.database_url(data)
    if is_current(url):
        print("current")
        return 0
    if args.check:
        print("not current")
        return 1
    upgrade(url)
    print("migrated")
    return 0
