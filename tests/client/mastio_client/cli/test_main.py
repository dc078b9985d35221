"""The command `mastio-client`, and that `mastio` has the same verbs."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

import mastio.client
import mastio_client
from mastio import cli
from mastio_client import __version__
from mastio_client.cli.main import MODULES, main
from mastio_primitives.command_line import AGENT_VERBS


def test_every_verb_has_a_module_and_the_appliance_has_it_too() -> None:
    assert MODULES.keys() == AGENT_VERBS.keys() <= cli.VERBS.keys()
    for verb, module in MODULES.items():
        assert cli.load_verb(verb).run is module.run and cli.load_verb(verb).add_arguments is module.add_arguments


def test_the_server_has_the_library_under_its_own_name() -> None:
    assert mastio.client.__all__ == mastio_client.__all__
    assert all(getattr(mastio.client, name) is getattr(mastio_client, name) for name in mastio_client.__all__)


def test_the_verb_of_an_auditor_takes_the_same_arguments() -> None:
    parser = argparse.ArgumentParser()
    cli.load_verb("audit").add_arguments(parser)
    words = ["7", "--identity", "a", "--vkey", "k", "--checkpoint", "c", "--checkpoint-out", "o", "--json"]
    told = vars(parser.parse_args(["receipt", *words]))
    own = argparse.ArgumentParser()
    MODULES["receipt"].add_arguments(own)
    assert vars(own.parse_args(words)).items() <= told.items()


def test_what_cannot_be_done_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "--identity", str(tmp_path), "GET", "/v1/models"]) == 2
    assert capsys.readouterr().err == f"mastio: {tmp_path} is not an agent's identity. Make one with the verb enroll.\n"


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"mastio-client {__version__}\n")


def test_the_identity_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MASTIO_IDENTITY", str(tmp_path / "mine"))
    assert main(["renew"]) == 2
    assert str(tmp_path / "mine") in capsys.readouterr().err
