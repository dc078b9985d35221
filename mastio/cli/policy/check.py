"""`mastio policy check`: are the policies valid, and is anything odd about them?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from mastio.cli.policy.sources import add_place, names_appliance, read_agents, read_providers, read_rows
from mastio.plugin.administer import connect, plain
from mastio_policy.checking import Known, check
from mastio_policy.collection import PolicyRow
from mastio_policy.rules import Policy, RulesError, parse_rules


def add_arguments(verbs: Any) -> None:
    parser = verbs.add_parser(
        "check", help="find invalid, unused, shadowed and contradicting policies, and names of what there is not"
    )
    add_place(parser)
    parser.set_defaults(local=run)


def run(args: argparse.Namespace) -> int:
    """Status 1 where something was found."""
    found = read_rows(args)
    rows = [row for row in found if row.enabled]
    policies, invalid = parse_each(rows)
    off = [{"oddity": "unused", "policy": row.name, "text": "It is turned off."} for row in found if not row.enabled]
    remarks = [*invalid, *off, *(remark._asdict() for remark in check(policies, read_known(args, rows)))]
    if args.json:
        print(json.dumps({"policies": len(policies), "remarks": remarks}))
    else:
        for remark in remarks:
            print(plain(f"{remark['policy']}: {remark['oddity']}: {remark['text']}"))
        print(f"{len(policies)} policies, {len(remarks)} remarks")
    return 1 if remarks else 0


def parse_each(rows: Sequence[PolicyRow]) -> tuple[list[Policy], list[dict[str, str]]]:
    """Those that are valid, and what is wrong with the others."""
    policies, invalid = list[Policy](), list[dict[str, str]]()
    for row in rows:
        try:
            policies += parse_rules([(row.name, row.cedar)])
        except RulesError as error:
            invalid.append({"oddity": "invalid", "policy": row.name, "text": str(error)})
    return policies, invalid


def read_known(args: argparse.Namespace, rows: Sequence[PolicyRow]) -> Known:
    """The known names, from a running appliance if there is one to ask."""
    observed = frozenset(row.name for row in rows if row.mode == "observe")
    if args.policies and not names_appliance(args):
        return Known(observed=observed)
    with connect(args) as client:
        agents = {name: tuple(agent["groups"]) for name, agent in read_agents(client).items()}
        providers = read_providers(client)
    models = [f"{name}/{glob}" for name, provider in providers.items() for glob in provider["models"]]
    return Known(agents, models, observed)
