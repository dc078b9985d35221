"""`mastio admins`: a token that is shown once is never lost, and never in two places."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from mastio import cli
from mastio.cli.admins import change_admin, print_token

MADE = {"name": "ann", "role": "admin", "token": "mastio_admin_x"}


def show(capsys: pytest.CaptureFixture[str], token_to: Path | None) -> tuple[str, str]:
    print_token(argparse.Namespace(token_to=token_to, json=True), dict(MADE))
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_a_token_is_in_its_file_or_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = show(capsys, tmp_path / "token")
    assert json.loads(out) == {"name": "ann", "role": "admin"} and err == ""
    assert (tmp_path / "token").read_text() == "mastio_admin_x\n"
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert json.loads(show(capsys, None)[0]) == MADE
    out, err = show(capsys, tmp_path / "none" / "token")
    assert json.loads(out) == MADE
    assert err == f"mastio: {tmp_path}/none/token cannot be written, so the token is printed.\n"


def test_a_token_that_cannot_be_kept_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["admins", "new-token", "--token-to", str(tmp_path / "none" / "token")]) == 2
    printed = capsys.readouterr()
    assert printed.out == "", "a digest of a token that nobody has would lock its admin out"
    assert printed.err == f"mastio: {tmp_path}/none/token cannot be written. Check --token-to.\n"


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ({"role": "auditor"}, {"role": "auditor"}),
        ({"no_end": True}, {"expires_at": None}),
        ({"ttl": 60}, {"ttl_seconds": 60}),
        (
            {"role": "admin", "expires_at": "2027-01-01T00:00:00Z"},
            {"role": "admin", "expires_at": "2027-01-01T00:00:00Z"},
        ),
    ],
)
def test_only_what_was_said_is_changed(words: dict[str, Any], body: dict[str, Any]) -> None:
    """A member that is left out stays as it is; `expires_at` of null takes the end away."""
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, request.url.path, json.loads(request.content)))
        return httpx.Response(200, json={"name": "ann"})

    known = {"name": "ann", "role": None, "no_end": False, "ttl": None, "expires_at": None, "json": True}
    with httpx.Client(transport=httpx.MockTransport(answer), base_url="https://m") as client:
        change_admin(client, argparse.Namespace(**{**known, **words}))
    assert sent == [("PATCH", "/v1/admin/admins/ann", body)]
