"""The verb of a collection on the command line: `mastio NAME list|show|add|set|remove`. For plugins.

Its options are derived from the bodies of the collection's API. A plugin names a `CollectionCommand` in the entry-point
group `mastio.commands`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import httpx
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import add_verb, administer, item_path, pages, print_one, print_rows
from mastio.plugin.collection import Collection
from mastio_client.enroll import send

TAKEN = frozenset({"ca", "data", "json", "url"})
"""Members whose options would have the names of those that `mastio.plugin.administer` adds."""


class CollectionCommand:
    """The verb. `secret` is the member whose value is read from a file, never from the arguments of the command: those
    are visible to every process of the machine."""

    def __init__(self, collection: Collection[Any], secret: str | None = None) -> None:
        self._collection = collection
        self._secret = secret
        self.MEANING = f"list, show, add, change, remove {collection.nouns}"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        one, many, serializer = self._collection.noun, self._collection.nouns, self._collection.serializer
        verbs = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
        add_verb(verbs, "list", f"list {many}", self._list)
        add_verb(verbs, "show", f"show one {one}", self._show).add_argument("name")
        add = add_verb(verbs, "add", f"add a {one}", self._add, "create")
        add.add_argument("name")
        self._add_members(add, serializer.body)
        change = add_verb(verbs, "set", f"change a {one}; what is not named stays", self._change)
        change.add_argument("name")
        self._add_members(change, serializer.patch)
        add_verb(verbs, "remove", f"remove a {one}", self._remove).add_argument("name")

    def run(self, args: argparse.Namespace) -> int:
        return administer(args)

    def _list(self, client: httpx.Client, args: argparse.Namespace) -> None:
        rows = pages(client, self._collection.path)
        print_rows(args, rows, tuple(self._collection.serializer.answer.model_fields))

    def _show(self, client: httpx.Client, args: argparse.Namespace) -> None:
        print_one(args, send(client, "GET", item_path(self._collection.path, args.name)))

    def _add(self, client: httpx.Client, args: argparse.Namespace) -> None:
        body = {"name": args.name, **self._read_members(args, self._collection.serializer.body)}
        print_one(args, send(client, "POST", self._collection.path, json=body))

    def _change(self, client: httpx.Client, args: argparse.Namespace) -> None:
        body = self._read_members(args, self._collection.serializer.patch)
        print_one(args, send(client, "PATCH", item_path(self._collection.path, args.name), json=body))

    def _remove(self, client: httpx.Client, args: argparse.Namespace) -> None:
        send(client, "DELETE", item_path(self._collection.path, args.name))

    def _members(self, body: type[BaseModel]) -> Mapping[str, FieldInfo]:
        return {name: field for name, field in body.model_fields.items() if name != "name"}

    def _add_members(self, parser: argparse.ArgumentParser, body: type[BaseModel]) -> None:
        for name, field in self._members(body).items():
            if name == self._secret:
                told = "send what is in this file; -: stdin"
                parser.add_argument(_flag(f"{name}_from"), dest=_place(name), metavar="FILE", help=told)
            else:
                parser.add_argument(_flag(name), dest=_place(name), required=field.is_required(), **_settings(field))

    def _read_members(self, args: argparse.Namespace, body: type[BaseModel]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, field in self._members(body).items():
            given = getattr(args, _place(name))
            if given is not None:
                found[name] = _read(given) if name == self._secret else _convert(name, field, given)
        return found


def _flag(name: str) -> str:
    """The option for a member. Those of every verb of administration keep their names."""
    return f"--object-{name}" if name in TAKEN else f"--{name.replace('_', '-')}"


def _place(name: str) -> str:
    """The attribute of the parsed arguments."""
    return f"member_{name}"


def _type_of(annotation: Any) -> Any:
    """The type behind `Annotated` and `| None`."""
    if get_origin(annotation) is Annotated:
        return _type_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        rest = [one for one in get_args(annotation) if one is not type(None)]
        return _type_of(rest[0]) if len(rest) == 1 else annotation
    return annotation


def _settings(field: FieldInfo) -> dict[str, Any]:
    """The settings of the argument for a member."""
    kind = _type_of(field.annotation)
    told = {"help": field.description or "", "default": None}
    if kind is bool:
        return {**told, "action": argparse.BooleanOptionalAction}
    if get_origin(kind) is Literal:
        return {**told, "choices": get_args(kind)}
    if kind in (int, float):
        return {**told, "type": kind, "metavar": "N"}
    if get_origin(kind) is list and _type_of(get_args(kind)[0]) is str:
        return {**told, "action": "append", "metavar": "TEXT"}
    if get_origin(kind) in (dict, Mapping):
        return {**told, "action": "append", "metavar": "KEY=VALUE"}
    return {**told, "metavar": "TEXT" if kind is str else "JSON"}


def _convert(name: str, field: FieldInfo, given: Any) -> Any:
    """The value of a member. Raises `ConfigurationError`."""
    kind = _type_of(field.annotation)
    if get_origin(kind) in (dict, Mapping):
        pairs = [text.partition("=") for text in given]
        if not all(key and equals for key, equals, _ in pairs):
            raise ConfigurationError(f"{_flag(name)} is not KEY=VALUE.", f"For example: {_flag(name)} color=red")
        return {key: value for key, _, value in pairs}
    if isinstance(given, str) and kind is not str and get_origin(kind) is not Literal:
        try:
            return json.loads(given)
        except ValueError as error:
            raise ConfigurationError(f"{_flag(name)} is not JSON.", "Quote it for the shell.") from error
    return given


def _read(source: str) -> str:
    try:
        return (sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")).strip()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"What is in {source} cannot be read.", "Give a file in UTF-8, or -.") from error
