"""The settings file that `up` writes: a short one for a new appliance, and changes of single values afterwards."""

from __future__ import annotations

import os
import re
import socket
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mastio.bring_up.settings_file import set_values

TEMPLATE = """\
# Settings of this appliance. Every key is explained in docs/settings.md; `mastio check` prints what is in force.

[server]
public_url = "{public_url}"
trust_domain = "{trust_domain}"
workers = {workers}

[edge]
port = {port}

[database]
url = "{database}"

[redaction]
unspoken = "{unspoken}"
"""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The options of `up`; None where the operator said nothing."""

    port: int | None
    public_url: str | None
    workers: int | None
    database: str | None
    redact: bool | None = None


def write_settings(file: Path, options: UpOptions) -> bool:
    """Write the settings file if there is none, else change the values that `options` names. True when it changed.

    Raises `ConfigurationError` for a file that cannot be changed safely, leaving it as it was.
    """
    if not file.exists():
        port = options.port or 9443
        url = options.public_url or f"https://localhost:{port}"
        text = TEMPLATE.format(
            public_url=url, trust_domain=_trust_domain(url), workers=options.workers or 1, port=port,
            database=options.database or "", unspoken="flag" if options.redact is False else "redact",
        )  # fmt: skip
        tomllib.loads(text)
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "w", encoding="utf-8", opener=open_private) as stream:
            stream.write(text)
        return True
    before = file.read_text("utf-8")
    text = set_values(before, _wanted(before, options))
    if text != before:
        file.write_text(text, "utf-8")
    return text != before


def _wanted(text: str, options: UpOptions) -> dict[tuple[str, str], str | int]:
    """The values by section and key. A public URL that only names the port follows it."""
    known = tomllib.loads(text)
    port = known.get("edge", {}).get("port", 9443)
    url = options.public_url
    if (
        url is None
        and options.port is not None
        and known.get("server", {}).get("public_url") == f"https://localhost:{port}"
    ):
        url = f"https://localhost:{options.port}"
    values = {
        ("edge", "port"): options.port,
        ("server", "public_url"): url,
        ("server", "workers"): options.workers,
        ("database", "url"): options.database,
        ("redaction", "unspoken"): None if options.redact is None else "redact" if options.redact else "flag",
    }
    return {place: value for place, value in values.items() if value is not None}


def open_private(path: str, flags: int) -> int:
    """An opener for `open`: a new file gets mode 0600."""
    return os.open(path, flags, 0o600)


def _trust_domain(url: str) -> str:
    host = (urlsplit(url).hostname or "").lower()
    return host if re.fullmatch(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", host) else "mastio"


def ensure_stub_port(file: Path) -> bool:
    """Give the stand-in provider a free port, once."""
    text = file.read_text("utf-8")
    if tomllib.loads(text).get("server", {}).get("stub_port"):
        return False
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file.write_text(set_values(text, {("server", "stub_port"): port}), "utf-8")
    return True
