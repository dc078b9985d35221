"""Replays the audit log against a set of policies. Pure: entries and directory are parameters.

An entry has names, sizes, times and what was found, and no content. So policies that look at more cannot be judged by
it: where one of them could have changed the decision, it is not known, and nothing is guessed. Groups and attributes of
agents, and where providers are, are taken as they are today.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

import cedarpy
import orjson

from mastio.cedar.schema import ACTIONS, AGENT, EXPLICIT, FACTS, find_needs, is_of_content
from mastio.cedar.zones import is_of_zone
from mastio.exchange.destination import is_local
from mastio.exchange.inspection import Finding
from mastio.exchange.values import Action, NeedsApproval, Principal
from mastio_policy.deciding import concerns, conclude, counts, make_stage, scope_of_principal
from mastio_policy.facts import Subject, readings_of, write_context
from mastio_policy.rules import CedarRequest, Policy, PolicySet, encode_agent, relax

Effect = Literal["allow", "deny", "hold", "unknown"]
Change = Literal["same", "newly_denied", "newly_allowed", "newly_held", "unknown"]

OF_PROVIDER = frozenset({"destination.kind", "destination.host", "destination.local"})
ALWAYS = frozenset(
    {"request.bytes", "destination.provider", "credential.kind", "time.unix", "time.hour", "time.weekday"}
)
OF_CALL = frozenset({"request.method", "request.path"})
OF_TOOL = frozenset({"tools.count", "tools.names"})
OF_CONTENT = frozenset(filter(is_of_content, FACTS))
WHO = "principal"
"""Stands for the groups and attributes of an agent that is not enrolled (any more)."""

MAX_EXAMPLES = 10


class Case(NamedTuple):
    """An action of an agent as its entry has it. `known`: which facts."""

    seq: int
    effect: Effect
    subject: Subject
    known: frozenset[str]


@dataclass(slots=True)
class Tally:
    """The result, with examples by the index of their entries. `blind`: reasons why policies could not be judged."""

    entries: int = 0
    cases: int = 0
    changes: Counter[Change] = field(default_factory=Counter)
    examples: dict[Change, list[int]] = field(default_factory=dict)
    decided: Counter[str] = field(default_factory=Counter)
    blind: dict[str, set[str]] = field(default_factory=dict)
    blinded: Counter[str] = field(default_factory=Counter)


class Directory(NamedTuple):
    """The agents and providers of today. None: not known."""

    agents: Mapping[str, tuple[Collection[str], Mapping[str, Any]]] | None = None
    """Groups and attributes by name."""
    destinations: Mapping[str, Mapping[str, Any]] | None = None
    """The facts of providers by name."""


def read_case(entry: Mapping[str, Any], directory: Directory) -> Case | None:
    """None for what is no decision about an action of an agent."""
    kind, name, request = str(entry.get("kind")), entry.get("agent"), entry.get("request") or {}
    decision = entry.get("decision")
    if entry.get("phase") not in ("intent", "event") or kind not in ACTIONS or not name or not decision:
        return None
    rule = decision["rule"]
    if rule == "inspection" or "/" in rule:  # an inspector or a limit refused it, whatever policies said
        return None
    resource, target = ACTIONS[kind], entry.get("target") or "self"
    attributes: dict[str, Any] = {"request.bytes": request.get("bytes", 0)}
    known = set(ALWAYS)
    if "stream" in request:
        attributes["request.stream"] = request["stream"]
        known.add("request.stream")
    provider = target.partition("/")[0]
    if directory.destinations is not None and provider in directory.destinations:
        attributes |= directory.destinations[provider]
        known |= OF_PROVIDER
    if resource == "Connection":
        attributes |= read_call(target, request)
        known |= OF_CALL
    if resource != "Model":
        known |= OF_TOOL | OF_PROVIDER
    acts = request.get("provider_side") or {}
    attributes |= read_acts(acts)
    if "more" not in acts:
        known |= EXPLICIT
    if entry["phase"] == "intent" or "findings" in request:
        known |= OF_CONTENT
    found = tuple(
        Finding(one["label"], one["confidence"], one.get("times", 1), one.get("kind", ""), one.get("bytes", 0))
        for one in request.get("findings", ())
    )
    agent = (directory.agents or {}).get(name)
    groups, own = agent if agent is not None else ((), {})
    if agent is not None:
        known.add(WHO)
    at = read_time(entry["time"])
    principal = Principal(
        name, frozenset({"agent"}), frozenset(groups), own, credential=entry.get("credential") or {}, version=1
    )
    action = Action(kind, resource, target, attributes)
    return Case(entry["seq"], decision["effect"], Subject(principal, action, lambda: at, found), frozenset(known))


def read_call(connection: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a call to a connection."""
    host = str(request.get("host", ""))
    path = str(request.get("path", "")).removeprefix(f"/v1/egress/{connection}")
    return {
        "request.method": request.get("method", ""),
        "request.path": path,
        "destination.host": host,
        "destination.kind": "http",
        "destination.local": bool(host) and is_local(host),
    }


def read_acts(told: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The facts of what the provider was to do, of which an entry has what there was."""
    facts = {path: frozenset(told.get(path.rpartition(".")[2], ())) for path in EXPLICIT}
    return {**facts, "needs": find_needs(facts)}


def read_time(text: str) -> float:
    """The time of an entry, Unix seconds."""
    return datetime.fromisoformat(text).timestamp()


class Replay:
    """One set of policies over many entries."""

    def __init__(self, policies: Sequence[Policy], directory: Directory) -> None:
        self._policies = policies
        self._directory = directory
        self.tally = Tally()

    def look(self, entry: Mapping[str, Any]) -> None:
        self.tally.entries += 1
        case = read_case(entry, self._directory)
        if case is None:
            return
        self.tally.cases += 1
        effect = self.judge(case)
        change = compare(case.effect, effect)
        self.tally.changes[change] += 1
        examples = self.tally.examples.setdefault(change, [])
        if change != "same" and len(examples) < MAX_EXAMPLES:
            examples.append(case.seq)

    def judge(self, case: Case) -> Effect:
        """The effect that the policies would have had; `unknown` if it depends on facts that the entry does not
        have."""
        subject = case.subject
        principal, action = subject.principal, subject.action
        needs: frozenset[str] = action.attributes.get("needs", frozenset())
        plain, loose = [], list[tuple[Policy, Mapping[str, Any]]]()
        everybody = replace_groups(principal, self._policies) if WHO not in case.known else principal
        for policy in self._policies:
            if not concerns(policy, everybody, action.kind, action.target_type) or not counts(policy, needs):
                continue
            missing = missing_facts(policy, case.known)
            if missing:
                loose.append((policy, loosen(policy, missing)))
            else:
                plain.append(policy)
        stage = make_stage(plain)
        context = orjson.dumps(write_context(readings_of(plain), subject)).decode()
        question = CedarRequest(
            ("Agent", principal.name), ("Action", action.kind), (action.target_type, action.target), context
        )
        entities = encode_agent(principal)
        decision = conclude(stage, question, entities)
        permits, forbids = self._could(loose, question, entities, case)
        self.tally.decided[decision.rule] += 1
        if isinstance(decision, NeedsApproval):
            return "unknown" if any(policy.hold is None for policy in forbids) else "hold"
        if decision.effect == "allow":
            return "unknown" if forbids else "allow"
        if decision.rule == "default" and permits:
            return "unknown"
        return "deny"

    def _could(
        self,
        loose: Sequence[tuple[Policy, Mapping[str, Any]]],
        question: CedarRequest,
        entities: cedarpy.Entities,
        case: Case,
    ) -> tuple[list[Policy], list[Policy]]:
        """The policies that cannot be judged: those that could permit, and those that could forbid."""
        found: dict[str, list[Policy]] = {"permit": [], "forbid": []}
        for policy, document in loose:
            readings = [reading for reading in readings_of([policy]) if is_known(reading.path, case.known)]
            context = orjson.dumps(write_context(readings, case.subject)).decode()
            verdict = PolicySet([policy], [document]).judge(question._replace(context=context), entities)
            if verdict.deciding or verdict.broken:
                found[policy.effect].append(policy)
                self.tally.blinded[policy.name] += 1
                self.tally.blind.setdefault(policy.name, set()).update(missing_facts(policy, case.known))
        return found["permit"], found["forbid"]


def missing_facts(policy: Policy, known: Collection[str]) -> frozenset[str]:
    """The facts that a policy reads and an entry does not have."""
    looked = {reading.path for reading in readings_of([policy])}
    missing = {path for path in looked if not is_known(path, known)}
    own = any(look.variable == WHO and look.path[:1] not in {(name,) for name in AGENT} for look in policy.looks)
    if WHO not in known and (own or scope_of_principal(policy)[0] == "Group"):
        missing.add(WHO)
    return frozenset(missing)


def is_known(path: str, known: Collection[str]) -> bool:
    """True if an entry has a fact. Its time gives the local time of every zone."""
    return path in known or is_of_zone(path)


def loosen(policy: Policy, missing: Collection[str]) -> Mapping[str, Any]:
    """The policy where it could apply, whatever the missing facts are."""
    if WHO in missing:
        return {**policy.document, "principal": {"op": "All"}, "conditions": []}
    relaxed = relax(policy, missing)
    return policy.document if relaxed is None else relaxed


def replace_groups(principal: Principal, policies: Sequence[Policy]) -> Principal:
    """As if in every group, for who may have been in any."""
    groups = {name for kind, name in map(scope_of_principal, policies) if kind == "Group"}
    return Principal(principal.name, principal.roles, frozenset(groups), version=principal.version)


def compare(before: Effect, after: Effect) -> Change:
    if after == "unknown" or before == after:
        return "unknown" if after == "unknown" else "same"
    return {"allow": "newly_allowed", "deny": "newly_denied", "hold": "newly_held"}[after]  # type: ignore[return-value]
