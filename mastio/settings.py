"""The settings tree: one TOML file, read once at start. Unknown keys are refused, and every problem is named at once.
For plugins.

Secrets are never in the file: a setting that needs one names a file. The environment overrides a key of a section by
`MASTIO_<SECTION>__<KEY>`, its value written as in TOML (a bare word counts as a string).
Each active plugin's settings are the section with the plugin's name, checked against the plugin's own model.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mastio.exchange.errors import ConfigurationError
from mastio.exchange.target import TargetError, parse_base_url, verify_resolver

DEFAULT_PLUGINS = (
    "mtls", "dpop", "token", "apikey", "policy", "limits", "detectors", "redaction", "audit", "llm", "cache",
    "egress",
)  # fmt: skip


CONTROL_SLOT = 128
"""The slot of the process `control`: the first number that no worker can have, whatever the settings say."""


class Section(BaseModel):
    """A section of the settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Server(Section):
    """The core. `listen` is `unix` (sockets in the data folder) or `HOST:PORT`, worker n taking PORT + n and control
    PORT + 128. Control is one process beside the workers: administration and enrolment.

    Calls with long bodies have `long_workers` processes of their own beside the `workers`, so that looking into them
    keeps no other call waiting. Not set: as many as workers. 0: none, and every worker takes them.

    `stub_port` runs the stand-in provider on that loopback port (`up --demo`); 0 runs none. A file in `logs/` that is
    larger than `log_megabytes` is put aside; of each, `log_files` older ones are kept. The slots of each process:
    `max_in_flight` exchanges of agents, of which one agent may have `agent_share`; `admin_in_flight` of admins;
    `open_in_flight` of callers without a credential. `caller_body_megabytes`: bodies of one caller in memory.
    Refused callers without a credential get `refusal_burst` entries in the audit log for each address and
    `refusals_per_second` from then on; the rest is counted in one entry a second.
    """

    public_url: str = "https://localhost:9443"
    trust_domain: str = Field(default="localhost", pattern=r"^[a-z0-9]([a-z0-9._-]{0,252}[a-z0-9])?$")
    workers: int = Field(default=1, ge=1, le=64)
    long_workers: int | None = Field(default=None, ge=0, le=64)
    listen: str = Field(default="unix", pattern=r"^(unix|[^:]+:[0-9]+)$")
    max_in_flight: int = Field(default=2048, ge=1)
    agent_share: float = Field(default=0.5, gt=0, le=1)
    admin_in_flight: int = Field(default=64, ge=2)
    open_in_flight: int = Field(default=256, ge=2)
    caller_body_megabytes: int = Field(default=48, ge=1)
    refusal_burst: int = Field(default=1000, ge=1)
    refusals_per_second: float = Field(default=5, ge=0.1)
    stub_port: int = Field(default=0, ge=0, le=65535)
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_megabytes: int = Field(default=50, ge=1)
    log_files: int = Field(default=5, ge=1, le=100)

    @property
    def slots(self) -> range:
        """One for each worker: first those for any call, then those for long bodies. Control has `CONTROL_SLOT`."""
        return range(self.workers + (self.workers if self.long_workers is None else self.long_workers))

    @field_validator("public_url")
    @classmethod
    def _is_https(cls, value: str) -> str:
        target = parse_base_url(value)
        if target.scheme != "https" or target.path:
            raise TargetError("The public URL must be https:// with host and port only.")
        return value.rstrip("/")


class Database(Section):
    """`url`: `postgresql+asyncpg://…`; empty is SQLite in the data folder. Put a password into `PGPASSFILE`."""

    url: str = Field(default="", pattern=r"^(|sqlite\+aiosqlite:///.+|postgresql\+asyncpg://.+)$")


class Edge(Section):
    """nginx. Sizes in bytes, times in seconds, rates per client address.

    `enrollments_per_minute` of one address (of IPv6 the first 64 bits), as many of them at once; the next one is
    answered 429 until its turn comes. `connections` of each nginx worker. An address has at most
    `connections_per_address` requests under way; without a client certificate at most `open_per_address` at paths that
    need no credential, where `open_timeout` is the longest pause in a body. `app` is where the app listens as the edge
    sees it: empty is the same as `server.listen`. `nginx` is the version that the configuration is for; empty asks the
    nginx on this machine.
    """

    bind: str = "0.0.0.0"  # noqa: S104 the edge is the appliance's outside
    port: int = Field(default=9443, ge=1, le=65535)
    app: str = ""
    workers: int = Field(default=2, ge=1, le=64)
    max_body: int = Field(default=10 * 1024 * 1024, ge=1024)
    header_timeout: int = Field(default=10, ge=1)
    body_timeout: int = Field(default=10, ge=1)
    reply_timeout: int = Field(default=900, ge=1)
    requests_per_second: int = Field(default=50_000, ge=1)
    enrollments_per_minute: int = Field(default=600, ge=1, le=1_000_000)
    connections: int = Field(default=16_384, ge=512)
    connections_per_address: int = Field(default=4096, ge=1, le=65_535)
    open_per_address: int = Field(default=3072, ge=1, le=65_535)
    open_timeout: int = Field(default=5, ge=1)
    nginx: str = Field(default="", pattern=r"^(|[0-9]+\.[0-9]+(\.[0-9]+)?)$")


class Upstream(Section):
    """The ways out. `resolvers` are asked for names instead of the system's: addresses, with `:PORT` where it is not
    53; an IPv6 address with a port in brackets. `resolve_seconds`: how long they may take.
    """

    resolvers: tuple[str, ...] = ()
    resolve_seconds: float = Field(default=5, gt=0, le=60)

    @field_validator("resolvers")
    @classmethod
    def _are_resolvers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            verify_resolver(text)
        return value


class Pki(Section):
    """Lives of what the authority signs, and how long an enrolment request waits."""

    leaf_hours: float = Field(default=24, gt=0, le=24 * 30)
    server_days: float = Field(default=30, gt=0, le=397)
    pending_hours: float = Field(default=24, gt=0)


class Admin(Section):
    """Those who administer. `four_eyes`: changes of admins, policies, budgets and keys, and the revocation of all
    agents, wait until another admin approves them, for `four_eyes_seconds` at most. `claim_seconds`: how long after the
    approval a new admin's one-time code is good.
    """

    four_eyes: bool = False
    four_eyes_seconds: int = Field(default=3600, ge=1, le=7 * 86_400)
    claim_seconds: int = Field(default=86_400, ge=60, le=30 * 86_400)


class Secrets(Section):
    """The source of the key that seals secrets in the database: those of providers and connections, and the signing
    keys. Without either setting it is made in the data folder, `secrets/store-secrets.key`. `key_file` is the absolute
    path of a file with 64 hex digits. `key_command` is a program, by its absolute path, and its arguments; it is run
    without a shell and has ten seconds to print them.
    """

    key_file: str = Field(default="", pattern=r"^(|/.+)$")
    key_command: tuple[str, ...] = ()

    @field_validator("key_command")
    @classmethod
    def _is_runnable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value and not value[0].startswith("/"):
            raise ValueError("the first of the list must be the absolute path of a program")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.key_file and self.key_command:
            raise ValueError("give key_file or key_command, not both")
        return self


class Plugins(Section):
    """`active`: the plugins in force, in the order in which their hooks are called."""

    active: tuple[str, ...] = DEFAULT_PLUGINS


CORE_SECTIONS: Mapping[str, type[Section]] = {
    "server": Server, "database": Database, "edge": Edge, "upstream": Upstream, "pki": Pki, "admin": Admin,
    "secrets": Secrets, "plugins": Plugins,
}  # fmt: skip


RENAMED: Mapping[str, str] = {
    "edge.enrollments_per_second": "edge.enrollments_per_minute",
}
"""Keys of earlier versions, by section and key, and those that have taken their place with another meaning."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective settings. `sections` are the raw tables of the plugins, by name."""

    server: Server
    database: Database
    edge: Edge
    upstream: Upstream
    pki: Pki
    admin: Admin
    secrets: Secrets
    plugins: Plugins
    sections: Mapping[str, Mapping[str, Any]]

    def database_url(self, data: Path) -> str:
        return self.database.url or f"sqlite+aiosqlite:///{data / 'db' / 'control.sqlite'}"


def read_settings(file: Path, environment: Mapping[str, str] = os.environ) -> tuple[Settings, list[str]]:
    """The settings and every problem found in them. Raises `ConfigurationError` when the file cannot be read at all.

    Where a core section has problems its defaults stand in, so that everything else can still be checked; with any
    problem nothing may be started.
    """
    try:
        tree: dict[str, Any] = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The settings file {file.name} cannot be read: {error}.", "Correct it.") from error
    problems = _override(tree, environment)
    sections: dict[str, Section] = {}
    for name, model in CORE_SECTIONS.items():
        table = tree.pop(name, {})
        try:
            sections[name] = model.model_validate(table)
        except ValidationError as error:
            problems += describe(name, error)
            sections[name] = model()
    for name in [name for name, table in tree.items() if not isinstance(table, dict)]:
        problems.append(f"{name}: unknown key.")
        del tree[name]
    return Settings(sections=tree, **sections), problems  # type: ignore[arg-type]


def _override(tree: dict[str, Any], environment: Mapping[str, str]) -> list[str]:
    problems = []
    for variable, text in environment.items():
        match = re.fullmatch(r"MASTIO_([A-Z0-9]+)__([A-Z0-9_]+)", variable)
        if match is None:
            continue
        section = tree.setdefault(match[1].lower(), {})
        if isinstance(section, dict):
            section[match[2].lower()] = _parse_value(text)
        else:
            problems.append(f"{match[1].lower()}: must be a section.")
    return problems


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def describe(section: str, error: ValidationError) -> list[str]:
    """One sentence for each problem, without the value, which may be a secret."""
    sentences = []
    for problem in error.errors(include_input=False, include_url=False):
        where = ".".join(str(part) for part in (section, *problem["loc"]))
        what = "unknown key" if problem["type"] == "extra_forbidden" else problem["msg"]
        if where in RENAMED:
            what = f"this key is gone; set {RENAMED[where]} (docs/settings.md)"
        sentences.append(f"{where}: {what}.")
    return sentences
