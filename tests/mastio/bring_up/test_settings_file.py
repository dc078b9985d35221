"""Values of a settings file are changed where they stand; whatever else a person wrote stays."""

from __future__ import annotations

import tomllib

import pytest

from mastio.bring_up.settings_file import Value, set_values
from mastio.exchange.errors import ConfigurationError

FILE = """\
# mine
[audit.signing]
url = "elsewhere"   # not the database's

[server]  # where it is
  workers = 1
[database]
url = ""
[limits]
note = "port = 5"
"""
PORT = ("edge", "port")


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        (FILE, {("server", "workers"): 4}, FILE.replace("  workers = 1", "workers = 4")),
        (FILE, {("database", "url"): "sqlite:x"}, FILE.replace('url = ""', 'url = "sqlite:x"')),
        (FILE, {("server", "public_url"): "https://a"},
         FILE.replace("# where it is\n", '# where it is\npublic_url = "https://a"\n')),
        (FILE, {PORT: 1}, FILE + "\n[edge]\nport = 1\n"),
        (FILE, {("server", "workers"): 1}, FILE),
        ("", {PORT: 1}, "[edge]\nport = 1\n"),
        ("[edge]\r\nbind = 'x'\r\n", {PORT: 1}, "[edge]\r\nport = 1\nbind = 'x'\r\n"),
        ("[edge]\nport = 1", {PORT: 2}, "[edge]\nport = 2\n"),
        ("[a]\nb = 'ü'\n", {("a", "b"): "é\"\\"}, '[a]\nb = "é\\"\\\\"\n'),
    ],
)  # fmt: skip
def test_one_line_changes(text: str, values: dict[tuple[str, str], Value], expected: str) -> None:
    changed = set_values(text, values)
    assert changed == expected
    for (section, key), value in values.items():
        assert tomllib.loads(changed)[section][key] == value
    assert set_values(changed, values) == changed


@pytest.mark.parametrize(
    "text",
    [
        "edge = {port = 1}\n",
        "edge.port = 1\n",
        'text = """\n[edge]\nport = 9\n"""\n[edge]\nport = 1\n',
        "edge = 5\n",
        "[edge]\n'port' = 1\n",
    ],
)
def test_what_cannot_be_changed_line_by_line_is_left_to_the_operator(text: str) -> None:
    with pytest.raises(ConfigurationError, match="safely"):
        set_values(text, {PORT: 2})


def test_a_file_that_is_none() -> None:
    with pytest.raises(ConfigurationError, match="not TOML"):
        set_values("[edge\n", {PORT: 2})
