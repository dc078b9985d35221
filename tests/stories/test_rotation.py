"""Keys are rotated while agents work: nobody is refused, and clients of the old root and of the new one are served."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mastio.identity.jose import parse_compact
from mastio_client.identity import Identity
from mastio_client.renewal import renew
from support.appliance import Appliance, open_appliance, wait_until

SELF = "/v1/agents/self"
LOOK = 0.6
"""Seconds within which every worker has looked for changes: it does so four times a second."""


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    with open_appliance(workers=2, stub=None) as (running, _):
        yield running


def keys(appliance: Appliance, *arguments: str) -> Any:
    """`mastio keys … --json`."""
    command = [sys.executable, "-m", "mastio", "keys", *arguments, "--data", str(appliance.data), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def states(appliance: Appliance, name: str) -> list[str]:
    return [row["state"] for row in keys(appliance, "status") if row["name"] == name]


def server_certificate(appliance: Appliance) -> bytes:
    return ssl.get_server_certificate(("127.0.0.1", appliance.port)).encode()


@contextmanager
def working(appliance: Appliance, *identities: Identity) -> Iterator[None]:
    """Each agent calls without a pause, by proof and by certificate, on kept connections and on new ones in turn.
    At the end every answer must have been 200."""
    stop = threading.Event()
    answers: Counter[str] = Counter()

    def work(make: Any, identity: Identity) -> None:
        while not stop.is_set():
            with make(identity) as client:
                for _ in range(25):
                    try:
                        answer = client.get(SELF)
                        answers["200" if answer.status_code == 200 else answer.text] += 1
                    except httpx.HTTPError as error:
                        answers[repr(error)] += 1

    makers = (appliance.agent, appliance.by_certificate)
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(work, make, identity) for make in makers for identity in identities]
        try:
            yield
        finally:
            stop.set()
    for one in done:
        one.result()
    assert set(answers) == {"200"}, answers
    assert answers["200"] > 200


def token_of(appliance: Appliance, identity: Identity) -> str:
    with appliance.by_certificate(identity) as client:
        said = client.post("/oauth/token", data={"grant_type": "client_credentials", "client_id": identity.name})
        assert said.status_code == 200, said.text
        token: str = said.json()["access_token"]
        return token


def kid_of(token: str) -> str:
    return str(parse_compact(token.encode()).header["kid"])


def works(appliance: Appliance, identity: Identity, token: str) -> int:
    with appliance.by_certificate(identity) as client:
        return client.get(SELF, headers={"Authorization": f"Bearer {token}"}).status_code


def test_token_keys_overlap(appliance: Appliance) -> None:
    identity = appliance.enroll("tokens")
    old = token_of(appliance, identity)
    with working(appliance, identity):
        (made,) = keys(appliance, "rotate", "token")
        assert made["state"] == "next"
        appliance.settle()
        with appliance.client() as client:
            published = {key["kid"] for key in client.get("/.well-known/jwks.json").json()["keys"]}
        assert published == {kid_of(old), made["id"]}
        wait_until(lambda: kid_of(token_of(appliance, identity)) == made["id"], 15, "tokens are signed by the new key")
        assert [works(appliance, identity, old) for _ in range(8)] == [200] * 8
        time.sleep(1)
    assert states(appliance, "token")[-2:] == ["retiring", "active"]


def test_a_token_key_that_others_know_is_refused_at_once(appliance: Appliance) -> None:
    identity = appliance.enroll("stolen")
    old = token_of(appliance, identity)
    assert works(appliance, identity, old) == 200
    keys(appliance, "rotate", "token", "--immediately", "--reason", "it was in a backup that is lost")
    appliance.settle()
    assert works(appliance, identity, old) == 401
    with appliance.agent(identity) as client:
        assert client.get(SELF).status_code == 200
    with appliance.client() as client:
        assert len(client.get("/.well-known/jwks.json").json()["keys"]) == 1


def test_a_leaf_of_an_issuer_that_others_know_is_refused_at_once() -> None:
    """Also one that was found good a moment ago, on a connection that is kept; a new leaf for its key is good."""
    with open_appliance(stub=None) as (appliance, _):
        identity = appliance.enroll("issued-before")
        with appliance.by_certificate(identity) as kept, appliance.agent(identity) as proven:
            assert kept.get(SELF).status_code == proven.get(SELF).status_code == 200
            keys(appliance, "rotate", "intermediate", "--immediately", "--reason", "it was in a backup that is lost")
            rotated = time.monotonic()
            wait_until(lambda: kept.get(SELF).status_code == 401, 1, "the leaf is refused")
            assert time.monotonic() - rotated < 1
        renew(identity)
        with appliance.agent(identity) as proven:
            assert proven.get(SELF).status_code == 200
        time.sleep(12)  # the edge has looked, and the new issuer signs
        with appliance.by_certificate(identity) as shown:
            assert shown.get(SELF).status_code == 200


def test_without_a_name_everything_but_the_root_is_rotated(appliance: Appliance) -> None:
    identity = appliance.enroll("everything")
    with working(appliance, identity):
        made = keys(appliance, "rotate")
        assert [row["name"] for row in made] == ["token", "intermediate", "edge"]
        time.sleep(12)
    assert states(appliance, "intermediate") == ["retiring", "active"]
    assert states(appliance, "root") == ["active"]


def test_the_whole_authority_under_work(appliance: Appliance) -> None:
    """Intermediate, edge certificate and root in turn: every call of agents of each generation is served."""
    first = appliance.enroll("first")
    old_anchor = (appliance.data / "ca" / "ca.crt").read_bytes()
    before = server_certificate(appliance)
    with working(appliance, first):
        keys(appliance, "rotate", "intermediate")
        wait_until(lambda: server_certificate(appliance) != before, 15, "the edge serves a certificate by the new one")
        wait_until(lambda: states(appliance, "intermediate")[-1] == "active", 20, "the new one signs")
        time.sleep(LOOK)
        second = appliance.enroll("second")
        issuer = x509.load_pem_x509_certificate((second.folder / "chain.pem").read_bytes())
        newest = max((appliance.data / "ca").glob("intermediate-*.crt"), key=lambda file: file.stat().st_mtime)
        assert issuer.public_bytes(Encoding.PEM) == newest.read_bytes()
        before = server_certificate(appliance)
        keys(appliance, "rotate", "edge")
        wait_until(lambda: server_certificate(appliance) != before, 15, "the edge serves its new certificate")
        with working(appliance, second):
            keys(appliance, "rotate", "root")
            wait_until(lambda: states(appliance, "root") == ["retiring", "active"], 25, "the new root is in force")
            time.sleep(2)
    new_anchor = (appliance.data / "ca" / "ca.crt").read_bytes()
    assert new_anchor != old_anchor
    (appliance.data / "old-ca.crt").write_bytes(old_anchor)
    for anchor in ("ca/ca.crt", "old-ca.crt"):
        context = ssl.create_default_context(cafile=str(appliance.data / anchor))
        with appliance.client(verify=context) as client:
            assert client.get("/pki/ca.crt").content == new_anchor
    third = appliance.enroll("third")
    for identity in (first, second, third):
        with appliance.by_certificate(identity) as client:
            assert client.get(SELF).status_code == 200
    root = sha256(x509.load_pem_x509_certificate(new_anchor).public_bytes(Encoding.DER)).hexdigest()
    bootstrap = appliance.data / "bootstrap.json"
    wait_until(lambda: json.loads(bootstrap.read_text())["ca_sha256"] == root, 10, "who starts anew is told of it")


def test_every_rotation_is_in_the_log(appliance: Appliance) -> None:
    recorded = [
        (entry["credential"]["name"], entry["request"]["path"])
        for entry in appliance.entries()
        if entry["kind"] == "admin.keys" and entry["phase"] == "intent" and entry["request"]["method"] == "POST"
    ]
    assert recorded == [("first", "/v1/admin/keys")] * 8
    assert appliance.verify() == 0


def test_leaves_of_a_revoked_agent_are_on_the_list_of_their_intermediate(appliance: Appliance) -> None:
    with appliance.admin() as admin:
        assert admin.post("/v1/admin/agents/first/revoke", json={}).status_code == 200
        assert admin.post("/v1/admin/agents/third/revoke", json={}).status_code == 200
    with appliance.client() as client:
        pem = client.get("/pki/crl.pem").content
    lists = [x509.load_pem_x509_crl(b"-----BEGIN" + part) for part in pem.split(b"-----BEGIN")[1:]]
    assert [len(made) for made in lists] == [1, 0, 1, 0]  # the newest intermediate first


def test_a_key_that_does_not_exist_is_one_sentence(appliance: Appliance) -> None:
    with appliance.admin() as admin:
        assert admin.get("/v1/admin/keys/nothing").status_code == 404
        assert admin.get("/v1/admin/keys/root").json()["items"][0]["name"] == "root"
        for body in ({"name": "admin"}, {"name": "token", "extra": 1}, {}, {"name": "token", "immediately": "yes"}):
            assert admin.post("/v1/admin/keys", json=body).status_code == 422, body


def test_before_a_reload_clients_of_http_1_are_asked_to_close(appliance: Appliance) -> None:
    """By a file that the supervisor makes for some seconds. HTTP/2 knows no such header (RFC 9113 §8.2.2)."""
    flag = appliance.data / "run" / "edge-closing"
    wait_until(lambda: not flag.exists(), 30, "no reload is under way")
    with appliance.client() as client:
        assert client.get("/health").headers.get_list("connection") == ["keep-alive"]
        flag.touch()
        try:
            for path, status in (("/health", 200), ("/v1/models", 401)):
                asked = client.get(path)
                assert asked.status_code == status and asked.headers.get_list("connection")[-1] == "close"
            curl = ["curl", "-sS", "--http2", "--cacert", str(appliance.data / "ca" / "ca.crt"), "-D-", "-o/dev/null"]
            head = subprocess.run([*curl, f"{appliance.base_url}/health"], capture_output=True, text=True, check=True)
            assert head.stdout.startswith("HTTP/2 200") and "connection:" not in head.stdout.lower()
        finally:
            flag.unlink()
        assert client.get("/health").headers.get_list("connection") == ["keep-alive"]
