"""Authenticates client certificates (mTLS). The edge verified possession of the key; here the chain is judged again.

The certificate arrives in a header that only the edge can set. Never is a certificate or chain taken from a token.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import unquote_to_bytes

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.values import CertificateCredential, Credential, RequestHead
from mastio.pki.certificates import ChainError, LeafFacts, verify_chain
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services

REMEMBER = 10_000
"""Leaves whose chain is remembered as good in this worker."""


class Settings(PluginSettings):
    """No settings: which certificates are good is decided by the appliance's own authority."""


class Verifier:
    """Validates each leaf once and remembers the verdict until the leaf expires or other issuers are trusted."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._trust = services.trust()
        self._good: dict[bytes, CertificateCredential] = {}

    def authenticate(self, head: RequestHead) -> Credential | None:
        if head.certificate is None:
            return None
        trust = self._services.trust()
        if trust is not self._trust:
            self._trust = trust
            self._good.clear()
        known = self._good.get(head.certificate)
        if known is None:
            known = self._verify(head.certificate)
            if len(self._good) >= REMEMBER:
                del self._good[next(iter(self._good))]
            self._good[head.certificate] = known
        now = self._services.now()
        if now >= known.not_after:
            raise AuthenticationError("The client certificate has expired.", code="invalid_certificate")
        if now < known.issued_at:  # remembered from before the clock was set back
            raise AuthenticationError("The client certificate is not in force yet.", code="invalid_certificate")
        return known

    def _verify(self, escaped: bytes) -> CertificateCredential:
        try:
            leaf = x509.load_pem_x509_certificate(unquote_to_bytes(escaped))
            facts: LeafFacts = verify_chain(
                leaf.public_bytes(Encoding.DER),
                self._trust,
                self._services.now(),
                self._services.trust_domain,
            )
        except (ChainError, ValueError) as error:
            raise AuthenticationError("The client certificate is not ours.", code="invalid_certificate") from error
        issued_at = leaf.not_valid_before_utc.timestamp()
        return CertificateCredential(facts.name, facts.thumbprint, facts.serial, facts.not_after, issued_at)


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    yield Hooks(authenticate=Verifier(services).authenticate)


plugin = Plugin(name="mtls", settings=Settings, setup=setup)
