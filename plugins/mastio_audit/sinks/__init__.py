"""Delivers the log to files and to the receivers of a SIEM, beside the hot path and after the commit.

| file | content |
|---|---|
| `settings.py` | the settings `[[audit.sinks]]` |
| `forwarder.py` | order, repetition, pauses: at least once, in order, without delaying an exchange |
| `cursor.py`, `postgres.py` | the durable position of a sink, and the choice of the process that delivers |
| `file.py`, `network.py` | the confirmation that entries have arrived |
| `view.py`, `rfc5424.py`, `cef.py`, `ocsf.py` | the formats of an entry. Pure |

This module connects them. Every worker verifies the settings; control delivers.
"""

from __future__ import annotations

import importlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

from mastio import __version__
from mastio.exchange.errors import ConfigurationError
from mastio.plugin.services import Services
from mastio_audit.log.store import LogReader, StoreError
from mastio_audit.outside import refuse_own
from mastio_audit.sinks import cef, ocsf, rfc5424
from mastio_audit.sinks.cursor import Cursor, FileCursor
from mastio_audit.sinks.file import FileSink
from mastio_audit.sinks.forwarder import Forwarder
from mastio_audit.sinks.metrics import SinkMetrics
from mastio_audit.sinks.network import Render, SyslogSink
from mastio_audit.sinks.rfc5424 import Origin
from mastio_audit.sinks.settings import FileSettings, Format, SinkSettings, SyslogSettings
from mastio_audit.sinks.sink import Sink
from mastio_audit.sinks.view import View, view

ANYWHERE = ("0.0.0.0/0", "::/0")
"""The addresses allowed for a receiver whose settings name none: all, since most receivers are inside. Metadata
services and the like remain closed."""

BODIES: Mapping[Format, Callable[[View, str, str], bytes]] = {
    "json": lambda shown, host, version: shown.json,
    "cef": cef.body,
    "ocsf": ocsf.body,
}
"""A syslog message's body, of a view, the appliance's public host and the product's version."""


@asynccontextmanager
async def carry(
    settings: Sequence[SinkSettings], services: Services, open_reader: Callable[[], LogReader]
) -> AsyncIterator[None]:
    """Deliver to the sinks while this is open; each gets a reader of its own. The log must be there.

    Raises `ConfigurationError`.
    """
    made = [(one, _make(one, services)) for one in settings]
    if services.plane != "control":
        yield
        return
    figures = SinkMetrics()
    couriers = [
        Forwarder(
            one.name,
            sink,
            _open_cursor(one.name, services),
            open_reader(),
            figures,
            services.now,
            from_start=one.begin == "start",
        )
        for one, sink in made
    ]
    try:
        for courier in couriers:
            await _start(courier)
        yield
    finally:
        for courier in couriers:
            await courier.stop()


async def _start(courier: Forwarder) -> None:
    try:
        await courier.start()
    except StoreError as error:
        raise ConfigurationError(
            f"The audit sink {courier.name} cannot be placed in the log: {error}.", "See the log's database and disk."
        ) from error


def _open_cursor(name: str, services: Services) -> Cursor:
    """The cursor of the sink, stored beside the log."""
    if services.database_url.startswith("sqlite"):
        return FileCursor(services.data / "sinks" / name)
    # As for the store: its driver would cost a worker on SQLite memory for nothing.
    postgres = importlib.import_module("mastio_audit.sinks.postgres")
    cursor: Cursor = postgres.TableCursor(services.database_url, name)
    return cursor


def _make(settings: SinkSettings, services: Services) -> Sink:
    if isinstance(settings, FileSettings):
        refuse_own(f"The audit sink {settings.name}", settings.path, services.data)
        return FileSink(settings.path)
    render = _renderer(settings, services)
    kind = socket.SOCK_DGRAM if settings.transport == "udp" else socket.SOCK_STREAM
    allowed = ANYWHERE if settings.allow_addresses is None else settings.allow_addresses
    connect = partial(services.upstreams.connect, settings.host, settings.port, kind, allowed)
    return SyslogSink(settings.host, connect, render, _tls(settings))


def _renderer(settings: SyslogSettings, services: Services) -> Render:
    host = urlsplit(services.public_url).hostname or "-"
    origin = Origin(host, services.worker.incarnation)
    put = rfc5424.datagram if settings.transport == "udp" else rfc5424.message
    body = BODIES[settings.format]

    def render(index: int, entry: bytes) -> bytes:
        shown = view(index, entry)
        return put(shown, origin, body(shown, host, __version__))

    return render


def _tls(settings: SyslogSettings) -> ssl.SSLContext | None:
    if settings.transport != "tls":
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if settings.cert_file is not None:
            context.load_cert_chain(settings.cert_file, settings.key_file)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigurationError(
            f"The audit sink {settings.name} has a ca_file, cert_file or key_file that cannot be used.",
            "Name PEM files that the appliance may read; the key without a passphrase.",
        ) from error
    return context
