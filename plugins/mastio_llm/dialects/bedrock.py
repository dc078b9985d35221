"""Bedrock: messages of Anthropic's API in Amazon's clothes. Pure.

The model is in the path, the version and the betas are in the body, and a stream comes in binary frames
(`application/vnd.amazon.eventstream`), each with one event of the messages API inside, in base64.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from typing import Any
from urllib.parse import quote

import orjson

from mastio.exchange.values import RequestHead
from mastio_llm.dialects.operation import Adaptation, Form

VERSION = "bedrock-2023-05-31"
MAX_FRAME = 16 * 1024 * 1024
"""What the format allows."""

_ERRORS = {400: "invalid_request_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error"}


class FrameError(ValueError):
    """The bytes are not frames."""


def address(model: str, form: Form) -> str:
    return f"/model/{quote(model, safe='')}/{'invoke' if form == 'whole' else 'invoke-with-response-stream'}"


def encode_request(body: bytes, head: RequestHead) -> bytes:
    """The members that Bedrock has elsewhere are taken out, those that it has in the body are put in."""
    document: dict[str, Any] = orjson.loads(body)
    document.pop("model", None)
    document.pop("stream", None)
    betas = [beta.strip() for value in head.all(b"anthropic-beta") for beta in value.decode("latin-1").split(",")]
    if betas:
        document.setdefault("anthropic_beta", betas)
    return orjson.dumps({"anthropic_version": VERSION, **document})


def encode_error(body: bytes, status: int) -> bytes:
    """As Anthropic would say it."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = {}
    said = (document.get("message") or document.get("Message")) if isinstance(document, dict) else None
    message = said if isinstance(said, str) else "The provider refused the request."
    return orjson.dumps({"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}})


class Frames:
    """Bytes in, server-sent events out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """The events of all frames that are complete. Raises `FrameError`."""
        self._rest += chunk
        events = []
        while len(self._rest) >= 16:
            total, headers = struct.unpack_from(">II", self._rest)
            if not 16 + headers <= total <= MAX_FRAME or zlib.crc32(self._rest[:8]) != _word(self._rest, 8):
                raise FrameError
            if len(self._rest) < total:
                break
            frame = bytes(self._rest[:total])
            del self._rest[:total]
            if zlib.crc32(frame[:-4]) != _word(frame, total - 4):
                raise FrameError
            events.append(_event(parse_headers(frame[12 : 12 + headers]), frame[12 + headers : -4]))
        return b"".join(events)


def _word(data: bytes | bytearray, at: int) -> int:
    word: int = struct.unpack_from(">I", data, at)[0]
    return word


def parse_headers(data: bytes) -> dict[str, str]:
    """Those with a text as value; no other kind is sent here. Raises `FrameError`."""
    found, at = {}, 0
    try:
        while at < len(data):
            size = data[at]
            name = data[at + 1 : at + 1 + size].decode("ascii")
            at += 1 + size
            kind, length = struct.unpack_from(">BH", data, at)
            at += 3
            if kind != 7 or at + length > len(data):
                raise FrameError
            found[name] = data[at : at + length].decode()
            at += length
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise FrameError from error
    return found


def _event(headers: dict[str, str], payload: bytes) -> bytes:
    try:
        document = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise FrameError from error
    if not isinstance(document, dict):
        raise FrameError
    if headers.get(":message-type") != "event":
        status = 429 if headers.get(":exception-type") == "throttlingException" else 500
        return b"event: error\ndata: " + encode_error(payload, status) + b"\n\n"
    try:
        data = base64.b64decode(document.get("bytes") or "", validate=True)
        kind = orjson.loads(data)["type"]
    except (binascii.Error, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise FrameError from error
    if not isinstance(kind, str) or b"\n" in data or b"\r" in data or not kind.isidentifier():
        raise FrameError
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


ADAPTATION = Adaptation(
    {"llm.chat": address}, encode_request, encode_error, b"application/vnd.amazon.eventstream", Frames
)
