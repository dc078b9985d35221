"""Every row of the route table is described whole: a new route without its parts fails here."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mastio.exchange.values import OPEN, Route
from mastio.http.openapi import DESCRIBED, ERRORS, SCHEMES, describe, operation_id
from mastio.http.openapi_page import PAGE_POLICY, STYLE, write_page
from mastio.process.plan import read_plan
from support.control_plane import Shell

PLAN, _ = read_plan(Path("/nowhere"))
ROWS = [(route, method) for route in PLAN.routes for method in route.methods if method in DESCRIBED]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return describe(PLAN.routes, Shell(None).app.openapi(), "1.2.3")


def references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [one for item in value for one in references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [one for item in value.values() for one in references(item)]


def faults_of(operation: dict[str, Any], route: Route, method: str) -> list[str]:
    """What an operation lacks."""
    faults = [name for name in ("operationId", "summary", "tags") if not operation.get(name)]
    schemes = [name for one in operation["security"] for name in one]
    if (route.requires == OPEN) != (schemes == []) or set(schemes) - SCHEMES.keys():
        faults.append("security")
    if ("adminToken" in schemes) != bool(route.requires - {"agent"}) or ("dpop" in schemes) != (
        "agent" in route.requires
    ):
        faults.append("security of roles")
    named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
    if named != set(re.findall(r"\{([a-z_]+)(?:\.\.\.)?\}", route.path)):
        faults.append("parameters")
    good = {status: said for status, said in operation["responses"].items() if status.startswith("2")}
    if not good or not all("content" in said or status == "204" or method == "HEAD" for status, said in good.items()):
        faults.append("2xx")
    if any(not said.get("content", True) for said in good.values()):
        faults.append("media type of 2xx")
    bad = operation["responses"]["default"]["content"]
    if ERRORS[route.dialect][1] not in bad or not references(bad):
        faults.append("errors")
    if route.requires and not {"401", "403"} <= operation["responses"].keys():
        faults.append("401 and 403")
    return faults


def test_every_operation_has_all_its_parts(document: dict[str, Any]) -> None:
    found = {}
    for route, method in ROWS:
        operation = document["paths"][route.path.replace("...}", "}")][method.lower()]
        if faults := faults_of(operation, route, method):
            found[f"{method} {route.path}"] = faults
    assert found == {}


@pytest.mark.parametrize("route", [
    Route("/v1/new", ("GET",), frozenset({"admin"}), "new.thing", "New"),
    Route("/v1/new/{id}", ("POST",), OPEN, "new.thing", "", produces=("application/json",)),
], ids=["no media type", "no summary"])  # fmt: skip
def test_a_route_without_its_parts_is_found(route: Route) -> None:
    made = describe([route], {"paths": {}}, "1")["paths"][route.path][route.methods[0].lower()]
    assert faults_of(made, route, route.methods[0]) != []


def test_names_are_used_once_and_references_lead_somewhere(document: dict[str, Any]) -> None:
    ids = Counter(one["operationId"] for path in document["paths"].values() for one in path.values())
    assert {name for name, times in ids.items() if times > 1} == set()
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in ids)
    schemas = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= schemas
    assert "HTTPValidationError" not in document["components"]["schemas"], "our errors are others"
    assert {tag["name"] for tag in document["tags"]} >= {"providers", "audit", "llm", "usage"}


def test_parameters_and_bodies_of_plugins_are_described(document: dict[str, Any]) -> None:
    usage = document["paths"]["/v1/admin/usage"]["get"]
    assert {"by", "since", "until", "agent", "model"} <= {one["name"] for one in usage["parameters"]}
    explain = document["paths"]["/v1/admin/redaction/*/explain"]["post"]
    assert "text" in explain["requestBody"]["content"]["application/json"]["schema"]["properties"]
    chat = document["paths"]["/v1/chat/completions"]["post"]
    assert set(chat["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}
    models = document["paths"]["/v1/models"]["get"]["responses"]["default"]["content"]["application/json"]["schema"]
    assert len(models["anyOf"]) == 3, "three dialects share the path"
    assert document["paths"]["/v1/admin/providers"]["post"]["responses"].keys() >= {"201", "401", "403", "default"}


@pytest.mark.parametrize(("method", "path", "expected"), [
    ("GET", "/v1/admin/agents/{id}", "get_v1_admin_agents_by_id"),
    ("POST", "/v1/admin/agents/*/revoke", "post_v1_admin_agents_all_revoke"),
    ("POST", "/v1/models/{model...}:generateContent", "post_v1_models_by_model_generate_content"),
    ("GET", "/pki/ca.crt", "get_pki_ca_crt"),
])  # fmt: skip
def test_the_name_of_an_operation(method: str, path: str, expected: str) -> None:
    assert operation_id(method, path) == expected


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def test_the_page_has_every_operation_and_loads_nothing(document: dict[str, Any]) -> None:
    text, page = write_page(document), Page()
    page.feed(text)
    assert page.tags["details"] == len(ROWS)
    assert not page.tags.keys() & {"script", "link", "img", "iframe"}
    assert all(link.startswith(("#", "/openapi.json")) for link in page.links)
    assert "allow_addresses" in text and "list of string" in text
    assert STYLE in text and b"sha256-" in PAGE_POLICY


def test_what_is_described_is_escaped() -> None:
    route = Route("/v1/odd", ("GET",), OPEN, "odd.<b>", "<script>alert(1)</script>", produces=("text/plain",))
    assert "<script>" not in write_page(describe([route], {"paths": {}}, "<i>"))
