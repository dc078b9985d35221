"""What the administering commands share: a change that waits for another admin, lists of several pages, terminals."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from mastio.plugin.administer import ChangeHeld, pages, print_held, raise_if_held

CODE = "mastio_claim_abc"
HOLD = {"id": "hold_1", "expires_at": "2027-01-01T00:00:00Z", "approve": "/v1/admin/holds/hold_1/approve"}
Ask = Callable[..., tuple[str, str]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Prints a hold as a command does. Returns what is on stdout and on stderr."""

    def run(hold: dict[str, Any], *, token_to: Path | None = None, as_json: bool = False) -> tuple[str, str]:
        print_held(argparse.Namespace(token_to=token_to, json=as_json), dict(hold))
        printed = capsys.readouterr()
        return printed.out, printed.err

    return run


def test_a_held_change_names_the_next_step(ask: Ask) -> None:
    out, err = ask(HOLD)
    assert out == "waits for another admin: mastio holds approve hold_1 (until 2027-01-01T00:00:00Z)\n" and err == ""


def test_a_one_time_code_is_printed_where_no_file_was_named(ask: Ask) -> None:
    out, _ = ask({**HOLD, "claim": CODE})
    assert out.splitlines()[1] == f"then the token is claimed once with this code (mastio admins claim): {CODE}"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_one_time_code_goes_into_the_named_file_alone(ask: Ask, tmp_path: Path, *, as_json: bool) -> None:
    file = tmp_path / "code"
    out, err = ask({**HOLD, "claim": CODE}, token_to=file, as_json=as_json)
    assert file.read_text() == f"{CODE}\n" and file.stat().st_mode & 0o777 == 0o600
    assert CODE not in out + err and "hold_1" in out


@pytest.mark.parametrize("as_json", [False, True])
def test_a_code_is_not_lost_with_a_file_that_cannot_be_written(ask: Ask, tmp_path: Path, *, as_json: bool) -> None:
    out, err = ask({**HOLD, "claim": CODE}, token_to=tmp_path / "none" / "code", as_json=as_json)
    assert err == f"mastio: {tmp_path}/none/code cannot be written, so the code is printed.\n"
    assert json.loads(out)["claim"] == CODE if as_json else CODE in out


def test_a_held_change_without_a_code_writes_no_file(ask: Ask, tmp_path: Path) -> None:
    out, err = ask(HOLD, token_to=tmp_path / "code", as_json=True)
    assert json.loads(out) == HOLD and err == "" and not (tmp_path / "code").exists()


def test_what_a_terminal_would_obey_is_not_printed(ask: Ask) -> None:
    out, _ = ask({**HOLD, "id": "hold\x1b[2J"})
    assert "\x1b" not in out and "hold\\x1b[2J" in out


@pytest.mark.parametrize(
    ("status", "document", "is_held"),
    [
        (202, HOLD, True),
        (202, {"id": "enr_1", "status": "pending"}, False),
        (202, ["approve"], False),
        (200, HOLD, False),
    ],
)
def test_only_an_answer_that_names_an_approval_is_held(status: int, document: Any, *, is_held: bool) -> None:
    reply = httpx.Response(status, json=document)
    if not is_held:
        raise_if_held(reply)
        return
    with pytest.raises(ChangeHeld) as caught:
        raise_if_held(reply)
    assert caught.value.hold == HOLD


def test_every_page_of_a_list_is_asked_for() -> None:
    asked: list[dict[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        number = len(asked)
        return httpx.Response(200, json={"items": [{"n": number}], "next_cursor": f"c{number}" if number < 3 else None})

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="https://m") as client:
        items = list(pages(client, "/v1/admin/x", {"status": "pending"}))
    assert items == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [one.get("cursor") for one in asked] == [None, "c1", "c2"]
    assert all(one["status"] == "pending" and one["limit"] == "500" for one in asked)
