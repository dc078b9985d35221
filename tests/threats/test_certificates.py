"""Certificates that are not the agent's: whoever vouches for them, nobody gets in by one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from mastio.pki.authority import Authority
from mastio.pki.certificates import Issuer, build_agent_leaf, build_root
from mastio_client import Identity
from mastio_client.proofs import make_key
from support.appliance import Appliance
from support.threats.agent_kit import Kit
from support.threats.forged_certificates import by_own_leaf_sent_along, load, show
from support.threats.judge import BODY, CHAT, SELF, TOKEN, Answer, Judge, Refusal, refusal
from support.threats.wrong_credentials import BAD_TOKEN


def vouched(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    """`agent`'s own leaf signs one for another's name. What else it may sign: `test_identity_holds.py`."""
    return by_own_leaf_sent_along(agent, key, "agent-two")


def foreign(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    """An authority of the same name with another key."""
    own = ec.generate_private_key(ec.SECP256R1())
    root = build_root(own, "test.example", time.time(), 3600)
    leaf = build_agent_leaf(key.public_key(), "agent-one", "test.example", Issuer(root, own), time.time(), 3600)
    return [leaf, root]


def issued(
    *, domain: str = "test.example", name: str = "agent-one", ago: float = 0.0
) -> Callable[[Appliance, Identity, ec.EllipticCurvePrivateKey], list[x509.Certificate]]:
    """By the appliance's own authority, with one thing wrong."""

    def make(appliance: Appliance, _: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
        issuer = load(appliance.data / "ca", "intermediate")
        return [build_agent_leaf(key.public_key(), name, domain, issuer, time.time() - ago, 3600)]

    return make


def selfsigned(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    return [build_root(key, "test.example", time.time(), 3600)]


def authority(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    """A leaf with the agent's name that is a CA, by the appliance's own authority."""
    issuer = load(appliance.data / "ca", "intermediate")
    plain = build_agent_leaf(key.public_key(), "agent-one", "test.example", issuer, time.time(), 3600)
    builder = x509.CertificateBuilder(
        issuer.certificate.subject, plain.subject, key.public_key(), plain.serial_number,
        plain.not_valid_before_utc, plain.not_valid_after_utc,
    )  # fmt: skip
    for extension in plain.extensions:
        value = extension.value
        if isinstance(value, x509.BasicConstraints):
            value = x509.BasicConstraints(ca=True, path_length=0)
        builder = builder.add_extension(value, extension.critical)
    return [builder.sign(issuer.key, hashes.SHA256())]


BY_EDGE = refusal(401, "invalid_certificate", "edge")
BY_APP = refusal(401, "invalid_certificate")
CERTIFICATES = {
    "vouched": (vouched, BY_EDGE),
    "foreign": (foreign, BY_EDGE),
    "selfsigned": (selfsigned, BY_EDGE),
    "expired": (issued(ago=7200), BY_EDGE),
    "future": (issued(ago=-7200), BY_EDGE),
    "authority": (authority, refusal(401, "invalid_certificate", "edge", "app")),
    "domain": (issued(domain="evil.example"), BY_APP),
    "unpinned": (issued(), BY_APP),
    "unknown": (issued(name="nobody"), refusal(401, "agent_unknown")),
    "badname": (issued(name="../agent-one"), BY_APP),
}


@pytest.mark.parametrize("path", [CHAT, TOKEN, SELF], ids=["chat", "token", "self"])
@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_that_is_not_the_agents(
    appliance: Appliance, agent: Identity, judge: Judge, tmp_path: Path, name: str, path: str
) -> None:
    make, expected = CERTIFICATES[name]
    key = ec.generate_private_key(ec.SECP256R1())
    identity = show(tmp_path / "shown", key, *make(appliance, agent, key))
    logged = expected.code[0]
    said = Refusal(expected.status, ("invalid_client",) if path == TOKEN else expected.code, expected.by)
    judge.refused(present(appliance, identity, path), said, path, logged)
    judge.mark()
    judge.served(present(appliance, agent, path), upstream=path == CHAT)


@pytest.mark.parametrize("whose", ["own", "foreign"])
def test_the_certificate_of_an_edge_is_no_agents(
    appliance: Appliance, agent: Identity, judge: Judge, tmp_path: Path, whose: str
) -> None:
    """Of this appliance, and of another one with the same trust domain."""
    data, shown = appliance.data, tmp_path / "shown"
    if whose == "foreign":
        data = tmp_path / "other"
        authority = Authority.ensure(data, "test.example", time.time())
        authority.issue_server(["localhost"], time.time())
    shown.mkdir()
    for name, here in (("server.crt", "agent.crt"), ("server.key", "agent.key")):
        shutil.copyfile(data / "edge" / name, shown / here)
    identity = Identity(shown, "edge", "", shown / "ca.crt", make_key())
    judge.refused(present(appliance, identity, CHAT), refusal(401, "invalid_certificate", "edge", "app"), CHAT)
    judge.mark()
    judge.served(present(appliance, agent, CHAT))


def present(appliance: Appliance, identity: Identity, path: str) -> Answer:
    """One request by certificate alone."""
    with appliance.by_certificate(identity) as client:
        if path == SELF:
            return Answer.of(client.get(path))
        if path == CHAT:
            return Answer.of(client.post(path, json=BODY))
        return Answer.of(client.post(path, data={"grant_type": "client_credentials"}))


@pytest.mark.parametrize("scheme", ["Bearer", "DPoP"])
def test_a_token_bound_to_a_certificate_is_worth_nothing_without(
    appliance: Appliance, agent: Identity, other: Identity, judge: Judge, scheme: str
) -> None:
    token = present(appliance, agent, TOKEN).document["access_token"]

    def ask(client: httpx.Client, scheme: str) -> Answer:
        with client:
            return Answer.of(client.post(CHAT, json=BODY, headers={"Authorization": f"{scheme} {token}"}))

    judge.mark()
    judge.refused(ask(appliance.client(), scheme), BAD_TOKEN, CHAT)
    judge.mark()
    judge.refused(ask(appliance.by_certificate(other), scheme), refusal(401, "ambiguous_credential"), CHAT)
    judge.mark()
    judge.served(ask(appliance.by_certificate(agent), "Bearer"))


def test_two_principals_are_none(appliance: Appliance, agent: Identity, other_kit: Kit, judge: Judge) -> None:
    """One agent's certificate with another's token and proof; an admin's token with an agent's certificate."""
    headers = other_kit.headers()
    token = (appliance.data / "secrets" / "admin-token").read_text().strip()
    for said in (headers, [("Authorization", f"Bearer {token}")]):
        judge.mark()
        with appliance.by_certificate(agent) as client:
            answer = Answer.of(client.post(CHAT, json=BODY, headers=said))
        judge.refused(answer, refusal(401, "ambiguous_credential"), CHAT)
    good = other_kit.headers()
    judge.mark()
    judge.served(other_kit.ask(good))
