"""Which credentials prove whom: each refusal beside the good case it was made from."""

from dataclasses import replace

import pytest

from mastio.errors import AuthenticationError
from mastio.exchange import (
    AdminCredential,
    AssertionCredential,
    CertificateCredential,
    Credential,
    ProofCredential,
    TokenCredential,
)
from mastio.identity import bind
from mastio.store.base import Agent

NOW = 1000.0
ALICE = Agent("alice", "spiffe://t/agent/alice", "active", frozenset({"g"}), {}, "cert-a", 5000.0, version=3)
BOB = Agent("bob", "spiffe://t/agent/bob", "active", frozenset(), {}, "cert-b", 5000.0, dpop_jkt="key-b")
AGENTS = {"alice": ALICE, "bob": BOB}

CERT = CertificateCredential("alice", "cert-a", "01", 5000.0)
PROOF = ProofCredential("key-a", "hash")
TOKEN = TokenCredential("alice", "DPoP", "hash", "key-a", None, 2000.0)
BOUND = TokenCredential("alice", "Bearer", "hash", None, "cert-a", 2000.0)
ADMIN = AdminCredential("root", "admin")


@pytest.mark.parametrize(
    ("credentials", "kind"),
    [
        ([CERT], "certificate"),
        ([CERT, PROOF], "certificate"),
        ([TOKEN, PROOF], "token"),
        ([TOKEN, PROOF, CERT], "token"),
        ([BOUND, CERT], "token"),
        ([AssertionCredential("alice", "key-a"), PROOF], "assertion"),
    ],
)
def test_alice(credentials: list[Credential], kind: str) -> None:
    principal = bind(credentials, AGENTS, NOW)
    assert (principal.name, principal.roles, principal.groups, principal.version) == ("alice", {"agent"}, {"g"}, 3)
    assert principal.credential["type"] == kind


@pytest.mark.parametrize(
    ("credentials", "code"),
    [
        ([TOKEN], "invalid_dpop_proof"),
        ([TOKEN, CERT], "invalid_dpop_proof"),
        ([replace(TOKEN, scheme="Bearer"), PROOF], "invalid_token"),
        ([TOKEN, replace(PROOF, thumbprint="key-x")], "invalid_token"),
        ([TOKEN, replace(PROOF, ath="other")], "invalid_token"),
        ([TOKEN, replace(PROOF, ath=None)], "invalid_token"),
        ([replace(TOKEN, expires_at=NOW), PROOF], "invalid_token"),
        ([BOUND], "invalid_token"),
        ([BOUND, PROOF], "invalid_token"),
        ([replace(BOUND, scheme="DPoP"), CERT], "invalid_token"),
        ([BOUND, replace(CERT, thumbprint="cert-x")], "invalid_token"),
        ([replace(BOUND, x5t=None), CERT], "invalid_token"),
        ([replace(CERT, thumbprint="cert-x")], "invalid_certificate"),
        ([replace(CERT, subject="bob"), TOKEN, PROOF], "ambiguous_credential"),
        ([replace(CERT, subject="carol")], "agent_unknown"),
        ([ADMIN, CERT], "ambiguous_credential"),
        ([ADMIN, PROOF], "ambiguous_credential"),
        ([replace(CERT, subject="bob", thumbprint="cert-b"), PROOF], "invalid_dpop_proof"),
    ],
)
def test_refused(credentials: list[Credential], code: str) -> None:
    with pytest.raises(AuthenticationError) as refused:
        bind(credentials, AGENTS, NOW)
    assert refused.value.code == code


@pytest.mark.parametrize("status", ["suspended", "revoked"])
def test_an_inactive_agent_is_refused_whatever_it_shows(status: str) -> None:
    agents = {"alice": replace(ALICE, status=status)}
    for credentials in ([CERT], [TOKEN, PROOF], [BOUND, CERT]):
        with pytest.raises(AuthenticationError) as refused:
            bind(credentials, agents, NOW)
        assert refused.value.code == "agent_inactive"


def test_the_previous_leaf_holds_for_its_grace_only() -> None:
    agents = {"alice": replace(ALICE, cert_sha256="new", previous_cert_sha256="cert-a", previous_until=NOW + 1)}
    assert bind([CERT], agents, NOW).name == "alice"
    with pytest.raises(AuthenticationError):
        bind([CERT], agents, NOW + 1)


def test_admin_and_stranger() -> None:
    assert bind([ADMIN], AGENTS, NOW).roles == {"admin", "operator", "auditor"}
    assert bind([AdminCredential("a", "auditor")], AGENTS, NOW).roles == {"auditor"}
    assert bind([], AGENTS, NOW).roles == frozenset()
    assert bind([PROOF], AGENTS, NOW).roles == frozenset()
