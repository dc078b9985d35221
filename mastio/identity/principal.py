"""Credentials become one enrolled principal, or nobody. Pure: the agents are handed in.

Authenticators say what was proven; only here is it said who that is. Rules, in this order:

1. The credentials name at most one subject, and an admin token stands alone.
2. An access token counts only with what it is bound to: `cnf.jkt` with a proof by that key over this very token,
   sent as `DPoP`; `cnf.x5t#S256` with that certificate. A DPoP-bound token sent as Bearer is refused (RFC 9449 §7.1).
3. The agent is enrolled and active, and a certificate is the one pinned to it (or the one before, while that holds).
4. An access token and a client assertion count only while the agent's certificate is in force: an enrolment ends with
   its leaf, and no token is good for another one after that. Nor does a token count for who has the name by now, when
   it was minted for who had it before.
5. An agent that named its DPoP key at enrolment is proven by that key only.
6. An API key counts only while an operator has them turned on for the agent. Beside it only the same agent's
   certificate may stand, and the key's restriction holds all the same: two ways of proving one call contradict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.presented_credentials import CLAIM_MARK
from mastio.exchange.records import Agent
from mastio.exchange.values import (
    STRANGER,
    AdminCredential,
    ApiKeyCredential,
    AssertionCredential,
    CertificateCredential,
    Credential,
    Principal,
    ProofCredential,
    Restriction,
    Role,
    TokenCredential,
)

ROLES: Mapping[Role, frozenset[Role]] = {
    "agent": frozenset({"agent"}),
    "auditor": frozenset({"auditor"}),
    "operator": frozenset({"operator"}),
    "admin": frozenset({"admin", "operator", "auditor"}),
}
"""The roles that each role includes: an admin may do what an operator and an auditor may."""


def bind(credentials: Sequence[Credential], agents: Mapping[str, Agent], now: float, address: str = "") -> Principal:
    """The principal that all of `credentials`, sent from `address`, prove, or `STRANGER` when they name nobody.

    Raises `AuthenticationError` when they contradict each other or do not hold for an active agent.
    """
    certificate: CertificateCredential | None = None
    proof: ProofCredential | None = None
    token: TokenCredential | None = None
    assertion: AssertionCredential | None = None
    key: ApiKeyCredential | None = None
    admin: AdminCredential | None = None
    for credential in credentials:
        match credential:
            case CertificateCredential():
                certificate = credential
            case ProofCredential():
                proof = credential
            case TokenCredential():
                token = credential
            case AssertionCredential():
                assertion = credential
            case ApiKeyCredential():
                key = credential
            case AdminCredential():
                admin = credential
    if admin is not None:
        if len(credentials) > 1:
            raise AuthenticationError("An admin token stands alone.", code="ambiguous_credential")
        if admin.token_hash.startswith(CLAIM_MARK):
            return _claimant(admin.name)
        return Principal(admin.name, ROLES[admin.role], credential={"type": "admin", "name": admin.name})
    if key is not None and (token, proof, assertion) != (None, None, None):
        raise AuthenticationError("Beside an API key only a certificate may stand.", code="ambiguous_credential")
    subjects = {c.subject for c in (certificate, token, assertion, key) if c is not None}
    if len(subjects) > 1:
        raise AuthenticationError("The credentials name different agents.", code="ambiguous_credential")
    if not subjects:
        return STRANGER
    if token is not None:
        _verify_confirmation(token, proof, certificate, now)
    agent = _verify_agent(subjects.pop(), agents, certificate, proof, now)
    if assertion is not None and now >= agent.not_after:
        raise AuthenticationError("The agent's certificate has expired, and with it its keys.", code="invalid_client")
    if token is not None and token.enrolled_at != agent.created_at:
        raise AuthenticationError("The access token is of who had this name before.", code="invalid_token")
    if token is not None and now >= agent.not_after:
        raise AuthenticationError("The agent's certificate has expired, and with it its tokens.", code="invalid_token")
    if key is not None and not agent.api_keys:
        raise AuthenticationError("API keys are turned off for this agent.", code="api_keys_off")
    said = _describe(certificate, proof, token, assertion, key)
    first = key or token or certificate
    since = first.issued_at if first is not None else 0.0
    return principal_of(agent, said, key.restriction if key else None, address, since)


def _claimant(name: str) -> Principal:
    """The holder of an admin's one-time code: may rotate it into a token, and nothing else."""
    only = Restriction(paths=(f"/v1/admin/admins/{name}/rotate",))
    return Principal(name, ROLES["admin"], credential={"type": "claim", "name": name}, restriction=only)


def principal_of(
    agent: Agent,
    credential: Mapping[str, str],
    restriction: Restriction | None = None,
    address: str = "",
    since: float = 0.0,
) -> Principal:
    """The principal for an enrolled agent."""
    return Principal(
        agent.name,
        ROLES["agent"],
        agent.groups,
        agent.attributes,
        agent.spiffe_id,
        credential,
        agent.version,
        restriction,
        address,
        since,
    )


def _verify_confirmation(
    token: TokenCredential, proof: ProofCredential | None, certificate: CertificateCredential | None, now: float
) -> None:
    if now >= token.expires_at:
        raise AuthenticationError("The access token has expired.", code="invalid_token")
    if token.jkt is not None:
        if token.scheme != "DPoP":
            raise AuthenticationError("A DPoP-bound token must be sent as DPoP.", code="invalid_token")
        if proof is None:
            raise AuthenticationError("The access token needs a DPoP proof.", code="invalid_dpop_proof")
        if proof.thumbprint != token.jkt or proof.ath != token.ath:
            raise AuthenticationError("The DPoP proof is not by the token's key.", code="invalid_token")
    elif token.x5t is not None:
        if token.scheme != "Bearer":
            raise AuthenticationError("A certificate-bound token must be sent as Bearer.", code="invalid_token")
        if certificate is None or certificate.thumbprint != token.x5t:
            raise AuthenticationError("The access token needs its client certificate.", code="invalid_token")
    else:
        raise AuthenticationError("The access token is bound to nothing.", code="invalid_token")


def _verify_agent(
    name: str,
    agents: Mapping[str, Agent],
    certificate: CertificateCredential | None,
    proof: ProofCredential | None,
    now: float,
) -> Agent:
    agent = agents.get(name)
    if agent is None:
        raise AuthenticationError("The agent is not enrolled here.", code="agent_unknown")
    if agent.status != "active":
        raise AuthenticationError(f"The agent is {agent.status}.", code="agent_inactive")
    if certificate is not None and certificate.thumbprint != agent.cert_sha256:
        previous = certificate.thumbprint == agent.previous_cert_sha256 and now < agent.previous_until
        if not previous:
            raise AuthenticationError("The certificate is not the agent's current one.", code="invalid_certificate")
    if proof is not None and agent.dpop_jkt is not None and proof.thumbprint != agent.dpop_jkt:
        raise AuthenticationError("The DPoP proof is not by the agent's enrolled key.", code="invalid_dpop_proof")
    return agent


def _describe(
    certificate: CertificateCredential | None,
    proof: ProofCredential | None,
    token: TokenCredential | None,
    assertion: AssertionCredential | None,
    key: ApiKeyCredential | None,
) -> dict[str, str]:
    """For the audit entry: how it was proven, by thumbprints and ids only."""
    said = {}
    if key is not None:
        said["type"] = "api_key"
        said["id"] = key.id
    elif token is not None:
        said["type"] = "token"
    elif assertion is not None:
        said["type"] = "assertion"
    else:
        said["type"] = "certificate"
    if certificate is not None:
        said["x5t#S256"] = certificate.thumbprint
    if proof is not None:
        said["jkt"] = proof.thumbprint
    return said
