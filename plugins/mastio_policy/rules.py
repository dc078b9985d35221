"""Cedar, as values: named sources become a parsed set, and a request becomes a decision. Pure.

Cedar skips a policy whose evaluation fails. For a `permit` that is fail-closed; a `forbid` that cannot be evaluated
must not be skipped, so here it denies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cedarpy
import orjson

from mastio.exchange import Action, Allow, Decision, Deny, Principal

_NAMED = re.compile(r"policy `([^`]*)`")

NOT_PERMITTED = "No policy permits this action."


class RulesError(ValueError):
    """A source is not valid Cedar. The text names the policy."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A parsed policy set. Policy ids are the names they were given, `name#2` for the second rule of one source."""

    policies: cedarpy.PolicySet
    forbids: frozenset[str]


def parse_rules(sources: Iterable[tuple[str, str]]) -> Rules:
    """Parse `(name, cedar source)` pairs. Raises `RulesError`."""
    named: dict[str, Any] = {}
    for name, source in sources:
        try:
            parsed = orjson.loads(cedarpy.policies_to_json_str(source))
        except ValueError as error:
            raise RulesError(f"The policy {name} is not valid Cedar.") from error
        if parsed["templates"]:
            raise RulesError(f"The policy {name} has a template, which nothing links.")
        for number, policy in enumerate(parsed["staticPolicies"].values(), start=1):
            named[name if number == 1 else f"{name}#{number}"] = policy
    document = {"staticPolicies": named, "templates": {}, "templateLinks": []}
    try:
        policies = cedarpy.PolicySet.from_json_str(orjson.dumps(document).decode())
    except ValueError as error:
        raise RulesError("The policies do not form a valid set.") from error
    return Rules(policies, frozenset(name for name, policy in named.items() if policy["effect"] == "forbid"))


def encode_entities(principal: Principal) -> cedarpy.Entities:
    """The principal as an Agent in its groups, with its attributes. Raises `ValueError` for what Cedar cannot hold."""
    entity = {
        "uid": {"type": "Agent", "id": principal.name},
        "attrs": {"name": principal.name, **principal.attributes},
        "parents": [{"type": "Group", "id": group} for group in sorted(principal.groups)],
    }
    return cedarpy.Entities.from_json_str(orjson.dumps([entity]).decode())


def evaluate(
    rules: Rules, principal: Principal, action: Action, entities: cedarpy.Entities, context: Mapping[str, Any]
) -> Decision:
    """Allow, naming the policy that permitted, or Deny, naming the one that forbade. No permit is a Deny."""
    result = cedarpy.is_authorized(
        {
            "principal": {"type": "Agent", "id": principal.name},
            "action": {"type": "Action", "id": action.kind},
            "resource": {"type": action.target_type, "id": action.target},
            "context": dict(context),
        },
        rules.policies,
        entities,
    )
    for text in result.diagnostics.errors:
        broken = rules.forbids & set(_NAMED.findall(text))
        if broken:
            return Deny(min(broken), "A policy that could forbid this action cannot be evaluated.")
    reasons = sorted(result.diagnostics.reasons)
    if result.allowed:
        return Allow(reasons[0])
    if reasons:
        return Deny(reasons[0], f"The policy {reasons[0]} forbids this action.")
    return Deny("default", NOT_PERMITTED)
