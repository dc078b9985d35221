"""What every command shares: defaults from the environment and from profiles, and a reader that goes away."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mastio import cli
from mastio.exchange.errors import ConfigurationError
from mastio.plugin.administer import print_one
from mastio_primitives.command_line import CLOSED_PIPE
from mastio_primitives.defaults import fill, read_defaults, relax

PROFILES = """
[prod]
url = "https://prod.example"
ca = "/prod/ca.crt"
token_file = "/prod/token"
[here]
data = "/here"
identity = "/here/agent"
[odd]
colour = "red"
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "mastio").mkdir()
    (tmp_path / "mastio" / "profiles.toml").write_text(PROFILES)
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def parse(words: list[str], defaults: dict[str, str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers()
    show = verbs.add_parser("show")
    for name, kind in (("data", Path), ("url", str), ("ca", Path), ("token-file", Path)):
        show.add_argument(f"--{name}", type=kind)
    call = verbs.add_parser("call")
    call.add_argument("--identity", type=Path, required=True)
    enroll = verbs.add_parser("enroll")
    enroll.add_argument("--url", required=True)
    trust = enroll.add_mutually_exclusive_group(required=True)
    trust.add_argument("--ca", type=Path)
    trust.add_argument("--ca-sha256")
    serve = verbs.add_parser("serve")
    serve.add_argument("--data", type=Path, default=Path("data"))
    relax(parser, defaults)
    args = parser.parse_args(words)
    fill(args, parser, defaults)
    return {name: str(value) for name, value in vars(args).items() if value is not None}


REMOTE = {"url": "https://prod.example", "ca": "/prod/ca.crt", "token_file": "/prod/token"}
CASES = {
    "nothing": (["show"], {}, {}),
    "data": (["show"], {"data": "/d"}, {"data": "/d"}),
    "remote": (["show"], REMOTE, REMOTE),
    "both: the data folder": (["show"], {**REMOTE, "data": "/d"}, {"data": "/d"}),
    "an option wins": (["show", "--data", "/x"], {**REMOTE, "data": "/d"}, {"data": "/x"}),
    "another url has other companions": (["show", "--url", "https://b"], REMOTE, {"url": "https://b"}),
    "the same url": (["show", "--url", "https://prod.example"], REMOTE, REMOTE),
    "identity": (["call"], {"identity": "/i"}, {"identity": "/i"}),
    "enrolling": (["enroll"], REMOTE, {"url": "https://prod.example", "ca": "/prod/ca.crt"}),
    "a fingerprint wins": (
        ["enroll", "--ca-sha256", "ab"], REMOTE, {"url": "https://prod.example", "ca_sha256": "ab"},
    ),
    "a default of the command's own": (["serve"], {"data": "/d"}, {"data": "/d"}),
    "nothing for it": (["serve"], {}, {"data": "data"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_out_comes_from_the_defaults(name: str) -> None:
    words, defaults, expected = CASES[name]
    assert parse(words, dict(defaults)) == expected


@pytest.mark.parametrize(("value", "shown"), [(4.65e-06, "0.00000465"), (12.5, "12.5"), (3, "3"), (True, "true")])
def test_numbers_are_shown_in_full(value: object, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_one(argparse.Namespace(json=False), {"limit_usd": value})
    assert capsys.readouterr().out.split() == ["limit_usd", shown]


def test_what_is_needed_and_nowhere_is_asked_for() -> None:
    with pytest.raises(SystemExit):
        parse(["call"], {})


def test_the_environment_wins_over_a_profile(home: dict[str, str]) -> None:
    assert read_defaults({**home, "MASTIO_PROFILE": "prod"}) == REMOTE
    assert read_defaults({**home, "MASTIO_PROFILE": "prod"}, "here") == {"data": "/here", "identity": "/here/agent"}
    both = {**home, "MASTIO_DATA": "/mine", "MASTIO_IDENTITY": "/me"}
    assert read_defaults({**both, "MASTIO_PROFILE": "prod"}) == {"data": "/mine", "identity": "/me"}
    assert read_defaults({"HOME": "/nowhere"}) == {}


def test_a_profile_that_is_asked_for_is_another_appliance_altogether(home: dict[str, str]) -> None:
    """Nobody acts on staging who says prod, and staging's token does not go there."""
    staging = {"MASTIO_URL": "https://staging", "MASTIO_CA": "/s/ca", "MASTIO_TOKEN_FILE": "/s/token"}
    assert read_defaults({**home, **staging}, "prod") == REMOTE
    assert read_defaults({**home, **staging}, "here") == {"data": "/here", "identity": "/here/agent"}
    alone = {**home, "MASTIO_TOKEN_FILE": "/s/token", "MASTIO_PROFILE": "prod"}
    assert "url" not in read_defaults(alone)


def test_another_appliance_is_not_trusted_by_default() -> None:
    with pytest.raises(ConfigurationError, match="trust"):
        parse(["enroll", "--url", "https://other"], dict(REMOTE))


@pytest.mark.parametrize("profile", ["absent", "odd"])
def test_a_profile_that_is_none(home: dict[str, str], profile: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_defaults(home, profile)
    assert profile in refused.value.message


def test_a_command_says_what_its_profile_lacks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path)
    try:
        assert cli.main(["--profile", "x", "agents", "list"]) == 2
    finally:
        del os.environ["XDG_CONFIG_HOME"]
    assert capsys.readouterr().err.count("\n") == 1


def test_a_reader_that_goes_away_ends_a_command_quietly() -> None:
    """`mastio … | head`: no traceback, neither from the command nor from the interpreter's last flush."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "mastio", "check", "--data", "/nowhere"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, b"")
