"""What a translation is, and what all of them need. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from mastio.errors import BadRequest
from mastio_llm.dialects.operation import Operation


class StreamTranslator(Protocol):
    """Translates one stream, event by event."""

    def feed(self, event: Any) -> bytes:
        """The caller's events for one of the provider's, which may be none. `event` is its data, parsed."""


@dataclass(frozen=True, slots=True)
class Translation:
    """How one operation is carried out as another.

    `request` makes the provider's body of the caller's and the model's name there; raises `BadRequest`. `reply` makes
    the caller's answer, at a Unix time. `error` makes the caller's error of the provider's message and status. `open`
    starts a stream for the caller's body.
    """

    operation: Operation
    request: Callable[[Mapping[str, Any], str], dict[str, Any]]
    reply: Callable[[Mapping[str, Any], int], dict[str, Any]]
    error: Callable[[str, int], dict[str, Any]]
    open: Callable[[Mapping[str, Any], int], StreamTranslator]


def refuse(what: str) -> BadRequest:
    return BadRequest(f"{what} has no counterpart at this model's provider.", code="not_translatable")


def invalid(what: str) -> BadRequest:
    return BadRequest(f"{what} is not as it must be.", code="invalid_body")


def verify_members(document: Mapping[str, Any], known: Iterable[str], neutral: Mapping[str, Any], where: str) -> None:
    """Raises for a member that is neither known, nor null, nor one that changes nothing (`neutral`)."""
    known = frozenset(known)
    for name, value in document.items():
        if value is None or name in known or (name in neutral and value == neutral[name]):
            continue
        raise refuse(f"The member {name[:64]!r} of {where}")


def objects(value: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise invalid(f"{where}, a list of objects,")
    return value


def text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise invalid(f"{where}, a string,")
    return value


def parse_arguments(value: object) -> dict[str, Any]:
    """The arguments of a tool's call, which OpenAI's API writes as JSON in a string."""
    try:
        arguments = orjson.loads(text(value, "A tool call's arguments") or "{}")
    except orjson.JSONDecodeError as error:
        raise invalid("A tool call's arguments, a JSON object,") from error
    if not isinstance(arguments, dict):
        raise invalid("A tool call's arguments, a JSON object,")
    return arguments


def read_message(body: bytes) -> str:
    """What a provider's error says to people; the APIs have it in the same place."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    return find_message(document)


def find_message(document: object) -> str:
    """The text of an error, or one of ours where it has none."""
    error = document.get("error") if isinstance(document, dict) else None
    said = error.get("message") if isinstance(error, dict) else None
    return said if isinstance(said, str) else "The provider says that it cannot go on."
