"""Which redaction policies are for an exchange, and what they say together of a type. Pure.

What a policy says of a type by its name counts more than what one says of all (`*`). Of several that say it in the same
way the strictest counts: block, redact, flag, off. Of what no policy speaks of it is only noted that it was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from mastio.exchange import Action, Principal
from mastio.matching import covers_model, covers_name
from mastio.store.base import RedactionRow, Strategy, Treatment

STRICTNESS: tuple[Treatment, ...] = ("off", "flag", "redact", "block")
ALL = "*"
DIRECTIONS: tuple[Literal["request", "response"], ...] = ("request", "response")
REMEMBER = 50_000


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done with a value, and by which policy; none where no policy speaks of it."""

    action: Treatment
    strategy: Strategy = "tag"
    restore: bool = False
    policy: str | None = None


UNSPOKEN = Rule("flag")


@dataclass(frozen=True, slots=True)
class Side:
    """What holds in one direction. `never`: values that are not meant. `named` are those of a type's own.

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
    """Whether anything may be taken out, or refused."""

    def __post_init__(self) -> None:
        actions = {rule.action for rule in (self.others, *self.named.values())}
        object.__setattr__(self, "is_off", actions == {"off"})
        object.__setattr__(self, "changes", not actions.isdisjoint(("redact", "block")))


@dataclass(frozen=True, slots=True)
class Ruling:
    """What holds for an exchange. `observed`: what policies that only observe would do with its message."""

    request: Side
    response: Side
    observed: Side | None = None


class Rulings:
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
        concerned = [policy for policy in self._policies if is_for(policy, principal, action)]
        enforced = [policy for policy in concerned if policy.mode == "enforce"]
        observed = [policy for policy in concerned if policy.mode == "observe"]
        request, response = (self._bound(join(enforced, side, self._unspoken, self._defaults)) for side in DIRECTIONS)
        would = join([*enforced, *observed], "request", self._unspoken, self._defaults) if observed else None
        if would is not None:  # both look at what is found in one pass
            request = replace(request, only=None)
        return Ruling(request, response, would)

    def _bound(self, side: Side) -> Side:
        only = frozenset(kind for kind in self._kinds if side.rule(kind).action != "off")
        return side if only == self._kinds else replace(side, only=only)


def is_for(policy: RedactionRow, principal: Principal, action: Action) -> bool:
    """An agent is named by its own name or by a group's, as `group:<name>`."""
    if policy.agents and not any(covers_name(policy.agents, name) for name in names_of(principal)):
        return False
    if not covers_name(policy.kinds, action.kind):
        return False
    if not policy.models:
        return True
    if action.target_type != "Model":
        return False
    return any(covers_model(glob, one) for glob in policy.models for one in (action, *action.alternatives))


def names_of(principal: Principal) -> list[str]:
    return [principal.name, *(f"group:{group}" for group in principal.groups)]


def join(
    policies: Iterable[RedactionRow],
    direction: Literal["request", "response"],
    unspoken: Rule,
    defaults: Mapping[str, Rule] | None = None,
) -> Side:
    """What policies, in the order of their names, say together in one direction. In requests the `defaults` hold for
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
