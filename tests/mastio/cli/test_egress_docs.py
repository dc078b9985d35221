"""The examples of docs/egress.md and operate/rotate-upstream-secret.md are carried out as they stand."""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from mastio import cli
from mastio.plugin.administer import connect
from mastio_egress.connections.secrets import OPTIONS
from support.connection_samples import client_pem
from support.control_server import Served

ROOT = Path(__file__).parents[3]
EGRESS = (ROOT / "docs" / "egress.md").read_text("utf-8")
ROTATE = (ROOT / "operate" / "rotate-upstream-secret.md").read_text("utf-8")
AT = re.compile(r"(?:-X (\w+) )?https://localhost:9443(/\S+).*?-d '(.*?)'", re.DOTALL)


@pytest.fixture
def folder(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where whoever reads the docs stands: the data folder, keys in files."""
    (tmp_path / "data").symlink_to(served.data)
    (tmp_path / "key.txt").write_text("a-key-of-the-docs\n")
    (tmp_path / "new-key.txt").write_text("another-key-of-the-docs\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))
    return tmp_path


def commands_of(page: str) -> list[list[str]]:
    """Every `mastio connections` of the page, and whether something is piped into it."""
    lines = re.findall(r"^ *\$ ((?:.*\\\n)*.*)$", page, re.MULTILINE)
    return [shlex.split(line.replace("\\\n", " ")) for line in lines if "mastio connections" in line]


def carry_out(words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "|" in words:
        words = words[words.index("|") + 1 :]
        monkeypatch.setattr(sys, "stdin", io.StringIO("a-key-of-the-vault\n"))
    assert words[:2] == ["mastio", "connections"]
    assert cli.main([word.replace("$PWD", str(folder)) for word in words[1:]]) == 0, words


def admin_of(served: Served) -> httpx.Client:
    return connect(argparse.Namespace(data=served.data, url=None, ca=None, token_file=None))


def test_the_commands(served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "client.pem").write_text(client_pem())
    egress, rotate = commands_of(EGRESS), commands_of(ROTATE)
    assert (len(egress), len(rotate)) == (13, 3)
    for words in egress:
        carry_out(words, folder, monkeypatch)
    carry_out(egress[0], folder, monkeypatch)  # the page removes it in the end
    (served.data / "secrets" / "connections").mkdir(exist_ok=True)
    (served.data / "secrets" / "connections" / "billing").write_text("a-key-that-was-laid-down\n")
    for words in rotate:
        carry_out(words, folder, monkeypatch)
    with admin_of(served) as admin:
        kinds = {row["credential"]["kind"] for row in admin.get("/v1/admin/connections").json()["items"]}
    assert len(kinds) == 7


def test_the_requests(served: Served, folder: Path) -> None:
    base = {"base_url": "https://api.example.com"}
    with admin_of(served) as admin:
        assert admin.put("/v1/admin/connections/billing", json=base).status_code in (200, 404)
        admin.post("/v1/admin/connections", json={**base, "name": "billing"})
        bearer = {"credential": {"kind": "bearer", "secret": "the-first-key"}}
        assert admin.patch("/v1/admin/connections/billing", json=bearer).status_code == 200
        provider = {"name": "main", "kind": "openai", "base_url": "https://api.openai.com/v1"}
        assert admin.post("/v1/admin/providers", json=provider).status_code == 201
        asked = AT.findall(EGRESS) + AT.findall(ROTATE)
        assert [method for method, _, _ in asked] == ["", "PATCH", "PATCH"]
        for method, path, body in asked:
            reply = admin.request(method or "POST", path, json=json.loads(body))
            assert reply.status_code in (200, 201), reply.text
        table: list[dict[str, Any]] = [json.loads(text) for text in re.findall(r"\| `(\{\"kind\".*?\})` \|", EGRESS)]
        assert len(table) == 6
        for credential in table:
            reply = admin.post("/v1/admin/connections", json={**base, "name": "t", "credential": credential})
            assert reply.status_code == 201, reply.text
            assert admin.delete("/v1/admin/connections/t").status_code == 204


def test_every_member_is_told(served: Served) -> None:
    """The table of members and the answer of the API have the same names; so have kinds and their options."""
    with admin_of(served) as admin:
        made = admin.post("/v1/admin/connections", json={"name": "told", "base_url": "https://api.example.com"})
    members = EGRESS.partition("| member | default | |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", members, re.MULTILINE) == list(made.json())
    kinds = EGRESS.partition("| kind | members | the secret")[2].partition("\n\n")[0]
    told = {kind: tuple(re.findall(r"`(\w+)`(?! or|\))", rest)) for kind, rest in
            re.findall(r"^\| `(\w+)` \| (.*?) ?\|", kinds, re.MULTILINE)}  # fmt: skip
    assert told == OPTIONS
