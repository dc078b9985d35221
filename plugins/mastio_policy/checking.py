"""Warnings about a set of valid policies: names that match nothing, policies that never decide. Pure.

Policies are compared by scope and conditions as they are written. So what is said is so; a policy of which nothing is
said may still be one that never decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from mastio.cedar.schema import RESOURCES
from mastio.exchange.matching import matches
from mastio_policy.deciding import scope_of_principal
from mastio_policy.rules import Policy, conjuncts_of, scope_of_actions

Oddity = Literal["unknown", "unused", "shadowed", "contradicts"]


class Remark(NamedTuple):
    """`unknown`: it names what there is not. `unused`: it applies only to what there is not. `shadowed`: wherever it
    applies, another decides. `contradicts`: another says the opposite of exactly the same."""

    oddity: Oddity
    policy: str
    text: str


@dataclass(frozen=True, slots=True)
class Known:
    """The known agents and models. `agents` with their groups; `models` as globs on `provider/model`. None: not
    known."""

    agents: Mapping[str, Collection[str]] | None = None
    models: Collection[str] | None = None
    observed: Collection[str] = field(default_factory=frozenset)
    """Names of policies that are observed: they decide nothing, so they shadow nothing."""


def check(policies: Sequence[Policy], known: Known = Known()) -> list[Remark]:
    remarks = [remark for policy in policies for remark in _check_one(policy, known)]
    for place, policy in enumerate(policies):
        remark = _find_shadow(policy, place, policies, known)
        if remark is not None:
            remarks.append(remark)
    return remarks


# --- one by itself ----------------------------------------------------------------------------------------------------


def _check_one(policy: Policy, known: Known) -> Iterator[Remark]:
    document = policy.document
    in_scope = set(_entities_of([document["principal"], document["resource"]]))
    for kind, name in sorted(in_scope | set(_entities_of(document["conditions"]))):
        text = _find_unknown(kind, name, known)
        if text is not None:
            yield Remark("unused" if (kind, name) in in_scope else "unknown", policy.name, text)


def _find_unknown(kind: str, name: str, known: Known) -> str | None:
    if kind == "Agent" and known.agents is not None and name not in known.agents:
        return f"No agent is called {name}."
    if kind == "Group" and known.agents is not None and not any(name in groups for groups in known.agents.values()):
        return f"No agent is in the group {name}."
    if kind == "Model" and known.models is not None and not any(matches(glob, name) for glob in known.models):
        return f"No provider serves the model {name}."
    return None


def _entities_of(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if value.keys() == {"type", "id"} and value["type"] in {"Agent", "Group", *RESOURCES}:
            yield value["type"], value["id"]
        for below in value.values():
            yield from _entities_of(below)
    elif isinstance(value, list):
        for below in value:
            yield from _entities_of(below)


# --- one beside the others --------------------------------------------------------------------------------------------


def _find_shadow(policy: Policy, place: int, policies: Sequence[Policy], known: Known) -> Remark | None:
    for other_place, other in enumerate(policies):
        if other is policy or other.name.partition("#")[0] in known.observed or not covers(other, policy, known):
            continue
        same = covers(policy, other, known)
        if other.effect != policy.effect:
            if other.effect == "forbid" and same:
                return Remark("contradicts", policy.name, f"{other.name} forbids exactly what it permits.")
            if other.effect == "forbid" and other.hold is None:
                return Remark("shadowed", policy.name, f"{other.name} forbids everything that it permits.")
            continue
        if policy.effect == "forbid" and other.hold is not None and policy.hold is None:
            continue  # the other would let a human decide
        if same and policy.hold == other.hold and place < other_place:
            continue  # one of two that say the same is enough
        verb = "forbids" if policy.effect == "forbid" else "permits"
        return Remark("shadowed", policy.name, f"{other.name} {verb} everything that it {verb}.")
    return None


def covers(wide: Policy, narrow: Policy, known: Known) -> bool:
    """True if `wide` applies wherever `narrow` does, as far as scope and conditions show."""
    return (
        _covers_principal(wide, narrow, known)
        and _covers_actions(wide, narrow)
        and _covers_resource(wide, narrow)
        and set(_conditions(wide)) <= set(_conditions(narrow))
    )


def _covers_principal(wide: Policy, narrow: Policy, known: Known) -> bool:
    (kind, name), (other, of) = scope_of_principal(wide), scope_of_principal(narrow)
    if kind == "" or (kind, name) == (other, of):
        return True
    return kind == "Group" and other == "Agent" and name in (known.agents or {}).get(of, ())


def _covers_actions(wide: Policy, narrow: Policy) -> bool:
    everything, some = scope_of_actions(wide.document["action"]), scope_of_actions(narrow.document["action"])
    return everything is None or (some is not None and some <= everything)


def _covers_resource(wide: Policy, narrow: Policy) -> bool:
    scope, other = wide.document["resource"], narrow.document["resource"]
    if scope["op"] == "All" or scope == other:
        return True
    return scope["op"] == "is" and "in" not in scope and scope["entity_type"] == _type_of(narrow)


def _type_of(policy: Policy) -> str | None:
    scope = policy.document["resource"]
    kind = scope.get("entity_type") or (scope.get("entity") or {}).get("type")
    return None if kind is None else str(kind)


def _conditions(policy: Policy) -> Iterable[bytes]:
    return (orjson.dumps(condition, option=orjson.OPT_SORT_KEYS) for condition in conjuncts_of(policy.document))
