"""Cedar's own corpus: thousands of generated sets and requests, and what Cedar's authors say of each.

What comes out must be what Cedar says, but for one thing that is meant: where a `forbid` cannot be evaluated Cedar
skips it, and here it denies.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any

import cedarpy

from mastio_policy.rules import CedarRequest, Policy, PolicySet
from support.vectors import vectors


def read_cases() -> Iterator[tuple[str, Mapping[str, Any], Any, str]]:
    """Name, case, entities and policies."""
    with tarfile.open(vectors("cedar/corpus-tests.tar.gz")) as archive:
        contents: dict[str, bytes] = {}
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                contents[member.name] = file.read()
    names = sorted(name for name in contents if name.endswith(".json") and not name.endswith(".entities.json"))
    for name in names:
        case = json.loads(contents[name])
        entities, policies = contents[case["entities"]].decode(), contents[case["policies"]].decode()
        yield name, case, entities, policies


def make_set(source: str) -> PolicySet | None:
    """As `parse_rules` makes it, without our schema. None: a set with templates, which is none of ours."""
    parsed = json.loads(cedarpy.policies_to_json_str(source))
    if parsed["templates"]:
        return None
    static = sorted(parsed["staticPolicies"].items(), key=lambda item: int(item[0].removeprefix("policy")))
    return PolicySet([Policy(name, document["effect"], document, {}, ()) for name, document in static])


def test_decisions_are_cedars() -> None:
    asked = denied_for_errors = 0
    for name, case, entity_text, source in read_cases():
        policies = make_set(source)
        if policies is None:
            continue
        entities = cedarpy.Entities.from_json_str(entity_text)
        effects = {policy.name: policy.effect for policy in policies.policies}
        for request in case["requests"]:
            uids = ((request[part]["type"], request[part]["id"]) for part in ("principal", "action", "resource"))
            verdict = policies.judge(CedarRequest(*uids, json.dumps(request["context"])), entities)
            asked += 1
            if any(effects[policy] == "forbid" for policy in request["errors"]):
                assert not verdict.allowed and verdict.broken, (name, request["description"])
                denied_for_errors += 1
                continue
            assert verdict.allowed is (request["decision"] == "allow"), (name, request["description"])
            assert {policy.name for policy in verdict.deciding} == set(request["reason"]), (
                name,
                request["description"],
            )
    assert asked > 50_000 and denied_for_errors > 0
