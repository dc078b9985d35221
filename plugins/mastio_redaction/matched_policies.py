"""The redaction policies that apply to an exchange, and their combined rule for a type. Pure.

What a policy says of a type by its name counts more than what one says of all (`*`). Of several that say it in the same
way the strictest counts: block, redact, flag, off. Of what no policy speaks of it is only noted that it was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mastio.exchange.matching import covers_model, covers_name
from mastio.exchange.values import Action, Principal
from mastio_redaction.redaction_policy import RedactionRow, Strategy, Treatment

STRICTNESS: tuple[Treatment, ...] = ("off", "flag", "redact", "block")
ALL = "*"
DIRECTIONS: tuple[Literal["request", "response"], ...] = ("request", "response")
REMEMBER = 50_000


@dataclass(frozen=True, slots=True)
class Rule:
    """The treatment of a value, and the policy that demands it; none if no policy names the type."""

    action: Treatment
    strategy: Strategy = "tag"
    restore: bool = False
    policy: str | None = None


UNSPOKEN = Rule("flag")


@dataclass(frozen=True, slots=True)
class Side:
    """The rules for one direction. `never`: values that are not meant. `named` are those of a type's own.

    `only`: the types that are looked for, so that none that nobody wants hides one that somebody does; None: all.
    """

    named: Mapping[str, Rule] = field(default_factory=dict)
    others: Rule = UNSPOKEN
    never: frozenset[str] = frozenset()
    only: frozenset[str] | None = None

    def rule(self, kind: str) -> Rule:
        return self.named.get(kind, self.others)

    is_off: bool = field(init=False)
    changes: bool = field(init=False)
    """True if anything may be redacted or refused."""

    def __post_init__(self) -> None:
        actions = {rule.action for rule in (self.others, *self.named.values())}
        object.__setattr__(self, "is_off", actions == {"off"})
        object.__setattr__(self, "changes", not actions.isdisjoint(("redact", "block")))


@dataclass(frozen=True, slots=True)
class Ruling:
    """The rules of an exchange. `observed`: the rules of policies that only observe its message."""

    request: Side
    response: Side
    observed: Side | None = None


class RedactionPolicies:
    """The policies in force. `unspoken`: what is done with what none of them speaks of; `kinds`: all there are;
    `defaults`: what is done in requests with types that no policy speaks of.
    """

    def __init__(
        self,
        policies: Iterable[RedactionRow] = (),
        unspoken: Rule = UNSPOKEN,
        kinds: Iterable[str] = (),
        defaults: Mapping[str, Rule] | None = None,
    ) -> None:
        self._kinds = frozenset(kinds)
        self._defaults = defaults or {}
        self._policies = sorted(policies, key=lambda policy: policy.name)
        self._unspoken = unspoken
        self._remembered: dict[tuple[str, int, str, tuple[tuple[str, str | None], ...]], Ruling] = {}

    def find(self, principal: Principal, action: Action) -> Ruling:
        """For all that may stand for the action: who will answer is not known yet."""
        targets = ((action.target, action.alias), *((other.target, other.alias) for other in action.alternatives))
        key = (principal.name, principal.version, action.kind, targets)
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= REMEMBER:
                self._remembered.clear()
            found = self._remembered[key] = self._look(principal, action)
        return found

    def _look(self, principal: Principal, action: Action) -> Ruling:
        """The strictest of what holds for each target: a policy for one of them does not relax it for the others."""
        targets = (action, *action.alternatives)
        concerned = ([p for p in self._policies if is_for(p, principal, action, one)] for one in targets)
        distinct = list({tuple(policy.name for policy in policies): policies for policies in concerned}.values())
        enforced = [[policy for policy in policies if policy.mode == "enforce"] for policies in distinct]
        request, response = (self._bound(self._join(enforced, side)) for side in DIRECTIONS)
        if not any(policy.mode == "observe" for policies in distinct for policy in policies):
            return Ruling(request, response)
        # Both sides of the request look at what is found in one pass.
        return Ruling(replace(request, only=None), response, self._join(distinct, "request"))

    def _join(self, groups: Sequence[Iterable[RedactionRow]], direction: Literal["request", "response"]) -> Side:
        sides = [join(policies, direction, self._unspoken, self._defaults) for policies in groups]
        return sides[0] if len(sides) == 1 else join_strictest(sides)

    def _bound(self, side: Side) -> Side:
        only = frozenset(kind for kind in self._kinds if side.rule(kind).action != "off")
        return side if only == self._kinds else replace(side, only=only)


def join_strictest(sides: Sequence[Side]) -> Side:
    """The rules that are as strict as each of several sides."""
    kinds = {kind for side in sides for kind in side.named}
    named = {kind: _strictest(side.rule(kind) for side in sides) for kind in kinds}
    never = frozenset.intersection(*(side.never for side in sides))
    return Side(named, _strictest(side.others for side in sides), never)


def _strictest(rules: Iterable[Rule]) -> Rule:
    return max(rules, key=lambda rule: STRICTNESS.index(rule.action))


def is_for(policy: RedactionRow, principal: Principal, action: Action, target: Action) -> bool:
    """True if a policy applies to this target of the action. An agent is named by its own name or by a group's, as
    `group:<name>`.
    """
    if policy.agents and not any(covers_name(policy.agents, name) for name in names_of(principal)):
        return False
    if not covers_name(policy.kinds, action.kind):
        return False
    if not policy.models:
        return True
    if action.target_type != "Model":
        return False
    return any(covers_model(glob, target) for glob in policy.models)


def names_of(principal: Principal) -> list[str]:
    return [principal.name, *(f"group:{group}" for group in principal.groups)]


def join(
    policies: Iterable[RedactionRow],
    direction: Literal["request", "response"],
    unspoken: Rule,
    defaults: Mapping[str, Rule] | None = None,
) -> Side:
    """Join policies, in the order of their names, into the rules for one direction. In requests the `defaults` hold for
    types that no policy speaks of, by name or as all.
    """
    said: dict[str, Rule] = {}
    never: set[str] = set()
    for policy in policies:
        if policy.direction not in (direction, "both"):
            continue
        never.update(value.casefold() for value in policy.never)
        for kind, rule in policy.types.items():
            own = Rule(rule.action, rule.strategy, policy.restore, policy.name)
            if kind not in said or STRICTNESS.index(own.action) > STRICTNESS.index(said[kind].action):
                said[kind] = own
    others = said.pop(ALL, None)
    if others is not None or direction == "response":
        return Side(said, others or unspoken, frozenset(never))
    return Side({**(defaults or {}), **said}, unspoken, frozenset(never))
