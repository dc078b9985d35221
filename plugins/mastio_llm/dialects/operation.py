"""The description of a dialect as values: its operations, the addresses of its providers, the form of its lists.

Pure. `mastio_llm.calls` carries operations out and knows no dialect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from mastio.exchange.errors import BadRequest, MastioError
from mastio.exchange.values import MOST_USED, Dialect, RequestHead
from mastio.http.strictjson import count_up_to

Usage = dict[str, int]
"""`input_tokens` and `output_tokens` are all that were read and written; `cached_tokens` and `cache_write_tokens` say
how many of the former came from, or went into, the provider's cache. What is zero or not said is left out, but for the
first two."""

Form = Literal["whole", "events", "array"]
"""How an answer comes: as one body, as server-sent events, as a JSON array that grows."""

_PARTS = frozenset((dict, str))

MAX_MODEL = 256
_PLAIN_MODEL = re.compile(r"(?!\.)[A-Za-z0-9._@+:~-]+(?:/(?!\.)[A-Za-z0-9._@+:~-]+)*")

MAX_COUNT = 10_000_000
"""Beyond what any model writes or any call asks for: a number beyond it is a mistake, or worse."""


AsksUsage = Literal["always", "yes", "no", "silent"]
"""Whether a stream is to say what was used: it does so anyway, the caller asks for it, the caller says no, the caller
does not say."""


class CallRequest(NamedTuple):
    """The call that one request describes. `model` as the caller spelt it.

    `limit`: the tokens that each of `answers` may have, None where the caller does not say; `writes` is False where
    nothing is written at all. `has_one_answer`: asking again is meant to give the same. `detached`: the provider goes
    on writing when nobody listens any more. `looks_up`: it acts on the caller's behalf (`mastio_llm.acts`), and
    reads what it finds.
    """

    model: str
    form: Form = "whole"
    limit: int | None = None
    answers: int = 1
    writes: bool = True
    has_one_answer: bool = False
    detached: bool = False
    looks_up: bool = False
    usage: AsksUsage = "always"


class Sight(NamedTuple):
    """The meaning of one event of a stream. `end`: nothing that belongs to the answer comes after it.

    `failed`: it says that the provider cannot go on. `is_final`: its count is that of the whole answer, and no count
    of what has been written so far.
    """

    usage: Usage | None = None
    end: bool = False
    failed: bool = False
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """The rules for reading a stream. `look` judges the data of one event; only events with one of `markers` in them
    are judged.

    `closes`: the answer ends with the body, after an event that was an `end`; else it ends with that event.
    """

    markers: tuple[bytes, ...]
    look: Callable[[bytes], Sight | None]
    closes: bool = False


def never(data: bytes) -> Sight | None:
    """For operations that do not stream."""
    return None


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked for.

    `find` reads model and form from the path's parameters, the query and the body; raises `BadRequest`. `address` is
    where a provider of the same dialect takes it, after its base URL. `in_body`: the body names the model. `query`:
    the parameters of the caller's query that go along. `usage` reads a whole reply; `free`: nothing is used that
    anybody counts. `encode_break` writes the end of a stream that cannot go on. `keep` limits the tokens of each answer
    in the body of a caller who did not, for a kind of provider. `ask_usage` makes a body ask for what the answer used,
    and `hide_usage` takes that out of the events of a caller who did not ask.
    """

    kind: str
    dialect: Dialect
    find: Callable[[Mapping[str, str], bytes, dict[str, Any]], CallRequest]
    address: Callable[[str, Form], str]
    usage: Callable[[Any], Usage | None]
    encode_break: Callable[[Form, MastioError, str], bytes]
    in_body: bool = True
    query: frozenset[bytes] = frozenset()
    stream: Stream = field(default_factory=lambda: Stream((), never))
    keep: Callable[[dict[str, Any], int, str], dict[str, Any]] = lambda document, limit, kind: document
    free: bool = False
    ask_usage: Callable[[bytes, AsksUsage], bytes] = lambda body, asked: body
    hide_usage: Callable[[bytes], bytes] = lambda data: data


class Unwrapper(Protocol):
    """Takes the events of a dialect out of what they are wrapped in."""

    def feed(self, chunk: bytes) -> bytes:
        """The server-sent events that are complete. Raises `ValueError`."""


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The form in which a kind of provider wraps another vendor's API.

    `addresses` by the kind of action; there is nothing else that it can be asked for. `request` wraps a body, `error`
    unwraps one with its status. A stream of `content_type` is unwrapped by what `open` makes.
    """

    addresses: Mapping[str, Callable[[str, Form], str]]
    request: Callable[[bytes, RequestHead], bytes]
    error: Callable[[bytes, int], bytes]
    content_type: bytes
    open: Callable[[], Unwrapper]


@dataclass(frozen=True, slots=True)
class Speaker:
    """The headers by which a kind of provider is called. `key_header` carries `key_prefix` and the key.

    `prefix`: of headers that go both ways as they are. `defaults` are headers for callers who did not send them.
    `refuses_key` tells from a reply to a bad request that it was about our key.
    """

    dialect: Dialect
    key_header: str
    prefix: bytes
    key_prefix: str = ""
    defaults: tuple[tuple[str, str], ...] = ()
    refuses_key: Callable[[bytes], bool] = lambda body: False
    adaptation: Adaptation | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The list of models: where a provider has it, how its names are read, and how ours are written.

    `encode` takes pairs of a name and its provider's.
    """

    address: str
    read: Callable[[dict[str, Any]], list[str]]
    encode: Callable[[list[tuple[str, str]]], bytes]


def count_parts(body: bytes, document: Mapping[str, Any], most: int) -> int:
    """Items of lists that are objects or texts, anywhere: messages, parts, tools, inputs. Not exact where there are
    `most` at most."""
    if count_up_to(most, body, b",", b"[") <= most:
        return 0
    count, left = 0, [*document.values()]
    while left:
        value = left.pop()
        if type(value) is dict:
            left += value.values()
        elif type(value) is list:
            found = [item for item in value if type(item) in _PARTS]
            count += len(found)
            if count > most:
                break
            left += [item for item in value if type(item) is not str]
    return count


# --- reading what several dialects have -------------------------------------------------------------------------------


def read_model(document: Mapping[str, Any]) -> str:
    return verify_model(document.get("model"))


def verify_model(model: object) -> str:
    if not isinstance(model, str) or not 1 <= len(model) <= MAX_MODEL:
        raise BadRequest(
            f"The member model must be the name of a model, such as openai/gpt-4o, of 1 to {MAX_MODEL} characters.",
            code="invalid_body",
        )
    return model


def verify_plain(model: str) -> None:
    """For who has the model in the path, where a name must not lead elsewhere. Raises `BadRequest`."""
    if not _PLAIN_MODEL.fullmatch(model):
        raise BadRequest("The model's name is not one that a path may have.", code="model_not_found")


def read_form(document: Mapping[str, Any]) -> Form:
    stream = document.get("stream")
    if not isinstance(stream, bool | None):
        raise BadRequest("The member stream must be true or false.", code="invalid_body")
    return "events" if stream else "whole"


def verify_counts(document: Mapping[str, Any], names: Iterable[str]) -> None:
    """Check that the counts under these names are whole numbers of a sensible size. Raises `BadRequest`."""
    for name in names:
        count = document.get(name)
        if count is not None and (type(count) is not int or not 0 <= count <= MAX_COUNT):
            raise BadRequest(f"The member {name} must be a whole number up to {MAX_COUNT}.", code="invalid_body")


def is_drawn(sampling: Mapping[str, Any]) -> bool:
    """True if the answer is one of several that could be, and asking again is meant to give another."""
    return sampling.get("temperature") != 0 and type(sampling.get("seed")) is not int


def tokens(value: object) -> int | None:
    """A count of tokens, or None for what cannot be one."""
    return value if type(value) is int and 0 <= value < 2**53 else None


def tally(**counts: int | None) -> Usage | None:
    """The usage from these counts; None if none of them is known."""
    known = {
        name: min(count, MOST_USED)
        for name, count in counts.items()
        if count is not None and (count or name in ("input_tokens", "output_tokens"))
    }
    return known or None


def member(document: object, name: str) -> dict[str, Any]:
    """The object that is a member of `document`; an empty one where there is none."""
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}


def names_of(document: Mapping[str, Any], collection: str, name: str) -> list[str]:
    """One string member of each object in a list."""
    items = document.get(collection)
    found = [item.get(name) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return [value for value in found if isinstance(value, str)]


def parts_of(value: object) -> Iterator[dict[str, Any]]:
    """The objects of a list, or the object itself."""
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
