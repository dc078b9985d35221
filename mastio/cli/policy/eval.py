"""`mastio policy eval`: what would be said to an action, and which policies say so."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from mastio.cedar.schema import ACTIONS, FACTS, HEADERS, ZONE_MEMBERS, ZONES, find_needs
from mastio.cedar.zones import find_zone, read_local, zones_of
from mastio.cli.policy.sources import add_place, names_appliance, read_agents, read_rows
from mastio.exchange.errors import ConfigurationError
from mastio.exchange.values import Principal
from mastio.plugin.administer import connect, plain
from mastio_policy.deciding import Rulebook, conclude
from mastio_policy.facts import encode
from mastio_policy.plugin import read_book
from mastio_policy.rules import CedarRequest, Policy, PolicySet, RulesError, add_resource, encode_agent

NEUTRAL: Mapping[str, Any] = {"Bool": False, "Long": 0, "String": "", "Set<String>": [], "ipaddr": "0.0.0.0"}  # noqa: S104
"""The values that replace facts that are not given."""


def add_arguments(verbs: Any) -> None:
    parser = verbs.add_parser("eval", help="say what would be decided, and by which policies")
    add_place(parser)
    parser.add_argument("--agent", required=True, metavar="NAME", help="who acts")
    parser.add_argument("--group", action="append", default=[], metavar="NAME", help="a group of the agent; repeatable")
    parser.add_argument("--attributes", default="{}", metavar="JSON", help="the agent's own attributes")
    parser.add_argument("--action", required=True, choices=ACTIONS, metavar="ACTION", help="such as llm.chat")
    parser.add_argument("--resource", metavar="NAME", help="what it is done to, such as openai/gpt-5 (default: self)")
    parser.add_argument(
        "--context", default="{}", metavar="JSON",
        help='facts by path or nested, or @FILE: {"request.bytes": 10, "tools": {"names": ["a"]}}; others are empty',
    )  # fmt: skip
    parser.set_defaults(local=run)


def run(args: argparse.Namespace) -> int:
    """Status 1 where it is not allowed."""
    try:
        book = read_book(read_rows(args))
    except RulesError as error:
        raise ConfigurationError(str(error), "See mastio policy check.") from error
    principal = read_principal(args)
    kind = ACTIONS[args.action]
    facts = read_facts(args.context)
    zones = zones_of(look for policy in (*book.enforced, *book.observed) for look in policy.looks)
    context = orjson.dumps(write_facts(facts, zones)).decode()
    question = CedarRequest(("Agent", args.agent), ("Action", args.action), (kind, args.resource or "self"), context)
    said = explain(book, principal, question, find_needs(facts))
    print(json.dumps(said) if args.json else "\n".join(plain(line) for line in describe(said)))
    return 0 if said["effect"] == "allow" else 1


def read_principal(args: argparse.Namespace) -> Principal:
    """With the groups and attributes that the appliance knows, where none are given."""
    attributes = _parse(args.attributes, "--attributes")
    groups = frozenset(args.group)
    if not groups and not attributes and (names_appliance(args) or not args.policies):
        with connect(args) as client:
            agent = read_agents(client).get(args.agent)
        if agent is not None:
            groups, attributes = frozenset(agent["groups"]), agent["attributes"]
    return Principal(args.agent, frozenset({"agent"}), groups, attributes)


def read_facts(text: str) -> dict[str, Any]:
    """The facts that were given, by path. Raises `ConfigurationError`."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"The file {text[1:]} cannot be read.", "Give JSON after --context.") from error
    return dict(_flatten(_parse(text, "--context"), ""))


def _parse(text: str, what: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"What is given to {what} is not JSON.", "Give one JSON object.") from error
    if not isinstance(document, dict):
        raise ConfigurationError(f"What is given to {what} is not a JSON object.", "Give one JSON object.")
    return document


def _flatten(document: Mapping[str, Any], prefix: str) -> Sequence[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in document.items():
        path = f"{prefix}{name}"
        if path in FACTS or (path in (HEADERS, ZONES) and isinstance(value, dict)):
            found.append((path, value))
        elif isinstance(value, dict) and any(known.startswith(f"{path}.") for known in FACTS):
            found += _flatten(value, f"{path}.")
        else:
            raise ConfigurationError(f"There is no fact called {path}.", "See mastio policy schema.")
    return found


def write_facts(given: Mapping[str, Any], zones: Collection[str] = ()) -> dict[str, Any]:
    """The whole context: what is given, and nothing of the rest. The local time of `zones` is that of `time.unix`."""
    context: dict[str, Any] = {}
    for path, fact in FACTS.items():
        if fact.optional and path not in given:
            continue
        *groups, name = path.split(".")
        place = context
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = encode(fact.type, given.get(path, NEUTRAL[fact.type]))
    context[HEADERS] = given.get(HEADERS, {})
    if zones:
        context["time"]["zone"] = {zone: _local_time(zone, given) for zone in sorted(zones)}
    return context


def _local_time(zone: str, given: Mapping[str, Any]) -> dict[str, Any]:
    unix, known = given.get("time.unix"), find_zone(zone)
    found = {member: 0 if unix is None else read_local(known, member, unix) for member in ZONE_MEMBERS}
    found.update(given.get(ZONES, {}).get(zone, {}))
    return found


def explain(
    book: Rulebook, principal: Principal, question: CedarRequest, needs: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The decision, what the observed policies would make of it, and what each policy that concerns it says. A permit
    that does not look at each of `needs` does not concern it."""
    found = book.find(principal, question.action[1], question.resource[0], needs)
    try:
        entities = encode_agent(principal)
        decision = conclude(found.whole, question, entities)
        said: dict[str, Any] = {"effect": decision.effect, "rule": decision.rule}
        if found.shadow is not None:
            observed = conclude(found.shadow, question, entities)
            said["observed"] = {"effect": observed.effect, "rule": observed.rule}
        policies = (found.shadow or found.whole).policies.policies
        entities = add_resource(entities, *question.resource)
        said["policies"] = [
            {"policy": one.name, "effect": one.effect, "says": _say(one, question, entities)} for one in policies
        ]
    except ValueError as error:
        raise ConfigurationError("The attributes or the context cannot be expressed in Cedar.", str(error)) from error
    return said


def _say(policy: Policy, question: CedarRequest, entities: Any) -> str:
    verdict = PolicySet([policy]).judge(question, entities)
    if verdict.broken:
        return "cannot be evaluated"
    return "applies" if verdict.deciding else "does not apply"


def describe(said: Mapping[str, Any]) -> list[str]:
    lines = [f"{said['effect']} ({said['rule']})"]
    if "observed" in said:
        lines.append(f"with the observed policies: {said['observed']['effect']} ({said['observed']['rule']})")
    return [*lines, *(f"  {one['policy']}: {one['effect']}, {one['says']}" for one in said["policies"])]
