"""`mastio connections` against a real control plane behind TLS."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from mastio.exchange.errors import ConfigurationError
from mastio_egress import commands as connections
from support.control_server import Served

CANARY = "canary-of-the-cli-41c7"


def run(served: Served, *words: str) -> int:
    parser = argparse.ArgumentParser()
    connections.add_arguments(parser)
    status: int = connections.run(parser.parse_args([*words, "--data", str(served.data)]))
    return status


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """What was printed last, as JSON; the secret is nowhere in it."""
    printed = capsys.readouterr()
    assert CANARY not in printed.out + printed.err
    return json.loads(printed.out)


@pytest.fixture
def secret(tmp_path: Path) -> str:
    file = tmp_path / "secret"
    file.write_text(f"{CANARY}\n")
    return str(file)


def test_every_member(served: Served, tmp_path: Path, secret: str, capsys: pytest.CaptureFixture[str]) -> None:
    ca = served.ca_file.read_text("ascii")
    words = ["create", "all", "--base-url", "https://api.example/v2", "--credential", "header", "--header", "X-Key"]
    words += ["--prefix", "Token ", "--secret-file", secret, "--method", "get", "--method", "POST", "--path", "/v1/*"]
    words += ["--allow-address", "10.0.0.0/8", "--redirects", "--redirect-host", "Files.example", "--inspect-request"]
    words += ["--inspect-response", "--request-bytes", "10", "--response-bytes", "20", "--requests-per-minute", "30"]
    words += ["--connect-timeout", "1.5", "--read-timeout", "2", "--total-timeout", "3", "--keep-header", "Set-Cookie"]
    words += ["--request-header", "X-Amz-Target"]
    words += ["--upstream-ca", str(served.ca_file), "--pin", "AB" * 32, "--json"]
    assert run(served, *words) == 0
    expected = {
        "name": "all", "base_url": "https://api.example/v2",
        "credential": {"kind": "header", "header": "X-Key", "prefix": "Token ", "secret_set": True},
        "methods": ["GET", "POST"], "paths": ["/v1/*"], "allow_addresses": ["10.0.0.0/8"], "redirects": True,
        "redirect_hosts": ["files.example"], "inspect": {"request": True, "response": True},
        "limits": {"request_bytes": 10, "response_bytes": 20, "requests_per_minute": 30},
        "timeouts": {"connect": 1.5, "read": 2.0, "total": 3.0}, "keep_headers": ["set-cookie"],
        "request_headers": ["x-amz-target"], "ca": ca.strip(), "pin": "ab" * 32,
    }  # fmt: skip
    assert x509.load_pem_x509_certificate(ca.encode())
    assert said(capsys) == expected
    assert run(served, "show", "all", "--json") == 0
    assert said(capsys) == expected
    changes = ["--no-redirects", "--no-inspect-request", "--read-timeout", "9", "--no-pin", "--no-upstream-ca"]
    assert run(served, "set", "all", *changes, "--json") == 0
    expected |= {
        "redirects": False, "inspect": {"request": False, "response": True}, "ca": None, "pin": None,
        "timeouts": {"connect": 1.5, "read": 9.0, "total": 3.0},
    }  # fmt: skip
    assert said(capsys) == expected
    assert run(served, "set", "all", "--no-credential", "--json") == 0
    assert said(capsys) == {**expected, "credential": None}
    assert run(served, "remove", "all") == 0
    assert run(served, "show", "all") == 1


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bearer", {}),
        ("query", {"parameter": "key"}),
        ("basic", {"username": "robot"}),
        ("oauth", {"token_url": "https://t.example/t", "client_id": "c", "scope": "a b", "audience": "x",
                   "client_auth": "body"}),
        ("sigv4", {"access_key_id": "AKIA1", "region": "eu-south-1", "service": "s3"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_options_of_each_kind(
    served: Served, secret: str, kind: str, options: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["create", f"of-{kind}", "--base-url", "https://api.example", "--credential", kind]
    words += [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    assert run(served, *words, "--secret-file", secret, "--json") == 0
    assert said(capsys)["credential"] == {"kind": kind, **options, "secret_set": True}


def test_a_rotation_from_a_file_from_stdin_and_to_a_file_of_the_appliance(
    served: Served, secret: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["create", "turn", "--base-url", "https://api.example", "--credential", "query", "--parameter", "key"]
    assert run(served, *words, "--secret-file", secret) == 0
    kept = {"kind": "query", "parameter": "key", "secret_set": True}
    Path(secret).write_text(f"{CANARY}-2\n")
    assert run(served, "rotate", "turn", "--secret-file", secret) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{CANARY}-3\n"))
    assert run(served, "rotate", "turn", "--secret-file", "-", "--json") == 0
    assert said(capsys)["credential"] == kept
    laid_down = served.data / "secrets" / "providers" / "turn"
    laid_down.parent.mkdir(exist_ok=True)
    laid_down.write_text(f"{CANARY}-4\n")
    assert run(served, "rotate", "turn", "--secret-path", str(laid_down), "--json") == 0
    assert said(capsys)["credential"] == kept
    assert run(served, "rotate", "turn", "--secret-path", "/etc/hostname") == 1
    assert run(served, "rotate", "nobody", "--secret-file", secret) == 1


def test_the_list(served: Served, secret: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--base-url", "https://api.example", "--credential", "bearer", "--secret-file", secret]
    assert run(served, "create", "listed", *words) == 0
    assert run(served, "create", "open", "--base-url", "https://open.example", "--path", "/a", "--path", "/b/*") == 0
    capsys.readouterr()
    assert run(served, "list") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["NAME", "BASE_URL", "CREDENTIAL", "SECRET_SET", "METHODS", "PATHS"]
    assert ["listed", "https://api.example", "bearer", "true", "-", "*"] in lines
    assert ["open", "https://open.example", "-", "-", "-", "/a,/b/*"] in lines
    assert run(served, "list", "--json") == 0
    assert {"listed", "open"} <= {row["name"] for row in said(capsys) if isinstance(row["limits"], dict)}


def test_refusals_are_one_sentence(served: Served, secret: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(served, "create", "bad", "--base-url", "https://api.example", "--credential", "bearer") == 1
    assert "give secret or secret_file" in capsys.readouterr().err
    words = ["--base-url", "http://api.example", "--credential", "bearer", "--secret-file", secret]
    assert run(served, "create", "bad", *words) == 1
    assert "use https" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match="cannot be read"):
        run(served, "rotate", "bad", "--secret-file", "/nowhere")
    with pytest.raises(ConfigurationError, match="--no-pin"):
        run(served, "set", "bad", "--no-pin", "--pin", "ab" * 32)
    for wrong in (
        ["rotate", "bad"],
        ["rotate", "bad", CANARY],
        ["rotate", "bad", "--secret", CANARY, "--secret-file", secret],
        ["create", "bad", "--base-url", "https://x", "--credential", "magic"],
        ["create", "bad", "--base-url", "https://x", "--secret-file", secret, "--secret-path", "/x"],
    ):
        with pytest.raises(SystemExit) as ended:
            run(served, *wrong)
        assert ended.value.code == 2
