"""`mastio completion`: print a script that lets bash, zsh or fish complete this command.

The script is made from the parsers of the verbs, so it knows every verb, option and choice. It starts no Python when a
key is pressed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mastio import cli

FILES = "@files"
"""Stands for the names of files as the values of an option."""

_FILE_METAVARS = ("FILE", "DIR", "PATH", "FOLDER")


@dataclass(slots=True)
class Command:
    """The words that can follow a command: sub-commands and options, with their meaning. `values`: words or `FILES`
    that can follow an option that takes a value.
    """

    verbs: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)


Commands = Mapping[str, Command]
"""By the words that lead there: `""`, `agents`, `agents list`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.description = "Print a completion script, for example: source <(mastio completion bash)"


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(SHELLS[args.shell](collect()))
    return 0


def collect() -> dict[str, Command]:
    """Every command of `mastio`."""
    found = {"": read_parser(cli.make_parser())}
    found[""].verbs = dict(cli.VERBS)
    for verb in cli.VERBS:
        parser = argparse.ArgumentParser(prog=f"mastio {verb}")
        cli.load_verb(verb).add_arguments(parser)
        found.update(_walk(verb, parser))
    return found


def _walk(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, Command]]:
    yield path, read_parser(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                yield from _walk(f"{path} {name}", one)


def read_parser(parser: argparse.ArgumentParser) -> Command:
    """The words that can follow one command."""
    found = Command()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            meanings = {one.dest: one.help or "" for one in action._choices_actions}
            found.verbs = {name: meanings.get(name, "") for name in action.choices}
        elif action.option_strings and action.help != argparse.SUPPRESS:
            for option in action.option_strings:
                found.options[option] = action.help or ""
                if action.nargs != 0:
                    found.values[option] = _values_of(action)
        elif action.choices and not action.option_strings:
            found.verbs = dict.fromkeys(map(str, action.choices), "")
    return found


def _values_of(action: argparse.Action) -> tuple[str, ...]:
    if action.choices:
        return tuple(map(str, action.choices))
    return (FILES,) if action.type is Path or action.metavar in _FILE_METAVARS else ()


# --- the scripts --------------------------------------------------------------------------------------------------


def write_bash(commands: Commands) -> str:
    return f"""# bash completion of mastio: source <(mastio completion bash)
{_write_tables(commands)}
_mastio_files() {{
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$1"))
}}
_mastio() {{
    local word at= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        case " $(_mastio_verbs "$at") " in *" $word "*) at="${{at:+$at }}$word" ;; esac
    done
    word=${{COMP_WORDS[COMP_CWORD]}}
    local values=$(_mastio_values "$at|${{COMP_WORDS[COMP_CWORD - 1]}}")
    case $values in
        {FILES}) _mastio_files "$word"; return ;;
        -) return ;;
        ?*) COMPREPLY=($(compgen -W "$values" -- "$word")); return ;;
    esac
    COMPREPLY=($(compgen -W "$(_mastio_verbs "$at") $(_mastio_options "$at")" -- "$word"))
    [ ${{#COMPREPLY[@]}} -gt 0 ] || _mastio_files "$word"
}}
complete -F _mastio mastio
"""


def write_zsh(commands: Commands) -> str:
    return f"""#compdef mastio
# zsh completion of mastio: source <(mastio completion zsh), or put it into a folder of $fpath as _mastio
{_write_tables(commands)}
_mastio() {{
    local word at= values i
    for ((i = 2; i < CURRENT; i++)); do
        word=${{words[i]}}
        case " $(_mastio_verbs "$at") " in (*" $word "*) at="${{at:+$at }}$word" ;; esac
    done
    values=$(_mastio_values "$at|${{words[CURRENT - 1]}}")
    case $values in
        ({FILES}) _files; return ;;
        (-) return ;;
        (?*) compadd -- ${{=values}}; return ;;
    esac
    values="$(_mastio_verbs "$at") $(_mastio_options "$at")"
    compadd -- ${{=values}} || _files
}}
if [ "${{funcstack[1]}}" = _mastio ]; then _mastio "$@"; else compdef _mastio mastio; fi
"""


def write_fish(commands: Commands) -> str:
    known = " ".join(_quote(path) for path in commands if path)
    lines = [
        "# fish completion of mastio: mastio completion fish | source",
        f"set -g __mastio_known {known}",
        "function __mastio_at",
        "    set -l at",
        "    for word in (commandline -opc)[2..-1]",
        '        set -l next (string trim -- "$at $word")',
        '        if contains -- "$next" $__mastio_known',
        "            set at $next",
        "        end",
        "    end",
        '    test "$at" = "$argv[1]"',
        "end",
    ]
    for path, command in commands.items():
        here = f"complete -c mastio -n {_quote(f'__mastio_at {_quote_in_fish(path)}')}"
        lines += [f"{here} -f -a {_quote(verb)} -d {_quote(meaning)}" for verb, meaning in command.verbs.items()]
        for option, meaning in command.options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values = command.values.get(option)
            takes = "" if values is None else " -r -F" if values == (FILES,) else f" -x -a {_quote(' '.join(values))}"
            lines.append(f"{here} {flag}{takes} -d {_quote(meaning)}")
    return "\n".join(lines) + "\n"


def _write_tables(commands: Commands) -> str:
    """Functions in the shells' common language, which print the words that may follow."""
    verbs = {path: " ".join(one.verbs) for path, one in commands.items()}
    options = {path: " ".join(one.options) for path, one in commands.items()}
    values = {
        f"{path}|{option}": " ".join(words) or "-"
        for path, one in commands.items()
        for option, words in one.values.items()
    }
    return "\n".join(
        map(_write_table, ("_mastio_verbs", "_mastio_options", "_mastio_values"), (verbs, options, values))
    )


def _write_table(name: str, table: Mapping[str, str]) -> str:
    by_words: dict[str, list[str]] = {}
    for key, words in table.items():
        if words:
            by_words.setdefault(words, []).append(_quote(key))
    cases = "\n".join(f"        {'|'.join(keys)}) echo {_quote(words)} ;;" for words, keys in by_words.items())
    return f'{name}() {{\n    case "$1" in\n{cases}\n    esac\n}}'


def _quote(text: str) -> str:
    """In single quotes, on one line, for all three shells: what would need escaping is left out."""
    return "'" + re.sub(r"[\\'\n]", "", text.replace("%%", "%")) + "'"


def _quote_in_fish(path: str) -> str:
    """Within single quotes."""
    return f'"{path}"'


SHELLS = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}
