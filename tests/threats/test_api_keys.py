"""API keys: the weakest credential there is gets nobody further than an operator meant, and none is found by trying.

After each bad request comes its twin: the same with a key that is in force for it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from mastio.exchange.presented_credentials import hash_secret
from mastio_client import Identity
from mastio_client.proofs import make_csr, make_key
from support.appliance import Appliance
from support.threats.agent_kit import Headers, Kit, hash_of
from support.threats.api_keys import AGENTS, AMBIGUOUS, INVALID, NO_TOKEN, NOBODY, ODD, WAYS, Keys, changed
from support.threats.judge import BODY, CHAT, SELF, TOKEN, Answer, Judge, Refusal, refusal

DENIED = refusal(403, "denied")
OFF = refusal(401, "api_keys_off")
RENEW = f"{SELF}/renew"


@pytest.fixture(scope="module")
def keys(appliance: Appliance) -> Keys:
    return Keys(appliance, appliance.enroll("keyed"))


def verify_twin(keys: Keys, judge: Judge, headers: Headers, **sent: Any) -> None:
    judge.mark()
    judge.served(keys.ask(headers, **sent))
    intent = judge.entries()[0]
    assert (intent["agent"], intent["credential"]) == (keys.identity.name, {"type": "api_key", "id": keys.id})


# --- what is no key -------------------------------------------------------------------------------------------------


def stored_hash(keys: Keys) -> str:
    secret = (keys.appliance.data / "secrets" / "api-keys.key").read_text().strip()
    return hash_secret(bytes.fromhex(secret), keys.key.encode())


FORGED: dict[str, tuple[Callable[[Keys], str], Refusal]] = {
    "unknown": (lambda keys: "mastio_sk_" + "A" * 43, INVALID),
    "cut": (lambda keys: keys.key[:-1], INVALID),
    "cutmore": (lambda keys: keys.key[:30], INVALID),
    "longer": (lambda keys: keys.key + "A", INVALID),
    "padded": (lambda keys: keys.key + "=", INVALID),
    "prefixalone": (lambda keys: "mastio_sk_", INVALID),
    "prefixtwice": (lambda keys: "mastio_sk_" + keys.key, INVALID),
    "first": (lambda keys: changed(keys.key, 10), INVALID),
    "middle": (lambda keys: changed(keys.key, 31), INVALID),
    "last": (lambda keys: changed(keys.key, -1), INVALID),
    "case": (lambda keys: keys.key[:10] + keys.key[10:].swapcase(), INVALID),
    "quoted": (lambda keys: f'"{keys.key}"', NO_TOKEN),
    "coded": (lambda keys: "%6D" + keys.key[1:], NO_TOKEN),
    "listed": (lambda keys: f"{keys.key}, {keys.key}", INVALID),
    "spaced": (lambda keys: f"{keys.key} {keys.key}", INVALID),
    "glob": (lambda keys: "mastio_sk_*", INVALID),
    "sql": (lambda keys: "mastio_sk_' OR '1'='1' --", INVALID),
    "ownid": (lambda keys: "mastio_sk_" + keys.id, INVALID),
    "idalone": (lambda keys: keys.id, NO_TOKEN),
    "ownhash": (lambda keys: "mastio_sk_" + stored_hash(keys), INVALID),
    "hashalone": (lambda keys: stored_hash(keys), NO_TOKEN),
    "upper": (lambda keys: keys.key.upper(), NO_TOKEN),
    "bare": (lambda keys: keys.key.removeprefix("mastio_sk_"), NO_TOKEN),
    "placeholder": (lambda keys: "unused", NO_TOKEN),
    "long": (lambda keys: keys.key + "A" * 6000, INVALID),
    "empty": (lambda keys: "", NO_TOKEN),
    "certificate": (lambda keys: "certificate", NOBODY),
    "certificatecase": (lambda keys: "CERTIFICATE", NO_TOKEN),
}


CANNOT_BE_SENT = ("empty", "bearer")  # by httpx


@pytest.mark.parametrize(("name", "way"), [pair for pair in itertools.product(FORGED, WAYS) if pair != CANNOT_BE_SENT])
def test_what_is_no_key_in_force(keys: Keys, judge: Judge, name: str, way: str) -> None:
    make, expected = FORGED[name]
    judge.mark()
    judge.refused(keys.ask(WAYS[way](make(keys))), expected, CHAT)
    verify_twin(keys, judge, WAYS[way](keys.key))


@pytest.mark.parametrize("name", ODD)
def test_a_key_presented_wrongly(keys: Keys, judge: Judge, name: str) -> None:
    make, expected = ODD[name]
    headers = make(keys)
    judge.mark()
    judge.refused(keys.ask(headers), expected, CHAT)
    verify_twin(keys, judge, [("x-api-key", keys.key)])


def test_a_key_in_the_query_is_none(keys: Keys, judge: Judge) -> None:
    judge.mark()
    judge.refused(keys.ask([], params={"key": keys.key, "api_key": keys.key}), NOBODY, CHAT)
    verify_twin(keys, judge, [("x-goog-api-key", keys.key)])


def test_one_key_in_every_header_is_one(keys: Keys, judge: Judge) -> None:
    """The twin of those that differ."""
    headers = [header for way in WAYS.values() for header in way(keys.key)]
    judge.mark()
    judge.refused(keys.ask([*headers[:-1], ("api-key", keys.key[:-1])]), AMBIGUOUS, CHAT)
    verify_twin(keys, judge, headers)


# --- what else is presented -----------------------------------------------------------------------------------------


def test_a_key_beside_another_agents_certificate(keys: Keys, judge: Judge, agent: Identity) -> None:
    judge.mark()
    judge.refused(keys.ask([("x-api-key", keys.key)], agent), AMBIGUOUS, CHAT)
    judge.mark()
    judge.served(keys.ask([("x-api-key", keys.key)], keys.identity))
    said = judge.entries()[0]["credential"]
    assert (said["type"], said["id"]) == ("api_key", keys.id) and "x5t#S256" in said


def test_a_bad_key_beside_a_good_certificate(keys: Keys, judge: Judge) -> None:
    """Present and wrong is final."""
    judge.mark()
    judge.refused(keys.ask([("x-api-key", changed(keys.key, 12))], keys.identity), INVALID, CHAT)
    judge.mark()
    judge.served(keys.ask([("x-api-key", keys.key)], keys.identity))


@pytest.mark.parametrize("name", ["token", "proof", "both"])
def test_a_key_beside_another_way_to_prove_it(keys: Keys, judge: Judge, name: str) -> None:
    """Even the same agent's: what proves the call must be one thing."""
    kit = Kit(keys.appliance, keys.identity)
    headers = [("x-api-key", keys.key)]
    if name != "proof":
        headers.append(("Authorization", f"DPoP {kit.token}"))
    if name != "token":
        headers.append(("DPoP", kit.proof(token=keys.key if name == "proof" else kit.token)))
    judge.mark()
    judge.refused(keys.ask(headers), AMBIGUOUS, CHAT)
    verify_twin(keys, judge, [("x-api-key", keys.key)])


@pytest.mark.parametrize("way", [way for way in WAYS if way != "bearer"])
def test_an_admin_token_is_for_authorization_only(appliance: Appliance, keys: Keys, judge: Judge, way: str) -> None:
    token = (appliance.data / "secrets" / "admin-token").read_text().strip()
    expected = refusal(401, "invalid_admin_token")
    for headers in (WAYS[way](token), [*WAYS["bearer"](token), *WAYS[way](token)]):
        judge.mark()
        judge.refused(keys.ask(headers, path=AGENTS, method="GET"), expected, AGENTS)
    judge.mark()
    judge.served(keys.ask(WAYS["bearer"](token), path=AGENTS, method="GET"), upstream=False)


@pytest.mark.parametrize("way", WAYS)
def test_the_word_certificate_needs_one(keys: Keys, judge: Judge, agent: Identity, way: str) -> None:
    headers = WAYS[way]("certificate")
    judge.mark()
    judge.refused(keys.ask(headers), NOBODY, CHAT)
    judge.mark()
    judge.served(keys.ask(headers, agent))
    assert judge.entries()[0]["credential"]["type"] == "certificate"


@pytest.mark.parametrize("way", WAYS)
def test_a_token_bound_to_a_certificate_in_any_header(keys: Keys, judge: Judge, agent: Identity, way: str) -> None:
    token = keys.ask([], agent, TOKEN, data={"grant_type": "client_credentials"}).document["access_token"]
    for other, expected in ((None, NO_TOKEN), (keys.identity, AMBIGUOUS)):
        judge.mark()
        judge.refused(keys.ask(WAYS[way](token), other), expected, CHAT)
    judge.mark()
    judge.served(keys.ask(WAYS[way](token), agent))
    assert judge.entries()[0]["credential"]["type"] == "token"


@pytest.mark.parametrize("way", [way for way in WAYS if way != "bearer"])
def test_a_token_bound_to_a_proof_is_not_for_a_providers_header(kit: Kit, keys: Keys, judge: Judge, way: str) -> None:
    wrong = [*WAYS[way](kit.token), ("DPoP", kit.proof())]
    judge.mark()
    judge.refused(keys.ask(wrong), NO_TOKEN, CHAT)
    headers = kit.headers()
    judge.mark()
    judge.served(keys.ask(headers))


# --- what a key may not do ------------------------------------------------------------------------------------------

SCOPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "kind": ({"kinds": ["mcp.*", "llm.models"]}, {"kinds": ["mcp.*", "llm.chat"]}),
    "kindprefix": ({"kinds": ["llm"]}, {"kinds": ["llm*"]}),
    "model": ({"models": ["stub/gpt-4o-mini"]}, {"models": ["stub/gpt-4o"]}),
    "modelglob": ({"models": ["stub/o*"]}, {"models": ["stub/g*"]}),
    "modelname": ({"models": ["gpt-4"]}, {"models": ["gpt-4o"]}),
    "provider": ({"models": ["other/*"]}, {"models": ["stub/*"]}),
    "path": ({"paths": ["/v1/models", "/v1/messages"]}, {"paths": ["/v1/models", CHAT]}),
    "pathglob": ({"paths": ["/v1/embed*"]}, {"paths": ["/v1/chat/*"]}),
    "one": ({"kinds": ["llm.*"], "models": ["*"], "paths": ["/x"]}, {"kinds": ["llm.*"], "models": ["*"]}),
}


@pytest.mark.parametrize("name", SCOPES)
def test_a_key_for_something_else(keys: Keys, judge: Judge, name: str) -> None:
    wrong, right = SCOPES[name]
    (_, narrow), (_, wide) = keys.make(**wrong), keys.make(**right)
    judge.mark()
    answer = keys.by(narrow)
    judge.refused(answer, DENIED, CHAT)
    assert judge.entries()[0]["decision"] == {"effect": "deny", "rule": "credential"}
    judge.mark()
    judge.served(keys.by(wide))


def test_a_certificate_beside_it_does_not_widen_a_key(keys: Keys, judge: Judge) -> None:
    _, narrow = keys.make(models=["other/*"])
    judge.mark()
    judge.refused(keys.by(narrow, identity=keys.identity), DENIED, CHAT)
    judge.mark()
    judge.served(keys.ask([], keys.identity))


def test_models_are_those_that_the_key_is_for(keys: Keys) -> None:
    with keys.appliance.admin() as admin:
        aliases = {"aliases": {"fast": "gpt-4o-mini", "slow": "gpt-4o"}}
        assert admin.patch("/v1/admin/providers/stub", json=aliases).status_code == 200

    def listed(**scope: Any) -> set[str]:
        answer = keys.by(keys.make(**scope)[1], path="/v1/models", method="GET")
        assert answer.status == 200, answer.body
        return {item["id"] for item in answer.document["data"]}

    try:
        everything = listed()
        assert {"stub/gpt-4o", "stub/gpt-4o-mini", "fast", "slow"} <= everything
        assert listed(models=["stub/gpt-4o"]) == {"stub/gpt-4o", "slow"}
        assert listed(models=["fast"]) == {"fast"}
        assert listed(models=["other/*"]) == set()
        assert listed(kinds=["llm.models"]) == set()
    finally:
        with keys.appliance.admin() as admin:
            assert admin.patch("/v1/admin/providers/stub", json={"aliases": {}}).status_code == 200


def test_an_alias_is_good_by_its_name_only(keys: Keys, judge: Judge) -> None:
    """Another name for the same model is not what the operator wrote."""
    with keys.appliance.admin() as admin:
        assert admin.patch("/v1/admin/providers/stub", json={"aliases": {"fast": "gpt-4o"}}).status_code == 200
    _, key = keys.make(models=["fast"])
    try:
        judge.mark()
        judge.refused(keys.by(key), DENIED, CHAT)
        judge.mark()
        judge.served(keys.by(key, json={**BODY, "model": "fast"}))
    finally:
        with keys.appliance.admin() as admin:
            assert admin.patch("/v1/admin/providers/stub", json={"aliases": {}}).status_code == 200


@pytest.mark.parametrize("with_certificate", [False, True], ids=["alone", "certificate"])
def test_no_key_gets_a_stronger_credential(keys: Keys, judge: Judge, with_certificate: bool) -> None:
    identity = keys.identity if with_certificate else None
    form = {"grant_type": "client_credentials"}
    judge.mark()
    answer = keys.by(keys.key, identity=identity, path=TOKEN, data=form)
    judge.refused(answer, refusal(403, "unauthorized_client"), TOKEN, "denied")
    csr = {"csr": make_csr(make_key(), keys.identity.name)}
    judge.mark()
    judge.refused(keys.by(keys.key, identity=identity, path=RENEW, json=csr), DENIED, RENEW)
    judge.mark()
    judge.served(keys.ask([], keys.identity, TOKEN, data=form), upstream=False)
    judge.mark()
    judge.served(keys.by(keys.key, path=SELF, method="GET"), upstream=False)


def test_a_token_is_not_minted_by_key_and_proof(keys: Keys, judge: Judge) -> None:
    kit = Kit(keys.appliance, keys.identity)
    proof = kit.proof(path=TOKEN, claims={"ath": hash_of(keys.key)})
    headers = [("Authorization", f"Bearer {keys.key}"), ("DPoP", proof)]
    form = {"grant_type": "client_credentials"}
    judge.mark()
    answer = keys.ask(headers, path=TOKEN, data=form)
    judge.refused(answer, refusal(401, "invalid_client"), TOKEN, "ambiguous_credential")
    right = kit.form()
    judge.mark()
    judge.served(kit.ask_token(right), upstream=False)


ADMINISTRATION = [
    ("GET", AGENTS), ("GET", f"{AGENTS}/keyed/api-keys"), ("POST", f"{AGENTS}/keyed/api-keys"),
    ("PATCH", f"{AGENTS}/keyed"), ("GET", "/v1/admin/policies"), ("GET", "/metrics"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ADMINISTRATION)
def test_a_key_administers_nothing(keys: Keys, judge: Judge, method: str, path: str) -> None:
    sent: dict[str, Any] = {"json": {}} if method != "GET" else {}
    judge.mark()
    judge.refused(keys.by(keys.key, path=path, method=method, **sent), refusal(403, "role_required"), path)
    token = (keys.appliance.data / "secrets" / "admin-token").read_text().strip()
    judge.mark()
    status = 201 if method == "POST" else 200
    judge.served(keys.by(token, path=path, method=method, **sent), status=status, upstream=False)


# --- what was good a moment ago, and what was never turned on -------------------------------------------------------


def test_keys_are_off_unless_turned_on(appliance: Appliance, judge: Judge) -> None:
    identity = appliance.enroll("keyless")
    path = f"{AGENTS}/keyless"
    with appliance.admin() as admin:
        key = admin.post(f"{path}/api-keys", json={}).json()["key"]
    headers = {"Authorization": f"Bearer {key}"}

    def ask() -> Answer:
        with appliance.client(headers=headers) as client:
            return Answer.of(client.post(CHAT, json=BODY))

    for changes in ({}, {"groups": ["g"]}, {"api_keys": "off"}):
        with appliance.admin() as admin:
            assert admin.patch(path, json=changes).status_code == 200
        judge.mark()
        judge.refused(ask(), OFF, CHAT)
        judge.mark()
        with appliance.client(headers=headers, verify=appliance.tls(identity)) as client:
            judge.refused(Answer.of(client.post(CHAT, json=BODY)), OFF, CHAT)
    with appliance.admin() as admin:
        assert admin.patch(path, json={"api_keys": "on"}).status_code == 200
    judge.mark()
    judge.served(ask())


def test_a_key_ends_at_its_time(keys: Keys, judge: Judge) -> None:
    started = time.time()
    _, key = keys.make(ttl_seconds=2)
    judge.mark()
    judge.served(keys.by(key))
    time.sleep(max(0.0, started + 2.1 - time.time()))
    judge.mark()
    judge.refused(keys.by(key), INVALID, CHAT)
    verify_twin(keys, judge, WAYS["bearer"](keys.key))
