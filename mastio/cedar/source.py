"""Judges the Cedar source of a policy before it is stored, and again when it is loaded. Pure.

The Cedar library is a recursive program in the worker's own stack: deep nesting or an endless chain of operators ends
the process, not the parse. Such sources are refused by counting, before the library sees them. After that the source
goes the way that it will go when it is loaded, to Cedar's JSON form and back, and is held against the schema, so that a
policy that could never be evaluated, or that speaks of what there is not, is refused with its line and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cedarpy
import orjson

from mastio.cedar.paths import looks_of
from mastio.cedar.schema import AGENT, HEADERS, Type, write_schema
from mastio.cedar.usage import find_types
from mastio.cedar.zones import ZoneError, find_zone, zones_of

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 64
MAX_OPERATORS = 2000
"""In one policy. Measured: the library's stack ends beyond some 3,000 of the costliest in a row."""

MAX_LITERALS = 1000
"""Texts in one policy. The library's cost of a long set grows faster than the set, and nothing interrupts it."""

PIECE = 2048
"""Characters of policies that the library gets at a time, so that other threads have their turn; one longer policy goes
by itself."""

REMEMBER = 32
"""Sources whose policies are remembered: one is judged when it is stored, and loaded a moment later."""

MAX_OWN = 20
"""Attributes of agents that one source may name besides those that every agent has."""

MAX_HOLD = 7 * 86_400

_TOKEN = re.compile(r'//[^\n\r]*|"(?:\\.|[^"\\])*"|[()\[\]{};]|[|&+*.<>=!-]|\bif\b|\bthen\b|\belse\b', re.DOTALL)
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class CedarError(ValueError):
    """Not a policy source that can be loaded. The text is for the admin, and names the line."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One policy of a source: its JSON form, and the line at which it begins."""

    policy: dict[str, Any]
    line: int

    @property
    def effect(self) -> str:
        effect: str = self.policy["effect"]
        return effect

    @property
    def annotations(self) -> Mapping[str, str]:
        return {name: value or "" for name, value in (self.policy.get("annotations") or {}).items()}

    @property
    def hold(self) -> int | None:
        """Seconds that a human has to decide; None: the policy does not ask for one. Raises `CedarError`."""
        return parse_hold(self.annotations["hold"]) if "hold" in self.annotations else None


def verify_cedar(source: str) -> None:
    """Judge a source before it is stored. A stored source may have more texts. Raises `CedarError`."""
    _verify_texts(source)
    if not read_cedar(source):
        raise CedarError("The source has no policy in it.")


def read_cedar(source: str) -> list[Rule]:
    """The policies of a source, each valid in the schema. Raises `CedarError`.

    A long source takes a second: call `warm` beside the event loop before.
    """
    known = _remembered.get(source)
    if known is None:
        known = _remember(source)
    if isinstance(known, str):
        raise CedarError(known)
    return known


@lru_cache(maxsize=4096)
def count_policies(source: str) -> int:
    """The number of policies in a source, by its semicolons. It may be invalid."""
    return sum(1 for _ in _statements(source))


def warm(source: str) -> None:
    """Judge a source now; `read_cedar` takes no time then."""
    if source not in _remembered:
        _remember(source)


_remembered: dict[str, list[Rule] | str] = {}


def _remember(source: str) -> list[Rule] | str:
    """The policies, or what is wrong with them."""
    known: list[Rule] | str
    try:
        known = _read(source)
    except CedarError as error:
        known = str(error)
    while len(_remembered) >= REMEMBER:
        _remembered.pop(next(iter(_remembered)), None)
    _remembered[source] = known
    return known


def _read(source: str) -> list[Rule]:
    if len(source) > MAX_CHARACTERS or "\0" in source:
        raise CedarError(f"The source is longer than {MAX_CHARACTERS} characters, or has a NUL in it.")
    _verify_size(source)
    lines = list(_find_lines(source))
    pieces = list(_pieces(source))
    policies: list[dict[str, Any]] = []
    for piece in pieces:
        policies += _parse_piece(source, piece)
    if len(policies) != len(lines):
        raise CedarError("The source cannot be taken apart into its policies.")
    rules = [Rule(policy, line) for policy, line in zip(policies, lines, strict=True)]
    _verify_schema(pieces, rules)
    for rule in rules:
        _verify_annotations(rule)
    return rules


def _pieces(source: str) -> Iterator[str]:
    """The policies, as many at a time as are short together."""
    gathered: list[str] = []
    size = 0
    for _, text in _statements(source):
        if gathered and size + len(text) > PIECE:
            yield "\n".join(gathered)
            gathered, size = [], 0
        gathered.append(text)
        size += len(text)
    if gathered:
        yield "\n".join(gathered)


def _parse_piece(source: str, piece: str) -> list[dict[str, Any]]:
    """The JSON form of some policies of `source`, in order. Raises `CedarError`."""
    try:
        parsed = orjson.loads(cedarpy.policies_to_json_str(piece))
        cedarpy.PolicySet.from_json_str(orjson.dumps(parsed).decode())
    except ValueError as error:
        raise _locate(source, error) from error
    except TypeError as error:  # what orjson says of nesting beyond its own
        raise CedarError("A policy has too many operators in a row. Use a set, or several policies.") from error
    if parsed["templates"]:
        raise CedarError("The source has a template, which nothing links.")
    return [policy for _, policy in sorted(parsed["staticPolicies"].items(), key=lambda item: _number(item[0]))]


def parse_hold(text: str) -> int:
    """`90s`, `15m`, `2h` or `1d` as seconds. Raises `CedarError`."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not 0 < seconds <= MAX_HOLD:
        raise CedarError('The annotation @hold says how long a human has, such as @hold("15m"); seven days at most.')
    return seconds


def _verify_annotations(rule: Rule) -> None:
    try:
        if rule.hold is not None and rule.effect != "forbid":
            raise CedarError("Only a forbid may have the annotation @hold.")
    except CedarError as error:
        raise CedarError(f"Line {rule.line}: {error}") from error
    for name, text in rule.annotations.items():
        if len(text) > 500 or not text.isprintable():
            raise CedarError(f"Line {rule.line}: The annotation @{name} is not one line of 500 characters at most.")
        if name == "id" and not _ID.fullmatch(text):
            raise CedarError(f"Line {rule.line}: The annotation @id is 1 to 64 letters, digits and ._-.")


def _verify_schema(pieces: list[str], rules: list[Rule]) -> None:
    own = {
        look.path
        for rule in rules
        for look in looks_of(rule.policy)
        if look.variable == "principal" and look.path and look.path[0] not in AGENT
    }
    own = {path for path in own if not any(other[: len(path)] == path for other in own - {path})}
    if len(own) > MAX_OWN:
        raise CedarError(f"The source names more than {MAX_OWN} attributes of agents.")
    used = find_types(rule.policy for rule in rules)
    headers = frozenset(
        look.path[1] for rule in rules for look in looks_of(rule.policy)
        if look.variable == "context" and look.path[:1] == (HEADERS,) and len(look.path) > 1
    )  # fmt: skip
    _verify_headers(headers)
    zones = _find_zones(rules)
    types = {path: used.get(path, "String") for path in sorted(own)}
    first = 0
    for piece in pieces:
        errors = _validate(piece, types, headers, zones)
        if errors:
            number, _, reason = min(
                (_number(policy) if policy else 0, "unable to find" in why, why) for policy, why in errors
            )
            raise CedarError(f"Line {rules[first + number].line}: {_say(reason)}")
        first += sum(1 for _ in _statements(piece))


def _find_zones(rules: list[Rule]) -> frozenset[str]:
    """The time zones that the policies name. Raises `CedarError` for one that there is not."""
    found: set[str] = set()
    for rule in rules:
        for name in sorted(zones_of(looks_of(rule.policy))):
            try:
                find_zone(name)
            except ZoneError as error:
                raise CedarError(f"Line {rule.line}: {error}") from error
            found.add(name)
    if len(found) > MAX_OWN:
        raise CedarError(f"The source names more than {MAX_OWN} time zones.")
    return frozenset(found)


def _verify_headers(names: frozenset[str]) -> None:
    if len(names) > MAX_OWN:
        raise CedarError(f"The source names more than {MAX_OWN} headers.")
    for name in sorted(names):
        if name != name.lower():  # it would never be there
            raise CedarError(f"The header {name[:64]} has to be written in lower case.")


def _validate(
    source: str, own: Mapping[tuple[str, ...], Type], headers: frozenset[str], zones: frozenset[str]
) -> list[tuple[str, str]]:
    result = cedarpy.validate_policies(source, _schema(tuple(own.items()), headers, zones))
    if result.validation_passed:
        return []
    return [(error.policy_id, error.error) for error in result.errors] or [("", "not valid in the schema")]


@lru_cache(maxsize=64)
def _schema(
    own: tuple[tuple[tuple[str, ...], Type], ...], headers: frozenset[str], zones: frozenset[str]
) -> cedarpy.Schema:
    return cedarpy.Schema.from_str(write_schema(dict(own), headers, zones))


def _say(reason: str) -> str:
    text = re.sub(r"^for policy `[^`]*`, ", "", reason)
    return text[:1].upper() + text[1:400].rstrip(".") + "."


def _number(policy_id: str) -> int:
    return int(policy_id.removeprefix("policy"))


def _locate(source: str, error: ValueError) -> CedarError:
    """The first policy that does not parse by itself, and in it the line of what the library names."""
    for start, text in _statements(source):
        try:
            cedarpy.policies_to_json_str(text)
        except ValueError as reason:
            named = re.search(r"`([^`]+)`", str(reason))
            at = text.find(named[1]) if named else -1
            line = source.count("\n", 0, start + max(at, 0)) + 1
            return CedarError(f"Line {line}: Not valid Cedar: {_say(str(reason))}")
    return CedarError(f"Not valid Cedar, or nested too deeply: {_say(str(error))}")


def _find_lines(source: str) -> Iterator[int]:
    for start, _ in _statements(source):
        yield source.count("\n", 0, start) + 1


def _statements(source: str) -> Iterator[tuple[int, str]]:
    """Each policy with where it begins: what stands before and between two semicolons, without comments around it."""
    start = 0
    for match in re.finditer(r'//[^\n\r]*|"(?:\\.|[^"\\])*"|;', source, re.DOTALL):
        if match.group() == ";":
            yield _skip_blank(source, start), source[_skip_blank(source, start) : match.end()]
            start = match.end()
    rest = _skip_blank(source, start)
    if source[rest:].strip():
        yield rest, source[rest:]


def _skip_blank(source: str, start: int) -> int:
    match = re.compile(r"(?:\s+|//[^\n\r]*)*").match(source, start)
    return match.end() if match else start


def _verify_texts(source: str) -> None:
    texts = 0
    for match in _TOKEN.finditer(source[: MAX_CHARACTERS + 1]):
        sign = match.group()
        texts = 0 if sign == ";" else texts + sign.startswith('"')
        if texts > MAX_LITERALS:
            raise CedarError(f"A policy has more than {MAX_LITERALS} texts. Make several of it.")


def _verify_size(source: str) -> None:
    depth = operators = 0
    for match in _TOKEN.finditer(source):
        sign = match.group()
        if sign in ("(", "[", "{"):
            depth += 1
            operators += 1
        elif sign in (")", "]", "}"):
            depth -= 1
        elif sign == ";":
            operators = 0
        elif not sign.startswith(('"', "//")):
            operators += 1
        if depth > MAX_DEPTH:
            raise CedarError(f"The source is nested deeper than {MAX_DEPTH} levels.")
        if operators > MAX_OPERATORS:
            raise CedarError(f"A policy has more than {MAX_OPERATORS} operators.")
