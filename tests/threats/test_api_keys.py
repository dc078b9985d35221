"""API keys: the weakest credential there is gets nobody further than an operator meant, and none is found by trying.

After each bad request comes its twin: the same with a key that is in force for it.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from mastio.client import Identity
from mastio.client.proofs import make_csr, make_key
from mastio.presented import hash_secret
from threats.attempts import BODY, CHAT, SELF, TOKEN, Answer, Judge, Refusal, refusal
from threats.kit import Headers, Kit, hash_of
from world import NGINX, Appliance, Stub, open_appliance, wait_until

INVALID = refusal(401, "invalid_api_key")
NO_TOKEN = refusal(401, "invalid_token")
NOBODY = refusal(401, "missing_credential")
AMBIGUOUS = refusal(401, "ambiguous_credential")
DENIED = refusal(403, "denied")
OFF = refusal(401, "api_keys_off")
RENEW = f"{SELF}/renew"
AGENTS = "/v1/admin/agents"

WAYS: dict[str, Callable[[str], Headers]] = {
    "bearer": lambda key: [("Authorization", f"Bearer {key}")],
    "x-api-key": lambda key: [("x-api-key", key)],
    "x-goog-api-key": lambda key: [("x-goog-api-key", key)],
    "api-key": lambda key: [("api-key", key)],
}


class Keys:
    """One agent and what an operator does with its keys."""

    def __init__(self, appliance: Appliance, identity: Identity) -> None:
        self.appliance = appliance
        self.identity = identity
        self.path = f"{AGENTS}/{identity.name}"
        self.patch(api_keys=True)
        self.id, self.key = self.make()

    def patch(self, **changes: Any) -> None:
        with self.appliance.admin() as admin:
            assert admin.patch(self.path, json=changes).status_code == 200

    def make(self, **body: Any) -> tuple[str, str]:
        with self.appliance.admin() as admin:
            made = admin.post(f"{self.path}/api-keys", json=body)
            assert made.status_code == 201, made.text
            return made.json()["id"], made.json()["key"]

    def remove(self, identifier: str) -> None:
        with self.appliance.admin() as admin:
            assert admin.delete(f"{self.path}/api-keys/{identifier}").status_code == 204

    def row(self, identifier: str) -> dict[str, Any]:
        with self.appliance.admin() as admin:
            row: dict[str, Any] = admin.get(f"{self.path}/api-keys/{identifier}").json()
            return row

    def ask(
        self, headers: Headers, identity: Identity | None = None, path: str = CHAT, method: str = "POST", **sent: Any
    ) -> Answer:
        """On a connection of its own; by `identity`'s certificate if it is given."""
        if path == CHAT:
            sent.setdefault("json", BODY)
        client = self.appliance.client() if identity is None else self.appliance.by_certificate(identity)
        with client:
            return Answer.of(client.request(method, path, headers=headers, **sent))

    def by(self, key: str, **sent: Any) -> Answer:
        return self.ask([("Authorization", f"Bearer {key}")], **sent)


@pytest.fixture(scope="module")
def keys(appliance: Appliance) -> Keys:
    return Keys(appliance, appliance.enroll("keyed"))


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Appliance, Stub]]:
    """An appliance with two workers."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(workers=2) as (appliance, stub):
        assert stub is not None
        yield appliance, stub


def verify_twin(keys: Keys, judge: Judge, headers: Headers, **sent: Any) -> None:
    judge.mark()
    judge.served(keys.ask(headers, **sent))
    intent = judge.entries()[0]
    assert (intent["agent"], intent["credential"]) == (keys.identity.name, {"type": "api_key", "id": keys.id})


# --- what is no key -------------------------------------------------------------------------------------------------


def other_letter(letter: str) -> str:
    return "A" if letter != "A" else "B"


def changed(key: str, place: int) -> str:
    letters = list(key)
    letters[place] = other_letter(letters[place])
    return "".join(letters)


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


def basic(user: str, password: str) -> tuple[str, str]:
    return ("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


ODD: dict[str, tuple[Callable[[Keys], Headers], Refusal]] = {
    "dpop": (lambda keys: [("Authorization", f"DPoP {keys.key}")], INVALID),
    "noscheme": (lambda keys: [("Authorization", keys.key)], NO_TOKEN),
    "otherscheme": (lambda keys: [("Authorization", f"ApiKey {keys.key}")], NO_TOKEN),
    "basicuser": (lambda keys: [basic(keys.key, "")], NOBODY),
    "basicpassword": (lambda keys: [basic("keyed", keys.key)], NOBODY),
    "basicbeside": (lambda keys: [basic("keyed", "x"), ("x-api-key", keys.key)], AMBIGUOUS),
    "twice": (lambda keys: [("x-api-key", keys.key)] * 2, AMBIGUOUS),
    "twicegoogle": (lambda keys: [("x-goog-api-key", keys.key)] * 2, AMBIGUOUS),
    "twicecase": (lambda keys: [("x-api-key", keys.key), ("X-API-Key", keys.key)], AMBIGUOUS),
    "twiceempty": (lambda keys: [("api-key", ""), ("api-key", keys.key)], Refusal((401,), ())),
    "twicebearer": (
        lambda keys: [("Authorization", f"Bearer {keys.key}")] * 2,
        Refusal((400, 401), ("bad_request", "ambiguous_credential"), ("edge", "app")),
    ),
    "different": (lambda keys: [("Authorization", f"Bearer {keys.key}"), ("x-api-key", keys.make()[1])], AMBIGUOUS),
    "differentproviders": (lambda keys: [("api-key", keys.key), ("x-api-key", keys.make()[1])], AMBIGUOUS),
    "goodandbad": (lambda keys: [("x-api-key", keys.key), ("api-key", changed(keys.key, 20))], AMBIGUOUS),
    "goodandempty": (lambda keys: [("x-api-key", keys.key), ("api-key", "")], NO_TOKEN),
    "goodandword": (lambda keys: [("x-api-key", keys.key), ("api-key", "certificate")], AMBIGUOUS),
    "underscore": (lambda keys: [("x_api_key", keys.key)], NOBODY),
    "cookie": (lambda keys: [("Cookie", f"x-api-key={keys.key}")], NOBODY),
    "proxy": (lambda keys: [("Proxy-Authorization", f"Bearer {keys.key}")], NOBODY),
    "otherheader": (lambda keys: [("x-api-token", keys.key)], NOBODY),
}


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


SPELLINGS = ["".join(letters) for letters in itertools.product(*((c, c.upper()) for c in "bear"))]
"""Schemes that mean the same; the edge sends each to a worker of its own choice."""

ENDS: dict[str, tuple[Callable[[Keys, str], None], str]] = {
    "removed": (lambda keys, identifier: keys.remove(identifier), "invalid_api_key"),
    "off": (lambda keys, identifier: keys.patch(api_keys="off"), "api_keys_off"),
    "suspended": (lambda keys, identifier: keys.patch(status="suspended"), "agent_inactive"),
    "revoked": (lambda keys, identifier: keys.patch(status="revoked"), "agent_inactive"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_key_is_seen_by_every_worker_within_a_second(
    two: tuple[Appliance, Stub], request: pytest.FixtureRequest, name: str
) -> None:
    appliance, stub = two
    keys = Keys(appliance, appliance.enroll(f"ended-{name}"))
    judge = Judge(appliance, stub, request.node.name)

    def ask_all() -> list[Answer]:
        return [keys.ask([("Authorization", f"{scheme}er {keys.key}")]) for scheme in SPELLINGS]

    wait_until(lambda: {answer.status for answer in ask_all()} == {200}, 5, "every worker knows the key")
    judge.mark()
    judge.served(keys.by(keys.key))
    end, code = ENDS[name]
    ended = time.monotonic()
    end(keys, keys.id)
    time.sleep(max(0.0, ended + 1 - time.monotonic()))
    judge.mark()
    answers = ask_all()
    assert {answer.document["error"]["code"] for answer in answers} == {code}
    assert judge.arrivals() == []
    judge.mark()
    judge.refused(keys.by(keys.key), refusal(401, code), CHAT)


# --- where a key may be found ---------------------------------------------------------------------------------------


def test_a_key_is_in_no_file_and_its_last_use_is_kept(two: tuple[Appliance, Stub]) -> None:
    """Used well and badly, through both workers; then everything that the appliance wrote is searched."""
    appliance, _ = two
    keys = Keys(appliance, appliance.enroll("canary"))
    before = time.time()
    wait_until(lambda: keys.by(keys.key).status == 200, 5, "the key is known")
    for way in WAYS.values():
        keys.ask(way(keys.key))
        keys.ask(way(keys.key), path="/v1/models", method="GET")
    for make, _ in ODD.values():
        keys.ask(make(keys))
    keys.ask([], params={"key": keys.key})
    keys.by(keys.key, path=TOKEN, data={"grant_type": "client_credentials"})
    keys.by(keys.key, path="/v1/nowhere", method="GET")
    with appliance.admin() as admin:
        metrics = admin.get("/metrics").text
        listed = admin.get(f"{keys.path}/api-keys").text
    assert "llm.chat" in metrics
    secret = keys.key.removeprefix("mastio_sk_")
    assert secret not in metrics and secret not in listed
    assert not [entry for entry in appliance.entries() if secret in json.dumps(entry)]
    appliance.stop()
    files = [file for file in appliance.data.parent.rglob("*") if file.is_file()]
    assert len(files) > 20 and not [file for file in files if secret.encode() in file.read_bytes()]
    own = [file.name for file in files if keys.id.encode() in file.read_bytes()]
    assert "control.sqlite" in own and any(name.startswith("audit.sqlite") for name in own)  # it finds what is there
    appliance.start()
    used = keys.row(keys.id)["last_used_at"]
    assert used is not None and before - 1 <= datetime.fromisoformat(used).timestamp() <= time.time()
