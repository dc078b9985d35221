"""Identity ends: at each of four workers within a second of a revocation or suspension, with the grace at a renewal."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from mastio_client import Identity
from mastio_client.proofs import make_csr
from support.appliance import Appliance, Stub, wait_until
from support.threats.agent_kit import Kit
from support.threats.entry_points import as_shown, open_worker
from support.threats.forged_certificates import show
from support.threats.four_workers import SLOTS, WORKERS, ask
from support.threats.judge import SELF, TOKEN, Answer

GRACE = 48 * 3600


@pytest.fixture(scope="module")
def appliance(four: tuple[Appliance, Stub]) -> Appliance:
    return four[0]


# --- revoked at t: no worker serves at t + 1 s ------------------------------------------------------------------------

EVERY = 0.05
"""Seconds between two calls of one watcher."""


class Watcher:
    """Calls one worker with one credential again and again; knows when what it was told changed last."""

    def __init__(self, send: Callable[[], Answer]) -> None:
        self._send = send
        self._told: list[tuple[float, int, str | None]] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(EVERY):
            at = time.monotonic()
            answer = self._send()
            self._told.append((at, answer.status, None if answer.status == 200 else answer.document.get("code")))

    def told(self) -> tuple[int, str | None]:
        return self._told[-1][1:] if self._told else (0, None)

    def last(self, status: int) -> float:
        """When the last call was begun that was answered with this."""
        return max(at for at, said, _ in self._told if said == status)

    def end(self) -> None:
        self._end.set()
        self._thread.join(10)


class Prover:
    """Calls one worker by token and proof, with that worker's newest nonce."""

    def __init__(self, client: httpx.Client, kit: Kit, token: str) -> None:
        self._client, self._kit, self._token = client, kit, token
        self._nonce = client.get(SELF).headers["dpop-nonce"]

    def __call__(self) -> Answer:
        proof = self._kit.proof(path=SELF, htm="GET", nonce=self._nonce, token=self._token)
        headers = {"Authorization": f"DPoP {self._token}", "DPoP": proof}
        answer = Answer.of(self._client.get(SELF, headers=headers))
        self._nonce = answer.header("dpop-nonce") or self._nonce
        return answer


def watch_everything(appliance: Appliance, kit: Kit, opened: ExitStack) -> dict[str, Watcher]:
    """Every kind of credential at every worker."""
    name, shown = kit.identity.name, as_shown(kit.identity.folder / "agent.crt")
    with appliance.admin() as admin:
        assert admin.patch(f"/v1/admin/agents/{name}", json={"api_keys": True}).status_code == 200
        key = admin.post(f"/v1/admin/agents/{name}/api-keys", json={}).json()["key"]
    with appliance.by_certificate(kit.identity) as client:
        bound = ask(client, TOKEN).document["access_token"]
    proven = kit.token

    def watch(slot: int, certificate: str, **headers: str) -> Watcher:
        client = opened.enter_context(open_worker(appliance, slot, certificate))
        return Watcher(lambda: Answer.of(client.get(SELF, headers=headers)))

    watchers: dict[str, Watcher] = {}
    for slot in SLOTS:
        prover = Prover(opened.enter_context(open_worker(appliance, slot)), kit, proven)
        watchers[f"proof at {slot}"] = Watcher(prover)
        watchers[f"certificate at {slot}"] = watch(slot, shown)
        watchers[f"bound token at {slot}"] = watch(slot, shown, Authorization=f"Bearer {bound}")
        watchers[f"API key at {slot}"] = watch(slot, "", Authorization=f"Bearer {key}")
    for watcher in watchers.values():
        opened.callback(watcher.end)
    return watchers


def test_every_worker_follows_an_agents_status_within_a_second(appliance: Appliance) -> None:
    """Revoked, suspended, and served again each time; by every kind of credential, at every worker."""
    kit = Kit(appliance, appliance.enroll("watched"))
    path = "/v1/admin/agents/watched"
    steps = [
        (("POST", f"{path}/revoke", {"reason": "stolen"}), 401),
        (("POST", f"{path}/reactivate", {}), 200),
        (("PATCH", path, {"status": "suspended"}), 401),
        (("PATCH", path, {"status": "active"}), 200),
    ]
    with ExitStack() as opened, appliance.admin() as admin:
        watchers = watch_everything(appliance, kit, opened)
        everywhere(watchers, 200)
        assert len(watchers) == 4 * WORKERS
        for (method, where, body), then in steps:
            at = time.monotonic()
            assert admin.request(method, where, json=body).status_code == 200
            everywhere(watchers, then)
            before = 200 if then == 401 else 401
            late = {name: watcher.last(before) - at for name, watcher in watchers.items()}
            assert max(late.values()) <= 1.0, late
            time.sleep(0.3)
            everywhere(watchers, then)  # and it stays so
            if then == 401:
                assert {watcher.told()[1] for watcher in watchers.values()} == {"agent_inactive"}


def everywhere(watchers: dict[str, Watcher], status: int) -> None:
    wait_until(
        lambda: all(watcher.told()[0] == status for watcher in watchers.values()), 5, f"everybody is told {status}"
    )


# --- a renewed leaf --------------------------------------------------------------------------------------------------


def renew(appliance: Appliance, identity: Identity, folder: Path) -> tuple[Identity, dict[str, Any]]:
    """The identity with a new leaf, and what the appliance said."""
    key = ec.generate_private_key(ec.SECP256R1())
    with appliance.by_certificate(identity) as client:
        said = client.post(f"{SELF}/renew", json={"csr": make_csr(key, identity.name)})
        assert said.status_code == 200, said.text
    leaf = x509.load_pem_x509_certificate(said.json()["certificate"].encode())
    return show(folder, key, leaf), said.json()


def told_everywhere(appliance: Appliance, identity: Identity) -> set[tuple[int, str | None]]:
    """What this leaf is answered by the edge, and by each worker."""
    answers = []
    shown = as_shown(identity.folder / "agent.crt")
    with appliance.by_certificate(identity) as client:
        answers.append(ask(client, SELF))
    for slot in SLOTS:
        with open_worker(appliance, slot, shown) as client:
            answers.append(ask(client, SELF))
    return {(one.status, None if one.status == 200 else one.document["code"]) for one in answers}


GOOD = {(200, None)}
ENDED = {(401, "invalid_certificate")}


def end_of_grace(appliance: Appliance, name: str, at: float) -> None:
    """Move the end of the grace to `at`, as if the time until then had passed already."""
    with closing(sqlite3.connect(appliance.data / "db" / "control.sqlite", timeout=10)) as connection, connection:
        connection.execute("UPDATE revision SET value = value + 1, agents = value + 1")
        connection.execute(
            "UPDATE agents SET previous_until = ?, version = (SELECT value FROM revision) WHERE name = ?", (at, name)
        )


def test_a_renewed_leaf_replaces_the_old_one_after_the_grace(appliance: Appliance, tmp_path: Path) -> None:
    first = appliance.enroll("renewing")
    asked = time.time()
    second, said = renew(appliance, first, tmp_path / "second")
    until = datetime.fromisoformat(said["previous_until"]).timestamp()
    assert asked + GRACE - 2 <= until <= time.time() + GRACE, "48 hours, though the leaf itself lives for 30 days"
    assert told_everywhere(appliance, second) == GOOD
    assert told_everywhere(appliance, first) == GOOD
    for margin in (2, 10, 30):
        end = time.time() + margin
        end_of_grace(appliance, "renewing", end)
        time.sleep(1)
        told = told_everywhere(appliance, first)
        if time.time() < end:
            break  # else the machine was too busy to ask all of them in time
    assert told == GOOD
    time.sleep(max(0.0, end - time.time()) + 0.05)
    assert told_everywhere(appliance, first) == ENDED
    assert told_everywhere(appliance, second) == GOOD


def test_only_the_leaf_before_has_a_grace(appliance: Appliance, tmp_path: Path) -> None:
    first = appliance.enroll("twice-renewed")
    second, _ = renew(appliance, first, tmp_path / "second")
    third, _ = renew(appliance, second, tmp_path / "third")
    wait_until(lambda: told_everywhere(appliance, first) == ENDED, 2, "the leaf before the last is over")
    assert told_everywhere(appliance, second) == GOOD
    assert told_everywhere(appliance, third) == GOOD


def serial_of(identity: Identity) -> int:
    return x509.load_pem_x509_certificate((identity.folder / "agent.crt").read_bytes()).serial_number


def is_listed(appliance: Appliance, identity: Identity) -> bool:
    with appliance.client() as client:
        made = x509.load_pem_x509_crl(client.get("/pki/crl.pem").content)
    return made.get_revoked_certificate_by_serial_number(serial_of(identity)) is not None


def test_every_leaf_of_a_revoked_agent_is_on_the_list(appliance: Appliance, alice: Identity, tmp_path: Path) -> None:
    first = appliance.enroll("listed")
    second, _ = renew(appliance, first, tmp_path / "second")
    third, _ = renew(appliance, second, tmp_path / "third")
    leaves = (first, second, third)
    assert [is_listed(appliance, leaf) for leaf in leaves] == [False] * 3
    with appliance.admin() as admin:
        assert admin.post("/v1/admin/agents/listed/revoke", json={}).status_code == 200
        wait_until(lambda: all(is_listed(appliance, leaf) for leaf in leaves), 2, "all three are listed")
        wait_until(lambda: told_everywhere(appliance, third) == {(401, "agent_inactive")}, 2, "nobody serves it")
        assert not is_listed(appliance, alice)
        assert admin.post("/v1/admin/agents/listed/reactivate", json={}).status_code == 200
    wait_until(lambda: not is_listed(appliance, third) and not is_listed(appliance, second), 2, "they are off again")
    assert is_listed(appliance, first), "a leaf that was replaced before stays on the list"
