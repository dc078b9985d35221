"""Syslog messages as RFC 5424 has them, and how they follow each other on a stream (RFC 6587 §3.4.1). Pure.

The structured data say where in the log the entry stands, in each format, so that whoever finds a message in a SIEM
can have its proof. 32473 is the enterprise number that RFC 5612 reserves for examples: Mastio has none of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mastio_audit.sinks.view import View, visible

FACILITY = 13
"""Log audit (RFC 5424 §6.2.1)."""

APP_NAME = "mastio"
SD_ID = "mastio@32473"
MAX_DATAGRAM = 65_000
"""Bytes of a message over UDP: what fits into one IPv4 datagram, with some to spare."""

_NOT_PRINTABLE = re.compile(r"[^\x21-\x7e]")
_SPECIAL = re.compile(r'["\\\]]')


@dataclass(frozen=True, slots=True)
class Origin:
    """The sender of messages: `host` is the appliance's public name, `process` changes with each start of a worker."""

    host: str
    process: str


def message(view: View, origin: Origin, body: bytes) -> bytes:
    """One message. The body is UTF-8 without BOM (MSG-ANY, §6.4): parsers of JSON and CEF trip over one."""
    head = " ".join(
        (
            f"<{FACILITY * 8 + view.weight.syslog}>1",
            view.time or "-",
            _name(origin.host, 255),
            APP_NAME,
            _name(origin.process, 128),
            _name(view.kind, 32),
            _structured_data(view),
        )
    )
    return head.encode() + b" " + body


def datagram(view: View, origin: Origin, body: bytes) -> bytes:
    """As `message`, without the body where it would not fit into one datagram: the structured data lead to it."""
    whole = message(view, origin, body)
    return whole if len(whole) <= MAX_DATAGRAM else message(view, origin, b"")[:MAX_DATAGRAM].rstrip()


def frame(message: bytes) -> bytes:
    """Octet counting: nothing in a message can end it early."""
    return b"%d %b" % (len(message), message)


def _structured_data(view: View) -> str:
    document = view.document
    parameters = {
        "index": str(view.index),
        "leaf": view.leaf,
        "id": document["id"],
        "phase": document["phase"],
        "kind": view.kind,
        "agent": document["agent"],
        "target": document["target"],
        "outcome": view.text("outcome", "status"),
        "code": view.text("outcome", "code"),
    }
    said = "".join(f' {name}="{_escape(value)}"' for name, value in parameters.items() if value)
    return f"[{SD_ID}{said}]"


def _escape(value: str) -> str:
    """§6.3.3: a backslash before quote, backslash and closing bracket."""
    return _SPECIAL.sub(lambda match: "\\" + match[0], visible(value[:1024]))


def _name(value: str, longest: int) -> str:
    """A header field: printable ASCII without space, or the NILVALUE."""
    return _NOT_PRINTABLE.sub("_", value)[:longest] or "-"
