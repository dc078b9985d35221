"""An agent that gets the name of a former one is another agent: the former one's tokens are refused."""

from __future__ import annotations

import pytest

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.records import Agent
from mastio.exchange.values import CertificateCredential, TokenCredential
from mastio.identity.principal import bind

ENROLLED = 100.0
ALICE = Agent("alice", "spiffe://t/agent/alice", "active", frozenset(), {}, "cert", 5000.0, created_at=ENROLLED)
CERTIFICATE = CertificateCredential("alice", "cert", "01", 5000.0)


def token(enrolled_at: float) -> TokenCredential:
    return TokenCredential("alice", "Bearer", "hash", None, "cert", 2000.0, enrolled_at)


def test_a_token_of_the_former_holder() -> None:
    assert bind([token(ENROLLED), CERTIFICATE], {"alice": ALICE}, 1000.0).name == "alice"
    with pytest.raises(AuthenticationError) as refused:
        bind([token(ENROLLED - 50), CERTIFICATE], {"alice": ALICE}, 1000.0)
    assert refused.value.code == "invalid_token"
