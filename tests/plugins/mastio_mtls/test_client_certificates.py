"""The mtls plugin accepts the leaf of an agent while the leaf and its authority are in force."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.values import CertificateCredential
from mastio.identity.trust import Trust
from mastio.pki.certificates import build_agent_leaf, build_server_leaf, encode_der, thumbprint
from mastio_mtls.plugin import Verifier
from support.authorities import DAY, ISSUER, NOW, ROOT, TD, TRUST, p256

LEAF = build_agent_leaf(p256().public_key(), "alice", TD, ISSUER, NOW, DAY)


def escape(certificate: Any) -> bytes:
    """As the edge passes it."""
    return quote(certificate.public_bytes(Encoding.PEM)).encode()


class World:
    """One worker's verifier, its clock, and the authority that it trusts."""

    def __init__(self) -> None:
        self.time = NOW
        self.trusted = TRUST
        services: Any = SimpleNamespace(now=lambda: self.time, trust=lambda: self.trusted, trust_domain=TD)
        self._verifier = Verifier(services)

    def ask(self, certificate: bytes | None = escape(LEAF)) -> Any:
        head: Any = SimpleNamespace(certificate=certificate)
        return self._verifier.authenticate(head)

    def refuse(self, certificate: bytes = escape(LEAF)) -> None:
        with pytest.raises(AuthenticationError) as refused:
            self.ask(certificate)
        assert refused.value.code == "invalid_certificate"


def test_an_agents_leaf() -> None:
    world = World()
    credential = world.ask()
    assert isinstance(credential, CertificateCredential) and world.ask() == credential
    assert (credential.subject, credential.thumbprint) == ("alice", thumbprint(encode_der(LEAF)))
    assert world.ask(None) is None


def test_a_remembered_leaf_ends_in_time() -> None:
    world = World()
    world.time = NOW + DAY - 1
    world.ask()
    world.time = NOW + DAY
    world.refuse()


def test_a_remembered_leaf_of_a_clock_that_was_ahead_is_refused() -> None:
    world = World()
    world.time = NOW + DAY / 2
    later = escape(build_agent_leaf(p256().public_key(), "alice", TD, ISSUER, world.time, DAY))
    world.ask(later)
    world.time = NOW
    world.refuse(later)
    world.ask()


def test_a_remembered_leaf_ends_with_its_authority() -> None:
    world = World()
    world.ask()
    world.trusted = Trust((encode_der(ROOT.certificate),), ())
    world.refuse()


def test_another_certificate() -> None:
    world = World()
    world.refuse(escape(build_server_leaf(p256().public_key(), ["localhost"], ISSUER, NOW, DAY)))
    world.refuse(escape(ISSUER.certificate))
    world.refuse(b"-----BEGIN CERTIFICATE-----")
