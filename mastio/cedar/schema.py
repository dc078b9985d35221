"""The one Cedar schema: every action, what it is done to, and every fact that a policy may look at. Pure.

The tables are the source; the schema's text, the docs and the context of a request are made of them. Every action has
the same context, so that one policy may speak of all of them: what an action has nothing of is empty, 0 or false there.
Only what is marked optional may be absent, and a policy has to ask for it with `has`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Type = Literal["Bool", "Long", "String", "Set<String>", "ipaddr"]

RESOURCES: Mapping[str, Mapping[str, str]] = {
    "Model": {"provider": "the provider's name", "name": "the model's name there"},
    "Connection": {"name": "the connection's name"},
    "Host": {"name": "the host's name, in lower case"},
    "Tool": {"server": "the MCP server's name", "name": "the tool's name there"},
    "Appliance": {},
}
"""The types of resources, each with its attributes (all of them strings)."""

ACTIONS: Mapping[str, str] = {
    "llm.chat": "Model",
    "llm.responses": "Model",
    "llm.embeddings": "Model",
    "llm.moderations": "Model",
    "llm.count_tokens": "Model",
    "llm.models": "Appliance",
    "egress.http": "Connection",
    "proxy.connect": "Host",
    "mcp.list": "Tool",
    "mcp.call": "Tool",
    "agent.self": "Appliance",
    "agent.renew": "Appliance",
    "audit.read": "Appliance",
    "audit.checkpoint": "Appliance",
    "audit.entries": "Appliance",
    "audit.proof": "Appliance",
}
"""Every action of an agent, and the type of what it is done to."""

FAMILIES: Mapping[str, tuple[str, ...]] = {"audit.read": ("audit.checkpoint", "audit.entries", "audit.proof")}
"""Actions that stand for others: whoever names one names all of those."""

AGENT: Mapping[str, str] = {"name": "the agent's name"}
"""Attributes that every agent has. Others are the operator's own: optional, and of the type that a policy uses."""

DETECTORS = ("injection", "jailbreak", "threat", "identity", "confidential", "exfiltration", "bias")
DATA_CLASSES = ("pii", "financial", "health", "credential", "national_id", "network")
RISKS = ("read", "write", "delete", "execute", "network", "credential", "payment", "communication", "admin")
CREDENTIALS = ("certificate", "token", "api_key", "assertion")


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of the context. `optional`: it may be absent."""

    type: Type
    meaning: str
    optional: bool = False


CONTENT = "content"
"""The group of what is only known once the content was looked into."""

FACTS: Mapping[str, Fact] = {
    "request.method": Fact("String", "the HTTP method, of `egress.http`"),
    "request.path": Fact("String", "the path behind the connection's base URL, of `egress.http`"),
    "request.stream": Fact("Bool", "whether the reply is asked for in pieces"),
    "request.bytes": Fact("Long", "the size of the body"),
    "request.messages": Fact("Long", "how many messages, turns or inputs it has"),
    "request.images": Fact("Long", "how many images and files it has"),
    "request.system": Fact("Bool", "whether it has a system prompt"),
    "request.max_tokens": Fact("Long", "the tokens that each answer may have, where the caller says", optional=True),
    "destination.provider": Fact("String", "the provider's or connection's name"),
    "destination.kind": Fact("String", "its kind: openai, anthropic, …"),
    "destination.host": Fact("String", "the host that it goes to"),
    "destination.local": Fact("Bool", "whether that host is of this machine or a network of its own"),
    "tools.count": Fact("Long", "how many tools are offered, or called"),
    "tools.names": Fact("Set<String>", "the names of the tools that are offered, or of the one that is called"),
    "tools.risks": Fact("Set<String>", f"their risk classes: {', '.join(RISKS)}"),
    "tools.called": Fact("Set<String>", "the names of the tools whose calls are seen in the request"),
    "tools.called_risks": Fact("Set<String>", "the risk classes of those calls, by names and arguments"),
    "tools.hosted": Fact("Set<String>", "the types of the tools that the provider would run"),
    "tools.mcp_hosts": Fact("Set<String>", "the hosts and connectors of MCP servers that the provider would call"),
    "urls": Fact("Set<String>", "the hosts of the addresses that the provider would fetch"),
    "files": Fact("Set<String>", "the names of files at the provider that it would read"),
    "stored": Fact("Set<String>", "the kinds of other objects at the provider that it would read or use"),
    "credential.kind": Fact("String", f"how the agent proved who it is: {', '.join(CREDENTIALS)}"),
    "credential.age": Fact("Long", "seconds since that was issued"),
    "time.unix": Fact("Long", "seconds since 1970"),
    "time.hour": Fact("Long", "0 to 23, UTC"),
    "time.weekday": Fact("Long", "1 is Monday, 7 is Sunday, UTC"),
    "network.ip": Fact("ipaddr", "the address that the agent calls from"),
    "uninspected": Fact("Set<String>", "the kinds of content that were not looked into: image, audio, file, tokens, …"),
    "content.labels": Fact("Set<String>", "what was found, such as injection.override or pii.EMAIL_ADDRESS"),
    "content.classes": Fact("Set<String>", f"kinds of data that were found: {', '.join(DATA_CLASSES)}"),
    "content.found": Fact("Long", "how many findings there are"),
    **{f"content.scores.{name}": Fact("Long", f"0 to 100: how sure it is that this is {name}") for name in DETECTORS},
    **{f"content.counts.{name}": Fact("Long", f"how many findings are {name} data") for name in DATA_CLASSES},
}
"""Everything a policy may look at, by its path below `context`."""


EXPLICIT = frozenset({"tools.hosted", "tools.mcp_hosts", "urls", "files", "stored"})
"""Facts of what a provider would do on the caller's behalf. A `permit` counts for a call that has something of them
only where it looks at each fact that the call has something of."""

OF_MCP = frozenset({"mcp", "mcp_toolset", "mcpServers"})
"""Types of hosted tools that are those of MCP servers: who speaks of the servers has spoken of their tools."""


def find_needs(facts: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The facts of `EXPLICIT` that a policy must read to permit a call with these facts."""
    needs = frozenset(path for path in EXPLICIT if facts.get(path))
    if "tools.mcp_hosts" in needs and OF_MCP.issuperset(facts.get("tools.hosted", ())):
        return needs - {"tools.hosted"}
    return needs


UNINSPECTED = "uninspected"
ABSENT_WHEN_EMPTY = EXPLICIT | {UNINSPECTED}
"""Sets that `has` asks about as if they were absent when they are empty."""

OF_CONTENT = (CONTENT, UNINSPECTED)
"""The groups and facts that are only known once the content was looked into."""


def is_of_content(path: str) -> bool:
    return path.startswith(f"{CONTENT}.") or path == UNINSPECTED


ZONES = "time.zone"
"""The group that has a record of `ZONE_MEMBERS` for each time zone that a policy names, by its IANA name."""

ZONE_MEMBERS: Mapping[str, str] = {
    "hour": "0 to 23, in that zone",
    "minute": "0 to 59, in that zone",
    "weekday": "1 is Monday, 7 is Sunday, in that zone",
}

HEADERS = "headers"
"""The group of headers that go to a connection: strings by name in lower case, each optional. It is empty for actions
on anything else. Which names it has in the schema depends on the policies."""


def write_schema(
    own: Mapping[tuple[str, ...], Type] | None = None, headers: Iterable[str] = (), zones: Iterable[str] = ()
) -> str:
    """The schema as Cedar text. `own`: attributes of agents that are the operator's, by path, all optional. `headers`:
    names in the group `HEADERS`. `zones`: names in the group `ZONES`."""
    agent = _write_record(_nest({(name,): ("String", False) for name in AGENT} | _as_optional(own or {})))
    facts = _nest({tuple(path.split(".")): (fact.type, fact.optional) for path, fact in FACTS.items()})
    named: Shape = dict.fromkeys(sorted(headers), ("String", True))
    if zones:
        members: Shape = dict.fromkeys(ZONE_MEMBERS, ("Long", False))
        facts["time"] = {**facts["time"], "zone": dict.fromkeys(sorted(zones), members)}  # type: ignore[dict-item]
    context = _write_record({**facts, HEADERS: named}, depth=0)
    entities = ["entity Group;", f"entity Agent in [Group] = {agent};"]
    for name, attributes in RESOURCES.items():
        shape = _write_record(_nest({(attribute,): ("String", False) for attribute in attributes}))
        entities.append(f"entity {name} = {shape};" if attributes else f"entity {name};")
    by_resource: dict[str, list[str]] = {}
    for action, resource in ACTIONS.items():
        by_resource.setdefault(resource, []).append(f'"{action}"')
    actions = [
        f"action {', '.join(names)} appliesTo {{ principal: [Agent], resource: [{resource}], context: Context }};"
        for resource, names in by_resource.items()
    ]
    return "\n".join([*entities, "", f"type Context = {context};", "", *actions, ""])


Shape = dict[str, "Shape | tuple[Type, bool]"]


def _as_optional(own: Mapping[tuple[str, ...], Type]) -> dict[tuple[str, ...], tuple[Type, bool]]:
    return {path: (kind, True) for path, kind in own.items()}


def _nest(flat: Mapping[tuple[str, ...], tuple[Type, bool]]) -> Shape:
    shape: Shape = {}
    for path, leaf in flat.items():
        place = shape
        for name in path[:-1]:
            below = place.setdefault(name, {})
            if not isinstance(below, dict):  # an attribute cannot be a record and something else
                below = place[name] = {}
            place = below
        place.setdefault(path[-1], leaf)
    return shape


def _write_record(shape: Shape, depth: int | None = None) -> str:
    """On one line, or, given how deep it stands, indented. A record of optional members is optional itself."""
    members = []
    for name, below in shape.items():
        if isinstance(below, dict):
            text = _write_record(below, None if depth is None else depth + 1)
            mark = "?" if _is_optional(below) and name != HEADERS else ""
        else:
            text, mark = below[0], "?" if below[1] else ""
        members.append(f"{_quote(name)}{mark}: {text}")
    if depth is None:
        return "{ " + ", ".join(members) + " }"
    space = "\n" + "  " * (depth + 1)
    return "{" + "".join(f"{space}{member}," for member in members) + "\n" + "  " * depth + "}"


def _is_optional(shape: Shape) -> bool:
    return all(_is_optional(below) if isinstance(below, dict) else below[1] for below in shape.values())


def _quote(name: str) -> str:
    if name.isascii() and name.isidentifier():
        return f'"{name}"' if name in ("in", "has", "like", "is", "if", "then", "else", "true", "false") else name
    escaped = "".join(f"\\u{{{ord(c):x}}}" if c in '"\\' or not c.isprintable() else c for c in name)
    return f'"{escaped}"'


def expand(actions: Iterable[str]) -> frozenset[str]:
    """The actions that these names stand for."""
    return frozenset(member for name in actions for member in (name, *FAMILIES.get(name, ())))
