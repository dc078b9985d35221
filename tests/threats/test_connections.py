"""Secrets of connections through the whole appliance: they go in at the edge, and are nowhere to be read afterwards.

The key that seals them is not in the data folder either: whoever has the folder has nothing that opens.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import apsw
import pytest

from mastio.store.secrets.file_keys import FileKeys
from mastio.store.secrets.key_sources import run_key_command
from mastio.store.secrets.sealed import Sealer, SealError
from mastio_client import Identity
from mastio_egress.connections.connection import CredentialKind
from support.appliance import NGINX, Appliance, open_appliance, read_files, wait_until
from support.threats.canaries import files_of, find

CONNECTIONS = "/v1/admin/connections"
OPTIONS: dict[str, dict[str, str]] = {
    "bearer": {},
    "header": {"header": "X-Api-Key", "prefix": "Token "},
    "query": {"parameter": "api_key"},
    "basic": {"username": "robot"},
    "oauth": {"token_url": "https://login.example/token", "client_id": "robot"},
    "sigv4": {"access_key_id": "AKIAEXAMPLE", "region": "eu-south-1", "service": "execute-api"},
    "certificate": {},
}


@dataclass
class Scene:
    appliance: Appliance
    key: str
    canaries: dict[str, str] = field(default_factory=dict)
    shown: list[tuple[str, bytes]] = field(default_factory=list)
    sealed: dict[str, str] = field(default_factory=dict)
    """The last secret of each connection."""

    def keep(self, name: str, secret: str) -> str:
        """Of a certificate, what is looked for is a line in the midst of its key."""
        self.canaries[name] = secret.split("\n")[-4] if "\n" in secret else secret
        self.sealed[name.partition(" ")[0]] = secret
        return secret


def make_secret(kind: str, pem: str) -> str:
    return pem if kind == "certificate" else f"canary-{kind}-{secrets.token_urlsafe(18)}"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    if NGINX is None:
        pytest.skip("nginx is not installed")
    vault = tmp_path_factory.mktemp("vault") / "key"
    key = secrets.token_hex(32)
    vault.write_text(f"{key}\n")
    more = f'[secrets]\nkey_command = ["/bin/cat", "{vault}"]\n'
    with open_appliance(stub=None, workers=2, more=more) as (appliance, _):
        scene = Scene(appliance, key)
        act(scene, appliance.enroll("caller"), tmp_path_factory.mktemp("given"))
        yield scene


def act(scene: Scene, identity: Identity, folder: Path) -> None:
    """Every kind is created, refused, replaced and rotated; everybody looks."""
    appliance = scene.appliance
    scene.canaries["sealing key"] = scene.key
    with appliance.admin() as admin:
        for kind in get_args(CredentialKind):
            first, second, third = (make_secret(kind, make_pem(folder, f"{kind}{turn}")) for turn in range(3))
            body: dict[str, Any] = {
                "name": kind,
                "base_url": "https://api.example",
                "credential": {"kind": kind, **OPTIONS[kind]},
            }
            body["credential"]["secret"] = scene.keep(f"{kind} first", first)
            at = f"{CONNECTIONS}/{kind}"
            wrong: list[dict[str, Any]] = [
                {**body, "odd": first}, {**body, "base_url": first}, {**body, "pin": first},
                {**body, "credential": first}, {**body, "credential": {**body["credential"], "odd": first}},
                {**body, "base_url": "http://api.example", "pin": "ab" * 32},
            ]  # fmt: skip
            for document in wrong:
                reply = admin.post(CONNECTIONS, json=document)
                assert reply.status_code == 422, reply.text
                scene.shown.append((f"refusal of {kind}", reply.content))
            for reply, expected in (
                (admin.post(CONNECTIONS, json=body), 201),
                (admin.post(CONNECTIONS, json=body), 409),
                (admin.put(at, json={**body, "credential": {**body["credential"], "secret": second}}), 200),
                (admin.patch(at, json={"credential": {"secret": third}}), 200),
                (admin.patch(at, json={"base_url": "https://thief.example"}), 422),
                (admin.get(at), 200),
                (admin.get(f"{CONNECTIONS}?limit=500"), 200),
            ):
                assert reply.status_code == expected, reply.text
                scene.shown.append((f"{reply.request.method} {kind}", reply.content))
            scene.keep(f"{kind} second", second)
            scene.keep(f"{kind} third", third)
        given = folder / "given"
        given.write_text(scene.keep("bearer fourth", make_secret("bearer", "")) + "\n")
        for words in (["rotate", "bearer", "--secret-file", str(given)], ["show", "bearer"], ["list", "--json"]):
            command = [sys.executable, "-m", "mastio", "connections", *words, "--data", str(appliance.data)]
            done = subprocess.run(command, capture_output=True, check=False, timeout=60)
            assert done.returncode == 0, done.stderr
            scene.shown.append((words[0], done.stdout + done.stderr))
        for path in ("/metrics", "/v1/audit/export", "/openapi.json"):
            scene.shown.append((path, admin.get(path).content))
        for role in ("operator", "auditor"):
            token = admin.post("/v1/admin/admins", json={"name": role, "role": role}).json()["token"]
            with appliance.client(headers={"Authorization": f"Bearer {token}"}) as other:
                wait_until(lambda other=other: other.get(CONNECTIONS).status_code == 403, 5, "refused")  # type: ignore[misc]
    with appliance.by_certificate(identity) as agent, appliance.client() as stranger:
        for caller, status in ((agent, 403), (stranger, 401)):
            for reply in (caller.get(CONNECTIONS), caller.delete(f"{CONNECTIONS}/bearer")):
                assert reply.status_code == status
                scene.shown.append(("stranger", reply.content))


def make_pem(folder: Path, name: str) -> str:
    """By openssl: nothing of ours made it."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}", "-days", "30"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=60)
    return (folder / f"{name}.crt").read_text() + (folder / f"{name}.key").read_text()


def test_no_secret_is_in_any_file_of_the_data_folder(scene: Scene) -> None:
    assert len(scene.canaries) == 7 * 3 + 2
    files = files_of(scene.appliance)
    assert any(b"admin.connections" in content for file, content in files.items() if "audit.sqlite" in file)
    assert find(scene.canaries, files.items()) == []
    everything = {str(file): content for file, content in read_files(scene.appliance.data).items()}
    assert find(scene.canaries, everything.items()) == []


def test_no_secret_is_shown_to_anybody(scene: Scene) -> None:
    assert len(scene.shown) > 90 and any(b'"secret_set":true' in content for _, content in scene.shown)
    assert find(scene.canaries, scene.shown) == []


def test_what_is_in_the_database_opens_with_the_commands_key_and_no_other(scene: Scene) -> None:
    """The positive twin: the secrets are there, and are those that were given last."""
    database = apsw.Connection(str(scene.appliance.data / "db" / "control.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    with closing(database):
        rows = dict(database.execute("SELECT name, secret FROM objects WHERE collection = 'connections'"))
    assert set(rows) == set(OPTIONS)
    assert not (scene.appliance.data / "secrets" / "store-secrets.key").exists()

    def give(key: str) -> Sealer:
        elsewhere = {"store-secrets": lambda: run_key_command(["/bin/echo", key])}
        return Sealer(FileKeys(scene.appliance.data, elsewhere=elsewhere))

    for name, sealed in rows.items():
        assert give(scene.key).unseal(sealed, f"connections/{name}") == scene.sealed[name]
        with pytest.raises(SealError):
            give("0" * 64).unseal(sealed, f"connections/{name}")
