"""EST: the other door to enrolment gives nobody more than the first, and speaks its own protocol when it refuses."""

from __future__ import annotations

import base64
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs7 import load_der_pkcs7_certificates
from cryptography.x509.oid import NameOID

from mastio_client import Identity
from mastio_client.proofs import make_csr, make_key
from support.appliance import Appliance
from support.threats.agent_kit import Headers
from support.threats.judge import EST_ENROLL, SELF, Answer, Judge, Refusal, refusal
from support.weak_keys import WEAK, weak_csr
from threats.test_enrollment import Key, alternative, key_usage, new_name, rsa_key, spiffe, verify_leaf

REENROLL = "/.well-known/est/simplereenroll"
BAD_CSR = refusal(422, "invalid_csr", "control")
BAD_TYPE = refusal(415, "unsupported_media_type", "control")
NO_CREDENTIAL = refusal(401, "missing_credential", "control")
BAD_TOKEN = refusal(403, "invalid_enrollment_token", "control")

Body = Callable[[str], bytes]


def body(name: str | None, *extensions: x509.ExtensionType, key: Key | None = None) -> bytes:
    """The base64 of a request whose common name is `name`."""
    subject = [] if name is None else [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    return base64.encodebytes(builder.sign(key or make_key(), hashes.SHA256()).public_bytes(Encoding.DER))


def basic(token: str, user: str = "est") -> Headers:
    return [("Authorization", "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode())]


def post(
    appliance: Appliance, path: str, content: bytes, headers: Headers, *,
    identity: Identity | None = None, kind: str = "application/pkcs10",
) -> Answer:  # fmt: skip
    """On a connection of its own."""
    with appliance.client(verify=appliance.tls(identity)) as client:
        return Answer.of(client.post(path, content=content, headers=[("Content-Type", kind), *headers]))


def leaf_of(answer: Answer) -> x509.Certificate:
    (leaf,) = load_der_pkcs7_certificates(base64.b64decode(answer.body))
    return leaf


def verify_twin(appliance: Appliance, judge: Judge, name: str, token: str, content: bytes | None = None) -> None:
    """The token is unspent after the refusal, and good for a request that is right."""
    judge.mark()
    answer = judge.served(post(appliance, EST_ENROLL, content or body(name), basic(token)), upstream=False)
    verify_leaf(leaf_of(answer), name)


# --- what is asked for ----------------------------------------------------------------------------------------------


def tampered(name: str) -> bytes:
    der = bytearray(base64.b64decode(body(name)))
    der[-1] ^= 1
    return base64.encodebytes(bytes(der))


def no_request(name: str) -> bytes:
    return base64.encodebytes(b"0" * 200)


BODIES: dict[str, Body] = {
    "authority": lambda name: body(name, x509.BasicConstraints(ca=True, path_length=None)),
    "signer": lambda name: body(name, key_usage(authority=True)),
    "foreign": lambda name: body(name, alternative(f"spiffe://evil.example/agent/{name}")),
    "two": lambda name: body(name, alternative(spiffe(name), spiffe("agent-one"))),
    "dns": lambda name: body(name, x509.SubjectAlternativeName([x509.DNSName("localhost")])),
    "twonames": lambda name: body(name, alternative(spiffe(name + "/agent-one"))),
    "upper": lambda name: body(name.upper()),
    "dots": lambda name: body(".."),
    "rsa": lambda name: body(name, key=rsa_key(2048)),
    "p521": lambda name: body(name, key=ec.generate_private_key(ec.SECP521R1())),
    "signature": tampered,
    "garbage": lambda name: b"!" * 400,
    "notder": no_request,
    "url": lambda name: body(name).replace(b"/", b"_").replace(b"M", b"-", 1),
    "pem": lambda name: make_csr(make_key(), name).encode(),
    "der": lambda name: base64.b64decode(body(name)),
    "weak": lambda name: "".join(weak_csr(WEAK["order4"], name).split("\n")[1:-2]).encode(),
    "twice": lambda name: body(name) + body(name),
    "trailing": lambda name: base64.encodebytes(base64.b64decode(body(name)) + b"\0"),
}
GOOD_BODIES: dict[str, Body] = {
    "authority": lambda name: body(name, x509.BasicConstraints(ca=False, path_length=None)),
    "signer": lambda name: body(name, key_usage(authority=False)),
    "foreign": lambda name: body("Anything", alternative(spiffe(name))),
    "rsa": lambda name: body(name, key=ec.generate_private_key(ec.SECP384R1())),
    "garbage": lambda name: body(name).replace(b"\n", b""),
}
"""Twins that are nearer than a plain request."""


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_request_for_a_certificate(appliance: Appliance, judge: Judge, name: str) -> None:
    agent = new_name("est")
    token = appliance.enrollment_token(agent)
    judge.mark()
    judge.refused(post(appliance, EST_ENROLL, BODIES[name](agent), basic(token)), BAD_CSR, EST_ENROLL)
    good = GOOD_BODIES.get(name, body)(agent)
    verify_twin(appliance, judge, agent, token, good)


@pytest.mark.parametrize(
    "kind", ["application/json", "application/pkcs7-mime", "text/plain", "application/pkcs10+json"]
)
def test_a_body_of_another_type(appliance: Appliance, judge: Judge, kind: str) -> None:
    agent = new_name("est")
    token = appliance.enrollment_token(agent)
    content = b'{"csr": ""}' if "json" in kind else body(agent)
    judge.mark()
    judge.refused(post(appliance, EST_ENROLL, content, basic(token), kind=kind), BAD_TYPE, EST_ENROLL)
    verify_twin(appliance, judge, agent, token)


@pytest.mark.parametrize("size", [17 * 1024, 200 * 1024], ids=["csr", "route"])
def test_a_large_body(appliance: Appliance, judge: Judge, size: int) -> None:
    agent = new_name("est")
    token = appliance.enrollment_token(agent)
    expected = Refusal((413, 422), ("payload_too_large", "invalid_csr"), ("app", "control", "edge"))
    judge.mark()
    judge.refused(post(appliance, EST_ENROLL, b"A" * size, basic(token)), expected, EST_ENROLL)
    verify_twin(appliance, judge, agent, token)


def test_no_body(appliance: Appliance, judge: Judge) -> None:
    agent = new_name("est")
    token = appliance.enrollment_token(agent)
    judge.mark()
    judge.refused(post(appliance, EST_ENROLL, b"", basic(token)), refusal(422, "invalid_body", "control"), EST_ENROLL)
    verify_twin(appliance, judge, agent, token)


# --- who asks -------------------------------------------------------------------------------------------------------

CREDENTIALS: dict[str, tuple[Callable[[Appliance, str], Headers], Refusal]] = {
    "none": (lambda appliance, token: [], NO_CREDENTIAL),
    "empty": (lambda appliance, token: [("Authorization", "Basic =")], NO_CREDENTIAL),
    "nocolon": (lambda appliance, token: [("Authorization", "Basic ZXN0")], NO_CREDENTIAL),
    "notbase64": (lambda appliance, token: [("Authorization", f"Basic {token}")], NO_CREDENTIAL),
    "nopassword": (lambda appliance, token: basic(""), BAD_TOKEN),
    "wrong": (lambda appliance, token: basic("mastio_enroll_" + "A" * 43), BAD_TOKEN),
    "swapped": (lambda appliance, token: basic("est", user=token), BAD_TOKEN),
    "other": (lambda appliance, token: basic(appliance.enrollment_token("somebody-else")), BAD_TOKEN),
    "spent": (lambda appliance, token: basic(spent(appliance)), BAD_TOKEN),
    "glob": (lambda appliance, token: basic("*"), BAD_TOKEN),
    "admin": (lambda appliance, token: basic(admin_token(appliance)), BAD_TOKEN),
    "bearer": (lambda appliance, token: [("Authorization", f"Bearer {token}")], refusal(401, "invalid_token")),
    "adminbearer": (lambda appliance, token: [("Authorization", f"Bearer {admin_token(appliance)}")], NO_CREDENTIAL),
    "twice": (
        lambda appliance, token: [*basic(token), *basic("x")],
        Refusal((400, 401), ("bad_request", "ambiguous_credential"), ("edge", "app")),
    ),
    "beside": (
        lambda appliance, token: [*basic(token), ("x-api-key", token)],
        refusal(401, "ambiguous_credential"),
    ),
}  # fmt: skip


def admin_token(appliance: Appliance) -> str:
    return (appliance.data / "secrets" / "admin-token").read_text().strip()


def spent(appliance: Appliance) -> str:
    token = appliance.enrollment_token("*")
    assert post(appliance, EST_ENROLL, body(new_name("spender")), basic(token)).status == 200
    return token


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_credential_that_is_no_token_for_the_name(appliance: Appliance, judge: Judge, name: str) -> None:
    agent = new_name("est")
    make, expected = CREDENTIALS[name]
    token = appliance.enrollment_token(agent)
    headers = make(appliance, token)
    judge.mark()
    answer = post(appliance, EST_ENROLL, body(agent), headers)
    # what the pipeline itself refuses has its challenge
    path = EST_ENROLL if "control" in expected.by else REENROLL
    judge.refused(answer, expected, path)
    verify_twin(appliance, judge, agent, token)


def test_a_client_that_tries_without_anything_first(appliance: Appliance, judge: Judge) -> None:
    """RFC 7030 §3.2.3: it is told what is wanted, whatever its body."""
    judge.refused(post(appliance, EST_ENROLL, b"", []), NO_CREDENTIAL, EST_ENROLL)
    agent = new_name("est")
    verify_twin(appliance, judge, agent, appliance.enrollment_token(agent))


def test_a_name_that_is_taken(appliance: Appliance, judge: Judge, agent: Identity) -> None:
    token = appliance.enrollment_token("*")
    judge.mark()
    answer = post(appliance, EST_ENROLL, body(agent.name), basic(token))
    judge.refused(answer, refusal(409, "name_taken", "control"), EST_ENROLL)
    verify_twin(appliance, judge, new_name("est"), token)


def test_a_token_issues_one_certificate_among_twenty(appliance: Appliance, judge: Judge) -> None:
    base = new_name("estrace")
    token = appliance.enrollment_token(f"{base}*")
    barrier = threading.Barrier(20)

    def ask(number: int) -> Answer:
        content = body(f"{base}-{number}")
        barrier.wait(30)
        return post(appliance, EST_ENROLL, content, basic(token))

    judge.mark()
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(20)))
    assert Counter(answer.status for answer in answers) == {200: 1, 403: 19}
    outcomes = Counter(entry["outcome"]["status"] for entry in judge.entries() if entry["phase"] == "outcome")
    assert outcomes == {"ok": 1, "failed": 19}
    with appliance.admin() as admin:
        agents = [item["name"] for item in admin.get("/v1/admin/agents", params={"limit": 500}).json()["items"]]
    assert sum(name.startswith(base) for name in agents) == 1


# --- renewal --------------------------------------------------------------------------------------------------------

RENEWALS: dict[str, tuple[Callable[[str], bytes], dict[str, Any], Refusal]] = {
    "othername": (lambda name: body("agent-one"), {}, BAD_CSR),
    "otheruri": (lambda name: body(name, alternative(spiffe("agent-one"))), {}, BAD_CSR),
    "authority": (lambda name: body(name, x509.BasicConstraints(ca=True, path_length=None)), {}, BAD_CSR),
    "garbage": (lambda name: b"AAAA", {}, BAD_CSR),
    "json": (lambda name: b"{}", {"kind": "application/json"}, BAD_TYPE),
    "stranger": (body, {"identity": None}, refusal(401, "missing_credential")),
}


@pytest.mark.parametrize("name", RENEWALS)
def test_a_bad_renewal(appliance: Appliance, judge: Judge, name: str) -> None:
    identity = appliance.enroll(new_name("renewer"))
    make, changes, expected = RENEWALS[name]
    judge.mark()
    sent: dict[str, Any] = {"identity": identity, **changes}
    judge.refused(post(appliance, REENROLL, make(identity.name), [], **sent), expected, REENROLL)
    judge.mark()
    right = body(identity.name, alternative(spiffe(identity.name)))
    answer = judge.served(post(appliance, REENROLL, right, [], identity=identity), upstream=False)
    verify_leaf(leaf_of(answer), identity.name)


def test_a_password_renews_nothing(appliance: Appliance, judge: Judge) -> None:
    identity = appliance.enroll(new_name("renewer"))
    token = appliance.enrollment_token("*")
    judge.mark()
    answer = post(appliance, REENROLL, body(identity.name), basic(token, identity.name))
    judge.refused(answer, refusal(401, "missing_credential"), REENROLL)
    judge.mark()
    judge.served(post(appliance, REENROLL, body(identity.name), basic(token), identity=identity), upstream=False)


def test_an_admin_renews_nothing(appliance: Appliance, judge: Judge) -> None:
    identity = appliance.enroll(new_name("renewer"))
    headers = [("Authorization", f"Bearer {admin_token(appliance)}")]
    judge.mark()
    answer = post(appliance, REENROLL, body(identity.name), headers)
    judge.refused(answer, refusal(403, "role_required"), REENROLL)
    judge.mark()
    judge.served(post(appliance, REENROLL, body(identity.name), [], identity=identity), upstream=False)


@pytest.mark.parametrize("verb", ["revoke", "suspend"])
def test_an_agent_that_was_stopped_renews_nothing(appliance: Appliance, judge: Judge, verb: str) -> None:
    identity = appliance.enroll(new_name("stopped"))
    path = f"/v1/admin/agents/{identity.name}"
    with appliance.admin() as admin:
        status = {"revoke": "revoked", "suspend": "suspended"}[verb]
        assert admin.patch(path, json={"status": status}).status_code == 200
    judge.mark()
    answer = post(appliance, REENROLL, body(identity.name), [], identity=identity)
    judge.refused(answer, refusal(401, "agent_inactive"), REENROLL)
    with appliance.admin() as admin:
        assert admin.post(f"{path}/reactivate").status_code == 200
    judge.mark()
    judge.served(post(appliance, REENROLL, body(identity.name), [], identity=identity), upstream=False)


def test_who_was_renewed_is_somebody(appliance: Appliance, judge: Judge, agent: Identity) -> None:
    """GET on what only takes POST; the twin shows that EST did not disturb the agent's own door."""
    with appliance.by_certificate(agent) as client:
        answer = Answer.of(client.get(REENROLL))
        judge.refused(answer, refusal(405, "method_not_allowed"), REENROLL)
        judge.mark()
        judge.served(Answer.of(client.get(SELF)), upstream=False)
