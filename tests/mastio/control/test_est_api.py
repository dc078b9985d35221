"""EST as its routes answer it: the same enrolment and the same renewal through another door."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs7 import load_der_pkcs7_certificates

from mastio.exchange.values import STRANGER, Principal
from mastio.pki.certificates import encode_der, thumbprint, verify_chain
from support.control_plane import NOW, TRUST_DOMAIN, World, agent, make_key
from support.control_plane import make_csr as make_pem

EST = "/.well-known/est"


def make_body(key: Any, name: str | None, *extensions: x509.ExtensionType) -> bytes:
    subject = [] if name is None else [x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return base64.encodebytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER))


async def post(
    world: World, verb: str, body: bytes, principal: Principal = STRANGER, auth: tuple[str, str] | None = None
) -> httpx.Response:
    headers = {"content-type": "application/pkcs10"}
    if auth is not None:
        headers["authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
    return await world.call("POST", f"{EST}/{verb}", principal=principal, content=body, headers=headers)


def certificates(reply: httpx.Response) -> list[x509.Certificate]:
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/pkcs7-mime; smime-type=certs-only"
    assert reply.headers["content-transfer-encoding"] == "base64"
    return load_der_pkcs7_certificates(base64.b64decode(reply.content))


async def test_the_authority(world: World) -> None:
    found = {encode_der(one) for one in certificates(await world.call("GET", f"{EST}/cacerts", principal=STRANGER))}
    trust = world.authority.trust()
    assert found == {*trust.roots, *trust.intermediates}


@pytest.mark.parametrize(("common", "user"), [("alice", "any"), (None, "alice")], ids=["request", "user"])
async def test_enrolment(world: World, common: str | None, user: str) -> None:
    key, token = make_key(), await world.token("alice")
    (leaf,) = certificates(await post(world, "simpleenroll", make_body(key, common), auth=(user, token)))
    facts = verify_chain(encode_der(leaf), world.authority.trust(), NOW, TRUST_DOMAIN)
    assert facts.name == "alice" and leaf.public_key() == key.public_key()
    known = world.directory.agents["alice"]
    assert (known.status, known.cert_sha256, known.dpop_jkt) == ("active", facts.thumbprint, None)
    shown = (await world.call("GET", "/v1/admin/enrollments")).json()["items"]
    assert [(item["name"], item["status"], item["decided_by"]) for item in shown] == [("alice", "issued", "token")]


async def test_a_user_that_is_no_name_does_for_nobody(world: World) -> None:
    token = await world.token("*")
    reply = await post(world, "simpleenroll", make_body(make_key(), None), auth=("Some User", token))
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_csr")
    assert (await post(world, "simpleenroll", make_body(make_key(), "alice"), auth=("u", token))).status_code == 200


async def test_a_body_of_another_type(world: World) -> None:
    body = {"csr": make_pem(make_key()), "name": "alice", "token": await world.token()}
    for path in ("simpleenroll", "simplereenroll"):
        reply = await world.call("POST", f"{EST}/{path}", body, agent("alice"))
        assert (reply.status_code, reply.json()["code"]) == (415, "unsupported_media_type")


async def test_renewal(world: World) -> None:
    token = await world.token()
    (first,) = certificates(await post(world, "simpleenroll", make_body(make_key(), "alice"), auth=("u", token)))
    world.clock.time += 3600
    key = make_key()
    uri = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(f"spiffe://{TRUST_DOMAIN}/agent/alice")])
    caller = agent("alice", **{"x5t#S256": thumbprint(encode_der(first))})
    (second,) = certificates(await post(world, "simplereenroll", make_body(key, "alice", uri), caller))
    assert second.public_key() == key.public_key()
    known = world.directory.agents["alice"]
    assert known.cert_sha256 == thumbprint(encode_der(second))
    assert known.previous_cert_sha256 == thumbprint(encode_der(first))
    assert known.previous_until == first.not_valid_after_utc.timestamp()
    other = await post(world, "simplereenroll", make_body(key, "bob"), caller)
    assert (other.status_code, other.json()["code"]) == (422, "invalid_csr")
    assert world.directory.agents["alice"] == known
