"""Documents in which several labelled values stand together: tables, configuration, logs, code, letters, JSON.

Independent of `layouts.py`: other ways to write the same. A layout is a function of fields that returns a text, in which
each value stands between two marks; `build` takes the marks away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

BEGIN, END = "\ue000", "\ue001"

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl")


class Field(NamedTuple):
    """A label with its values, marked. `word`: the label in prose."""

    kind: str
    label: str
    values: tuple[str, ...]
    word: str


class Labelled(NamedTuple):
    """A text and the values in it, with their kinds."""

    text: str
    values: tuple[tuple[str, str], ...]
    layout: str


def _name(label: str) -> str:
    """As a member or variable."""
    return re.sub(r"\W+", "_", label.replace("'", "")).strip("_")


def _snake(label: str) -> str:
    return (
        _name(label) if not _name(label).islower() and "_" not in label and " " not in label else _name(label).lower()
    )


def _camel(label: str) -> str:
    first, *rest = _name(label).lower().split("_")
    return first + "".join(word.capitalize() for word in rest)


def _rows(fields: Sequence[Field]) -> list[list[str]]:
    return [[field.values[row] for field in fields] for row in range(2)]


def _wide(text: str, width: int) -> str:
    return text.ljust(width + text.count(BEGIN) * 2)


Layout = Callable[[list[Field], Random], str]
LAYOUTS: dict[str, Layout] = {}


def _layout(name: str) -> Callable[[Layout], Layout]:
    def add(layout: Layout) -> Layout:
        LAYOUTS[name] = layout
        return layout

    return add


def _each(
    name: str, template: Callable[[Field], str], between: str = "\n", before: str = "", after: str = "\n"
) -> None:
    """A layout of one piece for each field."""
    LAYOUTS[name] = lambda fields, random: before + between.join(map(template, fields)) + after


GROUPS: dict[str, list[str]] = {}
"""Names of layouts by what they are."""


def _group(name: str) -> None:
    """All layouts that are in no group yet."""
    grouped = {layout for layouts in GROUPS.values() for layout in layouts}
    GROUPS[name] = [layout for layout in LAYOUTS if layout not in grouped]


# --- tables --------------------------------------------------------------------------------------------------------


@_layout("csv with line ends in cells")
def _(fields: list[Field], random: Random) -> str:
    head = ["id", "address", *(field.label for field in fields), "note"]
    lines = [",".join(f'"{cell}"' for cell in head)]
    for number, row in enumerate(_rows(fields)):
        cells = [str(number), "Entrance B\nLeeds", *row, "called twice,\nno answer"]
        lines.append(",".join(f'"{cell}"' for cell in cells))
    return "\n".join(lines) + "\n"


@_layout("csv partly quoted with line ends")
def _(fields: list[Field], random: Random) -> str:
    lines = ["ticket,comment," + ",".join(field.label for field in fields)]
    lines += [
        f'{7001 + n},"first line\nsecond, with comma\n\nlast",' + ",".join(row) for n, row in enumerate(_rows(fields))
    ]
    return "\r\n".join(lines)


@_layout("csv in a fence")
def _(fields: list[Field], random: Random) -> str:
    lines = [", ".join(["row", *(field.label for field in fields)])]
    lines += [", ".join([str(n), *row]) for n, row in enumerate(_rows(fields))]
    return "Please import this:\n\n```csv\n" + "\n".join(lines) + "\n```\nThanks!"


@_layout("rows with their label first")
def _(fields: list[Field], random: Random) -> str:
    return "field,Person A,Person B\n" + "\n".join(f"{f.label},{f.values[0]},{f.values[1]}" for f in fields)


@_layout("tsv")
def _(fields: list[Field], random: Random) -> str:
    lines = ["\t".join([*(field.label for field in fields), "active"])]
    return "\n".join(lines + ["\t".join([*row, "yes"]) for row in _rows(fields)])


@_layout("markdown without outer pipes")
def _(fields: list[Field], random: Random) -> str:
    lines = [
        " | ".join(f"**{field.label}**" for field in fields) + " | ok",
        " | ".join(":---:" for _ in range(len(fields) + 1)),
    ]
    return "\n".join(lines + [" | ".join(f"`{cell}`" for cell in row) + " | yes" for row in _rows(fields)])


@_layout("markdown records")
def _(fields: list[Field], random: Random) -> str:
    lines = ["| Attribute | Record 1 | Record 2 |", "|:--|--:|--:|"]
    return "\n".join(lines + [f"| {f.label} | {f.values[0]} | {f.values[1]} |" for f in fields])


@_layout("html with spans")
def _(fields: list[Field], random: Random) -> str:
    head = "".join(f"<th>{field.label}</th>" for field in fields)
    body = "".join(
        "<tr>"
        + ('<td rowspan="2">Leeds</td>' if n == 0 else "")
        + "".join(f"<td>{cell}</td>" for cell in row)
        + "</tr>"
        for n, row in enumerate(_rows(fields))
    )
    return (
        f'<table><tr><th rowspan="2">site</th><th colspan="{len(fields)}">Person</th></tr><tr>{head}</tr>{body}</table>'
    )


@_layout("html with wide cells")
def _(fields: list[Field], random: Random) -> str:
    head = f'<thead><tr><th colspan="2">Name</th>{"".join(f"<th><span>{field.label}</span></th>" for field in fields)}</tr></thead>'
    body = "\n".join(
        "<tr><td>A</td>\n<td>B</td>" + "".join(f'<td class="c"><code>{cell}</code></td>' for cell in row) + "</tr>"
        for row in _rows(fields)
    )
    return f'<table class="grid">\n{head}\n<tbody>\n{body}\n</tbody></table>'


@_layout("html records")
def _(fields: list[Field], random: Random) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{f.label}</th><td>{f.values[0]}</td><td>{f.values[1]}</td></tr>' for f in fields
    )
    return f"<table>\n{rows}\n</table>"


@_layout("psql")
def _(fields: list[Field], random: Random) -> str:
    width = 46
    head = " | ".join(_wide(_snake(field.label), width) for field in fields)
    rows = "\n".join(" " + " | ".join(_wide(cell, width) for cell in row) for row in _rows(fields))
    return f" {head}\n{'-+-'.join('-' * width for _ in fields)}\n{rows}\n(2 rows)\n"


@_layout("mysql")
def _(fields: list[Field], random: Random) -> str:
    width = 46
    rule = "+" + "+".join("-" * (width + 2) for _ in fields) + "+"
    head = "| " + " | ".join(_wide(_snake(field.label), width) for field in fields) + " |"
    rows = "\n".join("| " + " | ".join(_wide(cell, width) for cell in row) + " |" for row in _rows(fields))
    return f"{rule}\n{head}\n{rule}\n{rows}\n{rule}\n"


@_layout("mysql record")
def _(fields: list[Field], random: Random) -> str:
    lines = [f"{_snake(field.label):>24}: {field.values[0]}" for field in fields]
    return "*************************** 1. row ***************************\n" + "\n".join(lines) + "\n"


@_layout("box drawing")
def _(fields: list[Field], random: Random) -> str:
    head = "│ " + " │ ".join(_wide(field.label, 46) for field in fields) + " │"
    rows = "\n".join("│ " + " │ ".join(_wide(cell, 46) for cell in row) + " │" for row in _rows(fields))
    rule = "┼".join("─" * 48 for _ in fields)
    return f"┌{rule}┐\n{head}\n├{rule}┤\n{rows}\n└{rule}┘\n"


@_layout("grid")
def _(fields: list[Field], random: Random) -> str:
    rule = "+" + "+".join("-" * 48 for _ in fields) + "+"
    head = "| " + " | ".join(_wide(field.label, 46) for field in fields) + " |"
    rows = f"\n{rule}\n".join("| " + " | ".join(_wide(cell, 46) for cell in row) + " |" for row in _rows(fields))
    return f"{rule}\n{head}\n{rule.replace('-', '=')}\n{rows}\n{rule}\n"


@_layout("latex")
def _(fields: list[Field], random: Random) -> str:
    lines = [
        " & ".join(field.label for field in fields) + r" \\ \hline",
        *(" & ".join(row) + r" \\" for row in _rows(fields)),
    ]
    return "\\begin{tabular}{|l|l|l|}\n" + "\n".join(lines) + "\n\\end{tabular}\n"


@_layout("wiki")
def _(fields: list[Field], random: Random) -> str:
    head = "! " + " !! ".join(field.label for field in fields)
    rows = "\n|-\n".join("| " + " || ".join(row) for row in _rows(fields))
    return f'{{| class="wikitable"\n{head}\n|-\n{rows}\n|}}\n'


@_layout("aligned")
def _(fields: list[Field], random: Random) -> str:
    head = "NO  " + "".join(_wide(field.label.upper().replace(" ", "_"), 48) for field in fields)
    return (
        head
        + "\n"
        + "\n".join(f"{n + 1:<4}" + "".join(_wide(cell, 48) for cell in row) for n, row in enumerate(_rows(fields)))
    )


@_layout("sql insert in lines")
def _(fields: list[Field], random: Random) -> str:
    head = ",\n  ".join(f"`{_snake(field.label)}`" for field in fields)
    rows = ",\n".join(
        "  (" + ", ".join(["NULL", *(f"'{cell}'" for cell in row), "now()"]) + ")" for row in _rows(fields)
    )
    return f"INSERT INTO `people` (\n  `id`,\n  {head},\n  `at`\n) VALUES\n{rows};\n"


_each("sql update", lambda f: f"UPDATE people SET {_snake(f.label)} = '{f.values[0]}' WHERE id = 7;")
_each("sql where", lambda f: f"SELECT id FROM people WHERE {_snake(f.label)}='{f.values[0]}' LIMIT 1;")

_group("tables")

# --- configuration and logs ----------------------------------------------------------------------------------------

_each("dots", lambda f: f"{f.label} {'.' * 14} {f.values[0]}")
_each("aligned colons", lambda f: f"{f.label:<30}: {f.values[0]}")
_each("yaml list", lambda f: f"  - {_snake(f.label)}: {f.values[0]}", before="people:\n")
_each("yaml pairs", lambda f: f'  - name: {_snake(f.label)}\n    value: "{f.values[0]}"', before="env:\n")
_each("toml", lambda f: f'{_snake(f.label)} = "{f.values[0]}"', before="[customer]\n")
_each("env", lambda f: f"CUSTOMER_{_name(f.label).upper()}={f.values[0]}")
_each("compose", lambda f: f"      - {_name(f.label).upper()}={f.values[0]}", before="    environment:\n")
_each("properties", lambda f: f"app.user.{_camel(f.label)}={f.values[0]}")
_each("ini", lambda f: f"{_snake(f.label)} = {f.values[0]} ; checked", before="[main]\n")
_each("logfmt", lambda f: f'ts=2026-04-01T10:22:33Z level=info svc=kyc {_snake(f.label)}="{f.values[0]}" took=12ms')
_each(
    "log line",
    lambda f: f"2026-04-01 10:22:33,120 DEBUG [http-7] c.e.Service - saved {_camel(f.label)}={f.values[0]}, status=OK",
)
_each("log brackets", lambda f: f"[2026-04-01 10:22:33] app.INFO: lookup failed [{f.label}: {f.values[0]}] []")
_each(
    "header",
    lambda f: f"X-{_name(f.label).replace('_', '-')}: {f.values[0]}",
    before="POST /v1/kyc HTTP/1.1\nHost: api.example.com\n",
)
_each(
    "query",
    lambda f: f"{_snake(f.label)}={f.values[0].replace(' ', '')}",
    between="&",
    before="https://api.example.com/v1/kyc?page=2&",
)
_each(
    "xml",
    lambda f: f"  <{_camel(f.label)}>{f.values[0]}</{_camel(f.label)}>",
    before="<customer>\n",
    after="\n</customer>",
)
_each(
    "xml fields",
    lambda f: f'  <field name="{_snake(f.label)}">{f.values[0]}</field>',
    before="<doc>\n",
    after="\n</doc>",
)
_each(
    "xml attributes",
    lambda f: f'  <add key="{_name(f.label)}" value="{f.values[0]}" />',
    before="<appSettings>\n",
    after="\n</appSettings>",
)
_each(
    "plist",
    lambda f: f"  <key>{_camel(f.label)}</key>\n  <string>{f.values[0]}</string>",
    before="<dict>\n",
    after="\n</dict>",
)
_each("form", lambda f: f'<label for="x">{f.label}</label>\n<input id="x" type="text" value="{f.values[0]}">')
_each("input", lambda f: f'<input type="text" name="{_camel(f.label)}" value="{f.values[0]}"/>')
_each(
    "divs", lambda f: f'<div class="row"><div class="label">{f.label}</div><div class="value">{f.values[0]}</div></div>'
)

_group("configuration and logs")

# --- code ----------------------------------------------------------------------------------------------------------

_each("python dict", lambda f: f"    '{_snake(f.label)}': '{f.values[0]}',", before="customer = {\n", after="\n}\n")
_each("python call", lambda f: f'{_snake(f.label)}="{f.values[0]}"', between=", ", before="client.create(", after=")\n")
_each("attribute", lambda f: f'customer.{_snake(f.label)} = "{f.values[0]}"')
_each("setter", lambda f: f'customer.set{_camel(f.label)[:1].upper()}{_camel(f.label)[1:]}("{f.values[0]}");')
_each("map", lambda f: f'fields.put("{_snake(f.label)}", "{f.values[0]}");')
_each("subscript", lambda f: f"payload['{_snake(f.label)}'] = '{f.values[0]}'")
_each("javascript", lambda f: f"  {_camel(f.label)}: '{f.values[0]}',", before="const user = {\n", after="\n};\n")
_each("constant", lambda f: f'private static final String {_name(f.label).upper()} = "{f.values[0]}";')
_each("php", lambda f: f"    '{_snake(f.label)}' => '{f.values[0]}',", before="$user = [\n", after="\n];\n")
_each(
    "option",
    lambda f: f'--{_name(f.label).lower().replace("_", "-")} "{f.values[0]}"',
    between=" \\\n  ",
    before="kyc-tool check ",
)
_each("assertion", lambda f: f'assert row["{_snake(f.label)}"] == "{f.values[0]}"')
_each("comment", lambda f: f"# test user: {f.label} {f.values[0]}", after="\nrun()\n")

_group("programs")

# --- letters and talk ----------------------------------------------------------------------------------------------

_each("list", lambda f: f"• {f.label}: {f.values[0]}", before="Customer details\n\n")
_each("numbered questions", lambda f: f"{f.label}?\n   {f.values[0]}", before="1. ")
_each("question and answer", lambda f: f"Q: What is your {f.word}?\nA: {f.values[0]}\n")
_each(
    "chat", lambda f: f"[10:22] Agent: Could you give me your {f.word} please?\n[10:23] Customer: sure, {f.values[0]}"
)
_each("chat names", lambda f: f"<anna> and your {f.word}?\n<bob> {f.values[0]}")
_each("headings", lambda f: f"### {f.label}\n\n{f.values[0]}\n")
_each("dash", lambda f: f"{f.label} – {f.values[0]}")
_each("slash", lambda f: f"{f.label} / ID: {f.values[0]}")
_each("in brackets", lambda f: f"The form shows one entry ({f.label}: {f.values[0]}) for this case.")
_each("behind in brackets", lambda f: f"We have {f.values[0]} ({f.word}) on file.")
_each("behind", lambda f: f"{f.values[0]} is my {f.word}.")
_each("behind with the", lambda f: f"Please note that {f.values[0]} is the customer's {f.word}, thanks.")
_each("sentence", lambda f: f"Hi, my {f.word} is {f.values[0]}, please update it.")
_each("of", lambda f: f"The {f.word} of the customer is {f.values[0]}.")
_each("for", lambda f: f"Here is the {f.word} for customer 4711: {f.values[0]}")
_each("past", lambda f: f"The caller said her {f.word} was {f.values[0]} and hung up.")
_each("changed to", lambda f: f"Please change my {f.word} to {f.values[0]}.")
_each("with", lambda f: f"Customer with {f.word} {f.values[0]} called about an invoice.")
_each("one line", lambda f: f"{f.label} {f.values[0]}", between="; ", before="Record: ", after=".")


_group("letters and chats")


def _prose(language: str, *frames: str) -> None:
    def write(fields: list[Field], random: Random) -> str:
        return " ".join(random.choice(frames).format(w=field.word, v=field.values[0]) for field in fields)

    LAYOUTS[f"prose {language}"] = write


_prose(
    "de",
    "Meine {w} lautet {v}.",
    "Die {w} des Kunden ist {v}.",
    "{v} ist meine {w}.",
    "Anbei die {w}: {v}.",
    "{w} ({v}) liegt vor.",
)
_prose(
    "fr",
    "Mon {w} est le {v}.",
    "Le {w} du client est {v}.",
    "{v} est mon {w}.",
    "Voici le {w} : {v}.",
    "Votre {w} ({v}) est enregistré.",
)
_prose(
    "es", "Mi {w} es {v}.", "El {w} del cliente es {v}.", "{v} es mi {w}.", "Adjunto el {w}: {v}.", "Su {w} es el {v}."
)
_prose("it", "Il mio {w} è {v}.", "Il {w} del cliente è {v}.", "{v} è il mio {w}.", "Ecco il {w}: {v}.")
_prose("pt", "O meu {w} é {v}.", "O {w} do cliente é {v}.", "{v} é o meu {w}.", "Segue o {w}: {v}.")
_prose("nl", "Mijn {w} is {v}.", "Het {w} van de klant is {v}.", "{v} is mijn {w}.", "Hierbij het {w}: {v}.")
_prose("pl", "Mój {w} to {v}.", "Moje {w} to {v}.", "{w} klienta: {v}.", "{v} to mój {w}.")

_group("prose in seven languages")

# --- JSON ----------------------------------------------------------------------------------------------------------


def _json(name: str, make: Callable[[Sequence[Field]], Any], indent: int | None = None) -> None:
    LAYOUTS[name] = lambda fields, random: json.dumps(make(fields), ensure_ascii=False, indent=indent)
    LAYOUTS[f"{name} in prose"] = lambda fields, random: (
        f"Here is the record:\n{json.dumps(make(fields), ensure_ascii=False, indent=indent)}\nPlease check it."
    )


_json("json", lambda fields: {"id": 3, **{_snake(f.label): f.values[0] for f in fields}})
_json("json camel", lambda fields: {"user": {_camel(f.label): f.values[0] for f in fields}}, 2)
_json(
    "json inner value",
    lambda fields: {"user": {_snake(f.label): {"value": f.values[0], "verified": True} for f in fields}},
)
_json(
    "json inner number",
    lambda fields: {"ids": {_snake(f.label): {"country": "XX", "number": f.values[0]} for f in fields}},
    2,
)
_json("json lists", lambda fields: {_snake(f.label): list(f.values) for f in fields})
_json("json pairs", lambda fields: [{"name": f.label, "value": f.values[0]} for f in fields])
_json(
    "json types",
    lambda fields: {"documents": [{"type": _snake(f.label), "number": f.values[0], "valid": True} for f in fields]},
    2,
)
_json("json values first", lambda fields: [{"value": f.values[0], "type": f.label} for f in fields])
_json("json kinds", lambda fields: [{"kind": _snake(f.label), "id": f.values[0]} for f in fields])
_json("json columns", lambda fields: {"columns": [f.label for f in fields], "rows": _rows(fields)})
_json(
    "json arguments",
    lambda fields: {
        "tool": "save",
        "arguments": json.dumps({_snake(f.label): f.values[0] for f in fields}, ensure_ascii=False),
    },
)
_json(
    "json lines",
    lambda fields: [{_snake(f.label): v for f, v in zip(fields, row, strict=True)} for row in _rows(fields)],
)
LAYOUTS["json log"] = lambda fields, random: "\n".join(
    json.dumps({"ts": 1775038953, "lvl": "info", "ctx": {_camel(f.label): f.values[0]}}, ensure_ascii=False)
    for f in fields
)
_group("JSON, alone and in prose")

_MARKED = re.compile(f"{BEGIN}([^{END}]*){END}")


def build(layout: str, fields: list[tuple[str, str, str, tuple[str, ...]]], random: Random) -> Labelled:
    """A text of the layout. `fields`: kind, label, label in prose, values."""
    kinds: dict[str, str] = {}
    marked = []
    for kind, label, word, values in fields:
        kinds.update(dict.fromkeys(values, kind))
        marked.append(Field(kind, label, tuple(f"{BEGIN}{value}{END}" for value in values), word))
    text = LAYOUTS[layout](marked, random)
    there = {match[1] for match in _MARKED.finditer(text)}
    kinds |= {value.replace(" ", ""): kind for value, kind in kinds.items()}
    clean = text.replace(BEGIN, "").replace(END, "")
    return Labelled(clean, tuple((value, kind) for value, kind in kinds.items() if value in there), layout)
