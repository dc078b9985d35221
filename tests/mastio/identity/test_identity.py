"""Which credentials prove whom: each refusal beside the good case it was made from."""

from dataclasses import replace

import pytest

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.records import Agent
from mastio.exchange.values import (
    AdminCredential,
    ApiKeyCredential,
    AssertionCredential,
    CertificateCredential,
    Credential,
    ProofCredential,
    Restriction,
    TokenCredential,
)
from mastio.identity.principal import bind

NOW = 1000.0
ALICE = Agent("alice", "spiffe://t/agent/alice", "active", frozenset({"g"}), {}, "cert-a", 5000.0, version=3)
BOB = Agent("bob", "spiffe://t/agent/bob", "active", frozenset(), {}, "cert-b", 5000.0, dpop_jkt="key-b")
AGENTS = {"alice": ALICE, "bob": BOB}

CERT = CertificateCredential("alice", "cert-a", "01", 5000.0)
PROOF = ProofCredential("key-a", "hash")
TOKEN = TokenCredential("alice", "DPoP", "hash", "key-a", None, 2000.0, 0.0)
BOUND = TokenCredential("alice", "Bearer", "hash", None, "cert-a", 2000.0, 0.0)
ADMIN = AdminCredential("root", "admin", "hash")
BOUNDS = Restriction(("llm.*",))
KEY = ApiKeyCredential("alice", "key_1", BOUNDS, "hash")
WITH_KEYS = {**AGENTS, "alice": replace(ALICE, api_keys=True)}


@pytest.mark.parametrize(
    ("credentials", "kind"),
    [
        ([CERT], "certificate"),
        ([CERT, PROOF], "certificate"),
        ([TOKEN, PROOF], "token"),
        ([TOKEN, PROOF, CERT], "token"),
        ([BOUND, CERT], "token"),
        ([AssertionCredential("alice", "key-a", "j1", 2000.0), PROOF], "assertion"),
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
        ([replace(TOKEN, enrolled_at=1.0), PROOF], "invalid_token"),
        ([replace(BOUND, enrolled_at=1.0), CERT], "invalid_token"),
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


@pytest.mark.parametrize(
    ("credentials", "said"),
    [
        ([KEY], {"type": "api_key", "id": "key_1"}),
        ([CERT, KEY], {"type": "api_key", "id": "key_1", "x5t#S256": "cert-a"}),
    ],
)
def test_an_api_key_brings_its_restriction(credentials: list[Credential], said: dict[str, str]) -> None:
    principal = bind(credentials, WITH_KEYS, NOW)
    assert (principal.name, principal.roles, principal.restriction) == ("alice", {"agent"}, BOUNDS)
    assert principal.credential == said
    assert bind([CERT], WITH_KEYS, NOW).restriction is None


@pytest.mark.parametrize(
    ("credentials", "code"),
    [
        ([replace(CERT, subject="bob", thumbprint="cert-b"), KEY], "ambiguous_credential"),
        ([replace(CERT, thumbprint="cert-x"), KEY], "invalid_certificate"),
        ([BOUND, CERT, KEY], "ambiguous_credential"),
        ([TOKEN, PROOF, KEY], "ambiguous_credential"),
        ([PROOF, KEY], "ambiguous_credential"),
        ([AssertionCredential("alice", "key-a", "j1", 2000.0), KEY], "ambiguous_credential"),
        ([ADMIN, KEY], "ambiguous_credential"),
        ([replace(KEY, subject="bob")], "api_keys_off"),
        ([replace(KEY, subject="carol")], "agent_unknown"),
    ],
)
def test_an_api_key_that_does_not_count(credentials: list[Credential], code: str) -> None:
    with pytest.raises(AuthenticationError) as refused:
        bind(credentials, WITH_KEYS, NOW)
    assert refused.value.code == code


@pytest.mark.parametrize("credentials", [[KEY], [CERT, KEY]])
def test_an_api_key_is_off_unless_turned_on(credentials: list[Credential]) -> None:
    with pytest.raises(AuthenticationError) as refused:
        bind(credentials, AGENTS, NOW)
    assert refused.value.code == "api_keys_off"


@pytest.mark.parametrize("status", ["suspended", "revoked"])
def test_an_inactive_agent_is_refused_whatever_it_shows(status: str) -> None:
    agents = {"alice": replace(ALICE, status=status, api_keys=True)}
    for credentials in ([CERT], [TOKEN, PROOF], [BOUND, CERT], [KEY], [CERT, KEY]):
        with pytest.raises(AuthenticationError) as refused:
            bind(credentials, agents, NOW)
        assert refused.value.code == "agent_inactive"


def test_the_previous_leaf_holds_for_its_grace_only() -> None:
    agents = {"alice": replace(ALICE, cert_sha256="new", previous_cert_sha256="cert-a", previous_until=NOW + 1)}
    assert bind([CERT], agents, NOW).name == "alice"
    with pytest.raises(AuthenticationError):
        bind([CERT], agents, NOW + 1)


@pytest.mark.parametrize(
    ("credentials", "code"),
    [
        ([TOKEN, PROOF], "invalid_token"),
        ([AssertionCredential("alice", "key-a", "j1", 2000.0), PROOF], "invalid_client"),
    ],
)
def test_what_the_agents_keys_sign_ends_with_its_leaf(credentials: list[Credential], code: str) -> None:
    assert bind(credentials, {"alice": replace(ALICE, not_after=NOW + 1)}, NOW).name == "alice"
    with pytest.raises(AuthenticationError) as refused:
        bind(credentials, {"alice": replace(ALICE, not_after=NOW)}, NOW)
    assert refused.value.code == code


def test_admin_and_stranger() -> None:
    assert bind([ADMIN], AGENTS, NOW).roles == {"admin", "operator", "auditor"}
    assert bind([AdminCredential("a", "auditor", "hash")], AGENTS, NOW).roles == {"auditor"}
    assert bind([], AGENTS, NOW).roles == frozenset()
    assert bind([PROOF], AGENTS, NOW).roles == frozenset()
