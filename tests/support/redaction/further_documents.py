"""Layouts for `documents.py` as users make them: chains of words, typed declarations, requests, tables of other marks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import support.redaction.more_documents  # noqa: F401 - its layouts stand before these
from support.redaction.documents import LAYOUTS, Field, _camel, _each, _group, _layout, _name, _rows, _snake


@_layout("carets")
def _(fields: list[Field], random: Random) -> str:
    lines = ["^".join(["ID", *(_snake(field.label).upper() for field in fields)])]
    return "\n".join(lines + ["^".join([str(n), *row]) for n, row in enumerate(_rows(fields))])


@_layout("double lines")
def _(fields: list[Field], random: Random) -> str:
    head = "\u2551 " + " \u2551 ".join(field.label for field in fields) + " \u2551"
    rule = "\u2560" + "\u256c".join("\u2550" * 20 for _ in fields) + "\u2563"
    return "\n".join([head, rule, *("\u2551 " + " \u2551 ".join(row) + " \u2551" for row in _rows(fields))])


_each("typed string", lambda f: f'{_snake(f.label)}: str = "{f.values[0]}"')
_each("bytes", lambda f: f"{_name(f.label).upper()} = b'{f.values[0]}'")
_each("let", lambda f: f'let {_camel(f.label)}: string = "{f.values[0]}";')
_each("verbatim string", lambda f: f'private const string {_camel(f.label)} = @"{f.values[0]}";')
_each("reference to a string", lambda f: f'const {_name(f.label).upper()}: &str = "{f.values[0]}";')
_each("typed element", lambda f: f'<{_snake(f.label)} xsi:type="xsd:string">{f.values[0]}</{_snake(f.label)}>')
_each("attribute and type", lambda f: f'<param name="{_camel(f.label)}" type="xs:string">{f.values[0]}</param>')
_each("typed in a page", lambda f: f"cy.get('#{_snake(f.label)}').type('{f.values[0]}')")
_each("filled in a page", lambda f: f"page.fill('input[name=\"{_snake(f.label)}\"]', '{f.values[0]}');")
_each("parameters of a statement", lambda f: f"UPDATE u SET {_snake(f.label)}=? params=['{f.values[0]}']")
_each(
    "parts of a form",
    lambda f: (
        f'--b1\nContent-Disposition: form-data; name="{_snake(f.label)}"\nContent-Type: text/plain; charset=utf-8'
        f"\n\n{f.values[0]}"
    ),
    after="\n--b1--\n",
)
_each("path", lambda f: f"GET /api/users/{_snake(f.label)}/{f.values[0].replace(' ', '')} HTTP/1.1")
_each("follows", lambda f: f"The {f.word} that you asked for is as follows: {f.values[0]}")
_each("said in a clause", lambda f: f"Her {f.word}, as printed on the card, is {f.values[0]}.")
_each("lost", lambda f: f"I lost my {f.word}, which is {f.values[0]}, last week.")
_each("replaced", lambda f: f"Please replace the {f.word} {f.values[0]} with {f.values[1]}.")
_each("given as", lambda f: f"{f.values[0]} was given to us as the {f.word}.")
_each("into a field", lambda f: f'Enter {f.values[0]} in the "{f.label}" field.')
_each("used for", lambda f: f"Use {f.values[0]} for the {f.word}.")
_each("told", lambda f: f"Let me give you my {f.word}: it's {f.values[0]}.")


def _told(name: str, make: Callable[[Sequence[Field]], Any]) -> None:
    LAYOUTS[name] = lambda fields, random: json.dumps(make(fields), ensure_ascii=False)
    LAYOUTS[f"{name}, in a text"] = lambda fields, random: (
        f"Result:\n```json\n{json.dumps(make(fields), ensure_ascii=False)}\n```\nDone."
    )


_told("numbered rows", lambda fields: {_snake(f.label): dict(enumerate(f.values)) for f in fields})
_told("old and new", lambda fields: {"changes": [{"field": _snake(f.label), "old": f.values[0]} for f in fields]})
_told("typed members", lambda fields: {"Item": {_camel(f.label): {"S": f.values[0]} for f in fields}})
_told("questions", lambda fields: [{"question": f"What is your {f.label}?", "answer": f.values[0]} for f in fields])
_told("columns and one row", lambda fields: {"cols": [f.label for f in fields], "vals": [f.values[0] for f in fields]})
_told(
    "columns with types",
    lambda fields: {"columns": [{"name": _snake(f.label), "type": "text"} for f in fields], "rows": _rows(fields)},
)
_told("names and values in turn", lambda fields: [text for f in fields for text in (f.label, f.values[0])])

_group("chains of words, programs and requests")
