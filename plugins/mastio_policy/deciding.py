"""The decision of the policies in force on an action: before its content is inspected, and after. Pure.

Policies are sorted into slices: those that can concern one kind of action on one type of resource by one agent, told
from their scopes alone. So a decision costs what its slice costs, however many policies concern others, and only what
the slice looks at is read.

A slice that looks at content decides twice. The *first* time it is what can be said without: policies that forbid
without a look at content forbid; a policy that would permit depending on content permits for now. The second time, with
content, it is exactly what Cedar says of all of them. So whoever is refused in any case is refused before content is
looked into, and nobody is permitted by less than all policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import cedarpy
import orjson

from mastio.cedar.schema import OF_CONTENT, is_of_content
from mastio.exchange.inspection import Finding
from mastio.exchange.values import Allow, Decision, Deny, NeedsApproval, Principal
from mastio_policy.facts import LONG, NONE, Reading, Subject, readings_of, write_context
from mastio_policy.rules import CedarRequest, Policy, PolicySet, Verdict, add_resource, relax, scope_of_actions

Shares = tuple[object, ...]
"""The values of some facts, reduced to what policies can tell apart."""

REMEMBER_FINDINGS = 1000
NOT_PERMITTED = "No policy permits this action."
NOT_EXPLICIT = (
    "No policy permits what the provider would do on the caller's behalf. A policy that permits it looks at {facts}."
)
BROKEN = "A policy that could forbid this action cannot be evaluated."


class Stage(NamedTuple):
    """The policies for one stage of the decision. `calm`: those without the policies that a human may overrule, if
    there are any."""

    policies: PolicySet
    calm: PolicySet | None
    readings: tuple[Reading, ...]
    resources: bool
    """True if a policy reads attributes of the resource."""


class Slice:
    """The policies that can concern some actions. `shadow`: with those that are observed, where there are such.

    `needs`: facts that a policy has to look at to permit these actions. The others do not permit them.
    """

    __slots__ = (
        "_content",
        "_content_readings",
        "_needs",
        "_plain_readings",
        "first",
        "long",
        "shadow",
        "whole",
    )

    def __init__(self, enforced: Sequence[Policy], observed: Sequence[Policy], needs: frozenset[str] = NONE) -> None:
        self._needs = needs
        enforced = [policy for policy in enforced if counts(policy, needs)]
        observed = [policy for policy in observed if counts(policy, needs)]
        together = [*enforced, *observed]
        self.whole = make_stage(enforced)
        self.shadow = make_stage(together) if observed else None
        looks_at_content = any(relax(policy, OF_CONTENT) is not None for policy in together)
        self.first = _first_stage(enforced) if looks_at_content else None
        readings = (self.shadow or self.whole).readings
        self._plain_readings = tuple(one for one in readings if not is_of_content(one.path))
        self._content_readings = tuple(one for one in readings if is_of_content(one.path))
        self._content: dict[tuple[Finding, ...], Shares] = {}
        self.long = tuple(one.path for one in self._plain_readings if one.path in LONG)
        """The facts that these policies read and that may take long to find."""

    @property
    def is_final(self) -> bool:
        """True if the decision is complete before content is inspected."""
        return self.first is None

    def share(self, subject: Subject) -> Shares:
        """The values, known without content, that the decisions depend on, those of observed policies included."""
        return tuple([share(read(subject)) for _, read, share in self._plain_readings])

    def share_content(self, subject: Subject) -> Shares:
        """The values of the content that the decisions depend on."""
        known = self._content.get(subject.findings)
        if known is None:
            if len(self._content) >= REMEMBER_FINDINGS:
                self._content.clear()
            known = tuple([share(read(subject)) for _, read, share in self._content_readings])
            self._content[subject.findings] = known
        return known

    def decide_first(self, subject: Subject, entities: cedarpy.Entities) -> Decision:
        """The decision without content. Call it only if `is_final` is False."""
        assert self.first is not None
        return self._say(_conclude(self.first, subject, entities))

    def _say(self, decision: Decision) -> Decision:
        """The decision, with the facts that a permit must read added to the message of a refusal without a policy."""
        if not self._needs or not isinstance(decision, Deny) or decision.message != NOT_PERMITTED:
            return decision
        facts = ", ".join(f"context.{path}" for path in sorted(self._needs))
        return replace(decision, message=NOT_EXPLICIT.format(facts=facts))

    def decide(self, subject: Subject, entities: cedarpy.Entities) -> Decision:
        decision = self._say(_conclude(self.whole, subject, entities))
        if self.shadow is None:
            return decision
        observed = _conclude(self.shadow, subject, entities)
        return decision.noting(observed={"effect": observed.effect, "rule": observed.rule})


def counts(policy: Policy, needs: frozenset[str]) -> bool:
    """True if a policy may decide on actions with these needs: a permit must read each of them."""
    return not needs or policy.effect != "permit" or needs <= policy.paths


def make_stage(policies: Sequence[Policy]) -> Stage:
    calm = [policy for policy in policies if policy.hold is None]
    return Stage(
        PolicySet(policies),
        PolicySet(calm) if len(calm) < len(policies) else None,
        readings_of(policies),
        _looks_at_resource(policies),
    )


def _first_stage(policies: Sequence[Policy]) -> Stage:
    """The policies as they count before the content is known: a `permit` without its conditions on content, and of
    what would forbid depending on content nothing."""
    relaxed = [(policy, relax(policy, OF_CONTENT)) for policy in policies]
    kept = [(p, p.document if r is None else r) for p, r in relaxed if r is None or p.effect == "permit"]
    calm = [(p, document) for p, document in kept if p.hold is None]
    readings = tuple(reading for reading in readings_of(policies) if not is_of_content(reading.path))
    return Stage(
        PolicySet([p for p, _ in kept], [document for _, document in kept]),
        PolicySet([p for p, _ in calm], [document for _, document in calm]) if len(calm) < len(kept) else None,
        readings,
        _looks_at_resource(policies),
    )


def _looks_at_resource(policies: Iterable[Policy]) -> bool:
    return any(look.variable == "resource" and look.path for policy in policies for look in policy.looks)


def _conclude(stage: Stage, subject: Subject, entities: cedarpy.Entities) -> Decision:
    action = subject.action
    context = orjson.dumps(write_context(stage.readings, subject)).decode()
    question = CedarRequest(
        ("Agent", subject.principal.name), ("Action", action.kind), (action.target_type, action.target), context
    )
    return conclude(stage, question, entities)


def conclude(stage: Stage, question: CedarRequest, entities: cedarpy.Entities) -> Decision:
    """The decision that follows from the verdict of these policies."""
    if stage.resources:
        entities = add_resource(entities, *question.resource)
    verdict = stage.policies.judge(question, entities)
    if verdict.allowed:
        return Allow(verdict.deciding[0].name)
    if verdict.broken:
        return Deny(verdict.broken[0].name, BROKEN)
    final = [policy for policy in verdict.deciding if policy.hold is None]
    if final:
        return Deny(final[0].name, say_why(final[0]))
    if verdict.deciding and stage.calm is not None and stage.calm.judge(question, entities).allowed:
        return _ask(verdict)
    return Deny("default", NOT_PERMITTED)


def _ask(verdict: Verdict) -> NeedsApproval:
    """The request for approval with the policy that gives the shortest time, as one for all that ask for a human."""
    policy = min(verdict.deciding, key=lambda policy: policy.hold or 0)
    return NeedsApproval(policy.name, say_why(policy), policy.hold or 0)


def say_why(policy: Policy) -> str:
    """The message for the caller: the name of the policy, with its author's reason and advice."""
    reason, advice = policy.annotations.get("reason", ""), policy.annotations.get("advice", "")
    said = f"The policy {policy.name} forbids this action{':' if reason else '.'}"
    return " ".join(part if part[-1] in ".:!?" else f"{part}." for part in (said, reason, advice) if part)


# --- slices ----------------------------------------------------------------------------------------------------------


class Rulebook:
    """The policies in force, and their slices, each made when it is first asked for."""

    def __init__(self, enforced: Sequence[Policy], observed: Sequence[Policy] = ()) -> None:
        """Raises `RulesError` when they do not form a valid set."""
        PolicySet([*enforced, *observed])
        self.enforced = tuple(enforced)
        self.observed = tuple(observed)
        named = [scope_of_principal(policy) for policy in (*enforced, *observed)]
        self._agents = {name for kind, name in named if kind == "Agent"}
        self._groups = frozenset(name for kind, name in named if kind == "Group")
        self._slices: dict[tuple[str, str, str | None, frozenset[str], frozenset[str]], Slice] = {}

    def find(self, principal: Principal, kind: str, target_type: str, needs: frozenset[str] = NONE) -> Slice:
        groups = principal.groups & self._groups
        name = (kind, target_type, principal.name if principal.name in self._agents else None, groups, needs)
        known = self._slices.get(name)
        if known is None:
            if len(self._slices) >= REMEMBER_SLICES:
                self._slices.clear()
            known = self._slices[name] = Slice(
                [policy for policy in self.enforced if concerns(policy, principal, kind, target_type)],
                [policy for policy in self.observed if concerns(policy, principal, kind, target_type)],
                needs,
            )
        return known


REMEMBER_SLICES = 1000


def concerns(policy: Policy, principal: Principal, kind: str, target_type: str) -> bool:
    """True if the policy's scope allows that it applies."""
    document = policy.document
    actions = scope_of_actions(document["action"])
    if actions is not None and kind not in actions:
        return False
    resource = _type_of(document["resource"])
    if resource is not None and resource != target_type:
        return False
    whose, name = scope_of_principal(policy)
    if whose == "Agent":
        return name == principal.name
    return name in principal.groups if whose == "Group" else whose == ""


def scope_of_principal(policy: Policy) -> tuple[str, str]:
    """`("Agent", name)`, `("Group", name)`, or `("", "")` for all; another type: nobody."""
    scope = policy.document["principal"]
    entity = scope.get("entity") or scope.get("in", {}).get("entity")
    if entity is not None:
        kind, name = entity["type"], entity["id"]
        if scope["op"] == "==" and kind != "Agent":
            return "nobody", name
        return kind, name
    return ("", "") if scope["op"] == "All" or scope.get("entity_type") == "Agent" else ("nobody", "")


def _type_of(scope: dict[str, object]) -> str | None:
    """The one type that a scope of resources leaves; None: any."""
    entity = scope.get("entity")
    if isinstance(entity, dict):
        return str(entity["type"])
    return str(scope["entity_type"]) if "entity_type" in scope else None
