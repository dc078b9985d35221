"""Enrolment: nobody gets a certificate that should not, or more than one, or another's."""

from __future__ import annotations

import base64
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from mastio_client import Identity
from mastio_client.proofs import make_csr, make_key, sign_enrollment
from mastio_primitives.jwk import encode_base64url, encode_public_jwk
from support.appliance import Appliance
from support.threats.agent_kit import merge
from support.threats.judge import SELF, Answer, Judge, Refusal, refusal
from support.weak_keys import WEAK, weak_csr

ENROLL = "/v1/enrollments"
BAD_CSR = refusal(422, "invalid_csr", "control")
BAD_BODY = refusal(422, "invalid_body", "control")

Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey


def post(appliance: Appliance, body: dict[str, Any], path: str = ENROLL) -> Answer:
    """One request of a stranger, on a connection of its own."""
    with appliance.client() as client:
        return Answer.of(client.post(path, json=body))


def request(agent: str, **changes: Any) -> dict[str, Any]:
    return merge({"csr": make_csr(make_key(), agent), "name": agent}, changes)


def new_name(base: str = "enrol") -> str:
    return f"{base}-{secrets.token_hex(4)}"


# --- certificate requests -------------------------------------------------------------------------------------------


def csr(*extensions: x509.ExtensionType, key: Key | None = None) -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    signed = builder.sign(key or make_key(), hashes.SHA256())
    return signed.public_bytes(Encoding.PEM).decode()


def alternative(*uris: str) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri) for uri in uris])


def spiffe(name: str) -> str:
    return f"spiffe://test.example/agent/{name}"


def key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(True, False, False, False, False, authority, authority, False, False)


def tampered(name: str) -> str:
    """Signed by a key, then its signature changed by one bit."""
    der = bytearray(x509.load_pem_x509_csr(make_csr(make_key(), name).encode()).public_bytes(Encoding.DER))
    der[-1] ^= 1
    body = base64.encodebytes(bytes(der)).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{body}-----END CERTIFICATE REQUEST-----\n"


def rsa_key(bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


CSRS: dict[str, Callable[[str], str]] = {
    "authority": lambda name: csr(x509.BasicConstraints(ca=True, path_length=None)),
    "signer": lambda name: csr(key_usage(authority=True)),
    "foreign": lambda name: csr(alternative(spiffe("agent-one"))),
    "domain": lambda name: csr(alternative(f"spiffe://evil.example/agent/{name}")),
    "two": lambda name: csr(alternative(spiffe(name), spiffe("agent-one"))),
    "dns": lambda name: csr(x509.SubjectAlternativeName([x509.DNSName("localhost")])),
    "many": lambda name: csr(alternative(*(spiffe(f"a{n}") for n in range(200)))),
    "rsa1024": lambda name: csr(key=rsa_key(1024)),
    "rsa2048": lambda name: csr(key=rsa_key(2048)),
    "p521": lambda name: csr(key=ec.generate_private_key(ec.SECP521R1())),
    "k1": lambda name: csr(key=ec.generate_private_key(ec.SECP256K1())),
    "signature": tampered,
    "weak": lambda name: weak_csr(WEAK["order8"], name),
    "weakencoding": lambda name: weak_csr(WEAK["order1-plus-p"], name),
    "nopem": lambda name: "not a request",
    "empty": lambda name: "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----",
    "doubled": lambda name: make_csr(make_key(), name) * 2,
    "certificate": lambda name: make_csr(make_key(), name).replace("CERTIFICATE REQUEST", "CERTIFICATE"),
    "garbage": lambda name: (
        "-----BEGIN CERTIFICATE REQUEST-----\nMIIB" + "A" * 96 + "\n-----END CERTIFICATE REQUEST-----\n"
    ),
}
GOOD_CSRS: dict[str, Callable[[str], str]] = {
    "authority": lambda name: csr(x509.BasicConstraints(ca=False, path_length=None)),
    "signer": lambda name: csr(key_usage(authority=False)),
    "foreign": lambda name: csr(alternative(spiffe(name))),
    "rsa2048": lambda name: csr(key=ec.generate_private_key(ec.SECP384R1())),
    "weak": lambda name: make_csr(make_key("ed25519"), name),
}
"""Twins that are nearer than a plain request."""


@pytest.mark.parametrize("name", CSRS)
def test_a_bad_request_for_a_certificate_is_refused(appliance: Appliance, judge: Judge, name: str) -> None:
    """With a good one-time token, which a refusal leaves unspent: the twin uses it up."""
    agent = new_name()
    token = appliance.enrollment_token(agent)
    judge.mark()
    judge.refused(post(appliance, request(agent, csr=CSRS[name](agent), token=token)), BAD_CSR, ENROLL)
    judge.mark()
    good = GOOD_CSRS.get(name, lambda own: make_csr(make_key(), own))(agent)
    issued = judge.served(post(appliance, request(agent, csr=good, token=token)), status=201, upstream=False)
    leaf = x509.load_pem_x509_certificate(issued.document["certificate"].encode())
    verify_leaf(leaf, agent)


def verify_leaf(leaf: x509.Certificate, name: str) -> None:
    """Nothing that was asked for beyond a key is in what was issued."""
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [item.value for item in names] == [spiffe(name)]
    assert leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert leaf.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign is False


def test_ten_thousand_names_are_too_large(appliance: Appliance, judge: Judge) -> None:
    agent = new_name()
    text = csr(alternative(*(spiffe(f"agent-{n}") for n in range(10_000))))
    judge.mark()
    started = time.monotonic()
    judge.refused(post(appliance, request(agent, csr=text)), refusal(413, "payload_too_large", "app", "edge"), ENROLL)
    assert time.monotonic() - started < 5
    judge.mark()
    judge.served(post(appliance, request(agent)), status=202, upstream=False)


# --- bodies ---------------------------------------------------------------------------------------------------------

ED = ed25519.Ed25519PrivateKey.generate()
NAMES = {
    "upper": "Agent",
    "cyrillic": "\u0430gent",  # а
    "fullwidth": "\uff41gent",
    "zerowidth": "ag\u200bent",
    "bidi": "agent\u202e",
    "combining": "age\u0301nt",
    "digit": "agent\u0661",
    "long": "a" * 65,
    "empty": "",
    "dot": ".",
    "dots": "..",
    "slash": "../agent",
    "coded": "agent%2f",
    "newline": "agent\n",
    "nul": "agent\0",
    "space": "agent one",
    "sql": "a' OR '1'='1",
    "template": "{{7*7}}",
    "number": 7,
    "list": ["agent"],
    "null": None,
}
MEMBERS = {
    "role": {"role": "admin"},
    "status": {"status": "issued"},
    "groups": {"groups": ["admins"]},
    "proto": {"__proto__": {"role": "admin"}},
    "attributes": {"attributes": {"admin": True}},
    "keys": {"api_keys": True},
    "certificate": {"certificate": "x"},
    "jwkprivate": {"dpop_jwk": {**encode_public_jwk(ED.public_key()), "d": "A" * 43}},
    "jwkoct": {"dpop_jwk": {"kty": "oct", "k": "AAAA"}},
    "jwkrsa": {"dpop_jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}},
    "jwkpoint": {"dpop_jwk": {"kty": "EC", "crv": "P-256", "x": "A" * 43, "y": "A" * 43}},
    "jwkweak": {"dpop_jwk": {"kty": "OKP", "crv": "Ed25519", "x": "AQ" + "A" * 41}},
    "jwktext": {"dpop_jwk": "{}"},
    "reasonline": {"reason": "one\ntwo"},
    "reasonescape": {"reason": "\x1b[31mred"},
    "reasonbidi": {"reason": "abc\u202edef"},
    "reasonlong": {"reason": "a" * 501},
    "reasonnumber": {"reason": 5},
    "tokenlong": {"token": "t" * 201},
    "tokenlist": {"token": ["t"]},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_could_be_mistaken_is_refused(appliance: Appliance, judge: Judge, name: str) -> None:
    judge.refused(post(appliance, request("x", name=NAMES[name])), BAD_BODY, ENROLL)
    judge.mark()
    judge.served(post(appliance, request(new_name("a" * 50))), status=202, upstream=False)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_that_is_not_the_callers_is_refused(appliance: Appliance, judge: Judge, name: str) -> None:
    agent = new_name()
    judge.refused(post(appliance, request(agent, **MEMBERS[name])), BAD_BODY, ENROLL)
    judge.mark()
    good = request(agent, dpop_jwk=encode_public_jwk(ED.public_key()), reason="for the tests")
    judge.served(post(appliance, good), status=202, upstream=False)


@pytest.mark.parametrize("member", ["role", "roles", "groups", "name", "spiffe_id", "not_after"])
def test_an_agent_cannot_promote_itself(appliance: Appliance, agent: Identity, judge: Judge, member: str) -> None:
    """At its own renewal. The twin renews nothing: the body is what is tested, and the leaf must stay."""
    body = {"csr": make_csr(make_key(), agent.name), member: "admin"}
    with appliance.by_certificate(agent) as client:
        answer = Answer.of(client.post(SELF + "/renew", json=body))
        judge.refused(answer, Refusal((403, 422), ("denied", "invalid_body"), ("app", "control")), SELF)
        judge.mark()
        mine = judge.served(Answer.of(client.get(SELF)), upstream=False).document
    assert (mine["groups"], mine["status"], mine["name"]) == ([], "active", agent.name)


@pytest.mark.parametrize("member", ["role", "name", "spiffe_id", "cert_sha256", "dpop_jkt"])
def test_an_operator_cannot_change_what_an_agent_is(
    appliance: Appliance, other: Identity, judge: Judge, member: str
) -> None:
    path = f"/v1/admin/agents/{other.name}"
    with appliance.admin() as admin:
        judge.refused(Answer.of(admin.patch(path, json={member: "x"})), BAD_BODY, path)
        judge.mark()
        judge.served(Answer.of(admin.patch(path, json={"reason": "nothing"})), upstream=False)


# --- one-time tokens ------------------------------------------------------------------------------------------------


def fifty(ask: Callable[[int], Answer]) -> list[Answer]:
    barrier = threading.Barrier(50)

    def one(n: int) -> Answer:
        barrier.wait(30)
        return ask(n)

    with ThreadPoolExecutor(50) as pool:
        return list(pool.map(one, range(50)))


@pytest.mark.parametrize("names", ["same", "different"])
def test_a_token_issues_one_certificate_among_fifty(appliance: Appliance, judge: Judge, names: str) -> None:
    base = new_name("race")
    token = appliance.enrollment_token(f"{base}*")
    bodies = [request(base if names == "same" else f"{base}-{n}", token=token) for n in range(50)]
    judge.mark()
    answers = fifty(lambda n: post(appliance, bodies[n]))
    statuses = Counter(answer.status for answer in answers)
    assert statuses[201] == 1 and statuses.keys() <= {201, 403, 409}, statuses
    outcomes = Counter(entry["outcome"]["status"] for entry in judge.entries() if entry["phase"] == "outcome")
    assert outcomes == {"ok": 1, "failed": 49}
    with appliance.admin() as admin:
        agents = [item["name"] for item in admin.get("/v1/admin/agents", params={"limit": 500}).json()["items"]]
    assert sum(name.startswith(base) for name in agents) == 1


BAD_TOKENS: dict[str, Callable[[Appliance, str], str]] = {
    "unknown": lambda appliance, name: "mastio_enroll_" + "A" * 43,
    "spent": lambda appliance, name: spent(appliance),
    "expired": lambda appliance, name: expired(appliance, name),
    "othername": lambda appliance, name: appliance.enrollment_token("somebody-else"),
    "deleted": lambda appliance, name: deleted(appliance, name),
    "admin": lambda appliance, name: (appliance.data / "secrets" / "admin-token").read_text().strip(),
    "sql": lambda appliance, name: "' OR '1'='1",
    "glob": lambda appliance, name: "*",
}


def make_token(appliance: Appliance, name: str, seconds: int = 3600) -> dict[str, Any]:
    with appliance.admin() as admin:
        made = admin.post("/v1/admin/enrollment-tokens", json={"name": name, "ttl_seconds": seconds, "uses": 1})
        document: dict[str, Any] = made.json()
        return document


def spent(appliance: Appliance) -> str:
    token = appliance.enrollment_token("*")
    assert post(appliance, request(new_name("spender"), token=token)).status == 201
    return token


def expired(appliance: Appliance, name: str) -> str:
    token: str = make_token(appliance, name, seconds=1)["token"]
    time.sleep(1.05)
    return token


def deleted(appliance: Appliance, name: str) -> str:
    made = make_token(appliance, name)
    with appliance.admin() as admin:
        assert admin.delete(f"/v1/admin/enrollment-tokens/{made['id']}").status_code == 204
    token: str = made["token"]
    return token


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_token_that_is_not_good_issues_nothing(appliance: Appliance, judge: Judge, name: str) -> None:
    agent = new_name()
    bad, good = BAD_TOKENS[name](appliance, agent), appliance.enrollment_token(agent)
    judge.mark()
    expected = refusal(403, "invalid_enrollment_token", "control")
    judge.refused(post(appliance, request(agent, token=bad)), expected, ENROLL)
    judge.mark()
    judge.served(post(appliance, request(agent, token=good)), status=201, upstream=False)


# --- names that are taken -------------------------------------------------------------------------------------------

TAKEN = refusal(409, "name_taken", "control")


@pytest.mark.parametrize("how", ["token", "request", "pending", "revoked"])
def test_a_name_that_is_taken_is_refused(appliance: Appliance, judge: Judge, how: str) -> None:
    agent = new_name()
    if how == "pending":
        assert post(appliance, request(agent)).status == 202
    else:
        appliance.enroll(agent)
    if how == "revoked":
        with appliance.admin() as admin:
            assert admin.post(f"/v1/admin/agents/{agent}/revoke").status_code == 200
    token = {"token": appliance.enrollment_token("*")} if how in ("token", "revoked") else {}
    judge.mark()
    judge.refused(post(appliance, request(agent, **token)), TAKEN, ENROLL)
    judge.mark()
    judge.served(post(appliance, request(new_name(), **token)), status=201 if token else 202, upstream=False)


def test_a_stranger_cannot_take_the_name_that_a_token_is_for(appliance: Appliance, judge: Judge) -> None:
    agent = new_name()
    token = appliance.enrollment_token(agent)
    squatted = post(appliance, request(agent))
    assert squatted.status == 202
    judge.mark()
    judge.served(post(appliance, request(agent, token=token)), status=201, upstream=False)
    with appliance.admin() as admin:
        late = admin.post(f"/v1/admin/enrollments/{squatted.document['id']}/approve")
    assert (late.status_code, late.json()["code"]) == (409, "name_taken")


# --- picking up -----------------------------------------------------------------------------------------------------

UNPROVEN = refusal(401, "invalid_proof_of_possession", "app")
PROOFS: dict[str, Callable[[str, Any], dict[str, str]]] = {
    "none": lambda identifier, key: {},
    "empty": lambda identifier, key: {"X-Enrollment-Proof": ""},
    "foreign": lambda identifier, key: {"X-Enrollment-Proof": sign_enrollment(make_key(), identifier)},
    "otherid": lambda identifier, key: {"X-Enrollment-Proof": sign_enrollment(key, "enr_" + "A" * 32)},
    "der": lambda identifier, key: {"X-Enrollment-Proof": der_proof(identifier, key)},
    "padded": lambda identifier, key: {"X-Enrollment-Proof": sign_enrollment(key, identifier) + "=="},
    "short": lambda identifier, key: {"X-Enrollment-Proof": sign_enrollment(key, identifier)[:-2]},
    "zeros": lambda identifier, key: {"X-Enrollment-Proof": encode_base64url(bytes(64))},
    "latin": lambda identifier, key: {"X-Enrollment-Proof": "\u00e9" * 86},
}


def der_proof(identifier: str, key: ec.EllipticCurvePrivateKey) -> str:
    return encode_base64url(key.sign(f"mastio-enrollment:v1|{identifier}".encode(), ec.ECDSA(hashes.SHA256())))


@pytest.mark.parametrize("name", PROOFS)
def test_only_the_holder_of_the_key_learns_what_was_decided(appliance: Appliance, judge: Judge, name: str) -> None:
    """For a request that is issued already: its certificate waits for whoever holds the key."""
    agent, key = new_name(), make_key()
    identifier = post(appliance, request(agent, csr=make_csr(key, agent))).document["id"]
    with appliance.admin() as admin:
        assert admin.post(f"/v1/admin/enrollments/{identifier}/approve").status_code == 200
    path = f"{ENROLL}/{identifier}"
    judge.mark()
    with appliance.client() as client:
        headers = [(n, v.encode("latin-1")) for n, v in PROOFS[name](identifier, key).items()]
        answer = Answer.of(client.get(path, headers=headers))
    judge.refused(answer, UNPROVEN, path)
    assert "BEGIN CERTIFICATE" not in answer.body.decode()
    with appliance.client() as client:
        good = client.get(path, headers={"X-Enrollment-Proof": sign_enrollment(key, identifier)})
    assert (good.status_code, good.json()["status"]) == (200, "issued")
    judge.harmless()


@pytest.mark.parametrize("identifier", ["enr_unknown", "%27%20OR%201=1", "x" * 500], ids=["unknown", "sql", "long"])
def test_an_enrolment_that_is_not_there(appliance: Appliance, judge: Judge, identifier: str) -> None:
    path = f"{ENROLL}/{identifier}"
    with appliance.client() as client:
        answer = Answer.of(client.get(path, headers={"X-Enrollment-Proof": "A" * 86}))
    judge.refused(answer, refusal(404, "not_found", "app"), path)
    judge.mark()
    judge.served(post(appliance, request(new_name())), status=202, upstream=False)
