"""Makes a data folder ready to be served: keys, authority, database, first admin, edge. Short-lived, so that what it
needs (alembic, the authority's tools) does not stay in the supervisor's memory.

`python -m mastio.process.prepare --data DIR [--renew]` prints one JSON object: what the supervisor has to start.
Running it again changes nothing that is there. With `--renew` it only renews the edge's certificate, if that is due,
and writes what follows from the authority's state (`clients.pem`, `ca.crt`, `bootstrap.json`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mastio.exchange.errors import ConfigurationError, MastioError
from mastio.host.nginx import nginx_version
from mastio.http.edge import app_addresses, render, server_names, socket_file
from mastio.pki.authority import DAY, Authority
from mastio.plugin.collection import Collection
from mastio.plugin.loading import collections_of, refuse
from mastio.process.plan import Plan, describe_settings, read_plan, secret_folders
from mastio.settings import CONTROL_SLOT, Settings
from mastio.store.control import ControlStore, bootstrap
from mastio.store.hot import HotDirectory
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.secrets.key_sources import open_keys
from mastio.store.sql.engine import Database
from mastio.store.sql.migrate import is_current, upgrade

FOLDERS = {
    "db": 0o700, "ca": 0o700, "edge": 0o700, "run": 0o711, "logs": 0o700,
    "secrets": 0o700, "secrets/providers": 0o700, "secrets/connections": 0o700,
}  # fmt: skip
MAX_SOCKET_PATH = 100
"""A unix socket's path has at most 107 bytes (sun_path)."""


def prepare(data: Path, config: Path | None) -> dict[str, Any]:
    """Everything that must be there before the first worker. Raises `ConfigurationError`."""
    plan, problems = read_plan(data, config)
    refuse(problems)
    settings = plan.settings
    if settings.server.listen == "unix" and len(str(data / "run" / "app-00.sock")) > MAX_SOCKET_PATH:
        raise ConfigurationError("The path of the data folder is too long for a socket.", "Choose a shorter one.")
    for name, mode in FOLDERS.items():
        (data / name).mkdir(mode=mode, parents=True, exist_ok=True)
        _narrow(data / name, mode | 0o070)
    if config in (None, data / "mastio.toml"):
        _narrow(data / "mastio.toml", 0o660)
    keys = open_keys(data, settings.secrets)
    keys.ensure()
    _ensure_node(data)
    authority = Authority.ensure(data, settings.server.trust_domain, time.time())
    renew(data, settings, authority)
    url = settings.database_url(data)
    if not is_current(url):
        upgrade(url)
    asyncio.run(_bootstrap(data, url, keys, collections_of(plan.active)))
    secret = keys.key("edge").hex().encode("ascii")
    render(settings, plan.routes, data, secret, settings.edge.nginx or nginx_version())
    return describe(data, plan)


def describe(data: Path, plan: Plan) -> dict[str, Any]:
    """The facts that the supervisor needs, as plain JSON."""
    settings = plan.settings
    return {
        "settings": describe_settings(plan),
        "workers": len(settings.server.slots),
        "listen": settings.server.listen,
        "stub_port": settings.server.stub_port,
        "log_bytes": settings.server.log_megabytes * 1_000_000,
        "log_files": settings.server.log_files,
        "sockets": [str(socket_file(data, slot)) for slot in settings.server.slots],
        "control_slot": CONTROL_SLOT,
        "control_socket": str(socket_file(data, CONTROL_SLOT)),
        "addresses": app_addresses(settings, data),
    }


def renew(data: Path, settings: Settings, authority: Authority) -> None:
    """Issue the edge's certificate if it is due, and write what follows from the authority's state."""
    now = time.time()
    authority.publish()
    names = server_names(settings)
    if authority.needs_renewal(now, names):
        authority.issue_server(names, now, settings.pki.server_days * DAY)
    _write_bootstrap(data, settings, authority)


def _narrow(path: Path, most: int) -> None:
    """Remove permissions beyond `most` that an earlier version gave. A file of another user stays as it is."""
    try:
        mode = path.stat().st_mode & 0o777
        if mode & ~most:
            path.chmod(mode & most)
    except OSError:  # there is no settings file, or it is another user's, or mounted read-only
        return


def _ensure_node(data: Path) -> None:
    file = data / "db" / "node"
    if not file.exists():
        draft = file.with_suffix(".new")
        draft.write_text(secrets.token_hex(8) + "\n")
        draft.replace(file)


async def _bootstrap(data: Path, url: str, keys: FileKeys, collections: Sequence[Collection[Any]]) -> None:
    database, folders = Database(url), secret_folders(data)
    directory = HotDirectory(database, keys, collections=collections, secret_folders=folders)
    await directory.start()
    try:
        store = ControlStore(database, keys, refresh=directory.refresh, collections=collections, secret_folders=folders)
        await bootstrap(store, data, os.environ)
    finally:
        await directory.close()
        await database.close()


def _write_bootstrap(data: Path, settings: Settings, authority: Authority) -> None:
    """`bootstrap.json`: what a first client needs. No secret in it, only where the secret is."""
    known = {
        "base_url": settings.server.public_url,
        "ca_file": str(data / "ca" / "ca.crt"),
        "ca_sha256": authority.root_sha256,
        "admin_token_file": str(data / "secrets" / "admin-token"),
        "forward_proxy": None,
    }
    text = json.dumps(known, indent=2) + "\n"
    file = data / "bootstrap.json"
    if not file.exists() or file.read_text("utf-8") != text:
        draft = file.with_suffix(".new")
        draft.write_text(text, "utf-8")
        draft.replace(file)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mastio.process.prepare")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--renew", action="store_true")
    args = parser.parse_args()
    try:
        if args.renew:
            plan, problems = read_plan(args.data, args.config)
            refuse(problems)
            renew(args.data, plan.settings, Authority.load(args.data, plan.settings.server.trust_domain, time.time()))
        else:
            print(json.dumps(prepare(args.data, args.config)))
    except (ConfigurationError, MastioError) as error:
        print(f"mastio: {error.message} {error.hint}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
