"""Reading what callers and providers sent, member by member. Pure.

A caller's mistake is `BadRequest`: `invalid_body` for what its own API does not know either, `not_translatable` for
what the provider's has no counterpart of. A provider's is `DispatchError`, so that nothing it says can be our failure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from mastio.exchange.errors import BadRequest, DispatchError
from mastio.http.strictjson import Allowance, JsonError, parse

_ID = re.compile(r"[A-Za-z0-9_-]+")

# --- callers ----------------------------------------------------------------------------------------------------------


def refuse(what: str) -> BadRequest:
    return BadRequest(f"{what} has no counterpart at this model's provider.", code="not_translatable")


def invalid(what: str) -> BadRequest:
    return BadRequest(f"{what} is not as it must be.", code="invalid_body")


def verify_members(
    document: Mapping[Any, Any],
    known: Iterable[str],
    neutral: Mapping[str, tuple[Any, ...]],
    where: str,
    hints: Iterable[str] = (),
) -> None:
    """Raises for a member that is neither known, nor null, nor a hint, nor one that changes nothing.

    `neutral` has the values with which a member says what is so anyway.
    """
    passing = frozenset((*known, *hints))
    for name, value in document.items():
        if value is None or name in passing or (name in neutral and value in neutral[name]):
            continue
        raise refuse(f"The member {name[:64]!r} of {where}")


def objects(value: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise invalid(f"{where}, a list of objects,")
    return value


def an_object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid(f"{where}, an object,")
    return value


def text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise invalid(f"{where}, a string,")
    return value


def text_or_none(value: object, where: str) -> str | None:
    return None if value is None else text(value, where)


def texts(value: object, where: str) -> tuple[str, ...]:
    """A list of strings, or one."""
    found = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise invalid(f"{where}, strings,")
    return tuple(found)


def flag(value: object, where: str, default: bool = False) -> bool:
    if value is not None and not isinstance(value, bool):
        raise invalid(f"{where}, true or false,")
    return default if value is None else value


def number(value: object, where: str) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise invalid(f"{where}, a number,")
    return value


def whole(value: object, where: str) -> int | None:
    """Some APIs write a whole number as 5.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise invalid(f"{where}, a whole number,")
    return value


def parse_arguments(value: object) -> dict[str, Any]:
    """The arguments of a tool's call, which OpenAI's API writes as JSON in a string."""
    arguments = load_object(text(value, "A tool call's arguments"))
    if arguments is None:
        raise invalid("A tool call's arguments, a JSON object,")
    return arguments


# --- providers --------------------------------------------------------------------------------------------------------


class CallOnlyError(DispatchError):
    """The provider did what is its part; that it cannot be told, or was refused, has to do with this call alone."""


def odd(what: str) -> DispatchError:
    return CallOnlyError(f"The provider's reply is not as its API has it: {what}.")


def said_object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise odd(what)
    return value


def said_objects(value: object, what: str) -> list[dict[str, Any]]:
    """A list of objects; none where there is no such member."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise odd(what)
    return value


def said_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise odd(what)
    return value


def said_name(value: object) -> str:
    """A name or an id that nothing depends on."""
    return value if isinstance(value, str) else ""


def read_message(body: bytes) -> str:
    """The message of a provider's error; all APIs have it in the same place."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    return find_message(document)


def find_message(document: object) -> str:
    """The text of an error, or one of ours where it has none."""
    error = document.get("error") if isinstance(document, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) and said else "The provider says that it cannot go on."


# --- both -------------------------------------------------------------------------------------------------------------


def load_object(json: str) -> dict[str, Any] | None:
    """An object of its JSON text, which may be empty for an empty one; None for anything else.

    The text is judged as a body is: what it nests is nested once more where it is written as an object.
    """
    try:
        value = parse((json or "{}").encode(), Allowance())
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def plain_id(given: str, longest: int) -> str:
    """The same id where every API takes it, else one made of it, always the same."""
    return given if len(given) <= longest and _ID.fullmatch(given) else made_id(given)


def made_id(*of: str) -> str:
    """The id of a call that has none, from what is known of it: always the same."""
    return "call_" + hashlib.sha256("\0".join(of).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def dump(value: object) -> str:
    return orjson.dumps(value).decode()
