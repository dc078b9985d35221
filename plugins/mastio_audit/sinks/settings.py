"""The tables `[[audit.sinks]]`, as an operator writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from mastio.plugin.hooks import Networks, PluginSettings

Format = Literal["json", "cef", "ocsf"]
From = Literal["end", "start"]
_ADDRESS = re.compile(r"(udp|tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


class FileSettings(PluginSettings):
    """A file of JSON lines. `begin` is `from` in the settings file: where in the log a new sink starts."""

    name: str = Field(pattern=r"^[a-z0-9-]{1,32}$")
    kind: Literal["file"]
    path: Path
    begin: From = Field(default="end", alias="from")

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, value: Path) -> Path:
        if not value.is_absolute() or value.name in ("", ".."):
            raise ValueError("write the whole path of the file, beginning with /")
        return value


class SyslogSettings(PluginSettings):
    """A syslog receiver. `ca_file` is what its certificate must lead to (without one, the system's authorities);
    `cert_file` and `key_file` are shown to a receiver that asks for a certificate. `allow_addresses`: where it may be,
    beyond public addresses; without it, anywhere that is no metadata service and not the appliance itself."""

    name: str = Field(pattern=r"^[a-z0-9-]{1,32}$")
    kind: Literal["syslog"]
    address: str
    format: Format = "json"
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    allow_addresses: Networks | None = None
    begin: From = Field(default="end", alias="from")

    @field_validator("address")
    @classmethod
    def _is_address(cls, value: str) -> str:
        found = _ADDRESS.fullmatch(value)
        if found is None or not 0 < int(found[3]) < 65536:
            raise ValueError("write udp://HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT")
        return value

    @model_validator(mode="after")
    def _fits(self) -> SyslogSettings:
        if self.transport != "tls" and (self.ca_file or self.cert_file or self.key_file):
            raise ValueError("ca_file, cert_file and key_file need an address with tls://")
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file belong together")
        return self

    @property
    def transport(self) -> str:
        return self.address.partition("://")[0]

    @property
    def host(self) -> str:
        return self.address.partition("://")[2].rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


SinkSettings = Annotated[FileSettings | SyslogSettings, Field(discriminator="kind")]


def verify_unique(sinks: tuple[SinkSettings, ...]) -> tuple[SinkSettings, ...]:
    """Raises `ValueError` where two sinks would share a cursor or a file."""
    names = [sink.name for sink in sinks]
    if len(set(names)) < len(names):
        raise ValueError("each sink needs a name of its own")
    paths = [sink.path for sink in sinks if isinstance(sink, FileSettings)]
    if len(set(paths)) < len(paths):
        raise ValueError("each sink needs a file of its own")
    return sinks
