"""Enrolment as agents and operators see it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from mastio.exchange.values import STRANGER
from mastio.pki.certificates import verify_chain
from mastio_primitives.jwk import encode_public_jwk, parse_public_jwk
from support.control_plane import ADMIN, NOW, TRUST_DOMAIN, World, agent, make_csr, make_key, proof

P384 = ec.generate_private_key(ec.SECP384R1())
ED = ed25519.Ed25519PrivateKey.generate()


def facts_of(world: World, pem: str) -> Any:
    der = x509.load_pem_x509_certificate(pem.encode()).public_bytes(Encoding.DER)
    return verify_chain(der, world.authority.trust(), NOW, TRUST_DOMAIN)


async def test_a_token_gives_the_certificate_at_once(world: World) -> None:
    reply = await world.enrol("alice", token=await world.token("al*"))
    assert reply.status_code == 201
    body = reply.json()
    assert set(body) == {"id", "status", "certificate", "chain", "name", "spiffe_id"}
    assert body["status"] == "issued"
    facts = facts_of(world, body["certificate"])
    assert (facts.name, facts.spiffe_id) == ("alice", body["spiffe_id"])
    assert body["spiffe_id"] == f"spiffe://{TRUST_DOMAIN}/agent/alice"
    assert world.directory.agents["alice"].cert_sha256 == facts.thumbprint
    assert reply.headers["cache-control"] == "no-store"


async def test_fifty_at_once_on_a_token_for_one(world: World) -> None:
    token = await world.token()
    replies = await asyncio.gather(*(world.enrol(f"a{n}", token=token) for n in range(50)))
    assert sorted(r.status_code for r in replies) == [201] + [403] * 49
    assert {r.json()["code"] for r in replies if r.status_code == 403} == {"invalid_enrollment_token"}
    assert len(world.directory.agents) == 1


@pytest.mark.parametrize("key", [None, P384, ED], ids=["p256", "p384", "ed25519"])
async def test_a_human_decides_and_the_key_picks_up(world: World, key: Any) -> None:
    key = key or make_key()
    reply = await world.enrol("alice", key, reason="nightly build")
    assert reply.status_code == 202
    asked = reply.json()
    assert set(asked) == {"id", "status", "poll_interval", "expires_at"}
    assert (asked["status"], asked["poll_interval"]) == ("pending", 2)
    assert asked["expires_at"] == "2027-01-16T08:00:00Z"
    path = f"/v1/enrollments/{asked['id']}"
    waiting = await world.call("GET", path, principal=STRANGER, headers=proof(key, asked["id"]))
    assert waiting.json() == asked
    listed = (await world.call("GET", "/v1/admin/enrollments?status=pending")).json()["items"]
    assert [(e["id"], e["name"], e["reason"], e["status"]) for e in listed] == [
        (asked["id"], "alice", "nightly build", "pending")
    ]
    approved = await world.call("POST", f"/v1/admin/enrollments/{asked['id']}/approve", {"reason": "ok"})
    assert approved.status_code == 200
    assert (approved.json()["status"], approved.json()["decided_by"]) == ("issued", ADMIN.name)
    issued = await world.call("GET", path, principal=STRANGER, headers=proof(key, asked["id"]))
    assert facts_of(world, issued.json()["certificate"]).name == "alice"


async def test_nobody_else_picks_up(world: World) -> None:
    key = make_key()
    asked = (await world.enrol("alice", key)).json()["id"]
    other = (await world.enrol("bob", make_key())).json()["id"]
    await world.call("POST", f"/v1/admin/enrollments/{asked}/approve")
    path = f"/v1/enrollments/{asked}"
    good = proof(key, asked)
    for headers in (
        {}, proof(make_key(), asked), proof(key, other), {"X-Enrollment-Proof": ""}, {"X-Enrollment-Proof": "x"},
        {"X-Enrollment-Proof": good["X-Enrollment-Proof"] + "="},
    ):  # fmt: skip
        reply = await world.call("GET", path, principal=STRANGER, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (401, "invalid_proof_of_possession")
        assert "certificate" not in reply.json()
    assert (await world.call("GET", path, principal=STRANGER, headers=good)).status_code == 200
    unknown = await world.call("GET", "/v1/enrollments/enr_x", principal=STRANGER, headers=good)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


async def test_rejected_and_expired_are_said(world: World) -> None:
    key, late = make_key(), make_key()
    asked = (await world.enrol("alice", key)).json()["id"]
    await world.call("POST", f"/v1/admin/enrollments/{asked}/reject", {"reason": "unknown machine"})
    reply = await world.call("GET", f"/v1/enrollments/{asked}", principal=STRANGER, headers=proof(key, asked))
    assert reply.json() == {"id": asked, "status": "rejected", "reason": "unknown machine"}
    again = await world.call("POST", f"/v1/admin/enrollments/{asked}/approve")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    slow = (await world.enrol("bob", late)).json()["id"]
    world.clock.time += 86_401
    reply = await world.call("GET", f"/v1/enrollments/{slow}", principal=STRANGER, headers=proof(late, slow))
    assert reply.json()["status"] == "expired"


async def test_a_name_is_given_once(world: World) -> None:
    await world.enrol("alice", token=await world.token())
    await world.enrol("bob")
    token = await world.token(uses=5)
    for name, more in (("alice", {}), ("alice", {"token": token}), ("bob", {})):
        reply = await world.enrol(name, **more)
        assert (reply.status_code, reply.json()["code"]) == (409, "name_taken")
    assert (await world.enrol("bob", token=token)).status_code == 201
    await world.call("POST", "/v1/admin/agents/alice/revoke")
    assert (await world.enrol("alice", token=token)).json()["code"] == "name_taken"
    assert (await world.enrol("alice")).status_code == 202


@pytest.mark.parametrize(
    "csr",
    [
        "nonsense",
        make_csr(rsa.generate_private_key(65537, 1024)),
        make_csr(make_key(), x509.BasicConstraints(ca=True, path_length=None)),
        make_csr(make_key(), x509.SubjectAlternativeName([x509.DNSName("other")])),
        make_csr(make_key()) * 2,
    ],
    ids=["nonsense", "rsa", "ca", "san", "two"],
)
async def test_bad_requests_for_a_certificate(world: World, csr: str) -> None:
    token = await world.token()
    body = {"csr": csr, "name": "alice", "token": token}
    reply = await world.call("POST", "/v1/enrollments", body, STRANGER)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_csr")
    assert (await world.enrol("alice", token=token)).status_code == 201  # the token was not spent


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"name": "Alice"}, "name"),
        ({"name": "\u0430lice"}, "name"),
        ({"name": "a" * 65}, "name"),
        ({"name": "alice\n"}, "name"),
        ({"name": 7}, "name"),
        ({"role": "admin"}, "role"),
        ({"status": "active"}, "status"),
        ({"reason": "x" * 501}, "reason"),
        ({"reason": "a\x1b[2J"}, "reason"),
        ({"reason": "a\u2028b"}, "reason"),
        ({"csr": None}, "csr"),
        ({"csr": "x" * 20_000}, "csr"),
        ({"dpop_jwk": "x"}, "dpop_jwk"),
        ({"dpop_jwk": {"kty": "RSA", "n": "AA", "e": "AQAB"}}, "dpop_jwk"),
        ({"dpop_jwk": {**encode_public_jwk(ED.public_key()), "d": "AAAA"}}, "dpop_jwk"),
        ({"canary-7": 1}, "canary-7"),
    ],
)
async def test_bad_members_are_named_and_not_repeated(world: World, more: dict[str, Any], named: str) -> None:
    body = {"csr": make_csr(make_key()), "name": "alice", **more}
    reply = await world.call("POST", "/v1/enrollments", body, STRANGER)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert named in reply.json()["message"]
    assert "xxxx" not in reply.text and "AAAA" not in reply.text
    assert not world.directory.agents


async def test_an_odd_member_name_is_not_repeated(world: World) -> None:
    body = {"csr": make_csr(make_key()), "name": "alice", "<script>\n": 1}
    reply = await world.call("POST", "/v1/enrollments", body, STRANGER)
    assert reply.status_code == 422 and "script" not in reply.text


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (b"", 422, "invalid_body"),
        (b"[]", 422, "invalid_body"),
        (b"null", 422, "invalid_body"),
        (b'"x"', 422, "invalid_body"),
        (b"{", 400, "invalid_json"),
        (b'{"name":"a","name":"b"}', 400, "invalid_json"),
        (b'{"name":NaN}', 400, "invalid_json"),
        (b'{"name":"\\ud800"}', 400, "invalid_json"),
        (b"\xef\xbb\xbf{}", 400, "invalid_json"),
        (b"[" * 60_000, 400, "invalid_json"),
        (b"[" * 30_000 + b"]" * 30_000, 400, "invalid_json"),
        ('{"name":"a"}'.encode("utf-16"), 400, "invalid_json"),
    ],
    ids=lambda value: repr(value)[:24],
)
async def test_bad_json(world: World, raw: bytes, status: int, code: str) -> None:
    reply = await world.call(
        "POST", "/v1/enrollments", principal=STRANGER, content=raw, headers={"content-type": "application/json"}
    )
    assert (reply.status_code, reply.json()["code"]) == (status, code)


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", None])
async def test_only_json_is_read(world: World, media_type: str | None) -> None:
    headers = {} if media_type is None else {"content-type": media_type}
    reply = await world.call("POST", "/v1/enrollments", principal=STRANGER, content=b"{}", headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (415, "unsupported_media_type")


async def test_the_dpop_key_is_pinned(world: World) -> None:
    jwk = encode_public_jwk(ED.public_key())
    key = make_key()
    await world.enrol("alice", key, token=await world.token(), dpop_jwk={**jwk, "kid": "mine"})
    enrolled = world.directory.agents["alice"]
    assert enrolled.dpop_jkt == parse_public_jwk(jwk).thumbprint
    assert enrolled.public_jwks == (encode_public_jwk(key.public_key()), jwk)


async def test_strangers_cannot_fill_the_appliance(world: World) -> None:
    for n in range(20):
        assert (await world.enrol(f"a{n}")).status_code == 202
    reply = await world.enrol("more")
    assert (reply.status_code, reply.json()["code"]) == (429, "rate_limited")
    assert (await world.enrol("more", token=await world.token())).status_code == 201


async def test_tokens_are_made_listed_and_removed(world: World) -> None:
    made = await world.call(
        "POST", "/v1/admin/enrollment-tokens", {"name": "build-*", "ttl_seconds": 60, "uses": 3}, agent("ops")
    )
    assert made.status_code == 201
    body = made.json()
    assert body["token"].startswith("mastio_enroll_") and body["expires_at"] == "2027-01-15T08:01:00Z"
    listed = (await world.call("GET", "/v1/admin/enrollment-tokens")).json()["items"]
    assert listed == [{name: value for name, value in body.items() if name != "token"}]
    assert listed[0]["created_by"] == "ops"
    assert (await world.enrol("build-1", token=body["token"])).status_code == 201
    assert (await world.enrol("other", token=body["token"])).status_code == 403
    assert (await world.call("DELETE", f"/v1/admin/enrollment-tokens/{body['id']}")).status_code == 204
    assert (await world.enrol("build-2", token=body["token"])).status_code == 403
    assert (await world.call("DELETE", f"/v1/admin/enrollment-tokens/{body['id']}")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "a b"},
        {"name": "[a]"},
        {"name": "A*"},
        {"name": "*", "uses": 0},
        {"name": "*", "uses": "1"},
        {"name": "*", "ttl_seconds": 0},
        {"name": "*", "ttl_seconds": 10**12},
        {"name": "*", "role": "admin"},
    ],
    ids=str,
)
async def test_bad_tokens_are_not_made(world: World, body: dict[str, Any]) -> None:
    reply = await world.call("POST", "/v1/admin/enrollment-tokens", body)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")


async def test_an_expired_token_is_refused(world: World) -> None:
    token = await world.token(ttl_seconds=60)
    world.clock.time += 60
    reply = await world.enrol("alice", token=token)
    assert (reply.status_code, reply.json()["code"]) == (403, "invalid_enrollment_token")
