"""Authenticates DPoP proofs (RFC 9449): one `DPoP` header proves a key, once, for this request, on this host.

A proof names nobody. `mastio.identity.principal` binds it to the access token (`cnf.jkt`, `ath`) or to the enrolled
key.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mastio.exchange.errors import AuthenticationError, Unavailable
from mastio.exchange.presented_credentials import parse_presented
from mastio.exchange.values import Credential, ProofCredential, Recorded, Reply, RequestHead
from mastio.host.host_memory import Busy
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_dpop.memory import Full, Memory
from mastio_dpop.proof import Expected, KeyCache, NonceError, ProofError, parse_proof, verify_proof
from mastio_primitives.jwk import encode_base64url


class Settings(PluginSettings):
    """No settings: the checks are the standard's."""


class Verifier:
    """The hooks of one worker, around its `Memory`."""

    def __init__(self, services: Services, memory: Memory) -> None:
        self._services = services
        self._memory = memory
        self._keys = KeyCache()

    def authenticate(self, head: RequestHead) -> Credential | None:
        values = head.all(b"dpop")
        if not values:
            return None
        if len(values) > 1:  # check 1
            raise AuthenticationError("There must be exactly one DPoP header.", code="invalid_dpop_proof")
        self._memory.advance(self._services.monotonic())
        ath = _token_hash(head)
        try:
            proof = parse_proof(values[0], self._keys)
            url = self._services.public_url + head.path
            verify_proof(proof, Expected(head.method, url, ath, self._memory.nonces, self._services.now()))
            fresh = self._memory.use(proof.thumbprint, proof.jti)
        except NonceError as error:
            raise AuthenticationError(str(error), code="use_dpop_nonce") from error
        except ProofError as error:
            raise AuthenticationError(str(error), code="invalid_dpop_proof") from error
        except Full as error:
            raise Unavailable("Too many DPoP proofs at once.") from error
        except Busy as error:
            raise Unavailable("The memory of used proofs is busy.") from error
        if not fresh:
            raise AuthenticationError("The DPoP proof was used before.", code="invalid_dpop_proof")
        return ProofCredential(proof.thumbprint, proof.ath)

    def challenge(self, head: RequestHead, error: AuthenticationError) -> Mapping[str, str]:
        self._memory.advance(self._services.monotonic())
        name = error.code if error.code in ("invalid_dpop_proof", "use_dpop_nonce", "invalid_token") else None
        said = f'error="{name}", ' if name else ""
        return {"WWW-Authenticate": f'DPoP {said}algs="ES256 EdDSA"', "DPoP-Nonce": self._memory.nonce}

    def annotate(self, recorded: Recorded, reply: Reply) -> Mapping[str, str]:
        """The newest nonce with every answer to a proof, so that a busy client is never challenged (RFC 9449 §8.2)."""
        if any(isinstance(credential, ProofCredential) for credential in recorded.credentials):
            self._memory.advance(self._services.monotonic())
            return {"DPoP-Nonce": self._memory.nonce}
        return {}


def _token_hash(head: RequestHead) -> str | None:
    """`ath` of the access token that comes with the proof, whatever its scheme; None without one."""
    presented = parse_presented(head.headers)
    if presented is None:
        return None
    return encode_base64url(hashlib.sha256(presented.value).digest())


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    verifier = Verifier(services, Memory(services.host_memory))
    yield Hooks(authenticate=verifier.authenticate, challenge=verifier.challenge, annotate=verifier.annotate)


plugin = Plugin(name="dpop", settings=Settings, setup=setup)
