"""The log as others see it: one tree under signed checkpoints, which cannot be cut or replaced unnoticed."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from mastio_audit.log import chain, tiles
from mastio_audit.log.keys import read_succession
from mastio_client import Identity
from mastio_client.call import open_client
from mastio_client.receipt import fetch_vkey, verify_receipt
from mastio_primitives.transparency import merkle, notes
from mastio_primitives.transparency.merkle import ProofError
from mastio_primitives.transparency.notes import Checkpoint, NoteError, Verifier
from support.appliance import NGINX, Appliance, open_appliance, wait_until

LOG = "/v1/audit/log"


@pytest.fixture(scope="module")
def appliance() -> Iterator[Appliance]:
    """Two workers: whichever answers, it is one log."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(workers=2, stub=None) as (opened, _):
        yield opened


@pytest.fixture(scope="module")
def alice(appliance: Appliance) -> Identity:
    return appliance.enroll("alice")


@pytest.fixture(scope="module")
def auditor(appliance: Appliance) -> Iterator[httpx.Client]:
    """A named auditor, who may read and nothing else."""
    with appliance.admin() as admin:
        made = admin.post("/v1/admin/admins", json={"name": "vera", "role": "auditor"})
        assert made.status_code == 201, made.text
    with appliance.client(headers={"Authorization": f"Bearer {made.json()['token']}"}) as client:
        yield client


def read_checkpoint(client: httpx.Client) -> tuple[Checkpoint, Verifier]:
    verifier = notes.parse_vkey(client.get(f"{LOG}/vkey").text)
    return notes.open_checkpoint(client.get(f"{LOG}/checkpoint").content, [verifier]), verifier


def read_all(client: httpx.Client, size: int) -> list[bytes]:
    """Every entry of a log of `size`, by bundles."""
    entries = []
    for index in range((size + 255) // 256):
        tile = tiles.Tile(tiles.ENTRIES, index, min(256, size - 256 * index))
        answer = client.get(f"{LOG}/tile/{tiles.write_path(tile)}")
        assert answer.status_code == 200
        entries += tiles.unbundle(answer.content)
    return entries


def test_what_an_auditor_reads_is_one_tree(appliance: Appliance, auditor: httpx.Client) -> None:
    with appliance.admin() as admin:
        for _ in range(300):
            admin.get("/v1/admin/agents")
    old, _ = read_checkpoint(auditor)
    with appliance.admin() as admin:
        admin.get("/v1/admin/agents")
    checkpoint, verifier = read_checkpoint(auditor)
    assert checkpoint.origin == verifier.name == "test.example/audit"
    assert old.size > 512 and checkpoint.size >= old.size + 2
    entries = read_all(auditor, checkpoint.size)
    tree, old_root = merkle.Tree(), b""
    for entry in entries:
        tree.add(chain.leaf_hash(entry))
        old_root = tree.root if tree.size == old.size else old_root
    assert (tree.root, old_root) == (checkpoint.root, old.root)
    level0 = auditor.get(f"{LOG}/tile/0/000")
    assert level0.content == b"".join(map(chain.leaf_hash, entries[:256]))
    assert "immutable" in level0.headers["cache-control"]
    width = checkpoint.size >> 8
    level1 = auditor.get(f"{LOG}/tile/1/000.p/{width}").content
    assert level1 == b"".join(node.hash for node in tree.nodes)[: 32 * width]
    ndjson = auditor.get("/v1/audit/export").content.splitlines()
    assert ndjson[: checkpoint.size] == entries
    end = json.loads(ndjson[-1])
    assert notes.open_checkpoint(end["checkpoint"].encode(), [verifier]).size == len(ndjson) - 1
    assert end["vkey"] == str(verifier)


def test_every_proof_leads_to_its_checkpoint(auditor: httpx.Client) -> None:
    checkpoint, verifier = read_checkpoint(auditor)
    entries = read_all(auditor, checkpoint.size)
    for index in (0, 1, 255, 256, checkpoint.size - 1):
        answer = auditor.get(f"/v1/audit/proof/{index}")
        at, hashes, note = notes.parse_proof(answer.content)
        proven = notes.open_checkpoint(note, [verifier])
        assert (at, answer.headers["content-type"]) == (index, "text/plain; charset=utf-8")
        merkle.verify_inclusion(at, chain.leaf_hash(entries[index]), 0, proven.size, proven.root, hashes)


def test_entries_come_page_by_page(auditor: httpx.Client) -> None:
    size = read_checkpoint(auditor)[0].size
    lines: list[bytes] = []
    path: str | None = "/v1/audit/entries?limit=400"
    while path is not None and len(lines) < size:
        answer = auditor.get(path)
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines += answer.content.splitlines()
        path = answer.links["next"]["url"] if "next" in answer.links else None
    assert [json.loads(line)["seq"] for line in lines[:size]] == list(range(size))
    assert auditor.get(f"/v1/audit/entries?from={10**9}").text == ""


def test_an_agent_verifies_its_own_and_sees_no_other(appliance: Appliance, alice: Identity) -> None:
    bob = appliance.enroll("bob")
    with appliance.by_certificate(bob) as client:
        other = int(client.get("/v1/agents/self").headers["mastio-receipt"])
    with appliance.by_certificate(alice) as client:
        receipt = int(client.get("/v1/agents/self").headers["mastio-receipt"])
        checkpoint, verifier = read_checkpoint(client)
        assert checkpoint.size > receipt
        rows = client.get(f"/v1/audit/entries?from={receipt}&limit=2").content.splitlines()
        documents = [json.loads(row) for row in rows]
        assert [d["phase"] for d in documents] == ["intent", "outcome"] and documents[0]["seq"] == receipt
        at, hashes, note = notes.parse_proof(client.get(f"/v1/audit/proof/{receipt}").content)
        proven = notes.open_checkpoint(note, [verifier])
        merkle.verify_inclusion(at, chain.leaf_hash(rows[0]), 0, proven.size, proven.root, hashes)
        mine = client.get("/v1/audit/entries?limit=1000").content.splitlines()
        assert len(mine) > 4 and {json.loads(line)["agent"] for line in mine} == {"alice"}
        assert client.get(f"/v1/audit/proof/{other}").status_code == 404
        for path in ("/v1/audit/export", f"{LOG}/tile/0/000", f"{LOG}/tile/entries/000"):
            assert client.get(path).status_code == 403
    with appliance.by_certificate(bob) as client:
        assert client.get(f"/v1/audit/proof/{other}").status_code == 200


def test_a_checkpoint_is_kept_a_second_after_the_newest_entry(appliance: Appliance) -> None:
    kept = appliance.data / "log" / "checkpoint"
    for _ in range(3):
        with appliance.admin() as admin:
            admin.get("/v1/admin/agents")
            size, at = read_checkpoint(admin)[0].size, time.monotonic()
        wait_until(lambda size=size: read_kept(kept).size >= size, 5, "a checkpoint was kept")
        assert time.monotonic() - at < 1.0


def read_kept(path: Path) -> Checkpoint:
    return notes.parse_checkpoint(notes.parse_note(path.read_bytes()).text)


def rows_of(appliance: Appliance, kind: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{appliance.data}/db/audit.sqlite?mode=ro", uri=True)) as connection:
        documents = [json.loads(row[0]) for row in connection.execute("SELECT entry FROM entries ORDER BY seq")]
    return [document for document in documents if document["kind"] == kind]


def test_the_key_is_followed_by_one_that_the_log_names(appliance: Appliance, auditor: httpx.Client) -> None:
    first = read_checkpoint(auditor)[1]
    with appliance.admin() as admin:
        answer = admin.post("/v1/admin/keys", json={"name": "audit"})
        assert (answer.status_code, answer.json()["algorithm"], answer.json()["state"]) == (201, "Ed25519", "next")
    wait_until(lambda: read_checkpoint(auditor)[1] != first, 20, "the new key signs")
    second = read_checkpoint(auditor)[1]
    both = notes.parse_note(auditor.get(f"{LOG}/checkpoint").content)
    assert both.signed_by([first]) == [first] and both.signed_by([second]) == [second], "for a week both sign"
    wait_until(lambda: bool(rows_of(appliance, "audit.key")), 5, "the log names it")
    named = rows_of(appliance, "audit.key")[0]["request"]
    assert read_succession(named["note"], [first]) == second and named["vkey"] == str(second)
    with pytest.raises(notes.NoteError):
        read_succession(named["note"], [second])
    wait_until(lambda: len((appliance.data / "log" / "vkey").read_text().splitlines()) == 2, 5, "both are kept")
    with appliance.admin() as admin:
        listed = admin.get("/v1/admin/keys/audit").json()["items"]
    assert [row["state"] for row in listed] == ["retiring", "active"]


@pytest.mark.parametrize("left", ["older", "gone", "another"])
def test_an_older_copy_of_the_log_is_not_continued(left: str) -> None:
    """Put back while the appliance was off: it does not start, says why, and starts once somebody took it upon them."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(stub=None) as (appliance, _):
        file, kept = appliance.data / "db" / "audit.sqlite", appliance.data / "log" / "checkpoint"
        appliance.stop()
        shutil.copy(file, appliance.data / "older.sqlite")
        appliance.start()
        with appliance.admin() as admin:
            for _ in range(10):
                admin.get("/v1/admin/agents")
            size = read_checkpoint(admin)[0].size
        wait_until(lambda: read_kept(kept).size >= size, 5, "a checkpoint was kept")
        appliance.stop()
        for each in file.parent.glob("audit.sqlite*"):
            each.unlink()
        if left == "older":
            shutil.copy(appliance.data / "older.sqlite", file)
        elif left == "another":
            text = kept.read_text().split("\n")
            text[1:3] = ["1", base64.b64encode(bytes(32)).decode()]
            kept.write_text("\n".join(text))
            shutil.copy(appliance.data / "older.sqlite", file)
        said = appliance.start_refused("this appliance signed")
        assert str(kept) in said and "older copy" in said
        appliance.stop()
        kept.rename(kept.with_suffix(".cut"))
        appliance.start()
        assert appliance.verify() == 0


class Auditor:
    """Somebody with a token of that role, the CA, and the command line."""

    def __init__(self, appliance: Appliance, folder: Path) -> None:
        self._appliance = appliance
        self.folder = folder
        with appliance.admin() as admin:
            made = admin.post("/v1/admin/admins", json={"name": folder.name.lower(), "role": "auditor"})
            assert made.status_code == 201, made.text
        (folder / "token").write_text(made.json()["token"])
        self.place = ["--url", appliance.base_url, "--ca", str(appliance.data / "ca" / "ca.crt")]
        self.place += ["--token-file", str(folder / "token")]

    def run(self, *words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "mastio", "audit", *words]
        return subprocess.run(command, input=given, capture_output=True, check=False, timeout=120)

    def report(self, *words: str, given: bytes | None = None) -> tuple[int, dict[str, Any]]:
        done = self.run("verify", "--json", *words, given=given)
        assert done.returncode in (0, 3), done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def vera(appliance: Appliance, tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    return Auditor(appliance, tmp_path_factory.mktemp("auditor"))


def test_an_auditor_verifies_from_afar_and_from_an_export(appliance: Appliance, vera: Auditor) -> None:
    with appliance.admin() as client:
        old = client.get(f"{LOG}/checkpoint").content
        (vera.folder / "anchors").write_bytes(old)
        (vera.folder / "vkey").write_bytes((appliance.data / "log" / "vkey").read_bytes())
        for _ in range(200):
            client.get("/v1/admin/agents")
        exported = client.get("/v1/audit/export").content
    kept = ["--checkpoint", str(vera.folder / "anchors"), "--vkey", str(vera.folder / "vkey")]
    for place, given in ((vera.place, None), (["--export", "-"], exported), (["--data", str(appliance.data)], None)):
        status, report = vera.report(*place, *kept, given=given)
        assert (status, report["first_bad"], report["pinned"], report["problem"]) == (0, None, True, None)
        assert report["checkpoints"] == 2 and report["size"] > 600
    lines = exported.splitlines(keepends=True)
    lines[300] = lines[300].replace(b'"time":"2', b'"time":"3')
    forged = b"".join(lines)
    status, report = vera.report("--export", "-", *kept, given=forged)
    assert (status, report["first_bad"]) == (3, 300)


def test_an_agents_token_or_none_verifies_nothing(vera: Auditor) -> None:
    wrong = vera.folder / "wrong"
    wrong.write_text("mastio_admin_nonsense")
    done = vera.run("verify", *vera.place[:-1], str(wrong))
    assert (done.returncode, done.stdout) == (1, b"") and done.stderr.startswith(b"mastio: ")


def test_an_auditor_takes_checkpoint_proof_and_export_home(appliance: Appliance, vera: Auditor) -> None:
    vkey = str(appliance.data / "log" / "vkey")
    signed = vera.run("checkpoint", *vera.place, "--vkey", vkey)
    assert signed.returncode == 0 and signed.stdout.startswith(b"test.example/audit\n")
    (vera.folder / "cp").write_bytes(signed.stdout)
    out = vera.folder / "log.ndjson"
    assert vera.run("export", *vera.place, "-o", str(out)).returncode == 0
    words = ("--vkey", vkey, "--checkpoint", str(vera.folder / "cp"))
    assert vera.report("--export", str(out), *words)[0] == 0
    for place in (vera.place, ["--data", str(appliance.data)]):
        proof = vera.run("prove", *place, "5")
        assert proof.returncode == 0, proof.stderr
        (vera.folder / "proof").write_bytes(proof.stdout)
        offline = ("prove", "--verify", str(vera.folder / "proof"), "--vkey", vkey)
        assert vera.run(*offline, "--export", str(out)).returncode == 0
        (vera.folder / "entry").write_bytes(out.read_bytes().splitlines()[6])
        assert vera.run(*offline, "--entry", str(vera.folder / "entry")).returncode == 3
    assert vera.run("prove", *vera.place, "999999").returncode == 1


def test_an_auditor_lists_what_was_denied(appliance: Appliance, alice: Identity, vera: Auditor) -> None:
    cedar = 'forbid (principal == Agent::"alice", action == Action::"agent.self", resource);'
    with appliance.by_certificate(alice) as client, appliance.admin() as admin:
        assert admin.post("/v1/admin/policies", json={"name": "quiet", "cedar": cedar}).status_code == 201
        appliance.settle()
        denied = client.get("/v1/agents/self")
        assert admin.delete("/v1/admin/policies/quiet").status_code == 204
        appliance.settle()
        served = client.get("/v1/agents/self")
        own = client.get(f"/v1/audit/entries?request_id={denied.headers['x-request-id']}").content.splitlines()
        assert client.get("/v1/audit/entries?agent=bob&order=desc").text == ""
    assert denied.status_code == 403 and {json.loads(line)["agent"] for line in own} == {"alice"}
    for place in (vera.place, ["--data", str(appliance.data)]):
        done = vera.run("list", *place, "--json", "--agent", "alice", "--since", "10m", "--decision", "deny")
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        assert entries[0]["id"] == denied.headers["x-request-id"], done.stderr
        assert {entry["decision"]["effect"] for entry in entries} == {"deny"}
        done = vera.run("list", *place, "--request-id", served.headers["x-request-id"], "--kind", "agent.*")
        assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == [
            str(int(served.headers["mastio-receipt"]) + 1).encode(), served.headers["mastio-receipt"].encode()
        ]  # fmt: skip
    with appliance.admin() as auditor:
        page = auditor.get("/v1/audit/entries?order=desc&kind=agent.self&limit=1")
        following = auditor.get(page.links["next"]["url"])
        assert json.loads(following.text)["seq"] < json.loads(page.text)["seq"]


def test_an_agent_verifies_its_own_receipt(appliance: Appliance, alice: Identity, tmp_path: Path) -> None:
    """With nothing but its identity, the key that it pinned, and a checkpoint that it kept the last time."""
    (tmp_path / "vkey").write_bytes((appliance.data / "log" / "vkey").read_bytes())
    kept = tmp_path / "kept"
    pinned = ["--vkey", str(tmp_path / "vkey"), "--identity", str(alice.folder)]

    def receipt(*words: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "mastio", "audit", "receipt", *words]
        return subprocess.run(command, capture_output=True, check=False, timeout=60)

    with appliance.agent(alice) as client:
        answer = client.get("/v1/agents/self")
        first, request_id = answer.headers["mastio-receipt"], answer.headers["x-request-id"]
        second = client.get("/v1/agents/self").headers["mastio-receipt"]
    done = receipt(first, *pinned, "--checkpoint-out", str(kept))
    assert done.returncode == 0, done.stderr
    entry = json.loads(done.stdout)
    assert (entry["id"], entry["agent"], entry["seq"]) == (request_id, "alice", int(first))
    done = receipt(second, *pinned, "--checkpoint", str(kept), "--json")
    found = json.loads(done.stdout)
    assert (found["checkpoints"], found["pinned"], found["index"]) == (1, True, int(second))
    assert b"not pinned" in receipt(first, "--identity", str(alice.folder)).stderr
    with appliance.admin() as admin:
        other = admin.get("/v1/admin/agents").headers["mastio-receipt"]
    assert receipt(other, *pinned).returncode == 1
    stranger = notes.Signer("test.example/audit", bytes(32))
    assert receipt(first, "--identity", str(alice.folder), "--vkey", str(stranger.verifier)).returncode == 3
    lines = kept.read_bytes().split(b"\n")
    forged = notes.sign(Checkpoint("test.example/audit", int(lines[1]), bytes(32)), [stranger])
    kept.write_bytes(forged)
    assert receipt(first, *pinned, "--checkpoint", str(kept)).returncode == 3


def test_a_receipt_from_a_log_that_was_rewritten(appliance: Appliance, alice: Identity) -> None:
    """The older checkpoint is truly signed, and not of this log: whoever signs cannot show that it was extended."""
    stranger = notes.Signer("test.example/audit", bytes(32))
    with open_client(alice) as client:
        index = int(client.get("/v1/agents/self").headers["mastio-receipt"])
        known = [fetch_vkey(client), stranger.verifier]
        good = verify_receipt(client, index, known)
        older = Checkpoint("test.example/audit", good.checkpoint.size - 1, bytes(32))
        for wrong in (older, Checkpoint(older.origin, 10**9, bytes(32)), Checkpoint("other", 1, bytes(32))):
            with pytest.raises((ProofError, NoteError)):
                verify_receipt(client, index, known, [notes.sign(wrong, [stranger])])
        assert verify_receipt(client, index, known, [good.signed]).entry == good.entry
