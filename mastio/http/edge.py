"""nginx headers in, nginx configuration out. The locations come from the route table, so no path is reachable that
the table does not name; the error bodies come from `codes.CODES`, so the edge speaks the same words as the app.

In: `read_edge_headers` is the only place where an identity header is believed, and only with the edge's secret.
Out: `render` writes the files of `edge_templates/` (with `@{name}`) into the data folder's `edge/`.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import os
import pwd
import re
import resource
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from mastio.exchange.errors import BadRequest, MastioError
from mastio.exchange.target import parse_base_url
from mastio.exchange.values import LONG_BODY, OPEN, Route
from mastio.http.problem import encode_anthropic, encode_gemini, encode_oauth, encode_openai, encode_problem
from mastio.http.routes import path_pattern
from mastio.settings import CONTROL_SLOT, Settings

TEMPLATES = Path(__file__).parent / "edge_templates"

LARGE = 10 * 1024 * 1024
"""Bytes. Larger bodies are for routes where they go on as they arrive: there the route's limit counts, and not
`max_body`."""

SECRET = b"x-edge-secret"
CERTIFICATE = b"x-edge-certificate"
ADDRESS = b"x-edge-address"

ERRORS: dict[str, tuple[str, str]] = {
    "400": ("bad_request", "The request is not well-formed."),
    "404": ("not_found", "There is nothing at this path."),
    "405": ("method_not_allowed", "The method is not one of this path."),
    "408": ("request_timeout", "The request took too long to arrive."),
    "413": ("payload_too_large", "The body is too large."),
    "414": ("bad_request", "The path is too long."),
    "421": ("bad_request", "The request is not for this host."),
    "429": ("rate_limited", "Too many requests from this address."),
    "494": ("headers_too_large", "The headers are too large."),
    "495": ("invalid_certificate", "The client certificate is not ours."),
    "496": ("invalid_certificate", "The client certificate is missing."),
    "497": ("bad_request", "Plain HTTP was sent to an HTTPS port."),
    "500": ("not_ready", "The edge failed."),
    "501": ("bad_request", "The transfer coding is not known here."),
    "502": ("not_ready", "The appliance is starting or has failed."),
    "503": ("not_ready", "The appliance is starting or has failed."),
    "504": ("upstream_timeout", "The appliance did not answer in time."),
    "505": ("bad_request", "The HTTP version is not known here."),
}
"""nginx's own statuses and what they mean in the one vocabulary of codes."""


class _EdgeTemplate(Template):
    """`@{name}`, since `$name` is nginx's."""

    delimiter = "@"


def read_edge_headers(headers: Iterable[tuple[bytes, bytes]], secret: bytes) -> tuple[bytes | None, str]:
    """The client certificate (None: the client showed none) and address that the edge saw.

    Raises `BadRequest` for a request that did not come through the edge.
    """
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in (SECRET, CERTIFICATE, ADDRESS):
            if name in found:
                raise BadRequest("The request did not come through the edge.")
            found[name] = value
    if not hmac.compare_digest(found.get(SECRET, b""), secret):
        raise BadRequest("The request did not come through the edge.")
    return found.get(CERTIFICATE) or None, found.get(ADDRESS, b"").decode("latin-1")


# --- rendering ---------------------------------------------------------------------------------------------------


def app_addresses(settings: Settings, data: Path) -> list[str]:
    """The addresses of the workers in nginx's syntax, one for each slot."""
    return [_address(settings, data, slot) for slot in settings.server.slots]


def control_address(settings: Settings, data: Path) -> str:
    """The address of control in nginx's syntax."""
    return _address(settings, data, CONTROL_SLOT)


def socket_file(data: Path, slot: int) -> Path:
    """The socket of the process in this slot, where it has one in the data folder."""
    return data / "run" / ("control.sock" if slot == CONTROL_SLOT else f"app-{slot}.sock")


def _address(settings: Settings, data: Path, slot: int) -> str:
    listen = settings.edge.app or settings.server.listen
    if listen == "unix":
        return f"unix:{socket_file(data, slot)}"
    host, _, port = listen.rpartition(":")
    return f"{host}:{int(port) + slot}"


def server_names(settings: Settings) -> list[str]:
    """The names that the server certificate is for: the public one and the loopback ones."""
    names = [parse_base_url(settings.server.public_url).host, "localhost", "127.0.0.1", "::1"]
    if _is_specific(settings.edge.bind):
        names.append(settings.edge.bind)
    return list(dict.fromkeys(names))


def _is_specific(bind: str) -> bool:
    try:
        return not ipaddress.ip_address(bind).is_unspecified
    except ValueError:
        return False


def render(settings: Settings, routes: Sequence[Route], data: Path, secret: bytes, nginx_version: str) -> None:
    """Write the edge's configuration below `data/edge`; the certificate files are the authority's
    (`Authority.publish`, `issue_server`)."""
    edge = data / "edge"
    (edge / "snippets").mkdir(parents=True, exist_ok=True)
    values = _values(settings, data, secret, nginx_version)
    for name in ("nginx.conf", "mastio.conf", *(f"snippets/{name}.conf" for name in SNIPPETS)):
        text = _EdgeTemplate((TEMPLATES / name).read_text("utf-8")).substitute(values)
        _write(edge / name, text, 0o600 if name == "snippets/identity.conf" else 0o644)
    _write(edge / "locations.conf", render_locations(routes), 0o644)
    _write(edge / "errors.conf", _render_errors(), 0o644)


SNIPPETS = ("identity", "proxy", "open", "public", "enrollment", "control")
CONTROL_SECONDS = 180
"""Seconds between two pieces of a reply of control, at most. The longest wait there is for a human's approval."""

MOST_COUNTED = 65_535
"""The most connections that nginx can count."""


def _values(settings: Settings, data: Path, secret: bytes, nginx_version: str) -> dict[str, str]:
    edge = settings.edge
    modern = _version(nginx_version) >= (1, 25, 1)
    addresses, workers = app_addresses(settings, data), settings.server.workers
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # the supervisor raises nginx's to this
    connections = edge.connections if files == resource.RLIM_INFINITY else min(edge.connections, files // 2)
    return {
        **{name: str(value) for name, value in edge.model_dump().items()},
        "run": str(data / "run"),
        "edge": str(data / "edge"),
        "control_timeout": str(min(edge.reply_timeout, CONTROL_SECONDS)),
        "logs": str(data / "logs"),
        "worker_connections": str(connections),
        "strangers": str(min(connections // 2, MOST_COUNTED)),
        "open_per_address": str(min(edge.open_per_address, connections // 4)),
        "enrollments_at_once": str(max(1, edge.enrollments_per_minute - 1)),  # beside the one that is always taken
        "enrollment_wait": str(_seconds_until_the_next(edge.enrollments_per_minute)),
        "servers": _render_servers(addresses[:workers]),
        "long_servers": _render_servers(addresses[workers:] or addresses),
        "control_server": _render_servers([control_address(settings, data)]),
        "secret": secret.decode("ascii"),
        "authority": re.escape(urlsplit(settings.server.public_url).netloc),
        "user": f"user {pwd.getpwuid(os.geteuid()).pw_name};" if os.geteuid() == 0 else "",
        "http2_listen": "" if modern else " http2",
        "http2_directive": "    http2 on;" if modern else "",
    }


def _render_servers(addresses: Sequence[str]) -> str:
    return "\n".join(f"    server {address} max_fails=0;" for address in addresses)


def _seconds_until_the_next(per_minute: int) -> int:
    """nginx counts in whole thousandths of a request a second, rounded down: 10 a minute is one in 6.03 s."""
    return math.ceil(1000 / (per_minute * 1000 // 60))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", text)[:3])


def render_locations(routes: Sequence[Route]) -> str:
    """One location for each path of the route table. Which methods it takes is the app's to say (405)."""
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    return "\n".join(_render_location(path, rows) for path, rows in by_path.items())


def is_open(route: Route) -> bool:
    """True if the body is read before the caller is known: the edge then buffers all of it before the app sees any of
    it."""
    return route.requires == OPEN or route.credential_in_body


def _render_location(path: str, rows: list[Route]) -> str:
    pattern = path_pattern(path).replace("(?<", "(?<path_")  # nginx makes variables of them, and has some of its own
    head = f'location ~ "{pattern}"' if "{" in path else f"location = {path}"
    lines = ["    include snippets/proxy.conf;"]
    most = max(route.limit for route in rows)
    lines.append(f"    proxy_pass http://{_choose_upstream(rows, most)};")
    if rows[0].plane == "control":
        lines.append("    include snippets/control.conf;")
    if any(route.streams for route in rows):
        lines.append("    proxy_buffering off;")
    if all(route.recorded == "none" for route in rows):  # probes and public documents: they have no body
        lines.append("    include snippets/public.conf;")
    elif any(is_open(route) for route in rows):
        lines.append("    include snippets/open.conf;")
        lines.append(f"    client_max_body_size {max(most, 1)};")  # 0 would be any
    elif most > LARGE:
        lines.append(f"    client_max_body_size {most};")
    if any(route.kind == "egress.http" for route in rows):
        lines.append("    proxy_buffer_size 32k;")  # a head that others made, and ours, in one piece
    if any(route.kind == "enrollment.request" for route in rows):
        lines.append("    include snippets/enrollment.conf;")
    return head + " {\n" + "\n".join(lines) + "\n}\n"


def _choose_upstream(rows: Sequence[Route], most: int) -> str:
    """All routes of a path are of one plane. What people call, too, does not go to the workers for long bodies."""
    if rows[0].plane == "control":
        return "mastio_control"
    if most < LONG_BODY or any("agent" not in route.requires for route in rows):
        return "mastio_app"
    return "$mastio_by_length"


def _render_errors() -> str:
    """nginx's own errors, as a page of fixed bodies for each dialect; `$mastio_dialect` is mapped from the path."""
    lines = []
    for status, (code, message) in ERRORS.items():
        error = MastioError(message, code=code)
        lines.append(f"error_page {status} ={error.status} /.edge/$mastio_dialect/{status};")
        for dialect, (content_type, encode) in DIALECTS.items():
            body = encode(error).replace("'", "\u2019")
            lines += [f"location = /.edge/{dialect}/{status} {{", "    internal;", f"    default_type {content_type};"]
            if error.status in (429, 503):
                lines.append("    add_header Retry-After $mastio_retry_after always;")
            lines += ["    add_header Cache-Control no-store always;", f"    return {error.status} '{body}';", "}"]
    return "\n".join(lines) + "\n"


def _encode_problem(error: MastioError) -> str:
    return encode_problem(error, "").decode()


def _encode_openai(error: MastioError) -> str:
    return encode_openai(error).decode()


def _encode_anthropic(error: MastioError) -> str:
    return encode_anthropic(error, "").decode()


def _encode_gemini(error: MastioError) -> str:
    return encode_gemini(error).decode()


def _encode_oauth(error: MastioError) -> str:
    return encode_oauth(error)[1].decode()


DIALECTS: dict[str, tuple[str, Callable[[MastioError], str]]] = {
    "problem": ("application/problem+json", _encode_problem),
    "openai": ("application/json", _encode_openai),
    "anthropic": ("application/json", _encode_anthropic),
    "gemini": ("application/json", _encode_gemini),
    "oauth": ("application/json", _encode_oauth),
}


def _write(file: Path, text: str, mode: int) -> None:
    """The file whole or not at all, and untouched where it would not change."""
    if file.exists() and file.read_text("utf-8") == text:
        return
    draft = file.with_name(file.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    draft.replace(file)
