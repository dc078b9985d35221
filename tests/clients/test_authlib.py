"""Authlib's OAuth client: a token by assertion over the certificate, and one by certificate alone."""

from __future__ import annotations

import time
from typing import Any

import pytest
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import ECKey

from mastio_client import Identity
from support.appliance import Appliance


def by_assertion(appliance: Appliance, agent: Identity, key: ECKey, seconds: int | None = 60) -> OAuth2Client:
    """A client over the agent's certificate. `seconds` is the assertion's life; None leaves it to the library."""
    claims: dict[str, Any] = {} if seconds is None else {"exp": int(time.time()) + seconds}
    return OAuth2Client(
        client_id=agent.name,
        client_secret=key,
        token_endpoint=f"{appliance.base_url}/oauth/token",
        token_endpoint_auth_method=PrivateKeyJWT(alg="ES256", claims=claims),
        verify=agent.tls(certificate=True),
        trust_env=False,
    )


def leaf_key(agent: Identity) -> ECKey:
    return ECKey.import_key((agent.folder / "agent.key").read_text())


def test_a_token_by_private_key_jwt_bound_to_the_certificate(appliance: Appliance, agent: Identity) -> None:
    with by_assertion(appliance, agent, leaf_key(agent)) as client:
        token = client.fetch_token(grant_type="client_credentials")
        assert (token["token_type"], token["expires_in"]) == ("Bearer", 600)
        reply = client.get(f"{appliance.base_url}/v1/agents/self")
    assert reply.status_code == 200 and reply.json()["name"] == "agent-one"
    credential = reply.json()["credential"]
    assert credential["type"] == "token" and "x5t#S256" in credential


def test_the_same_token_without_the_certificate_is_refused(appliance: Appliance, agent: Identity) -> None:
    endpoint = f"{appliance.base_url}/oauth/token"
    with OAuth2Client(
        client_id=agent.name,
        token_endpoint_auth_method="none",
        verify=agent.tls(certificate=True),
        trust_env=False,
    ) as client:
        token = client.fetch_token(endpoint, grant_type="client_credentials")
        assert client.get(f"{appliance.base_url}/v1/models").status_code == 200
    with OAuth2Client(token=token, verify=agent.tls(certificate=False), trust_env=False) as thief:
        reply = thief.get(f"{appliance.base_url}/v1/models")
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_token")


def test_an_assertion_by_a_key_that_was_not_enrolled_is_refused(appliance: Appliance, agent: Identity) -> None:
    with by_assertion(appliance, agent, ECKey.generate_key("P-256")) as client, pytest.raises(OAuthError) as refused:
        client.fetch_token(grant_type="client_credentials")
    assert refused.value.error == "invalid_client" and "No enrolled key" in refused.value.description


def test_the_librarys_own_hour_is_too_long_and_it_says_so(appliance: Appliance, agent: Identity) -> None:
    with by_assertion(appliance, agent, leaf_key(agent), None) as client, pytest.raises(OAuthError) as refused:
        client.fetch_token(grant_type="client_credentials")
    assert refused.value.error == "invalid_client" and "at most 300 seconds" in refused.value.description
