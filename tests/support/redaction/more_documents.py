"""More layouts for `documents.py`, written after the rules were tuned to those: programs, exports, letters, markup."""

from __future__ import annotations

from random import Random

from support.redaction.documents import Field, _camel, _each, _group, _layout, _name, _rows, _snake


@_layout("heads with short names in brackets")
def _(fields: list[Field], random: Random) -> str:
    head = ",".join(f"{field.label} (current)" for field in fields)
    return f"nr,{head}\n" + "\n".join(f"{n},{','.join(row)}" for n, row in enumerate(_rows(fields)))


@_layout("asciidoc")
def _(fields: list[Field], random: Random) -> str:
    lines = [
        " ".join(f"|{field.label}" for field in fields),
        *(" ".join(f"|{cell}" for cell in row) for row in _rows(fields)),
    ]
    return "|===\n" + "\n\n".join(lines) + "\n|===\n"


@_layout("gherkin")
def _(fields: list[Field], random: Random) -> str:
    lines = ["| " + " | ".join(_snake(field.label) for field in fields) + " |"]
    lines += ["| " + " | ".join(row) + " |" for row in _rows(fields)]
    return "Given these customers:\n" + "\n".join(f"      {line}" for line in lines)


@_layout("copied sheet")
def _(fields: list[Field], random: Random) -> str:
    lines = ["\t".join(["Name", *(field.label for field in fields)])]
    return "From the sheet:\n\n" + "\n".join(lines + ["\t".join(["x", *row]) for row in _rows(fields)]) + "\n\nBest"


_each("hash", lambda f: f"#{_name(f.label)}={f.values[0]}")
_each("packed", lambda f: f"{f.label}:{f.values[0]}", between=";")
_each("tab pairs", lambda f: f"{f.label}\t{f.values[0]}")
_each("wide pairs", lambda f: f"{f.label}    {f.values[0]}")
_each("quoted mail", lambda f: f"> {f.label}: {f.values[0]}", before="On Monday Anna wrote:\n> Hi,\n>\n")
_each("subject", lambda f: f"Subject: Re: {f.label} {f.values[0]}")
_each("in a person's line", lambda f: f"({f.label} {f.values[0]})", between=" ", before="New entry ")
_each("bold", lambda f: f"**{f.label}** {f.values[0]}")
_each("italics", lambda f: f"_{f.label}_: {f.values[0]}")
_each("code marks", lambda f: f"`{_snake(f.label)}`: `{f.values[0]}`")
_each("quoted bold", lambda f: f"> - **{f.label}:** {f.values[0]}")
_each("paragraphs", lambda f: f"<p>{f.label}: <strong>{f.values[0]}</strong></p>")
_each("items", lambda f: f"<li><b>{f.label}</b> – {f.values[0]}</li>", before="<ul>", after="</ul>")
_each("data attributes", lambda f: f'<span data-{_name(f.label).lower().replace("_", "-")}="{f.values[0]}"></span>')
_each("namespaces", lambda f: f"<ns2:{_snake(f.label)}>{f.values[0]}</ns2:{_snake(f.label)}>")
_each("cdata", lambda f: f"<{_snake(f.label)}><![CDATA[{f.values[0]}]]></{_snake(f.label)}>")
_each("attributes", lambda f: f'{_snake(f.label)}="{f.values[0]}"', between=" ", before="<person ", after="/>")
_each("ruby", lambda f: f'  {_snake(f.label)}: "{f.values[0]}",', before="User.create(\n", after="\n)")
_each("rockets", lambda f: f'  :{_snake(f.label)} => "{f.values[0]}",', before="user = {\n", after="\n}")
_each(
    "go",
    lambda f: f'\t{_camel(f.label)[:1].upper()}{_camel(f.label)[1:]}: "{f.values[0]}",',
    before="u := User{\n",
    after="\n}",
)
_each(
    "c#",
    lambda f: f'    {_camel(f.label)[:1].upper()}{_camel(f.label)[1:]} = "{f.values[0]}",',
    before="var u = new User {\n",
    after="\n};",
)
_each("json in single quotes", lambda f: f"'{_snake(f.label)}': '{f.values[0]}'", between=", ", before="{", after="}")
_each("tuples", lambda f: f'("{_snake(f.label)}", "{f.values[0]}")', between=", ", before="rows = [", after="]")
_each("print", lambda f: f'print("{f.label}:", "{f.values[0]}")')
_each("logger", lambda f: f'logger.info("{_snake(f.label)}=%s", "{f.values[0]}")')
_each("form members", lambda f: f"customer[{_snake(f.label)}]={f.values[0]}")
_each("walrus", lambda f: f'{_snake(f.label)} := "{f.values[0]}"')
_each("pointer", lambda f: f'user->{_snake(f.label)} = "{f.values[0]}";')
_each("prefixed", lambda f: f'"customer_{_snake(f.label)}": "{f.values[0]}"', between=",\n", before="{", after="}")
_each("suffixed", lambda f: f"{_snake(f.label)}_1: {f.values[0]}")
_each("terraform", lambda f: f'  {_snake(f.label)}   = "{f.values[0]}"', before='resource "x" "y" {\n', after="\n}")
_each("powershell", lambda f: f"${_camel(f.label)} = '{f.values[0]}'")
_each("sql set", lambda f: f"SET @{_snake(f.label)} := '{f.values[0]}';")
_each("whatsapp", lambda f: f"[12/04/2026, 10:22:31] Anna: my {f.word} is {f.values[0]}")
_each("slack", lambda f: f"anna  10:22 AM\nmy {f.word}: {f.values[0]}")
_each("short answer", lambda f: f"{f.word}?\n- {f.values[0]}")
_each("it is", lambda f: f"You asked for my {f.word}. It is {f.values[0]}.")
_each("as", lambda f: f"He gave {f.values[0]} as his {f.word}.")
_each("registered", lambda f: f"The {f.word} we have on file is {f.values[0]}.")
_each("following", lambda f: f"Use the following {f.word}: {f.values[0]}.")
_each("please use", lambda f: f"For the {f.word} please use {f.values[0]}.")
_each("quoted", lambda f: f'Her {f.word} is "{f.values[0]}", as she said.')
_each("colon later", lambda f: f"{f.label} of the applicant: {f.values[0]}")
_each("equals sign", lambda f: f"{f.values[0]} = {f.label}")
_each("dash behind", lambda f: f"{f.values[0]} - {f.label}")
_each("upper", lambda f: f"{f.label.upper()} {f.values[0]}")
_each("number sign", lambda f: f"{f.label} #{f.values[0]}")
_each("number sign and colon", lambda f: f"{f.label} #: {f.values[0]}")

_group("further layouts, written later")

_each("field value", lambda f: f"Field: {f.label}, Value: {f.values[0]}")
_each("arrow", lambda f: f"{f.label} → {f.values[0]}")
_each("pipe pair", lambda f: f"{_snake(f.label)}|{f.values[0]}")
_each(
    "field_name",
    lambda f: f'{{"field_name":"{_snake(f.label)}","field_value":"{f.values[0]}"}}',
    between=",",
    before="[",
    after="]",
)
_each("td colon", lambda f: f"<tr><td>{f.label}:</td><td>{f.values[0]}</td></tr>", before="<table>", after="</table>")
_each("yaml block", lambda f: f"{_snake(f.label)}: >-\n  {f.values[0]}")
_each("pair lines", lambda f: f'  ["{f.label}", "{f.values[0]}"],', before="Data:\n[\n", after="\n]")
_each("set to", lambda f: f"The value for {f.word} was set to {f.values[0]} yesterday.")
_each("diff", lambda f: f"-{_snake(f.label)}: ?\n+{_snake(f.label)}: {f.values[0]}")
_each("kotlin", lambda f: f'val {_camel(f.label)} = "{f.values[0]}"')
_each("rust", lambda f: f'    {_snake(f.label)}: "{f.values[0]}".to_string(),', before="User {\n", after="\n}")
_each("piped", lambda f: f"{_name(f.label).upper()}={f.values[0]}", between="|")
_each("csv pairs", lambda f: f"{f.label},{f.values[0]}")
_each("details", lambda f: f"My details are as follows: {f.word} is {f.values[0]}.")
_each("underlined", lambda f: f"{f.label}\n{'-' * len(f.label)}\n{f.values[0]}\n")
_each("that is", lambda f: f"{f.values[0]}. That is his {f.word}.")
_each("verified", lambda f: f"Verified {f.word} {f.values[0]} on 2026-04-01.")
_each("no longer", lambda f: f"Her {f.word} has changed, the new one is {f.values[0]}.")
_each("summary", lambda f: f"<details><summary>{f.label}</summary>\n\n{f.values[0]}\n\n</details>")
_each("jsonpath", lambda f: f"$.customer.{_snake(f.label)} == '{f.values[0]}'")

_group("layouts that were written last")
