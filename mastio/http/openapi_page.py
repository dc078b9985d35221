"""The OpenAPI document as one page to read: a section for each tag, an entry for each operation. Pure.

The page needs no script and loads nothing, so its content security policy allows nothing but the styles in it.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "details{border-top:1px solid #ccc;padding:.3rem 0}summary{cursor:pointer}code{font-size:.95em}"
    "table{border-collapse:collapse;margin:.5rem 0}td,th{text-align:left;padding:.1rem 1rem .1rem 0;vertical-align:top}"
    ".m{display:inline-block;width:5rem;font-weight:600}.w{color:#666}"
)
PAGE_POLICY: Final = (
    b"default-src 'none'; style-src 'sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()) + b"'"
)
DEEPEST = 3
"""The greatest depth at which nested members are shown."""


def write_page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    title = f"{document['info']['title']} {document['info']['version']}"
    by_tag: dict[str, list[tuple[str, str, Any]]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            by_tag.setdefault(operation["tags"][0], []).append((path, method.upper(), operation))
    schemas = document["components"]["schemas"]
    contents = " · ".join(f'<a href="#{_text(tag)}">{_text(tag)}</a>' for tag in sorted(by_tag))
    pieces = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_text(title)}</title><style>{STYLE}</style>',
        f'<h1>{_text(title)}</h1><p>As OpenAPI: <a href="/openapi.json">/openapi.json</a></p><p>{contents}</p>',
    ]
    for tag in sorted(by_tag):
        pieces.append(f'<h2 id="{_text(tag)}">{_text(tag)}</h2>')
        pieces.extend(_write_operation(*one, schemas) for one in by_tag[tag])
    return "".join([*pieces, "</html>"])


def _write_operation(path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    who = ", ".join(operation["x-requires"]) or "open"
    pieces = [
        f'<details id="{_text(operation["operationId"])}"><summary><span class="m">{method}</span>'
        f'<code>{_text(path)}</code> {_text(operation["summary"])} <span class="w">{_text(who)}</span></summary>'
    ]
    if "description" in operation:
        pieces.append(f"<p>{_text(operation['description'])}</p>")
    if operation["parameters"]:
        rows = [(one["name"], one["in"], one.get("description", "")) for one in operation["parameters"]]
        pieces.append(_table(("parameter", "in", "meaning"), rows))
    if "requestBody" in operation:
        pieces.append(_write_content("body", operation["requestBody"]["content"], schemas))
    for status, response in sorted(operation["responses"].items()):
        if "content" in response:
            pieces.append(_write_content(status, response["content"], schemas))
        else:
            pieces.append(f"<p>{_text(status)} {_text(response['description'])}</p>")
    return "".join([*pieces, "</details>"])


def _write_content(name: str, content: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    pieces = []
    for media_type, said in content.items():
        pieces.append(f"<p>{_text(name)} <code>{_text(media_type)}</code></p>")
        rows = list(_members(said.get("schema", {}), schemas))
        if rows and (name == "body" or name.startswith("2")):
            pieces.append(_table(("member", "type", "meaning"), rows))
    return "".join(pieces)


def _members(
    schema: Mapping[str, Any], schemas: Mapping[str, Any], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, str, str]]:
    schema = _resolve(schema, schemas)
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        resolved = _resolve(member, schemas)
        type_name = _name_type(member, schemas)
        yield (
            prefix + name,
            type_name if name in required else f"{type_name}, optional",
            resolved.get("description", ""),
        )
        if depth < DEEPEST:
            items = resolved.get("items")
            inner, joint = (resolved, ".") if items is None else (items, "[].")
            yield from _members(inner, schemas, f"{prefix}{name}{joint}", depth + 1)


def _name_type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    schema = _resolve(schema, schemas)
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"][:8])) + (" | …" if len(schema["enum"]) > 8 else "")
    if "const" in schema:
        return str(schema["const"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_name_type(one, schemas) for one in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_name_type(schema.get('items', {}), schemas)}"
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    named = schema.get("$ref", "")
    found: Mapping[str, Any] = schemas.get(named.rpartition("/")[2], {}) if named else schema
    return found


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = "".join(f"<th>{_text(cell)}" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{_text(cell)}" for cell in row) for row in rows)
    return f"<table><tr>{cells}{lines}</table>"


def _text(text: str) -> str:
    return html.escape(text)
