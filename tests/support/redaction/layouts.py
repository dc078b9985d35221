"""Ways to write a value with its label: in prose, markup, code and tables.

Each layout is a template with `{l}` for the label and `{v}` and `{w}` for two values; `{J}` is the label as the name of a
member, `{L}` in capitals, `{C}` in camel case, `{C2}` with a capital first.
"""

from __future__ import annotations

TABLES: dict[str, str] = {
    "csv": "id,{l},note\n1,{v},x\n2,{w},y\n",
    "csv with quotes": '"id","{l}","note"\n"1","{v}","x"\n"2","{w}","y"\n',
    "csv after prose": "Hello, here it is:\nid,{l}\n1,{v}\n2,{w}\n",
    "last column": "id,note,{l}\n1,x,{v}\n2,y,{w}\n",
    "one column": "{l}\n{v}\n{w}\n",
    "semicolons": "id;{l};note\n1;{v};x\n2;{w};y\n",
    "tabs": "id\t{l}\tnote\n1\t{v}\tx\n2\t{w}\ty\n",
    "markdown": "| id | {l} | note |\n|---|---|---|\n| 1 | {v} | x |\n| 2 | {w} | y |\n",
    "markdown row": "| field | value |\n|---|---|\n| {l} | {v} |\n| other {l} | {w} |\n",
    "psql": " id | {l} | note\n----+------+------\n  1 | {v} | x\n  2 | {w} | y\n",
    "aligned": "ID   {l}      NOTE\n1    {v}    x\n2    {w}   y\n",
    "html": "<table><tr><th>id</th><th>{l}</th></tr><tr><td>1</td><td>{v}</td></tr><tr><td>2</td><td>{w}</td></tr></table>",
    "html with lines": '<table>\n <tr>\n  <th>id</th>\n  <th class="x">{l}</th>\n </tr>\n <tr>\n  <td>1</td>\n  <td>{v}</td>\n </tr>\n'
    " <tr><td>2</td><td><b>{w}</b></td></tr>\n</table>",
    "html row": "<table><tr><td>{l}</td><td>{v}</td></tr><tr><td>{l}</td><td>{w}</td></tr></table>",
    "sql": "INSERT INTO t (id, {J}) VALUES (1, '{v}'), (2, '{w}');",
}
MARKUP: dict[str, str] = {
    "definition list": "<dl><dt>{l}</dt><dd>{v}</dd></dl> <b>{l}:</b> {w}",
    "bold": "**{l}:** {v}\n**{l}**: `{w}`",
    "parentheses": "{l} ({v}) and {l} [{w}]",
    "arrows": "{l} -> {v}\n{l} => {w}",
    "assignment": "{l}={v}\n{l} = '{w}'",
    "environment": 'export {L}={v}\n{L}="{w}"',
    "json": '{{"{J}": "{v}", "my_{J}": "{w}"}}',
    "camel case": '{{"{C}": "{v}"}} {{"customer{C2}": "{w}"}}',
    "yaml": "{J}: {v}\nother:\n  {J}: '{w}'\n",
    "xml": '<{J}>{v}</{J}><row {J}="{w}"/>',
    "query": "https://example.com/?{J}={v}&b=1&{J}={w}",
    "next line": "{l}:\n{v}\n\n{l}\n{w}\n",
    "bullets": "- {l}: {v}\n* {l} – {w}",
}
PROSE: dict[str, str] = {
    "German": "Meine {l} lautet {v}. Die {l} ist {w}.",
    "English": "My {l} is {v}, and the {l} was {w}.",
    "French": "Mon {l} est {v} et le {l} : {w}.",
    "Spanish": "Mi {l} es {v}; su {l} era {w}.",
    "behind": "{v} ({l}), {w} ({l})",
    "behind in prose": "{v} is my {l}.\nJa, {w} ist meine {l}, ok",
    "of": "The {l} of my device is {v}. {l} for Anna: {w}",
}
LAYOUTS = TABLES | MARKUP | PROSE


def write(layout: str, label: str, first: str, second: str) -> str:
    """The text of a layout with these values."""
    name = label.translate(str.maketrans(" -", "__", "'."))
    words = name.lower().split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    return LAYOUTS[layout].format(
        l=label, v=first, w=second, J=name, L=name.upper(), C=camel, C2=camel[0].upper() + camel[1:]
    )
