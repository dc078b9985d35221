"""Identity holds: nobody is another, and nothing works twice.

Against four workers, at the edge and at each worker alone. What a single wrong claim or header does is for
`test_tokens.py` and `test_replay.py`; here is what an enrolled agent could try, and what many can try at once. What
time does is for `test_identity_endings.py`.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from mastio_client import DPoPAuth, Identity
from mastio_client.proofs import encode_pem_key, make_csr, make_key, sign_enrollment
from support.appliance import Appliance, Stub, wait_until
from support.threats.agent_kit import Headers, Kit, hash_of
from support.threats.entry_points import (
    Door,
    as_shown,
    at_once,
    control_door,
    edge_door,
    open_worker,
    said_by_edge,
    worker_door,
    write_request,
)
from support.threats.forged_certificates import FORGERIES, show
from support.threats.four_workers import FORM_TYPE, SLOTS, WORKERS, ask
from support.threats.judge import SELF, TOKEN, Answer, Judge, edge_lines, refusal

ROUNDS = 5


@pytest.fixture(scope="module")
def appliance(four: tuple[Appliance, Stub]) -> Appliance:
    return four[0]


@pytest.fixture(scope="module")
def mallory(appliance: Appliance) -> Identity:
    return appliance.enroll("mallory")


@pytest.fixture(scope="module")
def kit(appliance: Appliance, alice: Identity) -> Kit:
    return Kit(appliance, alice)


@pytest.fixture
def judge(four: tuple[Appliance, Stub], alice: Identity, request: pytest.FixtureRequest) -> Judge:
    return Judge(*four, request.node.name)


# --- nobody's leaf vouches for another -------------------------------------------------------------------------------


@contextmanager
def stopped_workers(appliance: Appliance) -> Iterator[None]:
    """No worker does anything: whoever is answered meanwhile was answered by the edge alone."""
    workers = [appliance.pid(f"worker-{slot}") for slot in SLOTS]
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)


def forge(name: str, mallory: Identity, folder: Path) -> Identity:
    """`mallory`, who shows a leaf of `alice` that `mallory` signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    return show(folder / "forged", key, *FORGERIES[name](mallory, key, "alice"))


@pytest.mark.parametrize("path", [SELF, TOKEN], ids=["self", "token"])
@pytest.mark.parametrize("name", FORGERIES)
def test_the_edge_alone_refuses_a_leaf_by_a_leaf(
    appliance: Appliance, mallory: Identity, alice: Identity, judge: Judge, tmp_path: Path, name: str, path: str
) -> None:
    """While every worker stands still: the forged leaf is refused at once, and who is really alice waits."""
    forged = forge(name, mallory, tmp_path)
    code = "invalid_client" if path == TOKEN else "invalid_certificate"
    with (
        ThreadPoolExecutor(1) as pool,
        appliance.by_certificate(alice) as good,
        appliance.by_certificate(forged) as bad,
    ):
        with stopped_workers(appliance):
            waiting = pool.submit(ask, good, path)
            answer = ask(bad, path)
            judge.refused(answer, refusal(401, code, "edge"), path)
            assert not waiting.done()
            judge.mark()
        judge.served(waiting.result(30), upstream=False)
    assert judge.entries()[0]["agent"] == "alice"


def test_a_forged_leaf_has_a_line_in_the_edges_log(appliance: Appliance, mallory: Identity, tmp_path: Path) -> None:
    forged = forge("chain", mallory, tmp_path)
    shown = x509.load_pem_x509_certificate((forged.folder / "agent.crt").read_bytes())
    with appliance.by_certificate(forged) as bad:
        assert ask(bad, SELF).status == 401
    (line,) = edge_lines(appliance, _sha1(shown))
    assert b'"status":401' in line


def _sha1(certificate: x509.Certificate) -> bytes:
    """As nginx writes a fingerprint."""
    return certificate.fingerprint(hashes.SHA1()).hex().encode()


@pytest.mark.parametrize("path", [SELF, TOKEN], ids=["self", "token"])
@pytest.mark.parametrize("name", FORGERIES)
def test_the_app_alone_refuses_a_leaf_by_a_leaf(
    appliance: Appliance, mallory: Identity, alice: Identity, judge: Judge, tmp_path: Path, name: str, path: str
) -> None:
    """At each worker's socket, in the edge's words: as if the edge had believed the forged leaf and its chain."""
    shown, own = as_shown(forge(name, mallory, tmp_path).folder / "agent.crt"), as_shown(alice.folder / "agent.crt")
    code = "invalid_client" if path == TOKEN else "invalid_certificate"
    for slot in SLOTS:
        judge.mark()
        with open_worker(appliance, slot, shown) as bad:
            answer = ask(bad, path)
        judge.refused(answer, refusal(401, code), path, "invalid_certificate")
        assert b"The client certificate is not ours." in answer.body, "its chain is what is refused, not only its pin"
        judge.mark()
        with open_worker(appliance, slot, own) as good:
            judge.served(ask(good, path), upstream=False)
        assert judge.entries()[0]["agent"] == "alice"


@pytest.mark.parametrize("said", ["nothing", "wrong", "twice"])
def test_a_worker_believes_nobody_but_the_edge(appliance: Appliance, alice: Identity, judge: Judge, said: str) -> None:
    """A right leaf, but not by the edge's word."""
    right = said_by_edge(appliance, as_shown(alice.folder / "agent.crt"))
    secret = right[0]
    wrong: dict[str, Headers] = {
        "nothing": right[1:],
        "wrong": [(secret[0], "0" * 64), *right[1:]],
        "twice": [secret, *right],
    }
    for slot in SLOTS:
        judge.mark()
        (answer,) = at_once([(worker_door(appliance, slot), write_request("GET", SELF, wrong[said]))])
        assert answer.status == 400 and judge.entries() == []
        (answer,) = at_once([(worker_door(appliance, slot), write_request("GET", SELF, right))])
        judge.served(answer, upstream=False)


# --- a proof works once ----------------------------------------------------------------------------------------------

SPELLINGS = ("DPoP {}", "dpop {}", "DPOP {}", "dPoP {}", "DPoP  {}", "dpop   {}", "DPop {}", "DpoP  {}")
"""Of one credential. The edge chooses a worker by the header's bytes, so these are on their way to several."""


def nonce_of(door: Door, *headers: tuple[str, str]) -> str:
    """The newest nonce of whoever answers there."""
    (answer,) = at_once([(door, write_request("GET", SELF, headers))])
    nonce = answer.header("dpop-nonce")
    assert answer.status == 401 and nonce
    return nonce


def proven(kit: Kit, nonce: str) -> tuple[str, str]:
    """A proof for one GET of one's own identity."""
    return "DPoP", kit.proof(path=SELF, htm="GET", nonce=nonce)


def is_once(answers: list[Answer], codes: set[str]) -> None:
    assert Counter(answer.status for answer in answers) == {200: 1, 401: len(answers) - 1}
    assert {answer.document["code"] for answer in answers if answer.status == 401} <= codes


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_proof_sent_fifty_times_at_once_works_once(appliance: Appliance, kit: Kit, judge: Judge, turn: int) -> None:
    door, authorization = edge_door(appliance), ("Authorization", f"DPoP {kit.token}")
    proof = proven(kit, nonce_of(door, authorization))
    judge.mark()
    answers = at_once([(door, write_request("GET", SELF, [authorization, proof]))] * 50)
    is_once(answers, {"invalid_dpop_proof"})
    assert Counter(entry["phase"] for entry in judge.entries()) == {"intent": 1, "outcome": 1, "event": 49}


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_proof_works_once_however_its_token_is_spelled(
    appliance: Appliance, kit: Kit, judge: Judge, turn: int
) -> None:
    """So that the edge leads them to several workers, which share a memory."""
    door = edge_door(appliance)
    spelled = [("Authorization", SPELLINGS[n % len(SPELLINGS)].format(kit.token)) for n in range(50)]
    proof = proven(kit, nonce_of(door, spelled[0]))
    judge.mark()
    answers = at_once([(door, write_request("GET", SELF, [header, proof])) for header in spelled])
    is_once(answers, {"invalid_dpop_proof"})
    assert Counter(entry["phase"] for entry in judge.entries()) == {"intent": 1, "outcome": 1, "event": 49}


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_proof_works_once_at_four_workers_at_once(appliance: Appliance, kit: Kit, judge: Judge, turn: int) -> None:
    """Behind the edge's back, so that its choice of a worker has no part in it."""
    said = [*said_by_edge(appliance), ("Authorization", f"DPoP {kit.token}")]
    proof = proven(kit, nonce_of(worker_door(appliance, turn % WORKERS), *said_by_edge(appliance)))
    doors = [worker_door(appliance, n % WORKERS) for n in range(52)]
    judge.mark()
    answers = at_once([(door, write_request("GET", SELF, [*said, proof])) for door in doors])
    is_once(answers, {"invalid_dpop_proof"})
    (served,) = [answer for answer in answers if answer.status == 200]
    judge.served(served, upstream=False)


def say_one_nonce(appliance: Appliance, *doors: Door) -> bool:
    return len({nonce_of(door, *said_by_edge(appliance)) for door in doors}) == 1


def test_a_used_proof_stays_used_whatever_worker_is_killed(appliance: Appliance, kit: Kit, judge: Judge) -> None:
    """The new worker knows what the old one and the others saw, and takes what nobody has seen."""
    said = [*said_by_edge(appliance), ("Authorization", f"DPoP {kit.token}")]
    for slot in SLOTS:
        door, next_door = worker_door(appliance, slot), worker_door(appliance, (slot + 1) % WORKERS)
        nonce = nonce_of(door, *said_by_edge(appliance))
        here, there, unused = (write_request("GET", SELF, [*said, proven(kit, nonce)]) for _ in range(3))
        assert [answer.status for answer in (*at_once([(door, here)]), *at_once([(next_door, there)]))] == [200, 200]
        before = appliance.pid(f"worker-{slot}")
        appliance.kill_worker(slot)
        wait_until(lambda slot=slot, before=before: appliance.pid(f"worker-{slot}") != before, 20, "it is replaced")
        wait_until(partial(say_one_nonce, appliance, door, next_door), 20, "the new worker has the nonce of the others")
        for request in (here, there):
            for other in SLOTS:
                judge.mark()
                (answer,) = at_once([(worker_door(appliance, other), request)])
                judge.refused(answer, refusal(401, "invalid_dpop_proof"), SELF)
        judge.mark()
        (answer,) = at_once([(door, unused)])
        judge.served(answer, upstream=False)


# --- a client assertion works once -----------------------------------------------------------------------------------


def enroll_without_dpop(appliance: Appliance, name: str) -> Kit:
    """An agent that named no DPoP key: it signs assertions with its certificate's key, and proofs with any."""
    key = make_key()
    body = {"csr": make_csr(key, name), "name": name, "token": appliance.enrollment_token(name)}
    with appliance.client() as client:
        issued = client.post("/v1/enrollments", json=body)
        assert issued.status_code == 201, issued.text
    folder = appliance.data / "agents" / name
    folder.mkdir(parents=True)
    (folder / "agent.key").write_bytes(encode_pem_key(key))
    (folder / "agent.crt").write_text(issued.json()["certificate"])
    return Kit(appliance, Identity(folder, name, appliance.base_url, appliance.data / "ca" / "ca.crt", key))


TWENTY = 20


def asking(kit: Kit, assertion: str, nonce: str, *said: tuple[str, str]) -> bytes:
    """A token request with a proof by a key that nobody has seen before."""
    form = urlencode(kit.form(client_assertion=assertion)).encode()
    proof = kit.proof(path=TOKEN, key=make_key(), nonce=nonce)
    return write_request("POST", TOKEN, [*said, FORM_TYPE, ("DPoP", proof)], form)


def is_one_token(answers: list[Answer]) -> None:
    assert Counter(answer.status for answer in answers) == {200: 1, 401: len(answers) - 1}
    assert {answer.document["error"] for answer in answers if answer.status == 401} == {"invalid_client"}


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_an_assertion_buys_one_token_whatever_it_is_bound_to(appliance: Appliance, judge: Judge, turn: int) -> None:
    """A thief who saw the assertion has no key of the agent's, but brings twenty of its own; and a password, which
    means nothing here, but by which the edge leads them to several workers."""
    kit = enroll_without_dpop(appliance, f"plain-{turn}")
    door, assertion = edge_door(appliance), kit.assertion()
    passwords = [("Authorization", f"Basic {n}") for n in range(TWENTY)]
    nonces = [nonce_of(door, password) for password in passwords]
    requests = [asking(kit, assertion, *pair) for pair in zip(nonces, passwords, strict=True)]
    judge.mark()
    is_one_token(at_once([(door, request) for request in requests]))
    assert Counter(e["outcome"]["status"] for e in judge.entries() if e["phase"] == "outcome")["ok"] == 1
    (answer,) = at_once([(door, asking(kit, kit.assertion(), nonce_of(door)))])
    assert answer.status == 200, "another assertion is as good as the first was"


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_an_assertion_buys_one_token_at_four_workers_at_once(appliance: Appliance, judge: Judge, turn: int) -> None:
    kit = enroll_without_dpop(appliance, f"plainer-{turn}")
    assertion, said = kit.assertion(), said_by_edge(appliance)
    known_everywhere(appliance, kit.identity)
    nonces = [nonce_of(worker_door(appliance, slot), *said) for slot in SLOTS]
    attempts = [
        (worker_door(appliance, n % WORKERS), asking(kit, assertion, nonces[n % WORKERS], *said)) for n in range(TWENTY)
    ]
    judge.mark()
    is_one_token(at_once(attempts))
    assert Counter(e["outcome"]["status"] for e in judge.entries() if e["phase"] == "outcome")["ok"] == 1
    for slot in SLOTS:  # and none of them forgets
        (answer,) = at_once([(worker_door(appliance, slot), asking(kit, assertion, nonces[slot], *said))])
        assert (answer.status, answer.document["error"]) == (401, "invalid_client")


def test_an_assertion_of_an_agent_with_a_key_binds_to_that_key_alone(appliance: Appliance, kit: Kit) -> None:
    said, assertion = said_by_edge(appliance), kit.assertion()
    nonces = [nonce_of(worker_door(appliance, slot), *said) for slot in SLOTS]
    answers = at_once([(worker_door(appliance, n), asking(kit, assertion, nonces[n], *said)) for n in SLOTS])
    assert {(answer.status, answer.document["error"]) for answer in answers} == {(400, "invalid_dpop_proof")}
    fresh = kit.assertion()
    form = urlencode(kit.form(client_assertion=fresh)).encode()
    proof = ("DPoP", kit.proof(path=TOKEN, nonce=nonces[0]))
    (answer,) = at_once([(worker_door(appliance, 0), write_request("POST", TOKEN, [*said, FORM_TYPE, proof], form))])
    assert answer.status == 200


def known_everywhere(appliance: Appliance, identity: Identity) -> None:
    """Until every worker knows the agent and its certificate of now."""
    shown = as_shown(identity.folder / "agent.crt")
    for slot in SLOTS:
        with open_worker(appliance, slot, shown) as client:
            wait_until(lambda client=client: client.get(SELF).status_code == 200, 2, "the worker knows the agent")


# --- a name that is given to another ----------------------------------------------------------------------------------


def test_a_token_does_not_pass_to_the_next_holder_of_the_name(appliance: Appliance, tmp_path: Path) -> None:
    """Whoever stole the first one's key has its token for ten minutes; whoever gets the name then is somebody else."""
    first = enroll_without_dpop(appliance, "reborn")
    key, agent = make_key(), "/v1/admin/agents/reborn"

    def ask_as(kit: Kit) -> Answer:
        """At one worker: the edge would lead another token to another nonce."""
        with open_worker(appliance, 0) as worker:
            nonce = worker.get(SELF).headers["dpop-nonce"]
            proof = kit.proof(path=SELF, htm="GET", nonce=nonce, ath=hash_of(kit.token))
            return Answer.of(worker.get(SELF, headers=kit.headers(proof=proof)))

    assert ask_as(first).status == 200
    with appliance.admin() as admin, appliance.client() as client:
        assert admin.post(f"{agent}/revoke", json={"reason": "stolen"}).status_code == 200
        asked = client.post("/v1/enrollments", json={"csr": make_csr(key, "reborn"), "name": "reborn"}).json()
        approved = admin.post(f"/v1/admin/enrollments/{asked['id']}/approve", json={})
        assert approved.status_code == 200, approved.text
        proof = {"X-Enrollment-Proof": sign_enrollment(key, asked["id"])}
        issued = client.get(f"/v1/enrollments/{asked['id']}", headers=proof).json()
    leaf = x509.load_pem_x509_certificate(issued["certificate"].encode())
    second = Kit(appliance, replace(show(tmp_path / "reborn", key, leaf), name="reborn"))
    known_everywhere(appliance, second.identity)
    refused = ask_as(first)
    assert (refused.status, refused.document["code"]) == (401, "invalid_token")
    served = ask_as(second)
    assert (served.status, served.document["name"]) == (200, "reborn")


# --- a one-time token issues one certificate -------------------------------------------------------------------------


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_one_time_token_issues_one_certificate_at_once(appliance: Appliance, judge: Judge, turn: int) -> None:
    """Half of them through the edge, half at the socket of control, which alone enrols."""
    token, key = appliance.enrollment_token(f"race-{turn}-*"), make_key()
    json_type = ("Content-Type", "application/json")
    doors, heads = (edge_door(appliance), control_door(appliance)), ([json_type], [*said_by_edge(appliance), json_type])
    names = [f"race-{turn}-{n}" for n in range(48)]
    bodies = [json.dumps({"csr": make_csr(key, name), "name": name, "token": token}).encode() for name in names]
    judge.mark()
    answers = at_once(
        [(doors[n % 2], write_request("POST", "/v1/enrollments", heads[n % 2], body)) for n, body in enumerate(bodies)]
    )
    assert Counter(answer.status for answer in answers) == {201: 1, 403: 47}
    assert {answer.document["code"] for answer in answers if answer.status == 403} == {"invalid_enrollment_token"}
    with appliance.admin() as admin:
        known = [item["name"] for item in admin.get("/v1/admin/agents", params={"limit": 500}).json()["items"]]
    assert sum(name.startswith(f"race-{turn}-") for name in known) == 1


# --- a busy client is not challenged ----------------------------------------------------------------------------------


def test_a_busy_client_is_hardly_ever_asked_for_another_nonce(appliance: Appliance) -> None:
    """Ten agents, 200 calls each on kept connections, four workers: fewer than one call in a hundred, after each
    client's first, is answered with `use_dpop_nonce` (RFC 9449 §8.2)."""
    identities = [appliance.enroll(f"busy-{n}") for n in range(10)]
    challenges: Counter[str] = Counter()

    def count(name: str) -> Callable[[httpx.Response], None]:
        def look(response: httpx.Response) -> None:
            if 'error="use_dpop_nonce"' in response.headers.get("www-authenticate", ""):
                challenges[name] += 1

        return look

    def work(identity: Identity) -> Counter[int]:
        statuses: Counter[int] = Counter()
        hooks = {"response": [count(identity.name)]}
        with appliance.client(auth=DPoPAuth(identity), event_hooks=hooks) as client:
            assert client.get(SELF).status_code == 200
            challenges.pop(identity.name, None)
            for _ in range(200):
                statuses[client.get(SELF).status_code] += 1
        return statuses

    with ThreadPoolExecutor(10) as pool:
        answered = sum(pool.map(work, identities), Counter[int]())
    assert answered == {200: 2000}
    assert challenges.total() < 20, challenges


def test_nothing_was_lost_on_the_way(appliance: Appliance) -> None:
    assert appliance.verify() == 0
