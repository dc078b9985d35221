"""The parameters of a request for the log: checked, and converted to the range and filter of a page of entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qsl, urlencode

from mastio.exchange.errors import BadRequest
from mastio.exchange.values import Action, Message, Principal, RequestHead
from mastio_audit.log import tiles
from mastio_audit.search import EFFECTS, EntryFilter
from mastio_audit.spending import DIMENSIONS, LATEST, Dimension

LOG: Final = "/v1/audit/log"
ENTRIES: Final = "/v1/audit/entries"
USAGE: Final = "/v1/admin/usage"
DEFAULT_LIMIT, MOST = 100, 1000
_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_FILTERS = {
    "agent": re.compile(r"[a-z0-9._-]{1,64}"),
    "kind": re.compile(r"[a-z0-9._-]{1,64}\*?|\*"),
    "request_id": re.compile(r"[0-9A-Za-z._-]{1,128}"),
    "decision": re.compile("|".join(EFFECTS)),
}
_ORDERS = ("asc", "desc")
_AGENT = ("agent", "only about the agent of this name")

CHECKPOINT_QUERY: Final = (
    ("size", "the log as it was with so many entries"),
    ("old", "with the proof that it extends the log of so many entries"),
)
ENTRIES_QUERY: Final = (
    ("from", "the index to begin with"),
    ("limit", f"the most entries, 1 to {MOST}; {DEFAULT_LIMIT} where nothing is said"),
    ("order", "asc, or desc for the newest first"),
    ("since", "only since this time: RFC 3339, or a date (UTC)"),
    _AGENT,
    ("kind", "only of this kind, such as llm.chat, or llm.* for all that begin so"),
    ("request_id", "only of the exchange with this X-Request-Id"),
    ("decision", f"only what policy decided so: {', '.join(EFFECTS)}"),
)
USAGE_QUERY: Final = (
    ("by", f"one or more of {', '.join(DIMENSIONS)}, with commas; agent where nothing is said"),
    ("since", "from this time: RFC 3339, or a date (UTC); thirty days before the end where nothing is said"),
    ("until", "before this time; now where nothing is said"),
    _AGENT,
    ("model", "only of this model, as PROVIDER/MODEL"),
    ("from", "the index to go on with, as `next` says it"),
)
"""The parameters that each path knows, and what they mean."""

_MODEL = re.compile(r"[^\x00-\x1f\x7f]{1,300}")


@dataclass(frozen=True, slots=True)
class LogState:
    """The log as it was with `size` entries (None: as it is), and that it extends the one of `old` (None: no proof)."""

    size: int | None
    old: int | None


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """A parsed request for entries. `start` None: from the first stored entry, or, with the newest first, from the
    last. `query` is what the next page asks for as well."""

    wanted: EntryFilter
    start: int | None
    limit: int
    newest_first: bool
    query: Mapping[str, str]

    def cut(self, there: range) -> range:
        """The part of the entries that are there which the request is about."""
        if self.start is None:
            return there
        if self.newest_first:
            return range(there.start, min(there.stop, self.start + 1))
        return range(min(self.start, there.stop), there.stop)

    def link(self, start: int) -> str:
        """The header that says where the next page is."""
        return f'<{ENTRIES}?{urlencode({"from": start, **self.query})}>; rel="next"'


@dataclass(frozen=True, slots=True)
class AskedUsage:
    """A parsed request for the usage. Times are Unix seconds, None: the default. `start`: the index to continue at."""

    by: tuple[Dimension, ...]
    since: float | None
    until: float | None
    agent: str | None
    model: str | None
    start: int | None


def names_of(parameters: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(name for name, _ in parameters)


def parse_by(text: str) -> tuple[Dimension, ...]:
    """The dimensions of a report, each once. Raises `ValueError`."""
    by = tuple(one for name in text.split(",") for one in DIMENSIONS if one == name)
    if len(by) != text.count(",") + 1 or len(set(by)) != len(by):
        raise ValueError(text)
    return by


def read_plain(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    _parse_query(head, ())
    return _action(head), Message(body, plan=head.path)


def read_checkpoint(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    if head.path != f"{LOG}/checkpoint":
        return read_plain(head, principal, body)
    query = _parse_query(head, names_of(CHECKPOINT_QUERY))
    return _action(head), Message(body, plan=LogState(query.get("size"), query.get("old")))


def read_tile(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    _parse_query(head, ())
    tile = tiles.parse_path(head.params["path"])
    if tile is None:
        raise nothing_there()
    return _action(head), Message(body, plan=tile)


def read_entries(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    query = _split_query(head, names_of(ENTRIES_QUERY))
    start = _parse_number("from", query["from"]) if "from" in query else None
    limit = _parse_number("limit", query.get("limit", str(DEFAULT_LIMIT)))
    if not 1 <= limit <= MOST:
        raise BadRequest(f"The parameter limit must be 1 to {MOST}.")
    order = query.get("order", _ORDERS[0])
    if order not in _ORDERS:
        raise BadRequest("The parameter order must be asc or desc.")
    for name, form in _FILTERS.items():
        if name in query and not form.fullmatch(query[name]):
            raise BadRequest(f"The parameter {name} has a form that no entry has.")
    filters = {name: query[name] for name in _FILTERS if name in query}
    since = _parse_time(query["since"]) if "since" in query else None
    kept = {name: value for name, value in query.items() if name not in ("from", "limit")}
    asked = EntryQuery(
        EntryFilter(**filters, since=since), start, limit, order == "desc", {"limit": str(limit), **kept}
    )
    return _action(head), Message(body, plan=asked, details={"from": start or 0, **kept, "limit": limit})


def read_usage(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    query = _split_query(head, names_of(USAGE_QUERY))
    for name, form in (("agent", _FILTERS["agent"]), ("model", _MODEL)):
        if name in query and not form.fullmatch(query[name]):
            raise BadRequest(f"The parameter {name} has a form that no entry has.")
    try:
        by = parse_by(query.get("by", "agent"))
    except ValueError as error:
        raise BadRequest(f"The parameter by must be one or more of {', '.join(DIMENSIONS)}, each once.") from error
    since, until = (_parse_time(query[name], name) if name in query else None for name in ("since", "until"))
    start = _parse_number("from", query["from"]) if "from" in query else None
    asked = AskedUsage(by, since, until, query.get("agent"), query.get("model"), start)
    return _action(head), Message(body, plan=asked, details=dict(query))


def read_proof(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    _parse_query(head, ())
    index = head.params["index"]
    if not _NUMBER.fullmatch(index):
        raise BadRequest("The index must be a whole number.")
    return _action(head), Message(body, plan=int(index), details={"index": int(index)})


def _action(head: RequestHead) -> Action:
    return Action(head.route.kind, "Appliance", "self")


def _split_query(head: RequestHead, known: tuple[str, ...]) -> dict[str, str]:
    """Parameters that are known, each once. Raises `BadRequest`."""
    try:
        pairs = parse_qsl(
            head.query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(head.query), max_num_fields=16
        )
    except ValueError as error:
        raise BadRequest("The query is malformed.") from error
    query: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            raise BadRequest("There is a parameter that this path does not know.")
        if name in query:
            raise BadRequest(f"The parameter {name} is there twice.")
        query[name] = value
    return query


def _parse_query(head: RequestHead, known: tuple[str, ...]) -> dict[str, int]:
    """Parameters that are whole numbers. Raises `BadRequest`."""
    return {name: _parse_number(name, value) for name, value in _split_query(head, known).items()}


def _parse_number(name: str, value: str) -> int:
    if not _NUMBER.fullmatch(value):
        raise BadRequest(f"The parameter {name} must be one whole number.")
    return int(value)


def _parse_time(value: str, name: str = "since") -> float:
    """Unix time of an RFC 3339 time, or of the first moment of a date in UTC."""
    try:
        moment = datetime.fromisoformat(value)
        unix = (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"The parameter {name} must be a date or a time such as 2026-01-31T12:00:00Z.") from error
    return min(max(unix, 0.0), LATEST)


def nothing_there() -> BadRequest:
    """404: what was asked for is not in the log."""
    return BadRequest("There is nothing at this place of the log.", code="not_found")
