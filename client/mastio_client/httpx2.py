"""The same as `mastio_client.auth` for httpx2, the successor of httpx.

Some SDKs take only a client of httpx2. They bring that library; no other module here imports it.
"""

from __future__ import annotations

from typing import Any

import httpx2

from mastio_client.flow import TIMEOUTS, CertificateFlow, Library, ProofFlow, certificate_options
from mastio_client.identity import Identity

TIMEOUT = httpx2.Timeout(**TIMEOUTS)


class TokenRefused(httpx2.HTTPError):
    """The token endpoint gave no token. A 401 is not raised: the caller gets that reply."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"The token endpoint answered {response.status_code}: {response.text[:300]}")
        self.response = response


class ForeignURL(httpx2.RequestError):
    """The request is not for the identity's appliance. No other server gets a proof of the agent."""

    def __init__(self, message: str, request: httpx2.Request) -> None:
        super().__init__(message, request=request)


class DPoPAuth(ProofFlow, httpx2.Auth):
    """For `httpx2.Client` and `httpx2.AsyncClient`; one object may serve several clients, threads and event loops."""

    library = Library(httpx2.Request, httpx2.URL, TokenRefused, ForeignURL)


class CertificateAuth(CertificateFlow, httpx2.Auth):
    """For a client whose TLS context shows the agent's certificate."""


def certificate_client(identity: Identity, **more: Any) -> httpx2.Client:
    """An httpx2 client that authenticates by the certificate alone. `more` goes to `httpx2.Client`."""
    return httpx2.Client(**certificate_options(identity, {"timeout": TIMEOUT, **more}, CertificateAuth))


def async_certificate_client(identity: Identity, **more: Any) -> httpx2.AsyncClient:
    """As `certificate_client`, for asyncio."""
    return httpx2.AsyncClient(**certificate_options(identity, {"timeout": TIMEOUT, **more}, CertificateAuth))
