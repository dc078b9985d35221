"""The collection of what a provider would do, and the walk that finds addresses and files in a document. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mastio.cedar.schema import find_needs
from mastio.exchange.errors import BadRequest
from mastio_llm.facts.links import INLINE, read_link

MOST_NAMES = 256
"""Different names of one kind in one call. A decision is made about each of them."""

SHOWN = 32
"""Names of one kind in an entry: a log is not to be filled by them."""

UNKNOWN = "unknown"
"""Stands for a type or name that is none: not a string, or not a plain one."""

NONE: frozenset[str] = frozenset()

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,127}")
_SHAPED = re.compile(
    r"[\x00-\x20]*(?:[a-z][a-z0-9+.-]{1,30}://|(?:https?|ftps?|sftp|file|gs|s3|gopher|ldap|jar|dict|blob):)",
    re.IGNORECASE,
)
"""An address, whatever the member is called."""

_LEFT_OUT = str.maketrans("", "", "\t\n\r")
"""Signs that readers of addresses leave out (WHATWG URL §4.4)."""

_BEGINNING = 64

_LINK = re.compile(r"(?i:ur[li])|.*(?:_ur[li]|Ur[li]|UR[LI])")
"""Members that hold an address, whatever it looks like."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ACTING = re.compile(
    r"(?:web|file|data|vector|tool|re)?(?:search|searche|searching|tool|plugin|source|connector|mcp|web|retriever|"
    r"retrieval|retrieve|browse|browser|browsing|fetch|fetche|fetching|file|store|container|agent|agentic|skill)s?",
    re.IGNORECASE,
)
"""A word in the name of a member that no API defines: what it would make a provider do."""


ROUTING = frozenset({"models", "fallbacks", "fallback_models", "provider", "providers", "transforms"})
"""Members of routers in front of models: they may choose another model or provider than the one that was decided, or
have the text changed."""


class Acts(NamedTuple):
    """By type or name; `urls` and `mcp_hosts` are hosts. `stored` are kinds of objects that the provider keeps."""

    hosted: frozenset[str] = NONE
    mcp_hosts: frozenset[str] = NONE
    urls: frozenset[str] = NONE
    files: frozenset[str] = NONE
    stored: frozenset[str] = NONE

    @property
    def needs(self) -> frozenset[str]:
        """The facts that a policy has to look at to permit the call."""
        if self is NO_ACTS:
            return NONE
        return find_needs({FACTS[name]: values for name, values in self._asdict().items()})

    @property
    def reads_beyond(self) -> bool:
        """True if the model reads what is not in the body."""
        return self is not NO_ACTS

    @property
    def may_change(self) -> bool:
        """True if asking again may give another answer: what is kept or found elsewhere may be another by then."""
        return bool(self.hosted or self.stored)

    def describe(self) -> dict[str, list[str] | int]:
        """For the audit entry: `SHOWN` of each, and how many more there are."""
        said: dict[str, list[str] | int] = {
            name: sorted(values)[:SHOWN] for name, values in self._asdict().items() if values
        }
        more = sum(max(len(values) - SHOWN, 0) for values in self)
        return {**said, "more": more} if more else said


NO_ACTS = Acts()
FACTS: Mapping[str, str] = {
    "hosted": "tools.hosted", "mcp_hosts": "tools.mcp_hosts", "urls": "urls", "files": "files", "stored": "stored",
}  # fmt: skip
"""The paths of the facts (`mastio.cedar.schema.FACTS`)."""


class Found:
    """What has been found so far."""

    __slots__ = ("files", "hosted", "mcp_hosts", "stored", "urls")

    def __init__(self) -> None:
        self.hosted = set[str]()
        self.mcp_hosts = set[str]()
        self.urls = set[str]()
        self.files = set[str]()
        self.stored = set[str]()

    def freeze(self) -> Acts:
        sets = (self.hosted, self.mcp_hosts, self.urls, self.files, self.stored)
        if not any(sets):
            return NO_ACTS
        if max(map(len, sets)) > MOST_NAMES:
            raise BadRequest(
                f"The call names more than {MOST_NAMES} different tools, addresses or files of the provider's side.",
                code="too_many_parts",
            )
        return Acts(*map(frozenset, sets))

    def add_unknown_members(self, document: Mapping[str, Any], known: frozenset[str]) -> None:
        """Members that the API does not define, and whose names say that the provider would act. A text or a number is
        an option, and no order."""
        for name in document.keys() - known:
            value = document[name]
            if (value is True or isinstance(value, dict | list)) and (name in ROUTING or _says_act(name)):
                self.hosted.add(plain(name))


def _says_act(name: str) -> bool:
    return any(map(_ACTING.fullmatch, _WORD.findall(name)))


def plain(name: object) -> str:
    """A name as it may stand in a policy and in an entry."""
    return name if isinstance(name, str) and _PLAIN.fullmatch(name) else UNKNOWN


def items_of(value: object) -> Iterator[object]:
    """The items of a list, or the one thing that stands in the place of a list; nothing for null."""
    if isinstance(value, list):
        yield from value
    elif value is not None:
        yield value


@dataclass(frozen=True, slots=True)
class Grammar:
    """What the members of one API mean. Only names that it defines are in here; all others may hold an address.

    `opaque`: members whose value the provider does not act upon. `texts`: members whose strings are words. `past`:
    types of objects that tell what has happened. `files`: members that name files. `tools`: members that offer tools.
    """

    opaque: frozenset[str]
    texts: frozenset[str]
    past: frozenset[str]
    files: frozenset[str]
    tools: frozenset[str] = NONE


Offer = Callable[[object, Found], None]


def walk_call(grammar: Grammar, document: Mapping[str, Any], found: Found, offer: Offer) -> None:
    """Whatever is in the members of a call. No API has an address in a member of the call itself: a string there is an
    option, and goes up as it is."""
    for name, value in document.items():
        if (type(value) is not dict and type(value) is not list) or name in grammar.opaque:
            continue
        if name in grammar.tools:
            offer(value, found)
        else:
            walk(grammar, value, found, found.urls, offer, name)


def walk(grammar: Grammar, value: Any, found: Found, links: set[str], offer: Offer, name: str = "") -> None:
    """Put the hosts of addresses into `links`, files into `found`; tools that are offered go to `offer`. Linear."""
    left: list[tuple[str, Any]] = [(name, value)]
    while left:
        name, value = left.pop()
        kind = type(value)
        if kind is dict:
            said = value.get("type")
            if type(said) is str and said in grammar.past:
                continue
            for member, below in value.items():
                below_kind = type(below)
                if below_kind is str:
                    if member not in grammar.texts and member not in grammar.opaque:
                        _see(grammar, member, below, found, links)
                elif (below_kind is not dict and below_kind is not list) or member in grammar.opaque:
                    continue
                elif member in grammar.tools:
                    offer(below, found)
                else:
                    left.append((member, below))
        elif kind is list:
            left += [(name, item) for item in value if type(item) in _HOLDERS]
        elif kind is str and name not in grammar.texts and name not in grammar.opaque:
            _see(grammar, name, value, found, links)


def _is_shaped(text: str) -> bool:
    return ":" in text[:_BEGINNING] and _SHAPED.match(text[:_BEGINNING].translate(_LEFT_OUT)) is not None


_HOLDERS = frozenset((str, dict, list))


def _see(grammar: Grammar, name: str, text: str, found: Found, links: set[str]) -> None:
    if name in grammar.files:
        found.files.add(plain(text))
    elif (_LINK.fullmatch(name) and not text.startswith(INLINE)) or _is_shaped(text):
        file, host = read_link(text)
        if file is not None:
            found.files.add(plain(file))
        else:
            links.add(host)
