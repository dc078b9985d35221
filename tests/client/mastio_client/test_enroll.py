"""`mastio enroll` against a real control plane behind TLS."""

from __future__ import annotations

import json
import socket
import ssl
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from mastio.cli import agents, enrollments
from mastio.cli.agent import enroll
from mastio.exchange.errors import ConfigurationError
from mastio.pki.authority import Authority
from mastio.plugin import administer
from mastio_client.enroll import FILES, Refused, Turn
from mastio_client.proofs import parse_private_jwk
from mastio_llm import commands as providers
from support.command_verbs import run
from support.control_server import Served


def admin(served: Served, module: Any, *words: str) -> int:
    return run(module, *words, "--data", str(served.data))


def token(served: Served, capsys: pytest.CaptureFixture[str], name: str = "*", *more: str) -> str:
    capsys.readouterr()
    assert admin(served, enrollments, "token", "--name", name, *more) == 0
    return capsys.readouterr().out.strip()


def enrol(served: Served, name: str, out: Path, *more: str) -> int:
    words = ["--url", served.base_url, "--name", name, "--out", str(out), *more]
    if "--ca-sha256" not in more and "--ca" not in more:
        words += ["--ca", str(served.ca_file)]
    return run(enroll, *words)


def test_with_a_token_the_identity_is_complete(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "id"
    assert enrol(served, "one", out, "--token", token(served, capsys), "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert sorted(f.name for f in out.iterdir()) == sorted(FILES)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in out.iterdir()} == {0o600}
    facts = json.loads((out / "agent.json").read_text())
    leaf = x509.load_pem_x509_certificate((out / "agent.crt").read_bytes())
    assert facts == {
        "name": "one", "spiffe_id": "spiffe://world.test/agent/one", "base_url": served.base_url, "ca_file": "ca.crt",
        "not_after": leaf.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }  # fmt: skip
    assert printed == {**facts, "identity": str(out)}
    key = load_pem_private_key((out / "agent.key").read_bytes(), None)
    assert key.public_key() == leaf.public_key()
    dpop = json.loads((out / "dpop.jwk").read_text())
    assert parse_private_jwk(dpop).public_key() != key.public_key() and dpop["crv"] == "P-256"
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate((out / "chain.pem").read_bytes()))
    assert (out / "ca.crt").read_bytes() == served.ca_file.read_bytes()
    assert [f.name for f in out.parent.iterdir()] == ["id"]


def test_the_fingerprint_is_enough(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    colons = ":".join(served.ca_sha256[n : n + 2] for n in range(0, 64, 2)).upper()
    more = ("--ca-sha256", colons, "--token", token(served, capsys), "--dpop-key", "ed25519")
    assert enrol(served, "two", tmp_path / "id", *more) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "id")
    assert json.loads((tmp_path / "id" / "dpop.jwk").read_text())["crv"] == "Ed25519"
    assert (tmp_path / "id" / "ca.crt").read_bytes() == served.ca_file.read_bytes()


def test_a_wrong_fingerprint_stops_before_anything_is_sent(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spare = token(served, capsys)
    for wrong in ("0" * 64, "xyz", served.ca_sha256[:-2]):
        with pytest.raises(ConfigurationError, match="fingerprint"):
            enrol(served, "three", tmp_path / "id", "--ca-sha256", wrong, "--token", spare)
    assert not list(tmp_path.iterdir())
    assert enrol(served, "three", tmp_path / "id", "--token", spare) == 0


def test_a_server_of_another_authority_is_not_believed(served: Served, tmp_path: Path) -> None:
    other = tmp_path / "other.crt"
    other.write_bytes(Authority.ensure(tmp_path / "foreign", "world.test", time.time()).root_pem)
    with pytest.raises(ConfigurationError, match="cannot be reached"):
        enrol(served, "four", tmp_path / "id", "--ca", str(other))
    assert sorted(f.name for f in tmp_path.iterdir()) == ["foreign", "other.crt"]


@contextmanager
def decided_soon(served: Served, name: str, verb: str, *more: str) -> Iterator[None]:
    """Decide on the request for `name` as soon as there is one, as an operator at another terminal would."""

    def decide() -> None:
        context = ssl.create_default_context(cafile=str(served.ca_file))
        secret = (served.data / "secrets" / "admin-token").read_text().strip()
        headers = {"Authorization": f"Bearer {secret}"}
        with httpx.Client(base_url=served.base_url, verify=context, headers=headers, trust_env=False) as client:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                items = client.get("/v1/admin/enrollments?status=pending").json()["items"]
                found = [item["id"] for item in items if item["name"] == name]
                if found:
                    assert admin(served, enrollments, verb, found[0], *more) == 0
                    return
                time.sleep(0.05)
        raise AssertionError(f"nobody asked to be {name}")

    with ThreadPoolExecutor(1) as pool:
        deciding = pool.submit(decide)
        yield
        deciding.result()


class Hours:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def refusing(times: int, **headers: str) -> httpx.MockTransport:
    """An edge that refuses so many requests before it lets one pass."""
    left = [times]

    def answer(request: httpx.Request) -> httpx.Response:
        left[0] -= 1
        if left[0] < 0:
            return httpx.Response(201, json={"status": "issued"})
        return httpx.Response(429, json={"code": "rate_limited", "detail": "Too many requests."}, headers=headers)

    return httpx.MockTransport(answer)


def take_turn(transport: httpx.MockTransport, seconds: float) -> tuple[Any, list[str], list[float]]:
    """The answer or the refusal, what was said meanwhile, and how long was slept."""
    hours, said = Hours(), list[str]()
    turn = Turn(seconds, said.append, lambda: hours.now, hours.sleep)
    with httpx.Client(transport=transport, base_url="https://m") as client:
        try:
            return turn.send(client, "POST", "/v1/enrollments"), said, hours.slept
        except Refused as refusal:
            return refusal.code, said, hours.slept


def test_a_request_that_comes_too_soon_waits_for_its_turn() -> None:
    answer, said, slept = take_turn(refusing(3, **{"Retry-After": "7"}), 60)
    assert answer == {"status": "issued"} and slept == [7, 7, 7]
    assert said == ["Too many requests. Trying again in 7 s."] * 3


@pytest.mark.parametrize(
    ("seconds", "header", "slept"),
    [
        (20, {"Retry-After": "7"}, [7, 7]),
        (60, {"Retry-After": "61"}, []),
        (60, {}, []),
        (60, {"Retry-After": "Fri, 31 Dec 2027 23:59:59 GMT"}, []),
        (60, {"Retry-After": "-1"}, []),
        (3, {"Retry-After": "0"}, [1, 1, 1]),
    ],
    ids=str,
)
def test_a_turn_that_would_come_too_late_is_not_waited_for(
    seconds: float, header: dict[str, str], slept: list[float]
) -> None:
    """Nor is one that the appliance does not name. It never spins."""
    answer, _, waited = take_turn(refusing(100, **header), seconds)
    assert (answer, waited) == ("rate_limited", slept)


def test_other_refusals_are_not_repeated() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        document = {"code": "invalid_enrollment_token", "detail": "No."}
        return httpx.Response(403, json=document, headers={"Retry-After": "1"})

    assert take_turn(httpx.MockTransport(answer), 60) == ("invalid_enrollment_token", [], [])


def test_without_a_token_it_waits_for_a_human(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with decided_soon(served, "five", "approve"):
        assert enrol(served, "five", tmp_path / "id", "--reason", "nightly", "--timeout", "30") == 0
    said = capsys.readouterr()
    assert "waiting for an operator" in said.err and "key SHA-256" in said.err
    assert (tmp_path / "id" / "agent.crt").exists()


def test_a_rejection_is_status_1_and_leaves_nothing(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with decided_soon(served, "six", "reject", "--reason", "unknown machine"):
        assert enrol(served, "six", tmp_path / "id", "--timeout", "30") == 1
    assert "rejected: unknown machine" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nobody_decides_in_time(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert enrol(served, "seven", tmp_path / "id", "--timeout", "0.2") == 1
    assert "in time" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_bad_token_is_status_1(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert enrol(served, "eight", tmp_path / "id", "--token", "mastio_enroll_nope") == 1
    said = capsys.readouterr()
    assert said.out == "" and "token" in said.err and said.err.count("\n") == 1


def test_an_identity_is_never_written_over(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "id"
    out.mkdir()
    (out / "agent.key").write_text("precious")
    spare = token(served, capsys)
    with pytest.raises(ConfigurationError, match="exists"):
        enrol(served, "nine", out, "--token", spare)
    assert [f.name for f in out.iterdir()] == ["agent.key"] and (out / "agent.key").read_text() == "precious"
    (out / "agent.key").unlink()
    assert enrol(served, "nine", out, "--token", spare) == 0  # the token was not spent; an empty folder is used


@pytest.mark.parametrize("name", ["Nine", "", "a b", "\u0430", "a" * 65])
def test_a_name_against_the_rule(served: Served, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="name"):
        enrol(served, name, tmp_path / "id")


def test_an_appliance_that_is_not_there(served: Served, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    nowhere = Served(served.data, f"https://localhost:{port}", served.ca_sha256)
    with pytest.raises(ConfigurationError, match="cannot be reached"):
        enrol(nowhere, "ten", tmp_path / "id")
    with pytest.raises(ConfigurationError, match="cannot be fetched"):
        enrol(nowhere, "ten", tmp_path / "id", "--ca-sha256", served.ca_sha256)


# --- the administering commands ----------------------------------------------------------------------------------


def test_agents(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ag-1", "ag-2"):
        enrol(served, name, tmp_path / name, "--token", token(served, capsys))
    capsys.readouterr()
    assert admin(served, agents, "list", "--json") == 0
    assert {"ag-1", "ag-2"} <= {item["name"] for item in json.loads(capsys.readouterr().out)}
    assert admin(served, agents, "groups", "ag-1", "b", "a", "--json") == 0
    assert json.loads(capsys.readouterr().out)["groups"] == ["a", "b"]
    for verb, status in (("suspend", "suspended"), ("reactivate", "active"), ("revoke", "revoked")):
        assert admin(served, agents, verb, "ag-1", "--reason", "test", "--json") == 0
        assert json.loads(capsys.readouterr().out)["status"] == status
    assert admin(served, agents, "list", "--status", "revoked") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "NOT_AFTER", "GROUPS", "SPIFFE_ID"]
    assert [line.split()[0] for line in lines[1:]] == ["ag-1"]
    assert admin(served, agents, "show", "ag-2") == 0
    assert "spiffe://world.test/agent/ag-2" in capsys.readouterr().out
    assert admin(served, agents, "show", "no/body") == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("mastio: ")


def test_tokens(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    made = token(served, capsys, "tok-*", "--ttl", "60", "--uses", "2")
    assert made.startswith("mastio_enroll_")
    assert admin(served, enrollments, "tokens", "--json") == 0
    listed = [item for item in json.loads(capsys.readouterr().out) if item["name"] == "tok-*"]
    assert [item["uses_left"] for item in listed] == [2] and made not in str(listed)
    assert admin(served, enrollments, "remove-token", listed[0]["id"]) == 0
    assert admin(served, enrollments, "remove-token", listed[0]["id"]) == 1
    assert admin(served, enrollments, "token", "--name", "NOT GOOD") == 1


def test_providers(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "key"
    secret.write_text("sk-canary\n")
    words = ["add", "main", "--base-url", "http://127.0.0.1:9/v1", "--api-key-from", str(secret)]
    words += ["--model", "a-*", "--model", "b", "--alias", "fast=a-1", "--allow-address", "127.0.0.1", "--weight", "2"]
    assert admin(served, providers, *words, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "main", "kind": "openai", "base_url": "http://127.0.0.1:9/v1", "models": ["a-*", "b"],
        "aliases": {"fast": "a-1"}, "allow_addresses": ["127.0.0.1"], "weight": 2, "timeouts": {}, "api_key_set": True,
    }  # fmt: skip
    assert admin(served, providers, "list") == 0
    assert "main" in (said := capsys.readouterr().out) and "sk-canary" not in said
    assert admin(served, providers, "set", "main", "--model", "c", "--json") == 0
    changed = json.loads(capsys.readouterr().out)
    assert (changed["models"], changed["weight"], changed["api_key_set"]) == (["c"], 2, True)
    assert admin(served, providers, "add", "x", "--base-url", "http://x/v1", "--kind", "odd") == 1
    assert "the kind must be one of" in capsys.readouterr().err
    assert admin(served, providers, "remove", "main") == 0
    assert admin(served, providers, "show", "main") == 1
    with pytest.raises(ConfigurationError, match="ALIAS=MODEL"):
        admin(served, providers, "add", "x", "--base-url", "http://x/v1", "--alias", "odd")


def test_what_a_stranger_wrote_does_not_reach_the_terminal(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert administer.plain("a\x1b[2J\u202eb\nc") == "a\\x1b[2J\\u202eb\\nc"


def test_connections_are_given_whole(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = ("--url", served.base_url + "/")
    ca, secret = ("--ca", str(served.ca_file)), ("--token-file", str(served.data / "secrets" / "admin-token"))
    assert run(agents, "list", *url, *ca, *secret) == 0
    for words in ((*url, *ca), (*url, *secret), (*ca, *secret), (*url, *ca, *secret, "--data", str(served.data)),
                  ("--data", str(tmp_path)), (*url, *ca, "--token-file", str(tmp_path / "none"))):  # fmt: skip
        with pytest.raises(ConfigurationError):
            run(agents, "list", *words)
    (tmp_path / "other").write_text("mastio_admin_wrong")
    assert run(agents, "list", *url, *ca, "--token-file", str(tmp_path / "other")) == 1
    assert "admin token" in capsys.readouterr().err
