"""The facts of a request by their paths, and as much of each as policies can tell apart. Pure.

A fact is read when a policy that is in force looks at it, and not otherwise. What a decision is remembered by is not
the fact but its *share*: policies that only compare a number with 1000 cannot tell 10 from 20, and those that only ask
a set for one name cannot tell two sets without it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import orjson

from mastio.cedar.paths import Look
from mastio.cedar.schema import DATA_CLASSES, DETECTORS, FACTS, HEADERS, ZONE_MEMBERS, ZONES, Type
from mastio.cedar.zones import find_zone, is_of_zone, read_local, zones_of
from mastio.exchange.inspection import UNINSPECTED, Finding
from mastio.exchange.values import Action, Principal
from mastio.outbound.request_headers import TRACING
from mastio_policy.classes import classes_of
from mastio_policy.risks import classify
from mastio_policy.rules import Policy

DAY = 86_400
LONG = ("tools.risks", "tools.called_risks")
"""Facts whose time grows with the names and arguments of a call: found beside the event loop for a long one."""

REMEMBERED = 256
"""Characters of headers that a decision is remembered by as they are."""

NONE: frozenset[str] = frozenset()


class Subject(NamedTuple):
    """A request, as far as it is known. `now` is Unix time, asked for only where a policy looks at it."""

    principal: Principal
    action: Action
    now: Callable[[], float]
    findings: tuple[Finding, ...] = ()


Read = Callable[[Subject], Any]
Share = Callable[[Any], Any]


class Reading(NamedTuple):
    """The reading of one fact, and the part of it that a remembered decision depends on. None: the fact is absent."""

    path: str
    read: Read
    share: Share


def readings_of(policies: Sequence[Policy]) -> tuple[Reading, ...]:
    """Of everything that these policies look at, in the order of the schema, headers last."""
    against: dict[str, set[Any] | None] = {}
    headers: list[tuple[str, ...]] = []
    for policy in policies:
        for look in policy.looks:
            if look.variable != "context":
                continue
            if look.path[:1] in ((), (HEADERS,)):
                headers.append(look.path[1:2])
            prefix = ".".join(look.path)
            for path in FACTS:
                if not prefix or path == prefix or path.startswith(f"{prefix}."):
                    known = against.setdefault(path, set())
                    if look.against is None or path != prefix:
                        against[path] = None
                    elif known is not None:
                        known.update(look.against)
    readings = tuple(Reading(path, READ[path], _share(path, against[path])) for path in FACTS if path in against)
    readings += tuple(_zone_readings(look for policy in policies for look in policy.looks))
    return (*readings, _headers_reading(headers)) if headers else readings


def _zone_readings(looks: Iterable[Look]) -> Iterator[Reading]:
    """Of the local times in the zones that policies name. Where one looks at more than a member, that is all of it."""
    looks = [look for look in looks if look.variable == "context"]
    for zone in sorted(zones_of(looks)):
        known = find_zone(zone)
        for member in ZONE_MEMBERS:
            path = f"{ZONES}.{zone}.{member}"
            found = [look for look in looks if f"{path}.".startswith(f"{'.'.join(look.path)}.") or not look.path]
            if not found:
                continue
            literals: set[Any] | None = set()
            for look in found:
                if look.against is None or ".".join(look.path) != path:
                    literals = None
                elif literals is not None:
                    literals.update(look.against)
            yield Reading(path, partial(_read_local, known, member), _share(path, literals))


def _read_local(zone: ZoneInfo, member: str, subject: Subject) -> int:
    return read_local(zone, member, subject.now())


def kind_of(path: str) -> Type:
    """The type of a fact."""
    return "Long" if is_of_zone(path) else FACTS[path].type


def _headers_reading(looks: Iterable[tuple[str, ...]]) -> Reading:
    """Of the headers that policies name, or of all where one looks at them altogether."""
    paths = set(looks)
    named = None if () in paths else frozenset(name for (name,) in paths)

    def read(subject: Subject) -> dict[str, str]:
        return join_headers(subject.action.attributes.get(HEADERS, ()), named)

    return Reading(HEADERS, read, _headers_share)


def _headers_share(value: Mapping[str, str]) -> object:
    """The value by which a decision is cached: the headers, or a digest if they are long, to save memory."""
    pairs = tuple(sorted(value.items()))
    if sum(len(name) + len(text) for name, text in pairs) <= REMEMBERED:
        return pairs
    return blake2b(orjson.dumps(pairs), digest_size=32).digest()


def join_headers(pairs: Iterable[tuple[str, str]], named: Collection[str] | None) -> dict[str, str]:
    """Headers by name, several of one name as one list (RFC 9110 §5.3); without what only traces a request."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if (named is None or name in named) and name.encode() not in TRACING:
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _share(path: str, against: Collection[Any] | None) -> Share:
    if against is None:
        return frozenset if kind_of(path).startswith("Set") else _itself
    if kind_of(path) == "Long":
        points = sorted({edge for literal in against for edge in (literal, literal + 1)})  # below, exactly, above
        return lambda value: None if value is None else bisect_right(points, value)
    if kind_of(path).startswith("Set"):
        named = frozenset(against)
        return named.intersection
    return _itself


def _itself(value: Any) -> Any:
    return value


def write_context(readings: Iterable[Reading], subject: Subject) -> dict[str, Any]:
    """The context of these facts, as Cedar's JSON takes it. Of a set, which may be long, what policies tell apart."""
    context: dict[str, Any] = {}
    for path, read, share in readings:
        value = read(subject)
        if value is None:
            continue
        if path != HEADERS:
            kind = kind_of(path)
            value = encode(kind, share(value) if kind.startswith("Set") else value)
        place = context
        *groups, name = path.split(".")
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = value
    return context


def encode(kind: str, value: Any) -> Any:
    if kind == "ipaddr":
        return {"__extn": {"fn": "ip", "arg": value}}
    return sorted(value) if kind.startswith("Set") else value


# --- how each is read ------------------------------------------------------------------------------------------------


def _attribute(path: str, missing: Any) -> Read:
    return lambda subject: subject.action.attributes.get(path, missing)


def _names(subject: Subject) -> Collection[str]:
    action = subject.action
    if action.target_type == "Tool":
        return (action.target.partition("/")[2],)
    names: Collection[str] = action.attributes.get("tools.names", ())
    return names


def _called(subject: Subject) -> Collection[tuple[str, Any]]:
    action = subject.action
    if action.kind == "mcp.call":
        return ((action.target.partition("/")[2], action.attributes.get("tools.arguments")),)
    calls: Collection[tuple[str, Any]] = action.attributes.get("tools.calls", ())
    return calls


def _count_tools(subject: Subject) -> int:
    return len(_names(subject))


def _risks(subject: Subject) -> frozenset[str]:
    if subject.action.kind == "mcp.call":
        return _called_risks(subject)
    return _once("tools.risks", subject, _find_risks)


def _find_risks(subject: Subject) -> frozenset[str]:
    names = _names(subject)
    return frozenset().union(*map(_classify_name, names)) if names else NONE


def _called_risks(subject: Subject) -> frozenset[str]:
    return _once("tools.called_risks", subject, _find_called_risks)


def _find_called_risks(subject: Subject) -> frozenset[str]:
    calls = _called(subject)
    return frozenset().union(*(classify(name, arguments) for name, arguments in calls)) if calls else NONE


def _once(path: str, subject: Subject, find: Read) -> frozenset[str]:
    """Found once for a call, where the call has a place to keep it: each stage asks, for each way to carry it out."""
    memo: dict[str, frozenset[str]] | None = subject.action.attributes.get("memo")
    if memo is None:
        found: frozenset[str] = find(subject)
        return found
    if path not in memo:
        memo[path] = find(subject)
    return memo[path]


def work_out(paths: Iterable[str], subject: Subject) -> None:
    """Find the facts of these paths now, so that reading them takes no time."""
    for path in paths:
        READ[path](subject)


def _called_names(subject: Subject) -> frozenset[str]:
    return frozenset(name for name, _ in _called(subject))


@lru_cache(maxsize=4096)
def _classify_name(name: str) -> frozenset[str]:
    return classify(name)


def _host(subject: Subject) -> str:
    action = subject.action
    if action.target_type == "Host":
        return action.target.lower()
    host: str = action.attributes.get("destination.host", "")
    return host


def _provider(subject: Subject) -> str:
    action = subject.action
    if action.target_type in ("Model", "Tool"):
        return action.target.partition("/")[0]
    return action.target if action.target_type == "Connection" else ""


def _age(subject: Subject) -> int | None:
    since = subject.principal.credential_since
    return max(int(subject.now() - since), 0) if since else None


def _score(name: str) -> Read:
    prefix = f"{name}."
    return lambda subject: max(
        (found.confidence for found in subject.findings if found.label.startswith(prefix)), default=0
    )


def _count(name: str) -> Read:
    return lambda subject: sum(found.times for found in subject.findings if name in classes_of(found.label))


READ: Mapping[str, Read] = {
    "request.method": _attribute("request.method", ""),
    "request.path": _attribute("request.path", ""),
    "request.stream": _attribute("request.stream", False),
    "request.bytes": _attribute("request.bytes", 0),
    "request.messages": _attribute("request.messages", 0),
    "request.images": _attribute("request.images", 0),
    "request.system": _attribute("request.system", False),
    "request.max_tokens": _attribute("request.max_tokens", None),
    "destination.provider": _provider,
    "destination.kind": _attribute("destination.kind", ""),
    "destination.host": _host,
    "destination.local": _attribute("destination.local", False),
    "tools.count": _count_tools,
    "tools.names": _names,
    "tools.risks": _risks,
    "tools.called": _called_names,
    "tools.called_risks": _called_risks,
    "tools.hosted": _attribute("tools.hosted", NONE),
    "tools.mcp_hosts": _attribute("tools.mcp_hosts", NONE),
    "urls": _attribute("urls", NONE),
    "files": _attribute("files", NONE),
    "stored": _attribute("stored", NONE),
    "credential.kind": lambda subject: subject.principal.credential.get("type", ""),
    "credential.age": _age,
    "time.unix": lambda subject: int(subject.now()),
    "time.hour": lambda subject: int(subject.now()) % DAY // 3600,
    "time.weekday": lambda subject: (int(subject.now()) // DAY + 3) % 7 + 1,
    "network.ip": lambda subject: subject.principal.address or None,
    "uninspected": lambda subject: {found.kind or "text" for found in subject.findings if found.label == UNINSPECTED},
    "content.labels": lambda subject: {found.label for found in subject.findings},
    "content.classes": lambda subject: {kind for found in subject.findings for kind in classes_of(found.label)},
    "content.found": lambda subject: sum(found.times for found in subject.findings if not found.kind),
    **{f"content.scores.{name}": _score(name) for name in DETECTORS},
    **{f"content.counts.{name}": _count(name) for name in DATA_CLASSES},
}
"""Every fact of the schema: a test holds both to have the same paths."""
