"""Agents, as operators and as they themselves see them."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding

from mastio.exchange.values import Principal
from mastio.pki.certificates import verify_chain
from mastio_primitives.jwk import encode_public_jwk
from support.control_plane import NOW, TRUST_DOMAIN, World, agent, make_csr, make_key

AGENTS = "/v1/admin/agents"
OPERATOR = Principal("op", frozenset({"operator"}))


async def enrolled(world: World, *names: str) -> None:
    token = await world.token(uses=len(names))
    for name in names:
        assert (await world.enrol(name, token=token)).status_code == 201


async def test_an_agent_is_shown(world: World) -> None:
    await enrolled(world, "alice")
    shown = (await world.call("GET", f"{AGENTS}/alice")).json()
    assert shown["name"] == "alice" and shown["status"] == "active"
    assert shown["spiffe_id"] == f"spiffe://{TRUST_DOMAIN}/agent/alice"
    assert shown["groups"] == [] and shown["attributes"] == {} and shown["api_keys"] is False
    assert shown["not_after"] == "2027-01-16T08:00:00Z"
    assert shown["cert_sha256"] == world.directory.agents["alice"].cert_sha256
    reply = await world.call("GET", f"{AGENTS}/nobody")
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")


async def test_lists_are_paged(world: World) -> None:
    names = [f"a{n:02}" for n in range(7)]
    await enrolled(world, *names)
    seen: list[str] = []
    cursor, pages = "", 0
    while True:
        page = (await world.call("GET", f"{AGENTS}?limit=3{cursor}")).json()
        seen += [item["name"] for item in page["items"]]
        pages += 1
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == names and pages == 3
    await world.call("POST", f"{AGENTS}/a03/revoke")
    revoked = (await world.call("GET", f"{AGENTS}?status=revoked")).json()["items"]
    assert [item["name"] for item in revoked] == ["a03"]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=x", "limit=-1", "cursor=!", "cursor=AA==", "cursor=" + "A" * 300, "status=odd",
     "cursor=_w"],
)  # fmt: skip
async def test_odd_pages_are_refused(world: World, query: str) -> None:
    reply = await world.call("GET", f"{AGENTS}?{query}")
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")


@pytest.mark.parametrize("cursor", ["eA", "LTE", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "MS41"])
async def test_a_cursor_of_another_list_is_refused(world: World, cursor: str) -> None:
    for path in ("/v1/admin/enrollments", "/v1/admin/enrollment-tokens"):
        assert (await world.call("GET", f"{path}?cursor={cursor}")).status_code == 422


async def test_changes(world: World) -> None:
    await enrolled(world, "alice")
    body = {"groups": ["b", "a", "b"], "attributes": {"team": "x", "tags": ["p"], "level": 3}, "api_keys": True}
    changed = (await world.call("PATCH", f"{AGENTS}/alice", body)).json()
    assert changed["groups"] == ["a", "b"] and changed["api_keys"] is True
    assert changed["attributes"] == body["attributes"]
    assert world.directory.agents["alice"].groups == {"a", "b"}
    suspended = (await world.call("PATCH", f"{AGENTS}/alice", {"status": "suspended", "reason": "odd"})).json()
    assert (suspended["status"], suspended["status_reason"], suspended["groups"]) == ("suspended", "odd", ["a", "b"])
    active = (await world.call("POST", f"{AGENTS}/alice/reactivate")).json()
    assert (active["status"], active["status_reason"]) == ("active", None)


@pytest.mark.parametrize(("said", "meant"), [(True, True), (False, False), ("on", True), ("off", False)])
async def test_api_keys_are_turned_on_and_off(world: World, said: Any, meant: bool) -> None:
    await enrolled(world, "alice")
    await world.call("PATCH", f"{AGENTS}/alice", {"api_keys": not meant})
    assert (await world.call("PATCH", f"{AGENTS}/alice", {"api_keys": said})).json()["api_keys"] is meant
    assert (await world.call("PATCH", f"{AGENTS}/alice", {"groups": ["g"]})).json()["api_keys"] is meant
    assert world.directory.agents["alice"].api_keys is meant


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": "bob"}, "name"),
        ({"status": "dead"}, "status"),
        ({"groups": ["a b"]}, "groups"),
        ({"groups": "a"}, "groups"),
        ({"groups": ["a"] * 65}, "groups"),
        ({"api_keys": "yes"}, "api_keys"),
        ({"api_keys": "On"}, "api_keys"),
        ({"api_keys": 1}, "api_keys"),
        ({"attributes": {"x": 1.5}}, "attributes"),
        ({"attributes": {"x": None}}, "attributes"),
        ({"attributes": {"x": 2**63}}, "attributes"),
        ({"attributes": {"name": "bob"}}, "attributes"),
        ({"attributes": {"__entity": {"type": "Group", "id": "root"}}}, "attributes"),
        ({"attributes": {"x": {"__entity": {"type": "Group", "id": "root"}}}}, "attributes"),
        ({"attributes": {"x": [[[[[[[[[[1]]]]]]]]]]}}, "attributes"),
        ({"cert_sha256": "x"}, "cert_sha256"),
    ],
    ids=str,
)
async def test_bad_changes_change_nothing(world: World, body: dict[str, Any], named: str) -> None:
    await enrolled(world, "alice")
    before = world.directory.agents["alice"]
    reply = await world.call("PATCH", f"{AGENTS}/alice", body)
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_body")
    assert named in reply.json()["message"]
    assert world.directory.agents["alice"] == before


@pytest.mark.parametrize("body", [{"groups": []}, {"attributes": {}}, {"api_keys": "on"}, {"api_keys": True}], ids=str)
async def test_an_operator_gives_an_agent_no_rights(world: World, body: dict[str, Any]) -> None:
    await enrolled(world, "alice")
    await world.call("PATCH", f"{AGENTS}/alice", {"groups": ["a"], "attributes": {"team": "x"}})
    before = world.directory.agents["alice"]
    reply = await world.call("PATCH", f"{AGENTS}/alice", {**body, "status": "suspended"}, OPERATOR)
    assert (reply.status_code, reply.json()["code"]) == (403, "role_required")
    assert world.directory.agents["alice"] == before, "nor is the rest of the change carried out"


@pytest.mark.parametrize("body", [{"api_keys": "off"}, {"status": "suspended", "reason": "odd"}], ids=str)
async def test_an_operator_takes_rights_away(world: World, body: dict[str, Any]) -> None:
    await enrolled(world, "alice")
    await world.call("PATCH", f"{AGENTS}/alice", {"api_keys": True})
    changed = (await world.call("PATCH", f"{AGENTS}/alice", body, OPERATOR)).json()
    assert (changed["api_keys"], changed["status"]) == (("status" in body), body.get("status", "active"))


async def test_revocation_shows_in_the_list_and_can_be_undone(world: World) -> None:
    reply = await world.enrol("alice", token=await world.token())
    leaf = x509.load_pem_x509_certificate(reply.json()["certificate"].encode())

    async def is_listed() -> bool:
        crl = x509.load_pem_x509_crl((await world.call("GET", "/pki/crl.pem")).content)
        return crl.get_revoked_certificate_by_serial_number(leaf.serial_number) is not None

    assert not await is_listed()
    revoked = await world.call("POST", f"{AGENTS}/alice/revoke", {"reason": "stolen"})
    assert (revoked.status_code, revoked.json()["status"]) == (200, "revoked")
    assert world.directory.agents["alice"].status == "revoked"
    assert await is_listed()
    assert (await world.call("POST", f"{AGENTS}/alice/revoke")).status_code == 200
    assert (await world.call("POST", f"{AGENTS}/alice/reactivate")).json()["status"] == "active"
    assert not await is_listed()
    assert (await world.call("POST", f"{AGENTS}/nobody/revoke")).status_code == 404


async def test_renewal(world: World) -> None:
    dpop = encode_public_jwk(ed25519.Ed25519PrivateKey.generate().public_key())
    await world.enrol("alice", token=await world.token(), dpop_jwk=dpop)
    before = world.directory.agents["alice"]
    world.clock.time += 3600
    key = make_key()
    reply = await world.call("POST", "/v1/agents/self/renew", {"csr": make_csr(key)}, agent("alice"))
    assert reply.status_code == 200
    body = reply.json()
    der = x509.load_pem_x509_certificate(body["certificate"].encode()).public_bytes(Encoding.DER)
    facts = verify_chain(der, world.authority.trust(), NOW + 3600, TRUST_DOMAIN)
    after = world.directory.agents["alice"]
    assert (facts.name, facts.thumbprint) == ("alice", after.cert_sha256)
    assert after.previous_cert_sha256 == before.cert_sha256
    assert after.previous_until == before.not_after <= NOW + 48 * 3600
    assert after.dpop_jkt == before.dpop_jkt and after.public_jwks == (encode_public_jwk(key.public_key()), dpop)
    assert body["not_after"] == "2027-01-16T09:00:00Z" and body["previous_until"] == "2027-01-16T08:00:00Z"


async def test_renewal_is_for_the_agent_itself(world: World) -> None:
    await enrolled(world, "alice")
    foreign = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(f"spiffe://{TRUST_DOMAIN}/agent/bob")])
    for csr in (make_csr(make_key(), foreign), "x"):
        reply = await world.call("POST", "/v1/agents/self/renew", {"csr": csr}, agent("alice"))
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_csr")
    body = {"csr": make_csr(make_key()), "name": "bob"}
    assert (await world.call("POST", "/v1/agents/self/renew", body, agent("alice"))).status_code == 422
