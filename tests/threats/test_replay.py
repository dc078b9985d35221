"""What was good once, for somebody else, or a moment ago: replayed, borrowed, ended, expired."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from cryptography import x509

from mastio_client.proofs import make_csr, make_key
from mastio_primitives.jwk import encode_public_jwk
from support.appliance import Appliance, Stub, open_appliance, wait_until
from support.threats.agent_kit import Kit, hash_of
from support.threats.json_doors import MIB
from support.threats.judge import BODY, CHAT, SELF, TOKEN, Answer, Judge, Refusal, refusal
from support.threats.wrong_credentials import BAD_PROOF, NEEDS_NONCE, twin
from threats.test_json import rss

# --- replay ---------------------------------------------------------------------------------------------------------


def fifty(ask: Callable[[], Answer]) -> list[Answer]:
    """Fifty at once: all wait at a barrier, then ask."""
    barrier = threading.Barrier(50)

    def one(_: int) -> Answer:
        barrier.wait(30)
        return ask()

    with ThreadPoolExecutor(50) as pool:
        return list(pool.map(one, range(50)))


def test_a_proof_works_once_among_fifty(kit: Kit, judge: Judge) -> None:
    headers = kit.headers()
    judge.mark()
    answers = fifty(lambda: kit.ask(headers))
    assert Counter(answer.status for answer in answers) == {200: 1, 401: 49}
    codes = {answer.document["error"]["code"] for answer in answers if answer.status == 401}
    assert codes == {"invalid_dpop_proof"}
    (served,) = [answer for answer in answers if answer.status == 200]
    assert Counter(entry["phase"] for entry in judge.entries()) == {"intent": 1, "outcome": 1, "event": 49}
    judge.served(served)
    again = kit.headers()
    judge.mark()
    judge.served(kit.ask(again))


def test_an_assertion_works_once_among_fifty(kit: Kit, judge: Judge) -> None:
    """Each with a proof of its own: it is the assertion that is used up."""
    form = kit.form()
    proofs = [kit.proof(path=TOKEN) for _ in range(50)]
    judge.mark()
    answers = fifty(lambda: kit.ask_token(form, [("DPoP", proofs.pop())]))
    assert Counter(answer.status for answer in answers) == {200: 1, 401: 49}
    assert {answer.document["error"] for answer in answers if answer.status == 401} == {"invalid_client"}


def test_the_twin_of_a_signature_is_a_replay(kit: Kit, judge: Judge) -> None:
    proof = kit.proof()
    judge.mark()
    judge.served(kit.ask(kit.headers(proof=proof)))
    judge.mark()
    judge.refused(kit.ask(kit.headers(proof=twin(proof))), BAD_PROOF, CHAT)
    other = twin(kit.proof())
    judge.mark()
    judge.served(kit.ask(kit.headers(proof=other)))  # as valid as the first, when it is the first


def test_a_jti_belongs_to_its_key(kit: Kit, other_kit: Kit, judge: Judge) -> None:
    """Two agents may use the same `jti`; one may not, whatever else its proof says."""
    mine, theirs, again = kit.proof(jti="same"), other_kit.proof(jti="same"), kit.proof(jti="same", x="y")
    judge.mark()
    judge.served(kit.ask(kit.headers(proof=mine)))
    judge.mark()
    judge.served(other_kit.ask(other_kit.headers(proof=theirs)))
    judge.mark()
    judge.refused(kit.ask(kit.headers(proof=again)), BAD_PROOF, CHAT)


@pytest.fixture(scope="module")
def restarted() -> Iterator[tuple[Appliance, Stub]]:
    """An appliance of its own: it is killed and started anew."""
    with open_appliance() as (appliance, stub):
        assert stub is not None
        yield appliance, stub


def test_a_killed_worker_frees_no_used_proof(restarted: tuple[Appliance, Stub], request: Any) -> None:
    """What the host remembers outlives its workers: a used proof stays used, and a fresh one needs no new nonce."""
    appliance, stub = restarted
    kit = Kit(appliance, appliance.enroll("restarted"))
    judge = Judge(appliance, stub, request.node.name)
    used, unused = kit.headers(), kit.headers()
    assert kit.ask(used).status == 200
    before = appliance.pid("worker-0")
    appliance.kill_worker()
    wait_until(lambda: appliance.pid("worker-0") != before and appliance.is_ready(), 20, "the worker is back")
    judge.mark()
    judge.refused(kit.ask(used), BAD_PROOF, CHAT)
    judge.mark()
    judge.served(kit.ask(unused))


def test_a_nonce_from_before_a_restart_is_stale(restarted: tuple[Appliance, Stub], request: Any) -> None:
    """The nonce was good; the appliance was stopped and started; the proof that carries it is worth nothing now."""
    appliance, stub = restarted
    kit = Kit(appliance, appliance.enroll("started-again"))
    judge = Judge(appliance, stub, request.node.name)
    assert kit.ask(kit.headers()).status == 200
    old = kit.headers()
    appliance.stop()
    appliance.start()
    judge.mark()
    answer = kit.ask(old)
    judge.refused(answer, NEEDS_NONCE, CHAT)
    fresh = kit.headers(proof=kit.proof(nonce=answer.header("dpop-nonce")))
    judge.mark()
    judge.served(kit.ask(fresh))


# --- somebody else's ------------------------------------------------------------------------------------------------

THEIRS = {
    "theirproof": lambda kit, their: kit.headers(proof=their.proof(token=kit.token)),
    "theirtoken": lambda kit, their: kit.headers(token=their.token, proof=kit.proof(token=their.token)),
    "stolen": lambda kit, their: [("Authorization", f"DPoP {their.token}"), ("DPoP", kit.proof())],
    "newkey": lambda kit, their: kit.headers(proof=kit.proof(key=make_key())),
    "edkey": lambda kit, their: kit.headers(proof=kit.proof(key=make_key("ed25519"))),
    "forgedown": lambda kit, their: kit.headers(token=kit.forge(claims={"sub": "agent-two"})),
}


@pytest.mark.parametrize("name", THEIRS)
def test_anothers_key_opens_nothing(kit: Kit, other_kit: Kit, judge: Judge, name: str) -> None:
    headers = THEIRS[name](kit, other_kit)
    judge.mark()
    judge.refused(kit.ask(headers), Refusal((401,), ("invalid_token", "invalid_dpop_proof")), CHAT)
    good = other_kit.headers()
    judge.mark()
    judge.served(other_kit.ask(good))
    assert judge.entries()[0]["agent"] == "agent-two"


# --- what was good a moment ago -------------------------------------------------------------------------------------

ENDS = {
    "revoked": ("POST", "/revoke", None),
    "suspended": ("PATCH", "", {"status": "suspended"}),
    "patched": ("PATCH", "", {"status": "revoked"}),
}


@pytest.mark.parametrize("name", ENDS)
def test_an_agent_that_was_ended_is_refused_within_a_second(appliance: Appliance, judge: Judge, name: str) -> None:
    kit = Kit(appliance, appliance.enroll(f"ended-{name}"))
    spare = [kit.headers() for _ in range(100)]
    judge.mark()
    judge.served(kit.ask(spare.pop()))
    method, path, body = ENDS[name]
    agent = f"/v1/admin/agents/ended-{name}"
    with appliance.admin() as admin:
        assert admin.request(method, agent + path, json=body).status_code == 200
        ended = time.monotonic()
        while (answer := kit.ask(spare.pop())).status == 200:
            assert time.monotonic() - ended < 1, "it is still let in"
        judge.mark()
        answer = kit.ask(spare.pop())
        judge.refused(answer, refusal(401, "agent_inactive"), CHAT)
        judge.mark()
        refused = kit.ask_token(kit.form())
        judge.refused(refused, refusal(401, "invalid_client"), TOKEN, "agent_inactive")
        assert admin.post(agent + "/reactivate").status_code == 200
    wait_until(lambda: kit.ask(kit.headers()).status == 200, 2, "it is let in again")


def test_a_leaf_that_expires_on_an_open_connection(impatient: tuple[Appliance, Stub], request: Any) -> None:
    appliance, stub = impatient
    identity = appliance.enroll("short")
    judge = Judge(appliance, stub, request.node.name)
    end = x509.load_pem_x509_certificate((identity.folder / "agent.crt").read_bytes()).not_valid_after_utc.timestamp()
    keep = httpx.Limits(keepalive_expiry=60)
    with appliance.client(verify=appliance.tls(identity), limits=keep) as client:
        judge.served(Answer.of(client.post(CHAT, json=BODY)))
        time.sleep(max(0.0, end - time.time()) + 0.05)
        judge.mark()
        judge.refused(Answer.of(client.post(CHAT, json=BODY)), refusal(401, "invalid_certificate"), CHAT)


def test_a_token_does_not_outlive_the_leaf(impatient: tuple[Appliance, Stub], request: Any) -> None:
    """Nor does it buy another token or a leaf then: else whoever has the key alone would stay the agent for ever."""
    appliance, stub = impatient
    kit = Kit(appliance, appliance.enroll("outlived"))
    judge = Judge(appliance, stub, request.node.name)
    end = kit.identity.leaf().not_valid_after_utc.timestamp()
    renewal = {"csr": make_csr(make_key(), "outlived")}

    def ask_by_token(path: str, **more: Any) -> Answer:
        with appliance.client() as client:
            return Answer.of(client.post(path, headers=kit.headers(proof=prove(path)), **more))

    def prove(path: str) -> str:
        return kit.proof(path=path, ath=hash_of(kit.token))

    judge.served(kit.ask(kit.headers()))
    assert ask_by_token(TOKEN, data={"grant_type": "client_credentials"}).status == 200
    time.sleep(max(0.0, end - time.time()) + 0.05)
    judge.mark()
    judge.refused(kit.ask(kit.headers()), refusal(401, "invalid_token"), CHAT)
    assert ask_by_token(TOKEN, data={"grant_type": "client_credentials"}).status == 401
    assert ask_by_token(f"{SELF}/renew", json=renewal).document["code"] == "invalid_token"


def test_what_strangers_send_is_not_kept(appliance: Appliance, kit: Kit, judge: Judge) -> None:
    """Credentials as long as the edge lets through, each another: nothing of them stays in memory."""

    def send(count: int) -> set[int]:
        statuses = set()
        with appliance.client() as client:
            for _ in range(count):
                secret, long = secrets.token_hex(3500), {"jwk": {**jwk, "more": secrets.token_hex(1800)}}
                headers = {"Authorization": f"DPoP {secret}", "DPoP": kit.proof(header=long, token=secret, nonce="")}
                statuses.add(client.get(SELF, headers=headers).status_code)
                headers = {"Authorization": f"Bearer {secret}", "X-Api-Key": secret, "Api-Key": secret}
                statuses.add(client.get(SELF, headers=headers).status_code)
        return statuses

    jwk = encode_public_jwk(kit.key.public_key())
    assert send(20) == {401}
    before = rss(appliance)
    with ThreadPoolExecutor(4) as pool:
        assert set().union(*pool.map(send, [300] * 4)) == {401}
    wait_until(lambda: rss(appliance) < before + 12 * MIB, 5, "memory is back to normal")
    judge.mark()
    judge.served(kit.ask(kit.headers()))
