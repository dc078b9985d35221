"""Public documents."""

from __future__ import annotations

import pytest
from cryptography import x509

from mastio.exchange.values import STRANGER
from support.control_plane import PUBLIC_URL, World


async def test_authorization_server_metadata(world: World) -> None:
    reply = await world.call(
        "GET", "/.well-known/oauth-authorization-server", principal=STRANGER, headers={"Host": "evil.example"}
    )
    document = reply.json()
    assert document["issuer"] == PUBLIC_URL
    assert document["token_endpoint"] == f"{PUBLIC_URL}/oauth/token"
    assert document["jwks_uri"] == f"{PUBLIC_URL}/.well-known/jwks.json"
    assert document["grant_types_supported"] == ["client_credentials"]
    assert document["token_endpoint_auth_methods_supported"] == ["tls_client_auth", "private_key_jwt"]
    assert document["dpop_signing_alg_values_supported"] == ["ES256", "EdDSA"]
    assert document["tls_client_certificate_bound_access_tokens"] is True
    assert document["response_types_supported"] == []
    assert "evil" not in reply.text


@pytest.mark.parametrize("path", ["", "/mcp", "/v1/egress/x"])
async def test_protected_resource_metadata(world: World, path: str) -> None:
    document = (await world.call("GET", f"/.well-known/oauth-protected-resource{path}", principal=STRANGER)).json()
    assert document["resource"] == f"{PUBLIC_URL}{path}"
    assert document["authorization_servers"] == [PUBLIC_URL]
    assert document["dpop_signing_alg_values_supported"] == ["ES256", "EdDSA"]


async def test_trust_anchor_and_revocation_list(world: World) -> None:
    anchor = await world.call("GET", "/pki/ca.crt", principal=STRANGER)
    assert anchor.content == (world.data / "ca" / "ca.crt").read_bytes()
    listed = x509.load_pem_x509_crl((await world.call("GET", "/pki/crl.pem", principal=STRANGER)).content)
    assert list(listed) == []


@pytest.mark.parametrize("path", ["/pki/ca.crt", "/pki/crl.pem", "/.well-known/oauth-authorization-server"])
async def test_head(world: World, path: str) -> None:
    assert (await world.call("HEAD", path, principal=STRANGER)).status_code == 200
