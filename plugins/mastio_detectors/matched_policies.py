"""The rules of detectors for one exchange: from the settings, and from policies for its agent, group and model. Pure.

What a policy says of a class counts instead of the settings. Of several policies that speak of one class the strictest
action counts, and of that the lowest thresholds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mastio.exchange.matching import covers_model, covers_name
from mastio.exchange.values import Action, Principal
from mastio_detectors.detector_policy import DefinitionAction, DetectorAction, DetectorRow
from mastio_detectors.judgement import Rule

STRICTNESS: tuple[DetectorAction, ...] = ("off", "flag", "block")
DEFINITIONS: tuple[DefinitionAction, ...] = ("off", "observe", "block")
REMEMBER = 10_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """A rule of one class, with nothing left open."""

    action: DetectorAction
    threshold: int
    block_threshold: int


@dataclass(frozen=True, slots=True)
class Ruling:
    """`definitions`: what is done about definitions of tools. `tools` that are allowed: names with the digest of the
    one definition that is meant, None: of every one. `policies` that had a say."""

    rules: Mapping[str, Rule]
    definitions: DefinitionAction = "observe"
    tools: frozenset[tuple[str, str | None]] = field(default_factory=frozenset)
    policies: tuple[str, ...] = ()

    def allows(self, name: str, sha256: str) -> bool:
        return (name, None) in self.tools or (name, sha256) in self.tools


class DetectorPolicies:
    """The policies in force beside the settings' `rules` and `definitions`."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        definitions: DefinitionAction = "observe",
        policies: Iterable[DetectorRow] = (),
    ) -> None:
        self.plain = Ruling(rules, definitions)
        self._policies = sorted(policies, key=lambda policy: policy.name)
        self._remembered: dict[tuple[object, ...], Ruling] = {}

    def find(self, principal: Principal, action: Action) -> Ruling:
        """For all that may stand for the action: who will answer is not known yet."""
        if not self._policies:
            return self.plain
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
        distinct = {tuple(policy.name for policy in policies): policies for policies in concerned}
        rulings = [self._join(policies) for policies in distinct.values()]
        return rulings[0] if len(rulings) == 1 else join_strictest(rulings)

    def _join(self, policies: list[DetectorRow]) -> Ruling:
        if not policies:
            return self.plain
        rules: dict[str, Rule] = dict(self.plain.rules)
        for kind, settings in self.plain.rules.items():
            said = [policy.classes[kind] for policy in policies if kind in policy.classes]
            if said:
                action = max((rule.action for rule in said), key=STRICTNESS.index)
                strict = [rule for rule in said if rule.action == action]
                rules[kind] = Bounds(
                    action,
                    min(settings.threshold if rule.threshold is None else rule.threshold for rule in strict),
                    min(
                        settings.block_threshold if rule.block_threshold is None else rule.block_threshold
                        for rule in strict
                    ),
                )
        spoken = [policy.definitions for policy in policies if policy.definitions is not None]
        definitions = max(spoken, key=DEFINITIONS.index) if spoken else self.plain.definitions
        tools = frozenset((tool.name, tool.sha256) for policy in policies for tool in policy.tools)
        return Ruling(rules, definitions, tools, tuple(policy.name for policy in policies))


def join_strictest(rulings: Sequence[Ruling]) -> Ruling:
    """Join several rulings into one that is as strict as each of them."""
    rules: dict[str, Rule] = {}
    for kind in rulings[0].rules:
        every = [ruling.rules[kind] for ruling in rulings]
        action = next(known for known in reversed(STRICTNESS) if any(rule.action == known for rule in every))
        strict = [rule for rule in every if rule.action == action]
        rules[kind] = Bounds(
            action, min(rule.threshold for rule in strict), min(rule.block_threshold for rule in strict)
        )
    definitions = max((ruling.definitions for ruling in rulings), key=DEFINITIONS.index)
    tools = frozenset.intersection(*(frozenset(ruling.tools) for ruling in rulings))
    return Ruling(
        rules, definitions, tools, tuple(dict.fromkeys(name for ruling in rulings for name in ruling.policies))
    )


def is_for(policy: DetectorRow, principal: Principal, action: Action, target: Action) -> bool:
    """True if a policy is for this target of the action. An agent is named by its own name or by a group's, as
    `group:<name>`."""
    names = [principal.name, *(f"group:{group}" for group in principal.groups)]
    if policy.agents and not any(covers_name(policy.agents, name) for name in names):
        return False
    if not covers_name(policy.kinds, action.kind):
        return False
    if not policy.models:
        return True
    if action.target_type != "Model":
        return False
    return any(covers_model(glob, target) for glob in policy.models)
