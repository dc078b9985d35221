"""Cedar, as values: named sources become policies, policies a set, and a request becomes a verdict. Pure.

Cedar skips a policy whose evaluation fails. For a `permit` that is fail-closed; a `forbid` that cannot be evaluated
must not be skipped, so here it denies.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cedarpy
import orjson

from mastio.cedar.paths import Look, chain_of, looks_of
from mastio.cedar.schema import ABSENT_WHEN_EMPTY, AGENT, FACTS, HEADERS, expand
from mastio.cedar.source import CedarError, read_cedar
from mastio.exchange.values import Principal

_NAMED = re.compile(r"policy `([0-9]+)`")


class RulesError(ValueError):
    """A source is not one that can be loaded. The text names the policy and the line."""


@dataclass(frozen=True, eq=False, slots=True)
class Policy:
    """One Cedar policy. `name` is that of its source; with `#2` for its second policy, or `#` and what `@id` says.

    `hold`: seconds that a human has to approve what it forbids; None: nobody can.
    """

    name: str
    effect: str
    document: Mapping[str, Any]
    annotations: Mapping[str, str]
    looks: tuple[Look, ...]
    line: int = 1
    hold: int | None = None

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the context that the policy reads."""
        return frozenset(".".join(look.path) for look in self.looks if look.variable == "context")


def parse_rules(sources: Iterable[tuple[str, str]]) -> tuple[Policy, ...]:
    """The policies of `(name, cedar source)` pairs, in their order. Raises `RulesError`."""
    found: dict[str, Policy] = {}
    for name, source in sources:
        try:
            rules = read_cedar(source)
            for number, rule in enumerate(rules, start=1):
                own = rule.annotations.get("id") or ("" if number == 1 else str(number))
                called = f"{name}#{own}" if own else name
                if called in found:
                    raise CedarError(f"Line {rule.line}: Another policy of this source is called {own}.")
                conditions = _ask_whether_empty(rule.policy["conditions"])
                document = {**rule.policy, "action": _expand(rule.policy["action"]), "conditions": conditions}
                looks = tuple(looks_of(rule.policy))
                annotations = rule.annotations
                found[called] = Policy(called, rule.effect, document, annotations, looks, rule.line, rule.hold)
        except CedarError as error:
            raise RulesError(f"The policy {name} is not valid: {error}") from error
    return tuple(found.values())


def _expand(scope: Mapping[str, Any]) -> Mapping[str, Any]:
    """The scope of actions with those in it that a name stands for."""
    named = scope_of_actions(scope)
    if named is None:
        return scope
    entities = [{"type": "Action", "id": name} for name in sorted(expand(named))]
    return {"op": "==", "entity": entities[0]} if len(entities) == 1 else {"op": "in", "entities": entities}


def _ask_whether_empty(expression: Any) -> Any:
    """The expression with `has` of a set that is absent when it is empty put as what it asks."""
    if isinstance(expression, list):
        return [_ask_whether_empty(item) for item in expression]
    if not isinstance(expression, dict) or "Value" in expression:
        return expression
    if "has" in expression:
        chain = chain_of({".": expression["has"]})
        if chain is not None and chain[0] == "context" and ".".join(chain[1]) in ABSENT_WHEN_EMPTY:
            return {"!": {"arg": {"isEmpty": {"arg": {".": expression["has"]}}}}}
    return {operator: _ask_whether_empty(parts) for operator, parts in expression.items()}


def scope_of_actions(scope: Mapping[str, Any]) -> frozenset[str] | None:
    """The actions that a scope names; None: all."""
    if scope["op"] == "All":
        return None
    entities = scope["entities"] if "entities" in scope else [scope["entity"]]
    return frozenset(entity["id"] for entity in entities)


# --- sets and verdicts -----------------------------------------------------------------------------------------------


class CedarRequest(NamedTuple):
    """The input of a Cedar evaluation: entity ids as `(type, id)`, the context as JSON text."""

    principal: tuple[str, str]
    action: tuple[str, str]
    resource: tuple[str, str]
    context: str = "{}"


class Verdict(NamedTuple):
    """The result of a policy set. `deciding`: the policies that permit or forbid; none: nothing permits. `broken`:
    those that could forbid and cannot be evaluated, so that it is a denial whatever the others say."""

    allowed: bool
    deciding: tuple[Policy, ...]
    broken: tuple[Policy, ...] = ()


class PolicySet:
    """Policies as one parsed set."""

    __slots__ = ("_handle", "policies")

    def __init__(self, policies: Sequence[Policy], documents: Sequence[Mapping[str, Any]] | None = None) -> None:
        """`documents`: what stands for the policies, in their order. Raises `RulesError`."""
        self.policies = tuple(policies)
        written = documents or [policy.document for policy in policies]
        static = {str(number): document for number, document in enumerate(written)}
        text = orjson.dumps({"staticPolicies": static, "templates": {}, "templateLinks": []}).decode()
        try:
            self._handle = cedarpy.PolicySet.from_json_str(text)
        except ValueError as error:
            raise RulesError("The policies do not form a valid set.") from error

    def judge(self, question: CedarRequest, entities: cedarpy.Entities) -> Verdict:
        (principal, agent), (kind, action), (resource, target) = question.principal, question.action, question.resource
        result = cedarpy.is_authorized(
            {
                "principal": {"type": principal, "id": agent},
                "action": {"type": kind, "id": action},
                "resource": {"type": resource, "id": target},
                "context": question.context,
            },
            self._handle,
            entities,
        )
        diagnostics = result.diagnostics
        deciding = tuple(self.policies[number] for number in sorted(map(int, diagnostics.reasons)))
        errors = diagnostics.errors
        if errors:
            numbers = {int(number) for text in errors for number in _NAMED.findall(text)}
            broken = tuple(policy for n in sorted(numbers) if (policy := self.policies[n]).effect == "forbid")
            if broken:
                return Verdict(False, deciding if not result.allowed else (), broken)
        return Verdict(result.allowed, deciding)


def relax(policy: Policy, unknown: Collection[str]) -> Mapping[str, Any] | None:
    """The policy without the conditions that look at `unknown` groups of the context: it applies wherever the policy
    could, whatever is found out of them. None: the policy looks at none of them."""
    if not any(touches(look, unknown) for look in policy.looks):
        return None
    kept: list[dict[str, Any]] = []
    dropped = False
    for condition in conjuncts_of(policy.document):
        looks = list(looks_of({"conditions": [condition]}))
        if any(touches(look, unknown) for look in looks):
            dropped = True
        elif not dropped or not any(map(_may_be_absent, looks)):  # what was dropped may have asked whether it is there
            kept.append(condition)
    return {**policy.document, "conditions": kept}


def conjuncts_of(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The conditions, each taken apart into those that must all hold, in their order."""
    for condition in document["conditions"]:
        kind, bodies = condition["kind"], [condition["body"]]
        both = "&&" if kind == "when" else "||"
        while bodies:
            body = bodies.pop()
            if isinstance(body, dict) and both in body:
                bodies += [body[both]["right"], body[both]["left"]]
            else:
                yield {"kind": kind, "body": body}


def _may_be_absent(look: Look) -> bool:
    if look.variable == "principal":
        return bool(look.path) and look.path[0] not in AGENT
    if look.path[:1] == (HEADERS,):
        return len(look.path) > 1
    return any(fact.optional for path, fact in FACTS.items() if path == ".".join(look.path))


def touches(look: Look, unknown: Collection[str]) -> bool:
    """True if it reads one of these groups or facts of the context. Reading the whole context counts."""
    if look.variable != "context":
        return False
    path = ".".join(look.path)
    return not path or any(f"{path}.".startswith(f"{name}.") or name.startswith(f"{path}.") for name in unknown)


# --- entities --------------------------------------------------------------------------------------------------------


def encode_agent(principal: Principal) -> cedarpy.Entities:
    """The principal as an Agent in its groups, with its attributes. Raises `ValueError` for what Cedar cannot hold."""
    entity = {
        "uid": {"type": "Agent", "id": principal.name},
        "attrs": {"name": principal.name, **principal.attributes},
        "parents": [{"type": "Group", "id": group} for group in sorted(principal.groups)],
    }
    return cedarpy.Entities.from_json_str(orjson.dumps([entity]).decode())


def describe_resource(kind: str, target: str) -> dict[str, str]:
    """The attributes of a resource, which its name alone tells."""
    first, _, rest = target.partition("/")
    match kind:
        case "Model":
            return {"provider": first, "name": rest}
        case "Tool":
            return {"server": first, "name": rest}
        case "Connection":
            return {"name": target}
        case "Host":
            return {"name": target.lower()}
    return {}


def add_resource(entities: cedarpy.Entities, kind: str, target: str) -> cedarpy.Entities:
    """The entities with the resource among them."""
    resource = {"uid": {"type": kind, "id": target}, "attrs": describe_resource(kind, target), "parents": []}
    return entities.with_added_json_str(orjson.dumps([resource]).decode())
