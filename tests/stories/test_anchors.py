"""Checkpoints are kept outside whole appliances, and tell when history was put back or forked."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trustme

from mastio_audit.anchors.cosignatures import find_cosigners
from mastio_primitives.transparency import notes
from support.appliance import NGINX, Appliance, open_appliance, wait_until
from support.postgresql import create_database
from support.timestamp_authority import OPENSSL, Tsa, TsaServer
from support.witness_server import WitnessServer

WITHIN = 30.0

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def file_anchor(path: Path) -> str:
    return f'[[audit.anchors]]\nname = "outside"\nkind = "file"\npath = "{path}"\nevery = 1\n'


def grow(appliance: Appliance, times: int = 3) -> int:
    """The log's size after some more exchanges."""
    with appliance.admin() as admin:
        for _ in range(times):
            admin.get("/v1/admin/agents")
        checkpoint = admin.get("/v1/audit/log/checkpoint").content
    return notes.parse_checkpoint(notes.parse_note(checkpoint).text).size


def sizes(path: Path) -> list[int]:
    """Of the checkpoints in a file, in its order."""
    return [int(size) for size in re.findall(r"^test\.example/audit\n(\d+)\n", path.read_text(), re.MULTILINE)]


def metrics(appliance: Appliance) -> dict[str, float]:
    with appliance.admin() as admin:
        text = admin.get("/metrics").text
    return {name: float(value) for name, value in re.findall(r"^(mastio_audit_\S+) (\S+)$", text, re.MULTILINE)}


def verify(appliance: Appliance, checkpoints: Path) -> int:
    """Exit status of `mastio audit verify` with old checkpoints."""
    command = [sys.executable, "-m", "mastio", "audit", "verify", "--data", str(appliance.data)]
    return subprocess.run([*command, "--checkpoint", str(checkpoints)], capture_output=True, check=False).returncode


def test_a_whole_data_folder_that_was_put_back_is_not_continued(tmp_path: Path) -> None:
    path, older = tmp_path / "anchor", tmp_path / "older"
    with open_appliance(workers=2, stub=None, more=file_anchor(path)) as (appliance, _):
        size = grow(appliance)
        wait_until(lambda: path.exists() and sizes(path)[-1] >= size, WITHIN, "a checkpoint is anchored")
        assert verify(appliance, path) == 0
        assert len(sizes(path)) >= 1 and sizes(path) == sorted(set(sizes(path)))
        appliance.stop()
        for name in ("db", "log"):
            shutil.copytree(appliance.data / name, older / name)
        appliance.start()
        size = grow(appliance)
        wait_until(lambda: sizes(path)[-1] >= size, WITHIN, "a later checkpoint is anchored")
        assert metrics(appliance)['mastio_audit_anchor_size_entries{anchor="outside"}'] >= size
        appliance.stop()
        for name in ("db", "log"):
            shutil.rmtree(appliance.data / name)
            shutil.copytree(older / name, appliance.data / name)
        said = appliance.start_refused("the anchor outside holds a checkpoint of size")
        assert str(path) in said and "older copy" in said
        appliance.stop()
        assert verify(appliance, path) == 3, "whoever has the file sees it"
        path.rename(tmp_path / "anchor.cut")
        appliance.start()
        assert appliance.verify() == 0


def test_an_anchor_that_is_away_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "mounted" / "anchor"
    with open_appliance(stub=None, more=file_anchor(path)) as (appliance, _):
        failures = 'mastio_audit_anchor_failures_total{anchor="outside"}'
        wait_until(lambda: metrics(appliance).get(failures, 0) >= 2, WITHIN, "it is tried again")
        assert appliance.is_ready() and grow(appliance) > 0
        assert "the audit anchor outside takes no checkpoint" in appliance.log()
        path.parent.mkdir()
        wait_until(path.exists, WITHIN, "a checkpoint is anchored")
        wait_until(lambda: "the audit anchor outside takes checkpoints again" in appliance.log(), 5, "and it says so")
        assert appliance.log().count("takes no checkpoint") == 1


# --- witnesses -------------------------------------------------------------------------------------------------------


def witnessed(*witnesses: WitnessServer, quorum: int) -> str:
    """Asked every second. First the keys of `[audit]`, which the tables of the anchors end."""
    anchors = "".join(witness.settings(f"w{number}") for number, witness in enumerate(witnesses, 1))
    return f"[audit]\nwitness_quorum = {quorum}\nwitness_every = 1\n{anchors}"


def trust(appliance: Appliance, *witnesses: WitnessServer) -> None:
    with appliance.admin() as admin:
        vkey = admin.get("/v1/audit/log/vkey").text.strip()
    for witness in witnesses:
        witness.trust(vkey)


def cosigned(appliance: Appliance, *witnesses: WitnessServer) -> tuple[int, set[str]]:
    """Size and cosigners of what the appliance serves; 0 and nobody while there is nothing."""
    with appliance.admin() as admin:
        log = notes.parse_vkey(admin.get("/v1/audit/log/vkey").text)
        answer = admin.get("/v1/audit/log/cosigned")
    if answer.status_code == 404:
        return 0, set()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    keys = [notes.parse_vkey(witness.vkey, notes.COSIGNATURE) for witness in witnesses]
    return notes.open_checkpoint(answer.content, [log]).size, find_cosigners(answer.content, keys, time.time())


def forks(appliance: Appliance) -> list[dict[str, Any]]:
    return [entry["request"] for entry in appliance.entries() if entry["kind"] == "audit.fork"]


def test_what_the_quorum_signed_is_served_and_a_dead_witness_is_asked_again() -> None:
    with WitnessServer("witness.example/w1") as one, WitnessServer("witness.example/w2") as two:
        names = {one.name, two.name}
        with open_appliance(workers=2, stub=None, more=witnessed(one, two, quorum=2)) as (appliance, _):
            alice = appliance.enroll("alice")
            wait_until(lambda: any(reply[0] == 404 for reply in one.replies), WITHIN, "the log is unknown at first")
            assert cosigned(appliance, one, two) == (0, set()) and appliance.is_ready()
            trust(appliance, one, two)
            size = grow(appliance)
            wait_until(lambda: cosigned(appliance, one, two)[0] >= size, WITHIN, "both signed")
            assert cosigned(appliance, one, two)[1] == names
            with appliance.by_certificate(alice) as client:
                assert client.get("/v1/audit/log/cosigned").status_code == 200
            with appliance.client() as stranger:
                assert stranger.get("/v1/audit/log/cosigned").status_code == 401
            two.broken = (500, "text/plain", b"")
            size = grow(appliance)
            wait_until(lambda: one.latest["test.example/audit"][0] >= size, WITHIN, "one goes on")
            failed = metrics(appliance)['mastio_audit_anchor_failures_total{anchor="w2"}']
            assert failed >= 1 and appliance.is_ready()
            assert cosigned(appliance, one, two)[1] == names, "what half of them signed is not served"
            two.broken = None
            wait_until(lambda: cosigned(appliance, one, two)[0] >= size, WITHIN, "both signed again")
            found = metrics(appliance)
            assert found['mastio_audit_anchor_size_entries{anchor="witnesses"}'] >= size
            assert found['mastio_audit_fork{anchor="w1"}'] == 0 and forks(appliance) == []
            known = len(one.requests)
            appliance.replace_control()
            wait_until(lambda: len(one.requests) > known, WITHIN, "it is asked after a kill")
            assert not one.requests[known].startswith(b"old 0\n"), "what it has is remembered"
            shutil.rmtree(appliance.data / "anchors")
            appliance.stop()
            appliance.start()
            size = grow(appliance)
            wait_until(lambda: cosigned(appliance, one, two)[0] >= size, WITHIN, "what was forgotten is asked for")
            assert appliance.verify() == 0


def test_a_witness_that_signs_wrongly_counts_for_nothing() -> None:
    with contextlib.ExitStack() as stack:
        one, liar = (stack.enter_context(WitnessServer(f"witness.example/w{n}")) for n in (1, 2))
        appliance, _ = stack.enter_context(open_appliance(stub=None, more=witnessed(one, liar, quorum=1)))
        trust(appliance, one)
        liar.broken = (200, "text/plain", liar.line(bytes(76)))
        size = grow(appliance)
        wait_until(lambda: cosigned(appliance, one, liar)[0] >= size, WITHIN, "one signed")
        assert cosigned(appliance, one, liar)[1] == {one.name}
        with appliance.admin() as admin:
            assert liar.name not in admin.get("/v1/audit/log/cosigned").text
        wait_until(lambda: "the witness w2 does not sign" in appliance.log(), 5, "it is said")


def copy_of(appliance: Appliance, folder: Path, more: str) -> Appliance:
    """A second appliance with all that the first one has, at another port."""
    fork = Appliance(folder, more=more)
    for name in ("ca", "secrets", "db", "log", "anchors"):
        shutil.copytree(appliance.data / name, fork.data / name)
    return fork


def test_a_fork_is_known_to_the_witness_and_raises_the_alarm_once(tmp_path: Path) -> None:
    with WitnessServer() as witness:
        more = witnessed(witness, quorum=1)
        with open_appliance(stub=None, more=more) as (appliance, _):
            trust(appliance, witness)
            size = grow(appliance)
            wait_until(lambda: cosigned(appliance, witness)[0] >= size, WITHIN, "the witness signed")
            appliance.stop()
            fork = copy_of(appliance, tmp_path / "fork", more)
            appliance.start()
            size = grow(appliance, 10)
            wait_until(lambda: cosigned(appliance, witness)[0] >= size, WITHIN, "the witness follows the first")
            appliance.stop()
            try:
                fork.start()
                wait_until(lambda: forks(fork) != [], WITHIN, "the shorter copy is a fork")
                grow(fork, 30)
                wait_until(lambda: any(reply[0] == 422 for reply in witness.replies), WITHIN, "so is the longer one")
                assert fork.is_ready() and metrics(fork)['mastio_audit_fork{anchor="w1"}'] == 1
                assert witness.latest["test.example/audit"][0] >= size
                fork.stop()
                fork.start()
                asked = len(witness.requests)
                wait_until(lambda: len(witness.requests) > asked + 1, WITHIN, "it is asked again after a restart")
                [alarm] = forks(fork)
                assert alarm["witness"] == witness.vkey and alarm["anchor"] == "w1" and alarm["seen"] >= size
                assert fork.log().count("ERROR") >= 1 and "FORK: the witness w1" in fork.log()
                assert cosigned(fork, witness)[0] < size, "nothing of the fork is cosigned"
                assert fork.verify() == 0, "the fork by itself is in order: only the witness knows"
            finally:
                fork.stop()
            appliance.start()
            more_size = grow(appliance)
            wait_until(lambda: cosigned(appliance, witness)[0] >= more_size, WITHIN, "the first one goes on")
            assert forks(appliance) == []


def test_of_two_replicas_one_asks_and_both_serve(postgresql: str, tmp_path: Path) -> None:
    url = create_database(postgresql)
    with WitnessServer() as witness:
        more = witnessed(witness, quorum=1)
        with open_appliance(database=url, stub=None, more=more) as (first, _):
            trust(first, witness)
            second = Appliance(tmp_path / "second", database=url, more=more)
            for name in ("ca", "secrets"):
                shutil.copytree(first.data / name, second.data / name)
            try:
                second.start()
                size = max(grow(first), grow(second))
                for one in (first, second):
                    wait_until(lambda one=one: cosigned(one, witness)[0] >= size, WITHIN, "it is served")
                for name in ("supervisor", "control"):
                    os.kill(first.pid(name), signal.SIGKILL)
                size = grow(second)
                wait_until(lambda: cosigned(second, witness)[0] >= size, WITHIN, "the other took over")
                assert {reply[0] for reply in witness.replies} <= {200, 404}, "they never met"
                assert metrics(second)['mastio_audit_fork{anchor="w1"}'] == 0
            finally:
                second.stop()


# --- time stamps -----


def stamped(server: TsaServer, tsa: Tsa, name: str, ca_file: Path) -> str:
    return (
        f'[[audit.anchors]]\nname = "{name}"\nkind = "rfc3161"\nurl = "{server.url}"\nca_file = "{ca_file}"\n'
        f'tsa_ca_file = "{tsa.ca_file}"\nallow_addresses = ["127.0.0.1", "::1"]\nevery = 1\n'
    )


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
def test_openssl_verifies_what_a_time_stamping_authority_said(tmp_path: Path) -> None:
    """Over TLS to a named authority. A second one cannot be reached so, a third one's stamps are of another root."""
    trusted, doubted = trustme.CA(), trustme.CA()
    trusted.cert_pem.write_to_path(tmp_path / "trusted.pem")
    doubted.cert_pem.write_to_path(tmp_path / "doubted.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trusted.issue_cert("localhost").configure_cert(tls)
    tsa, other = Tsa(tmp_path / "tsa"), Tsa(tmp_path / "other", kind="rsa")
    with contextlib.ExitStack() as stack:
        server, unseen = (stack.enter_context(TsaServer(tsa, tls)) for _ in range(2))
        wrong = stack.enter_context(TsaServer(other, tls))
        anchors = stamped(server, tsa, "one", tmp_path / "trusted.pem")
        anchors += stamped(unseen, tsa, "two", tmp_path / "doubted.pem")
        anchors += stamped(wrong, tsa, "three", tmp_path / "trusted.pem")
        appliance, _ = stack.enter_context(open_appliance(stub=None, more=anchors))
        folder = appliance.data / "log" / "timestamps"
        size = grow(appliance)
        newest = lambda: max((int(file.stem) for file in (folder / "one").glob("*.tsr")), default=0)  # noqa: E731
        wait_until(lambda: newest() >= size, WITHIN, "a checkpoint is stamped")
        with appliance.admin() as admin:
            key = notes.parse_vkey(admin.get("/v1/audit/log/vkey").text)
        stamps = sorted((folder / "one").glob("*.tsr"))
        for stamp in stamps:
            checkpoint = stamp.with_suffix(".checkpoint")
            assert notes.open_checkpoint(checkpoint.read_bytes(), [key]).size == int(stamp.stem)
            assert tsa.verify(checkpoint, stamp) and not other.verify(checkpoint, stamp)
        assert not tsa.verify(stamps[0].with_suffix(".checkpoint"), stamps[-1]) or len(stamps) == 1
        found = metrics(appliance)
        for name, reason in {"two": "cannot be reached", "three": "does not lead to a trusted authority"}.items():
            wait_until(lambda name=name: f"anchor {name} takes no" in appliance.log(), WITHIN, "it is said")
            assert re.search(rf"the audit anchor {name} takes no checkpoint: .*{reason}", appliance.log())
            assert found[f'mastio_audit_anchor_failures_total{{anchor="{name}"}}'] >= 1
            assert not (folder / name).exists()
        assert found['mastio_audit_anchor_size_entries{anchor="one"}'] >= size and appliance.is_ready()
        tsa.change = lambda reply: (200, "application/timestamp-reply", reply[:-1] + bytes([reply[-1] ^ 1]))
        wait_until(lambda: "answer is not taken: its signature is wrong" in appliance.log(), WITHIN, "a forgery is not")
        tsa.change = lambda reply: (200, "text/html", reply)
        wait_until(lambda: "does not answer with a time stamp" in appliance.log(), WITHIN, "nor another type")
