"""Public documents: how to get a token here (RFC 8414), what this resource wants (RFC 9728), whom to trust.

Every URL is made from the configured public URL, never from what a caller sent as Host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import Response
from fastapi.responses import JSONResponse

from mastio.control.context import Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.pki.revocation import RevocationList

PEM = "application/x-pem-file"
ALGORITHMS = ["ES256", "EdDSA"]


class DiscoveryRouter:
    """`/.well-known/oauth-*` and `/pki/*`."""

    def __init__(self, context: Context) -> None:
        self._url = context.public_url
        self._authority = context.authority
        self._list = RevocationList(context.authority, context.store.agents.revoked, context.directory, context.now)

    def endpoints(self) -> Endpoints:
        resource = "/.well-known/oauth-protected-resource"
        public: dict[str, Callable[..., Any]] = {
            "/.well-known/oauth-authorization-server": self.authorization_server,
            resource: self.protected_resource,
            resource + "/{path...}": self.protected_resource_at,
            "/pki/ca.crt": self.trust_anchor,
            "/pki/crl.pem": self.revocation_list,
        }
        return {(method, path): Endpoint(call) for path, call in public.items() for method in ("GET", "HEAD")}

    async def authorization_server(self) -> Response:
        """RFC 8414 §2. There is no authorization endpoint, so there are no response types."""
        return _document(
            {
                "issuer": self._url,
                "token_endpoint": f"{self._url}/oauth/token",
                "jwks_uri": f"{self._url}/.well-known/jwks.json",
                "response_types_supported": [],
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["tls_client_auth", "private_key_jwt"],
                "token_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
                "dpop_signing_alg_values_supported": ALGORITHMS,
                "tls_client_certificate_bound_access_tokens": True,
            }
        )

    async def protected_resource(self) -> Response:
        """RFC 9728 §2."""
        return self._resource("")

    async def protected_resource_at(self, path: str) -> Response:
        """RFC 9728 §3.1: of the resource at this path."""
        return self._resource(f"/{path}")

    async def trust_anchor(self) -> Response:
        """The root certificate, PEM."""
        return Response(self._authority.root_pem, media_type=PEM, headers={"Cache-Control": "public, max-age=3600"})

    async def revocation_list(self) -> Response:
        """The revoked leaves (RFC 5280 §5), PEM."""
        return Response(await self._list.pem(), media_type=PEM, headers={"Cache-Control": "no-cache"})

    def _resource(self, path: str) -> Response:
        return _document(
            {
                "resource": f"{self._url}{path}",
                "authorization_servers": [self._url],
                "bearer_methods_supported": ["header"],
                "dpop_signing_alg_values_supported": ALGORITHMS,
                "tls_client_certificate_bound_access_tokens": True,
                "resource_name": "Mastio",
            }
        )


def _document(document: dict[str, Any]) -> Response:
    return JSONResponse(document, headers={"Cache-Control": "public, max-age=300"})
