"""The route table as OpenAPI 3.1. Pure.

The control plane's application describes its own operations with typed models. Everything else comes from the rows of
the table: parameters, media types, who may call, and the shape in which errors are told. So no route is left out, and
each operation has the same parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mastio.exchange.values import Dialect, Role, Route
from mastio_primitives.codes import CODES

DESCRIBED: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
"""Methods that OpenAPI 3.1 has a place for (§4.8.9)."""

_PARAMETER = re.compile(r"\{([a-z_]+)(?:\.\.\.)?\}")
_WORD = re.compile(r"[A-Za-z0-9]+")
_NOT_OURS = ("HTTPValidationError", "ValidationError")
_REF: Final = "#/components/schemas/"

SCHEMES: Final[Mapping[str, Any]] = {
    "dpop": {
        "type": "apiKey", "in": "header", "name": "Authorization",
        "description": "`DPoP <token>` with a proof in the header `DPoP` (RFC 9449); tokens come from /oauth/token.",
    },
    "certificate": {"type": "mutualTLS", "description": "The agent's certificate, alone or with `Bearer <token>`."},
    "apiKey": {
        "type": "http", "scheme": "bearer",
        "description": "`mastio_sk_…`, where an admin turned API keys on for the agent.",
    },
    "adminToken": {
        "type": "http", "scheme": "bearer", "description": "`mastio_admin_…` of an admin, operator or auditor.",
    },
}  # fmt: skip
_OF_AGENTS: Final[tuple[dict[str, list[str]], ...]] = ({"dpop": []}, {"certificate": []}, {"apiKey": []})


def _object(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


_TEXT: Final = {"type": "string"}
_CODE: Final = {"type": "string", "enum": sorted(CODES)}
ERRORS: Final[Mapping[Dialect, tuple[str, str, Any]]] = {
    "problem": ("Problem", "application/problem+json", _object(
        ("type", "title", "status", "detail", "code"), type=_TEXT, title=_TEXT, status={"type": "integer"},
        detail=_TEXT, code=_CODE, hint=_TEXT, request_id=_TEXT,
    )),
    "openai": ("OpenAIError", "application/json", _object(("error",), error=_object(
        ("message", "type", "code"), message=_TEXT, type=_TEXT, param={"type": ["string", "null"]}, code=_CODE,
    ))),
    "anthropic": ("AnthropicError", "application/json", _object(
        ("type", "error"), type={"const": "error"}, error=_object(("type", "message"), type=_TEXT, message=_TEXT),
        request_id=_TEXT,
    )),
    "gemini": ("GeminiError", "application/json", _object(("error",), error=_object(
        ("code", "message", "status"), code={"type": "integer"}, message=_TEXT, status=_TEXT,
    ))),
    "oauth": ("OAuthError", "application/json", _object(("error",), error=_TEXT, error_description=_TEXT)),
}  # fmt: skip
"""By dialect: the schema's name, its media type, and the schema."""


def describe(routes: Sequence[Route], control: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The document. `control`: that of the control plane's application."""
    paths: dict[str, dict[str, Any]] = {}
    tags: dict[str, None] = {}
    for route in routes:
        name = route.path.replace("...}", "}")
        tags[tag_of(route)] = None
        for method in route.methods:
            if method in DESCRIBED:
                known = control["paths"].get(name, {}).get(method.lower())
                paths.setdefault(name, {})[method.lower()] = describe_operation(route, method, known)
    schemas = {
        **{n: s for n, s in control.get("components", {}).get("schemas", {}).items() if n not in _NOT_OURS},
        **{name: schema for name, _, schema in ERRORS.values()},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Mastio", "version": version},
        "tags": [{"name": tag} for tag in sorted(tags)],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": dict(SCHEMES)},
    }


def describe_operation(route: Route, method: str, known: Mapping[str, Any] | None) -> dict[str, Any]:
    """One operation; `known` is what the control plane's application says of it."""
    operation: dict[str, Any] = {
        "operationId": operation_id(method, route.path),
        "tags": [tag_of(route)],
        "summary": route.summary,
        "security": security_of(route.requires),
        "parameters": known.get("parameters", []) if known else _describe_parameters(route),
        "responses": {**_good_responses(route, method, known), **_error_responses(route)},
        "x-requires": sorted(route.requires),
    }
    if known and "description" in known:
        operation["description"] = known["description"]
    body = (known or {}).get("requestBody") or _describe_body(route, method)
    if body is not None:
        operation["requestBody"] = body
    return operation


def operation_id(method: str, path: str) -> str:
    """Method and path as one word, which no other operation has."""
    text = path.replace("*", "all").replace("{", "by_{")
    spaced = re.sub(r"([a-z])([A-Z])", r"\1_\2", text)
    return "_".join([method.lower(), *(word.lower() for word in _WORD.findall(spaced))])


def tag_of(route: Route) -> str:
    """The tag of an operation: the collection of an admin route, otherwise the first part of its kind."""
    parts = route.kind.split(".")
    return parts[1].partition("-")[0] if parts[0] == "admin" and len(parts) > 1 else parts[0]


def security_of(requires: Iterable[Role]) -> list[dict[str, list[str]]]:
    """Any one of these; none where nobody needs to be known."""
    found: list[dict[str, list[str]]] = []
    roles = set(requires)
    if "agent" in roles:
        found += _OF_AGENTS
    if roles - {"agent"}:
        found.append({"adminToken": []})
    return found


def _describe_parameters(route: Route) -> list[dict[str, Any]]:
    path = [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in _PARAMETER.findall(route.path)]
    query = [
        {"name": name, "in": "query", "required": False, "description": meaning, "schema": _TEXT}
        for name, meaning in route.parameters
    ]
    return path + query


def _describe_body(route: Route, method: str) -> dict[str, Any] | None:
    if method not in ("POST", "PUT", "PATCH") or not route.consumes:
        return None
    schema = route.body.model_json_schema() if route.body is not None else {}
    return {"required": True, "content": {media_type: {"schema": _inline(schema)} for media_type in route.consumes}}


def _inline(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with its own definitions put where they are named."""
    definitions = schema.get("$defs", {})

    def resolve(value: Any) -> Any:
        if isinstance(value, list):
            return [resolve(item) for item in value]
        if not isinstance(value, dict):
            return value
        if isinstance(named := value.get("$ref"), str) and named.startswith("#/$defs/"):
            return resolve(definitions[named.removeprefix("#/$defs/")])
        return {name: resolve(item) for name, item in value.items() if name != "$defs"}

    found: dict[str, Any] = resolve(dict(schema))
    return found


def _good_responses(route: Route, method: str, known: Mapping[str, Any] | None) -> dict[str, Any]:
    good = {status: dict(said) for status, said in (known or {}).get("responses", {}).items() if status[0] == "2"}
    if not good:
        good = {"200": {"description": route.summary}}
    if method != "HEAD" and (route.produces or not known):
        for said in good.values():
            said["content"] = {media_type: {"schema": {}} for media_type in route.produces}
    return good


def _error_responses(route: Route) -> dict[str, Any]:
    """In each dialect that callers of the path may speak."""
    content: dict[str, Any] = {}
    for dialect in dict.fromkeys((route.dialect, *(one for _, one in route.other_dialects))):
        name, media_type, _ = ERRORS[dialect]
        schemas = content.setdefault(media_type, {"schema": {"anyOf": []}})["schema"]["anyOf"]
        schemas.append({"$ref": _REF + name})
    content = {
        media_type: {"schema": one["schema"]["anyOf"][0] if len(one["schema"]["anyOf"]) == 1 else one["schema"]}
        for media_type, one in content.items()
    }
    responses = {"default": {"description": "Refused or failed; docs/errors.md lists the codes.", "content": content}}
    if route.requires:
        responses["401"] = {"description": "There is no good credential.", "content": content}
        responses["403"] = {"description": "The caller may not do this.", "content": content}
    return responses
