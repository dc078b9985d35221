"""Bodies of admins, policies and filters among them, grown: the cost grows with the length and no faster, or a bound
comes before the work. CPU times of a body and of one ten times as long are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from mastio.cedar import source
from mastio.cedar.source import MAX_LITERALS, PIECE, CedarError, read_cedar, verify_cedar
from mastio.control.models import AgentPatch, EnrollmentRequest
from mastio_egress.connections.models import ConnectionBody
from mastio_limits.collection import BudgetBody
from mastio_llm.collection import ProviderBody
from mastio_policy.collection import PolicyBody
from mastio_redaction.collection import RedactionBody
from support.cpu_cost import verify_linear

PERMIT = "permit(principal, action, resource)"
TYPES = {"name": "grown", "types": {"*": {"action": "off"}}}
OPEN = {"name": "grown", "base_url": "https://api.example"}


def policy(text: str) -> dict[str, Any]:
    return {"name": "grown", "cedar": text}


def when(condition: str) -> dict[str, Any]:
    return policy(f"{PERMIT} when {{ {condition} }};")


def texts(members: Iterable[str]) -> str:
    """A condition with a set of these."""
    return "[" + ",".join(f'"{member}"' for member in members) + '].contains("x")'


GROWING: dict[str, tuple[type[BaseModel], Callable[[int], dict[str, Any]]]] = {
    "policies": (PolicyBody, lambda n: policy(f"{PERMIT};" * n)),
    "policies that look": (PolicyBody, lambda n: policy(f'{PERMIT} when {{ context.tools.names.contains("x") }};' * n)),
    "conditions": (PolicyBody, lambda n: policy(PERMIT + " when { context has tools }" * n + ";")),
    "alternatives": (PolicyBody, lambda n: when(" || ".join(f'context.request.path == "/{i}"' for i in range(n)))),
    "members of a set": (PolicyBody, lambda n: when(texts(f"x{i}" for i in range(n)))),
    "brackets": (PolicyBody, lambda n: when("(" * n + "true" + ")" * n)),
    "comments": (PolicyBody, lambda n: policy("// a comment\n" * n + f"{PERMIT};")),
    "text": (PolicyBody, lambda n: when(f'context.request.path == "{"x" * 20 * n}"')),
    "paths": (ConnectionBody, lambda n: {**OPEN, "paths": [f"/p{i}/**" for i in range(n)]}),
    "methods": (ConnectionBody, lambda n: {**OPEN, "methods": ["GET"] * n}),
    "addresses": (ConnectionBody, lambda n: {**OPEN, "allow_addresses": [f"10.0.{i % 250}.0/24" for i in range(n)]}),
    "models": (ProviderBody, lambda n: {**OPEN, "kind": "openai", "models": [f"m{i}*" for i in range(n)]}),
    "aliases": (ProviderBody, lambda n: {**OPEN, "kind": "openai", "aliases": {f"a{i}": "m" for i in range(n)}}),
    "agents": (RedactionBody, lambda n: {**TYPES, "match": {"agents": [f"a{i}*" for i in range(n)]}}),
    "types": (RedactionBody, lambda n: {"name": "grown", "types": {f"TYPE_{i}": {"action": "off"} for i in range(n)}}),
    "groups": (AgentPatch, lambda n: {"groups": [f"g{i}" for i in range(n)]}),
    "attributes": (AgentPatch, lambda n: {"attributes": {f"a{i}": i for i in range(n)}}),
    "a list in an attribute": (AgentPatch, lambda n: {"attributes": {"a": ["x"] * n}}),
    "globs": (BudgetBody, lambda n: {"name": "grown", "limit_requests": 1, "period": "hour", "model": "*a" * n}),
    "a certificate request": (EnrollmentRequest, lambda n: {"name": "grown", "csr": "A" * 20 * n}),
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_a_body_ten_times_as_long_costs_about_ten_times_as_much(name: str) -> None:
    model, make = GROWING[name]
    small, large = make(80), make(800)

    def work(document: dict[str, Any]) -> None:
        source._remembered.clear()
        with suppress(ValidationError):
            model.model_validate(document)

    verify_linear(lambda: work(small), lambda: work(large))


def test_the_library_gets_few_policies_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the interpreter as long as it works, in every thread."""
    sizes: list[int] = []
    parse = source.cedarpy.policies_to_json_str

    def watch(text: str) -> str:
        sizes.append(len(text))
        return parse(text)

    monkeypatch.setattr(source.cedarpy, "policies_to_json_str", watch)
    one = f'{PERMIT} when {{ context.tools.names.contains("x") }};'
    assert len(read_cedar(one * 600)) == 600
    assert len(sizes) > 10 and max(sizes) <= PIECE + len(one)


@pytest.mark.parametrize(
    "condition",
    [" || ".join(["context.request.stream"] * 150), texts(["x"] * (MAX_LITERALS + 1))],
    ids=["operators", "texts"],
)
def test_what_is_too_long_is_refused_with_a_reason(condition: str) -> None:
    for _ in range(2):  # the second time it is remembered
        with pytest.raises(CedarError, match="A policy has"):
            verify_cedar(f"{PERMIT} when {{ {condition} }};")


def test_lines_are_those_of_the_source_in_every_piece() -> None:
    sources = "\n".join(f"{PERMIT};" for _ in range(300)) + "\npermit(principal, action, resource) when { nobody.x };"
    with pytest.raises(CedarError, match="Line 301:"):
        read_cedar(sources)
    assert [rule.line for rule in read_cedar("\n".join(f"{PERMIT};" for _ in range(300)))] == list(range(1, 301))
    wrong = "\n".join(f"{PERMIT};" for _ in range(300)) + f"\n{PERMIT} when {{ context.nothing == 1 }};"
    with pytest.raises(CedarError, match="Line 301:"):
        read_cedar(wrong)
