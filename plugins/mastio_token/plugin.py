"""Authenticates access tokens of ours, admin tokens and client assertions; mints tokens.

What is presented and is neither an admin token nor an API key must be an access token, or it is refused.

An access token is verified once and remembered by its hash until it expires or a key is rotated; whether it is in force
by the clock as it is now, which may have been set back, and whether its agent is
still active is asked anew for each exchange, in `mastio.identity.principal`, from memory.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.presented_credentials import (
    AUTHORIZATION,
    CLAIM_MARK,
    CLAIM_PREFIX,
    Presented,
    Scheme,
    digest_secret,
    end_of_claim,
    find_name,
    hash_claim,
    hash_digest,
    hash_secret,
    parse_presented,
)
from mastio.exchange.values import (
    OPEN,
    Action,
    AdminCredential,
    Allow,
    AssertionCredential,
    Credential,
    Decision,
    Message,
    Principal,
    RequestHead,
    Route,
    TokenCredential,
)
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_token.access import (
    TOKEN_AGE,
    TokenError,
    hash_token,
    is_in_force,
    peek_assertion_subject,
    verify_access_token,
    verify_assertion,
)
from mastio_token.endpoint import Endpoint, parse_form
from mastio_token.memory import Assertions
from mastio_token.ring import TokenKeyRing

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
REMEMBER = 20_000

ROUTES = (
    Route(
        "/oauth/token",
        ("POST",),
        frozenset({"agent"}),
        "oauth.token",
        "Mint a bound access token (RFC 6749)",
        dialect="oauth",
        limit=16 * 1024,
        credential_in_body=True,
        produces=("application/json",),
        consumes=("application/x-www-form-urlencoded",),
    ),
    Route(
        "/.well-known/jwks.json",
        ("GET", "HEAD"),
        OPEN,
        "oauth.jwks",
        "Token keys (RFC 7517)",
        recorded="none",
        produces=("application/json",),
    ),
)


class Settings(PluginSettings):
    """`token_seconds`: life of an access token."""

    token_seconds: int = Field(default=TOKEN_AGE, ge=10, le=TOKEN_AGE)


class Authenticator:
    """The authenticate hooks of one worker."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._admin_key = services.keys.key("admin-tokens")
        self._tokens: dict[tuple[Scheme, bytes], TokenCredential] = {}
        self._assertions = Assertions()
        self.ring = TokenKeyRing(services.public_url, services.directory, self._tokens.clear)

    def authenticate(self, head: RequestHead) -> Credential | None:
        presented = parse_presented(head.headers)
        if presented is None or presented.kind == "api_key":
            return None
        if presented.kind == "admin":
            return self._find_admin(presented)
        known = self._tokens.get((presented.scheme, presented.value))
        if known is None or not is_in_force(known.issued_at, known.expires_at, self._services.now()):
            known = self._verify(presented.scheme, presented.value)
        return known

    def _verify(self, scheme: Scheme, token: bytes) -> TokenCredential:
        self._tokens.pop((scheme, token), None)
        try:
            claims = verify_access_token(token, self.ring.issuer, self._services.now())
        except TokenError as error:
            raise AuthenticationError(str(error), code="invalid_token") from error
        credential = TokenCredential(
            claims.subject,
            scheme,
            hash_token(token),
            claims.jkt,
            claims.x5t,
            claims.expires_at,
            claims.enrolled_at,
            claims.issued_at,
        )
        if len(self._tokens) >= REMEMBER:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[scheme, token] = credential
        return credential

    def _find_admin(self, presented: Presented) -> AdminCredential:
        if presented.scheme != "Bearer" or presented.headers != {AUTHORIZATION}:
            raise AuthenticationError("An admin token goes into Authorization, as Bearer.", code="invalid_admin_token")
        known, key, digest = self._services.directory.admins, self._admin_key, digest_secret(presented.value)
        if presented.value.startswith(CLAIM_PREFIX):
            admin = known.get(hash_claim(key, digest))
        else:
            admin = known.get(hash_secret(key, presented.value)) or known.get(hash_digest(key, digest))
        now = self._services.now()
        if admin is None or admin.revoked or now >= (admin.expires_at or now + 1):
            raise AuthenticationError("The admin token is not in force.", code="invalid_admin_token")
        if admin.token_hash.startswith(CLAIM_MARK) and now >= end_of_claim(admin.token_hash):
            message = "The one-time code has expired: ask an admin to rotate this name's token for a new code."
            raise AuthenticationError(message, code="invalid_admin_token")
        return AdminCredential(admin.name, admin.role, find_name(admin.token_hash))

    def authenticate_body(self, head: RequestHead, body: bytes) -> Credential | None:
        """`private_key_jwt` (RFC 7523 §2.2). An assertion works once in this worker, as a proof does."""
        form = parse_form(head, body)
        raw = form.get("client_assertion")
        if raw is None:
            if "client_secret" in form:
                raise AuthenticationError("Clients have no secrets here.", code="invalid_client")
            return None
        if form.get("client_assertion_type") != ASSERTION_TYPE:
            raise AuthenticationError("The client_assertion_type is not jwt-bearer.", code="invalid_client")
        now = self._services.now()
        try:
            subject = peek_assertion_subject(raw.encode())
            agent = self._services.directory.agents.get(subject)
            if agent is None:
                raise TokenError("The client is not enrolled.")
            audiences = (self._services.public_url, self._services.public_url + "/oauth/token")
            key, jti, expires_at = verify_assertion(raw.encode(), subject, agent.public_jwks, audiences, now)
        except TokenError as error:
            raise AuthenticationError(str(error), code="invalid_client") from error
        if not self._assertions.use(key.thumbprint, jti, expires_at, now, self._services.monotonic()):
            raise AuthenticationError("The client assertion was used before.", code="invalid_client")
        return AssertionCredential(subject, key.thumbprint, jti, expires_at)


async def authorize(principal: Principal, action: Action) -> Decision | None:
    """Every active agent may mint a token for itself: the token carries no more than the agent has."""
    return Allow("token") if action.kind == "oauth.token" else None


def read_nothing(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    return Action("oauth.jwks", "Appliance", "self"), Message(raw=b"")


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    authenticator = Authenticator(services)
    services.directory.on_change(authenticator.ring.reload)
    endpoint = Endpoint(services, authenticator.ring, settings.token_seconds)
    yield Hooks(
        authenticate=authenticator.authenticate,
        authenticate_body=authenticator.authenticate_body,
        authorize=authorize,
        read={"oauth.token": endpoint.read, "oauth.jwks": read_nothing},
        dispatch={"oauth.token": endpoint.mint, "oauth.jwks": endpoint.jwks},
        ready=endpoint.ready,
    )


plugin = Plugin(name="token", settings=Settings, setup=setup, routes=ROUTES)
