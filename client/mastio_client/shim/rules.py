"""The rules of the shim for callers, addresses, headers and errors. Pure.

A caller of the shim acts as the agent. Programs of this machine may call it; web pages in a browser may not. The
headers of a browser show the difference: they have the page's `Origin`, or as `Host` a name that the page's owner bound
to this address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

import orjson

from mastio_client.credentials import SECRET_HEADERS
from mastio_primitives.codes import CODES
from mastio_primitives.errors import ConfigurationError

RawHeaders = Sequence[tuple[bytes, bytes]]

_HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"te", b"trailer",
        b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
"""RFC 9110 §7.6.1: of one connection, not of the message."""

_NOT_SENT = _HOP_BY_HOP | {name.encode() for name in SECRET_HEADERS} | {b"host", b"content-length", b"expect"}
_NOT_RETURNED = _HOP_BY_HOP | {b"dpop-nonce", b"set-cookie", b"alt-svc"}
_OWN_PAGE = (b"none", b"same-origin")
_LISTEN = re.compile(r"(?:\[([0-9a-fA-F:]+)\]|([0-9.]+|localhost)):([0-9]{1,5})", re.ASCII)


class ShimRefusal(Exception):
    """The shim refuses the request and sends nothing. `code` is of `codes.CODES`; the text is one sentence."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def parse_listen(text: str) -> tuple[str, int]:
    """Address and port of `127.0.0.1:9480`, `localhost:0` or `[::1]:9480`. Raises `ConfigurationError`."""
    match = _LISTEN.fullmatch(text)
    host = "127.0.0.1" if match is None or match[2] == "localhost" else match[1] or match[2]
    try:
        loopback, port = ip_address(host).is_loopback, int(match[3]) if match else -1
    except ValueError:
        loopback, port = False, -1
    if not loopback or not 0 <= port <= 65535:
        raise ConfigurationError(
            f"The shim listens on this machine's loopback only, not on {text}.",
            "Give an address such as 127.0.0.1:9480 or [::1]:9480.",
        )
    return host, port


def host_names(address: str, port: int) -> frozenset[bytes]:
    """The values of `Host` by which a program of this machine may address the shim."""
    own = f"[{address}]" if ":" in address else address
    names = {"localhost", "127.0.0.1", "[::1]", own}
    return frozenset(f"{name}:{port}".encode() for name in names) | (
        frozenset(name.encode() for name in names) if port == 80 else frozenset()
    )


def verify_caller(headers: RawHeaders, hosts: frozenset[bytes]) -> None:
    """Raises `ShimRefusal` for a request that a web page may have caused. Names are in lower case."""
    named = [value.lower() for name, value in headers if name == b"host"]
    if len(named) != 1 or named[0] not in hosts:
        raise ShimRefusal("The Host header does not name the loopback address of this door.", "not_for_pages")
    for name, value in headers:
        if name == b"origin" or (name == b"sec-fetch-site" and value.lower() not in _OWN_PAGE):
            raise ShimRefusal("The request comes from a web page.", "not_for_pages")


def forward(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """The caller's headers to forward to the appliance: all but credentials and hop-by-hop headers.

    Framing (`content-length`, `transfer-encoding`, `expect`) is the shim's own. Raises `ShimRefusal` for a header with
    a line break.
    """
    named = _named_by_connection(headers)
    kept = [pair for pair in headers if pair[0] not in _NOT_SENT and pair[0] not in named]
    for _, value in kept:
        if b"\n" in value or b"\r" in value or b"\0" in value:
            raise ShimRefusal("A header has a line break in it.", "bad_request")
    return kept


def give_back(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """The reply's headers to return to the caller."""
    named = _named_by_connection(headers)
    return [pair for pair in headers if pair[0] not in _NOT_RETURNED and pair[0] not in named]


def _named_by_connection(headers: RawHeaders) -> frozenset[bytes]:
    values = [value for name, value in headers if name == b"connection"]
    return frozenset(word.strip().lower() for value in values for word in value.split(b","))


def declared_length(headers: RawHeaders) -> int | None:
    """`content-length`, which the parser has judged; None when the body is chunked or absent."""
    for name, value in headers:
        if name == b"content-length":
            return int(value)
    return None


def is_plain_target(target: bytes) -> bool:
    """True if a path with query can stand in a request line unchanged."""
    return target.startswith(b"/") and target.isascii() and not any(byte <= 0x20 or byte == 0x7F for byte in target)


def build_head(method: str, target: bytes, lines: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The head of an HTTP/1.1 request, as bytes."""
    pieces = [method.encode("ascii"), b" ", target, b" HTTP/1.1\r\n"]
    for name, value in lines:
        pieces += (name, b": ", value, b"\r\n")
    pieces.append(b"\r\n")
    return b"".join(pieces)


# --- errors in the caller's dialect -----------------------------------------------------------------------------------

_KINDS: Mapping[int, tuple[str, str, str]] = {
    400: ("invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "authentication_error", "UNAUTHENTICATED"),
    403: ("permission_error", "permission_error", "PERMISSION_DENIED"),
    502: ("server_error", "api_error", "UNAVAILABLE"),
}
"""By status: OpenAI's word, Anthropic's and Google's."""


def encode_error(path: bytes, code: str, message: str) -> tuple[int, bytes]:
    """Status and JSON body of a refusal by the shim itself, as the SDK that uses this path understands it."""
    meaning = CODES[code]
    openai, anthropic, gemini = _KINDS[meaning.status]
    text = f"{message} {meaning.hint}"
    document: dict[str, Any]
    if path.startswith(b"/v1/messages"):
        document = {"type": "error", "error": {"type": anthropic, "message": text}, "request_id": None}
    elif path.startswith((b"/v1beta/", b"/v1/models/")):
        document = {"error": {"code": meaning.status, "message": text, "status": gemini}}
    else:
        document = {"error": {"message": text, "type": openai, "param": None, "code": code}}
    return meaning.status, orjson.dumps(document)
