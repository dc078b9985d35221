"""Authentication of an httpx client as the agent: by a bound token and a proof, or by the client certificate.

    client = httpx.Client(auth=DPoPAuth(Identity.load(Path("my-agent"))), verify=identity.tls(certificate=False))
    client = certificate_client(Identity.load(Path("my-agent")))

Both remove every other credential from a request, so an SDK that insists on a key may get any text. It
fetches a token by client assertion when there is none or the token is about to expire. It answers `invalid_token` once,
and `use_dpop_nonce` once for each token. It keeps the newest nonce of every reply, so the appliance seldom challenges a
busy client (RFC 9449 §8). `mastio_client.flow` has the order of these steps.
"""

from __future__ import annotations

from typing import Any

import httpx

from mastio_client.flow import TIMEOUTS, CertificateFlow, Library, ProofFlow, certificate_options
from mastio_client.identity import Identity

TIMEOUT = httpx.Timeout(**TIMEOUTS)


class TokenRefused(httpx.HTTPError):
    """The token endpoint gave no token. A 401 is not raised: the caller gets that reply."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"The token endpoint answered {response.status_code}: {response.text[:300]}")
        self.response = response


class ForeignURL(httpx.RequestError):
    """The request is not for the identity's appliance. No other server gets a proof of the agent."""

    def __init__(self, message: str, request: httpx.Request) -> None:
        super().__init__(message, request=request)


class DPoPAuth(ProofFlow, httpx.Auth):
    """For `httpx.Client` and `httpx.AsyncClient`; one object may serve several clients, threads and event loops."""

    library = Library(httpx.Request, httpx.URL, TokenRefused, ForeignURL)


class CertificateAuth(CertificateFlow, httpx.Auth):
    """For a client whose TLS context shows the agent's certificate."""


def certificate_client(identity: Identity, **more: Any) -> httpx.Client:
    """An httpx client that authenticates by the certificate alone. `more` goes to `httpx.Client`."""
    return httpx.Client(**certificate_options(identity, {"timeout": TIMEOUT, **more}, CertificateAuth))


def async_certificate_client(identity: Identity, **more: Any) -> httpx.AsyncClient:
    """As `certificate_client`, for asyncio."""
    return httpx.AsyncClient(**certificate_options(identity, {"timeout": TIMEOUT, **more}, CertificateAuth))
