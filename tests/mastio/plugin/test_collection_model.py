"""A collection that is derived from a model: its bodies, its secret, and the arguments of its verb."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mastio.exchange.errors import BadRequest, ConfigurationError
from mastio.plugin.collection import Secret
from mastio.plugin.collection_command import CollectionCommand
from mastio.plugin.collection_model import Object, make_collection
from mastio.plugin.fields import Line
from mastio.store.objects import ObjectCodec
from mastio.store.secrets.sealed import SealError

CANARY = "s3cret-canary"


class Limits(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    calls: int = Field(ge=0)


class Server(Object):
    """A tool server."""

    url: Line = Field(min_length=1)
    mode: Literal["open", "closed"] = "closed"
    tools: tuple[str, ...] = ()
    headers: dict[str, str] = Field(default_factory=dict)
    weight: float = 1.0
    enabled: bool = True
    limits: Limits | None = None
    token: str | None = None


SERVERS = make_collection(Server, name="servers", noun="server", nouns="servers", secret="token")
SERIALIZER: Any = SERVERS.serializer(SimpleNamespace())  # type: ignore[arg-type]
GIVEN = {
    "name": "one", "url": "https://tools.example", "tools": ["a", "b"], "limits": {"calls": 3}, "token": CANARY,
    "headers": {"x": "y"},
}  # fmt: skip


def make(**more: Any) -> Server:
    body = SERIALIZER.body.model_validate({**GIVEN, **more})
    made: Server = SERIALIZER.make(body.name, body)
    return made


def change(row: Server, **patch: Any) -> Server:
    changed: Server = SERIALIZER.change(row, SERIALIZER.patch.model_validate(patch))
    return changed


def test_bodies_become_objects_and_answers_without_the_secret() -> None:
    row = make()
    assert (row.tools, row.limits, row.token, row.mode) == (("a", "b"), Limits(calls=3), CANARY, "closed")
    (answer,) = asyncio.run(SERIALIZER.show([row]))
    shown = answer.model_dump(mode="json")
    assert CANARY not in str(shown) and shown == {
        "name": "one", "url": "https://tools.example", "mode": "closed", "tools": ["a", "b"], "headers": {"x": "y"},
        "weight": 1.0, "enabled": True, "limits": {"calls": 3}, "token_set": True,
    }  # fmt: skip
    (bare,) = asyncio.run(SERIALIZER.show([make(token=None)]))
    assert bare.model_dump()["token_set"] is False


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "UPPER"}, {"url": ""}, {"url": "two\nlines"}, {"mode": "ajar"}, {"tools": "a"},
        {"limits": {"calls": -1}},
        {"limits": {"calls": 1, "more": 1}}, {"weight": "1"}, {"enabled": 1}, {"more": 1}, {"token": "\x00"},
        {"url": None},
    ],
)  # fmt: skip
def test_other_bodies_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, BadRequest)):
        make(**wrong)


def test_a_patch_changes_what_is_given() -> None:
    row = make()
    assert change(row) == row
    assert change(row, mode="open").mode == "open"
    assert change(row, url=None) == row, "null leaves a member as it is"
    assert change(row, token=None).token is None, "but for the secret"
    assert change(row, token="another").token == "another"
    with pytest.raises(ValidationError):
        change(row, name="two")


def test_a_replacement_begins_anew() -> None:
    put = SERIALIZER.put.model_validate({"url": "https://tools.example"})
    assert SERIALIZER.make("one", put) == Server(name="one", url="https://tools.example")


def test_a_secret_must_be_a_member() -> None:
    with pytest.raises(ValueError, match="has no member"):
        make_collection(Server, name="servers", noun="server", nouns="servers", secret="password")


class Plain:
    """Seals by turning a text round."""

    def seal(self, secret: str, place: str) -> str:
        return f"{place}:{secret[::-1]}"

    def unseal(self, sealed: str, place: str) -> str:
        return sealed.removeprefix(f"{place}:")[::-1]


def stored(row: Server) -> Any:
    codec: Any = ObjectCodec(SERVERS, Plain(), ())  # type: ignore[arg-type]
    return codec, codec.encode(row)


def test_the_secret_is_stored_apart() -> None:
    codec, columns = stored(make())
    assert CANARY not in columns["document"] and columns["secret"] == f"servers/one:{CANARY[::-1]}"
    assert codec.decode(SimpleNamespace(**columns)) == make()
    secrets = SERVERS.secrets
    assert secrets is not None and secrets.take(make()) == (make(token=None), Secret(CANARY))


def test_an_object_whose_secret_is_lost_is_damaged() -> None:
    """Otherwise it would be used without it, and the next change would throw away what is sealed."""
    codec, columns = stored(make())
    codec._sealer = SimpleNamespace(unseal=refuse)
    with pytest.raises(ValueError, match="cannot be had"):
        codec.decode(SimpleNamespace(**columns))


def refuse(sealed: str, place: str) -> str:
    raise SealError("It does not open.")


@pytest.mark.parametrize("damage", [("weight", "weighs"), ('"mode":"closed",', ""), ("closed", "ajar"), ("{", "")])
def test_a_document_with_other_members_is_damaged(damage: tuple[str, str]) -> None:
    codec, columns = stored(make())
    columns["document"] = columns["document"].replace(*damage)
    with pytest.raises(ValueError):
        codec.decode(SimpleNamespace(**columns))


def parse(*words: str) -> tuple[argparse.Namespace, dict[str, Any]]:
    command = CollectionCommand(SERVERS, secret="token")
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(words)
    return args, command._read_members(args, SERIALIZER.patch)


def test_the_verb_has_an_option_for_each_member(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{CANARY}\n")
    words = (
        "set",
        "one",
        "--object-url",
        "https://x",
        "--tools",
        "a",
        "--tools",
        "b",
        "--headers",
        "a=b",
        "--headers",
        "c=d=e",
    )
    more = ("--weight", "2.5", "--no-enabled", "--limits", '{"calls": 4}', "--token-from", str(tmp_path / "token"))
    _, members = parse(*words, *more, "--mode", "open")
    assert members == {
        "url": "https://x", "tools": ["a", "b"], "headers": {"a": "b", "c": "d=e"}, "weight": 2.5, "enabled": False,
        "limits": {"calls": 4}, "token": CANARY, "mode": "open",
    }  # fmt: skip
    assert parse("set", "one")[1] == {}


@pytest.mark.parametrize("words", [("--headers", "a"), ("--limits", "{"), ("--token-from", "/there/is/none")])
def test_wrong_values_are_one_sentence(words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError):
        parse("set", "one", *words)


def test_the_verb_asks_for_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("add", "one")
    assert "--object-url" in capsys.readouterr().err
