"""`mastio stub-llm`: run the provider stand-in of `mastio_llm.stubs.llm` as a process of its own.

Prints one line to stderr when it accepts connections; ends with 0 on SIGTERM or SIGINT. Durations on the
command line carry their unit (`50ms`, `0.2s`, `0`).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import plain
from mastio_llm.stubs.llm import StubProvider
from mastio_llm.stubs.template import Settings, parse_duration
from mastio_primitives.http_protocol import HttpProtocol
from mastio_primitives.serving import Server, make_config, tcp_url

MEANING = "run a stand-in for an LLM provider"

KEEP_ALIVE_SECONDS = 120
"""Longer than a client's pool keeps an idle connection, so that none is closed under its next request."""
GRACE_SECONDS = 2
"""Seconds that exchanges may take to end after SIGTERM."""
BACKLOG = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=int, metavar="N", help="TCP port; 0 picks a free one and prints it")
    add("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    add("--socket", type=Path, metavar="PATH", help="unix socket to listen on, instead or as well")
    add(
        "--latency",
        type=read_duration,
        default="50ms",
        metavar="TIME",
        help="a reply or a chunk waits (50ms)",
    )
    add("--chunks", type=int, default=3, metavar="N", help="chunks of a stream (%(default)s)")
    add("--response-tokens", type=int, default=10, metavar="N", help="words of a reply (%(default)s)")
    add("--pii", action="store_true", help="put fake personal data into the replies")
    add("--error-rate", type=float, default=0.0, metavar="P", help="share of requests that fail, 0 to 1")
    add("--script", type=Path, metavar="FILE", help="answer conversations with the calls of tools in this JSON file")
    add("--show", action="store_true", help="print each request that arrives: what was redacted is seen here")
    add("--journal", type=Path, metavar="FILE", help="append one JSON line for each arrived request")


def read_duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it. ConfigurationError when the settings or the addresses cannot be used."""
    if args.port is None and args.socket is None:
        raise ConfigurationError("The stub needs somewhere to listen.", "Give --port N, or --socket PATH.")
    provider = open_provider(args)
    with contextlib.ExitStack() as opened:
        addresses = []
        listeners = []
        if args.port is not None:
            listener = opened.enter_context(listen_tcp(args.host, args.port))
            listeners.append(listener)
            addresses.append(tcp_url(listener))
        if args.socket is not None:
            listeners.append(opened.enter_context(listen_unix(args.socket)))
            addresses.append(f"unix:{args.socket}")
        serve(provider, listeners, addresses)
    return 0


def open_provider(args: argparse.Namespace) -> StubProvider:
    try:
        settings = Settings(
            latency=args.latency,
            chunks=args.chunks,
            response_tokens=args.response_tokens,
            pii=args.pii,
            error_rate=args.error_rate,
            journal=args.journal,
            script=args.script,
        )
        return StubProvider(settings, print_received if args.show else None)
    except ValueError as error:
        raise ConfigurationError(f"The stub cannot run: {error}.", "See `mastio stub-llm --help`.") from error
    except OSError as error:
        message = f"The journal or the script cannot be opened: {error}."
        raise ConfigurationError(message, "Name a file that can be written.") from error


def print_received(text: str) -> None:
    """A line on stdout. Whoever reads it may have gone."""
    with contextlib.suppress(BrokenPipeError):
        print(plain(text), flush=True)


@contextlib.contextmanager
def listen_tcp(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except (OSError, OverflowError) as error:
            message = f"The stub cannot listen on {host} port {port}: {error}."
            raise ConfigurationError(message, "Choose another port; 0 picks a free one.") from error
        listener.listen(BACKLOG)
        yield listener


@contextlib.contextmanager
def listen_unix(path: Path) -> Iterator[socket.socket]:
    """The socket's file is removed at the end; one left over from a process that is gone is replaced."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            remove_stale_socket(path)
            listener.bind(str(path))
        except OSError as error:
            message = f"The stub cannot listen on {path}: {error}."
            raise ConfigurationError(message, "Choose a path in a folder that can be written.") from error
        listener.listen(BACKLOG)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def remove_stale_socket(path: Path) -> None:
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        if probe.connect_ex(str(path)) == 0:
            return
    path.unlink()


def serve(provider: StubProvider, listeners: list[socket.socket], addresses: list[str]) -> None:
    config = make_config(provider, HttpProtocol, backlog=BACKLOG, keep_alive=KEEP_ALIVE_SECONDS, drain=GRACE_SECONDS)
    gc.freeze()
    said = f"stub-llm listening on {' and '.join(addresses)}"
    Server(config, lambda: print(said, file=sys.stderr, flush=True)).run(sockets=listeners)
