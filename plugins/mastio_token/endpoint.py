"""`POST /oauth/token` (RFC 6749 §4.4, RFC 8705, RFC 9449 §5) and the JWKS document (RFC 7517).

The pipeline has authenticated the client already, by its certificate or its assertion. A token is always bound: to
the key of the DPoP proof when there is one, else to the certificate. There is no third way.
"""

from __future__ import annotations

import secrets
from urllib.parse import parse_qsl

import orjson

from mastio.exchange.errors import AuthenticationError, BadRequest, Unavailable
from mastio.exchange.records import Agent
from mastio.exchange.values import (
    Action,
    AssertionCredential,
    CertificateCredential,
    Credential,
    Message,
    Principal,
    ProofCredential,
    Recorded,
    Reply,
    RequestHead,
)
from mastio.identity.rotation import in_force
from mastio.plugin.services import Services
from mastio_token.access import encode_access_token
from mastio_token.ring import TokenKeyRing

FORM = b"application/x-www-form-urlencoded"
MAX_FIELDS = 16


def parse_form(head: RequestHead, body: bytes) -> dict[str, str]:
    """The parameters of a form body. Raises `BadRequest`: wrong type, repeated parameter (RFC 6749 §3.2)."""
    content_type = (head.header(b"content-type") or b"").split(b";")[0].strip().lower()
    if content_type != FORM or head.header(b"content-encoding") is not None:
        raise BadRequest("The token request must be form-encoded.", code="invalid_request")
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:
        raise BadRequest("The token request is not a valid form.", code="invalid_request") from error
    form = dict(fields)
    if len(form) != len(fields):
        raise BadRequest("A parameter appears twice.", code="invalid_request")
    return form


class Endpoint:
    """Mints tokens. `seconds` is their life, 600 at most."""

    def __init__(self, services: Services, ring: TokenKeyRing, seconds: int) -> None:
        self._services = services
        self._ring = ring
        self._seconds = seconds

    def read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        form = parse_form(head, body)
        if form.get("grant_type") != "client_credentials":
            code = "unsupported_grant_type" if form.get("grant_type") else "invalid_request"
            raise BadRequest("The grant_type must be client_credentials.", code=code)
        if form.get("client_id", principal.name) != principal.name:
            raise AuthenticationError("The client_id is not the authenticated client.", code="invalid_client")
        if form.get("scope"):
            raise BadRequest("There are no scopes to ask for.", code="invalid_scope")
        return Action("oauth.token", "Token", principal.name), Message(raw=b"")

    async def mint(self, recorded: Recorded) -> Reply:
        # Who it is for is settled before anything is waited for: the name may be another's afterwards.
        agent = self._services.directory.agents.get(recorded.principal.name)
        if agent is None:
            raise AuthenticationError("The agent is not enrolled here.", code="agent_unknown")
        token_type, confirmation = _confirmation(recorded.credentials)
        now = self._services.now()
        await self._use_assertion(recorded, agent, now)
        try:
            token = encode_access_token(
                self._ring.issuer, agent, confirmation, secrets.token_hex(16), now, self._seconds
            )
        except LookupError as error:
            raise Unavailable("There is no key to sign tokens with.", code="not_ready") from error
        body = orjson.dumps({"access_token": token, "token_type": token_type, "expires_in": self._seconds})
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        return Reply(200, headers, body, facts={"token_type": token_type, "cnf": next(iter(confirmation))})

    async def _use_assertion(self, recorded: Recorded, agent: Agent, now: float) -> None:
        """An assertion works once on any number of workers. Raises `AuthenticationError`, `Unavailable`.

        An agent that named its DPoP key needs no such memory: whoever has its assertion still lacks that key. For the
        others, a stolen assertion would otherwise be good for a token bound to the thief's key, on another worker.
        """
        if agent.dpop_jkt is not None:
            return
        for credential in recorded.credentials:
            if isinstance(credential, AssertionCredential):
                name = f"assertion:{credential.thumbprint}:{credential.jti}"
                if not await self._services.once.use(name, credential.expires_at, now):
                    raise AuthenticationError("The client assertion was used before.", code="invalid_client")

    async def ready(self) -> str | None:
        return None if in_force(self._ring.issuer.keys, self._services.now()) else "token: there is no signing key"

    async def jwks(self, recorded: Recorded) -> Reply:
        body = orjson.dumps({"keys": self._ring.jwks(self._services.now())})
        headers = [(b"content-type", b"application/jwk-set+json"), (b"cache-control", b"public, max-age=60")]
        return Reply(200, headers, body)


def _confirmation(credentials: tuple[Credential, ...]) -> tuple[str, dict[str, str]]:
    """The token type and the `cnf` claim. Raises `BadRequest` when there is nothing to bind the token to."""
    for credential in credentials:
        if isinstance(credential, ProofCredential):
            return "DPoP", {"jkt": credential.thumbprint}
    for credential in credentials:
        if isinstance(credential, CertificateCredential):
            return "Bearer", {"x5t#S256": credential.thumbprint}
    raise BadRequest("Send a DPoP proof, so that the token can be bound to its key.", code="invalid_request")
