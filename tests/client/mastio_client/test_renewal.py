"""Renewal: when, and that a crash at any moment leaves a key and a certificate that belong together."""

from __future__ import annotations

import json
import shutil
import stat
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from mastio.cli.agent import renew as verb
from mastio.exchange.errors import ConfigurationError
from mastio.pki.authority import Authority
from mastio_client import CertificateAuth, Identity, certificate_client, renew, renewal
from mastio_client import folder as folder_module
from mastio_client.call import warn_if_due
from mastio_client.folder import NAMES, find_pair, switch
from mastio_client.renewal import due, fetch_anchor, is_due, renew_if_due
from support.appliance import Appliance
from support.command_verbs import run

DAY = 86_400.0


@pytest.mark.parametrize(
    ("left", "expected"),
    [(DAY, False), (DAY / 2, False), (DAY / 3 + 1, False), (DAY / 3, True), (1, True), (0, True), (-5, True)],
)
def test_a_third_of_its_life(left: float, expected: bool) -> None:
    assert is_due(1000.0, 1000.0 + DAY, 1000.0 + DAY - left) is expected


# --- the folder ------------------------------------------------------------------------------------------------------


def pair(mark: str) -> dict[str, bytes]:
    return {name: f"{name} {mark}".encode() for name in NAMES}


def read(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in NAMES}


def make_folder(folder: Path) -> Path:
    folder.mkdir()
    for name, content in pair("old").items():
        (folder / name).write_bytes(content)
    (folder / "dpop.jwk").write_bytes(b"stays")
    return folder


class Crash(BaseException):
    """The process ends here."""


STEPS = ("mkdir", "symlink_to", "replace", "unlink", "rmtree", "write_private")


def crash_at(patch: pytest.MonkeyPatch, number: int) -> list[str]:
    """Let the file operation with this number, and all after it, not happen. Returns what was done before."""
    done: list[str] = []

    def wrap(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def step(*words: Any, **more: Any) -> Any:
            if len(done) >= number:
                raise Crash
            done.append(name)
            return original(*words, **more)

        patch.setattr(owner, name, step)

    for name in ("mkdir", "symlink_to", "replace", "unlink"):
        wrap(Path, name)
    wrap(shutil, "rmtree")
    wrap(folder_module, "write_private")
    return done


@pytest.mark.parametrize("before", ["plain", "renewed", "renewed without links"])
def test_a_crash_between_any_two_steps_leaves_one_pair(tmp_path: Path, before: str) -> None:
    old = pair("old") if before == "plain" else pair("middle")
    seen, number = set(), 0
    while True:
        folder = make_folder(tmp_path / f"id-{number}")
        if before != "plain":
            switch(folder, old, links=before == "renewed")
        with pytest.MonkeyPatch.context() as patch:
            done = crash_at(patch, number)
            try:
                switch(folder, pair("new"))
                crashed = False
            except Crash:
                crashed = True
        found = read(folder)
        assert found in (old, pair("new")), f"after {done}"
        assert {name: (find_pair(folder) / name).read_bytes() for name in NAMES} == found
        seen.add(found["agent.key"])
        switch(folder, pair("newest"))  # and the next renewal tidies up
        assert read(folder) == pair("newest") and (folder / "dpop.jwk").read_bytes() == b"stays"
        assert len([file for file in folder.iterdir() if file.name.startswith(".")]) == 2
        if not crashed:
            break
        number += 1
    assert number > 8 and seen == {old["agent.key"], pair("new")["agent.key"]}


def test_a_crash_where_there_are_no_links_leaves_one_pair(tmp_path: Path) -> None:
    """The folder that `.pair` names is one pair at every step; copies for other software follow it."""
    seen, number, crashed = set(), 0, True
    while crashed:
        folder = make_folder(tmp_path / f"id-{number}")
        switch(folder, pair("old"), links=False)
        with pytest.MonkeyPatch.context() as patch:
            done = crash_at(patch, number)
            try:
                switch(folder, pair("new"), links=False)
                crashed = False
            except Crash:
                crashed = True
        found = {name: (find_pair(folder) / name).read_bytes() for name in NAMES}
        assert found in (pair("old"), pair("new")), f"after {done}"
        seen.add(found["agent.key"])
        switch(folder, pair("newest"), links=False)
        assert read(folder) == pair("newest") and not any(file.is_symlink() for file in folder.rglob("*"))
        assert len(list(folder.glob(".pair*"))) == 2
        number += 1
    assert (number > 5 and seen == {b"old", b"new"}) or len(seen) == 2


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder(tmp_path / "id")

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "write_private", full)
    with pytest.raises(OSError, match="No space"):
        switch(folder, pair("new"))
    assert read(folder) == pair("old") and not list(folder.glob(".pair*"))


def test_files_are_private_and_the_folder_can_be_moved(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "id")
    switch(folder, pair("new"))
    moved = folder.rename(tmp_path / "elsewhere")
    assert read(moved) == pair("new")
    assert {stat.S_IMODE((moved / name).stat().st_mode) for name in NAMES} == {0o600}
    assert stat.S_IMODE(find_pair(moved).stat().st_mode) == 0o700
    copied = shutil.copytree(moved, tmp_path / "copy")  # plain files again
    switch(copied, pair("newer"))
    assert read(copied) == pair("newer") and read(moved) == pair("new")


# --- over a real appliance -------------------------------------------------------------------------------------------


def belongs_together(folder: Path) -> bytes:
    """The serial of a certificate that is for the key beside it."""
    key = load_pem_private_key((folder / "agent.key").read_bytes(), None)
    leaf = x509.load_pem_x509_certificate((folder / "agent.crt").read_bytes())
    shape = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert key.public_key().public_bytes(*shape) == leaf.public_key().public_bytes(*shape)
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate((folder / "chain.pem").read_bytes()))
    facts = json.loads((folder / "agent.json").read_text())
    assert facts["not_after"] == leaf.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    return leaf.serial_number.to_bytes(20)


def self_status(appliance: Appliance, identity: Identity) -> int:
    with appliance.by_certificate(identity) as client:
        return client.get("/v1/agents/self").status_code


def test_renewed_again_and_again_it_stays_usable(appliance: Appliance) -> None:
    identity = appliance.enroll("renews")
    dpop, serials = (identity.folder / "dpop.jwk").read_bytes(), {belongs_together(identity.folder)}
    for _ in range(3):
        identity = renew(identity)
        serials.add(belongs_together(identity.folder))
        assert self_status(appliance, identity) == 200
        with appliance.agent(identity) as client:
            assert client.get("/v1/agents/self").status_code == 200
    assert len(serials) == 4 and (identity.folder / "dpop.jwk").read_bytes() == dpop
    assert len(list(identity.folder.glob(".pair-*"))) == 1  # no old key is left behind


def crash(folder: Path, contents: dict[str, bytes]) -> None:
    raise Crash


def test_when_the_reply_is_lost_the_old_certificate_still_works(appliance: Appliance) -> None:
    identity = appliance.enroll("loses-a-reply")
    before = belongs_together(identity.folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renewal, "switch", crash)
        with pytest.raises(Crash):
            renew(identity)
    assert belongs_together(identity.folder) == before and self_status(appliance, identity) == 200
    renew(identity)
    assert belongs_together(identity.folder) != before and self_status(appliance, identity) == 200


def test_many_at_once_leave_one_pair(appliance: Appliance) -> None:
    identity = appliance.enroll("renewed-by-many")
    threads = [threading.Thread(target=renew, args=(identity,), daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    belongs_together(identity.folder)
    assert self_status(appliance, identity) == 200


def test_the_verb(appliance: Appliance, capsys: pytest.CaptureFixture[str]) -> None:
    identity = appliance.enroll("verb")
    before = belongs_together(identity.folder)
    assert run(verb, "--identity", str(identity.folder), "--if-due") == 0
    assert "not due" in capsys.readouterr().out and belongs_together(identity.folder) == before
    assert run(verb, "--identity", str(identity.folder), "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["renewed"] is True and printed["name"] == "verb" and belongs_together(identity.folder) != before
    with appliance.admin() as admin:
        assert admin.post("/v1/admin/agents/verb/revoke", json={}).status_code == 200
    after = belongs_together(identity.folder)
    assert run(verb, "--identity", str(identity.folder)) == 1
    assert "revoked" in capsys.readouterr().err and belongs_together(identity.folder) == after


def test_a_folder_that_cannot_be_written(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = appliance.enroll("read-only")

    def refuse(path: Path, content: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folder_module, "write_private", refuse)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        renew(identity)
    belongs_together(identity.folder)
    assert self_status(appliance, identity) == 200


def test_if_due_looks_at_the_certificate(appliance: Appliance) -> None:
    identity = appliance.enroll("soon-due")
    before = belongs_together(identity.folder)
    assert not due(identity, time.time()) and not renew_if_due(identity)
    assert due(identity, time.time() + DAY * 2 / 3 + 120)
    assert renew_if_due(identity, lambda: time.time() + DAY * 2 / 3 + 120)
    assert belongs_together(identity.folder) != before


def test_a_hand_made_call_says_when_it_is_time(agent: Identity, capsys: pytest.CaptureFixture[str]) -> None:
    warn_if_due(agent, time.time())
    assert capsys.readouterr().err == ""
    warn_if_due(agent, time.time() + DAY * 2 / 3 + 120)
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and f"renew --identity {agent.folder}" in said.err


# --- the trust anchor -------------------------------------------------------------------------------------------------


class Shows(httpx.MockTransport):
    def __init__(self, content: bytes, status: int = 200) -> None:
        super().__init__(lambda request: httpx.Response(status, content=content))


def test_the_anchor_is_kept_when_it_is_the_same(appliance: Appliance) -> None:
    identity = appliance.enroll("anchored")
    with appliance.client() as client:
        assert fetch_anchor(identity, client) is None


def test_an_anchor_that_does_not_fit_yet_is_added(appliance: Appliance, tmp_path: Path) -> None:
    """The appliance announces a new root while its edge still shows a certificate under the old one."""
    identity = appliance.enroll("two-anchors")
    new = Authority.ensure(tmp_path / "new", "test.example", time.time()).root_pem
    old = identity.ca_file.read_bytes()
    with httpx.Client(transport=Shows(new), base_url=identity.base_url) as client:
        both = fetch_anchor(identity, client)
        assert both == new + old
        identity.ca_file.write_bytes(both)
        assert fetch_anchor(identity, client) is None
    assert self_status_with(identity) == 200
    with appliance.client() as client:  # the new one is withdrawn: the old one alone is enough again
        assert fetch_anchor(identity, client) == old


def self_status_with(identity: Identity) -> int:
    with certificate_client(identity) as client:
        return client.get("/v1/agents/self").status_code


@pytest.mark.parametrize(("content", "status"), [(b"", 200), (b"nonsense", 200), (b"nonsense", 503)])
def test_what_is_no_anchor_is_not_taken(appliance: Appliance, agent: Identity, content: bytes, status: int) -> None:
    with httpx.Client(transport=Shows(content, status), base_url=agent.base_url) as client:
        assert fetch_anchor(agent, client) is None


def test_a_running_client_shows_the_renewed_certificate(appliance: Appliance) -> None:
    identity = appliance.enroll("long-runner")
    context = identity.tls(certificate=True)
    with certificate_client(
        identity,
        auth=CertificateAuth(identity, context, look_every=0.0),
        verify=context,
        limits=httpx.Limits(max_keepalive_connections=0),
    ) as client:
        before = client.get("/v1/agents/self").json()["credential"]["x5t#S256"]
        renew(identity)
        after = client.get("/v1/agents/self").json()["credential"]["x5t#S256"]
    assert before != after
