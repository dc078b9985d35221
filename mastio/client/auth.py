"""`DPoPAuth`: every request of an httpx client gets a bound token and a fresh proof.

    client = httpx.Client(auth=DPoPAuth(Identity.load(Path("my-agent"))), verify=identity.tls(certificate=False))

The token is fetched by client assertion when there is none or it is about to expire. `use_dpop_nonce` is answered
once; the newest nonce of every reply is kept, so that a busy client is hardly ever challenged (RFC 9449 §8).
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Generator

import httpx

from mastio.client.identity import Identity
from mastio.client.proofs import make_assertion, make_proof

OTHERS = ("x-api-key", "x-goog-api-key", "api-key")
"""Where SDKs put the key that they were made with; a second credential beside the token would be refused."""

RENEW_BEFORE = 30.0
"""Seconds before its end that a token is no longer used."""


class TokenRefused(httpx.HTTPError):
    """The token endpoint refused; `response` says why."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"The token endpoint answered {response.status_code}: {response.text[:300]}")
        self.response = response


class DPoPAuth(httpx.Auth):
    """For `httpx.Client` and `httpx.AsyncClient`; one object may serve several clients and threads."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._lock = threading.Lock()
        self._nonce: str | None = None
        self._token: str | None = None
        self._token_until = 0.0

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        flow = self.auth_flow(request)
        step = next(flow)
        while True:
            response = yield step
            if step is not request:  # a token reply is read whole; the caller's own stays a stream
                response.read()
            try:
                step = flow.send(response)
            except StopIteration:
                return

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        flow = self.auth_flow(request)
        step = next(flow)
        while True:
            response = yield step
            if step is not request:
                await response.aread()
            try:
                step = flow.send(response)
            except StopIteration:
                return

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._token is None or time.time() >= self._token_until:
            yield from self._fetch_token()
        response = yield self._sign(request)
        self._remember(response)
        if response.status_code == 401 and 'error="use_dpop_nonce"' in response.headers.get("www-authenticate", ""):
            response = yield self._sign(request)
            self._remember(response)
        elif response.status_code == 401 and 'error="invalid_token"' in response.headers.get("www-authenticate", ""):
            yield from self._fetch_token()  # it was revoked or its key was rotated: once, with a new one
            self._remember((yield self._sign(request)))

    def _fetch_token(self) -> Generator[httpx.Request, httpx.Response, None]:
        response = yield self._token_request()
        self._remember(response)
        if response.status_code == 400:
            response = yield self._token_request()
            self._remember(response)
        if response.status_code != 200:
            raise TokenRefused(response)
        said = response.json()
        with self._lock:
            self._token = said["access_token"]
            self._token_until = time.time() + said["expires_in"] - RENEW_BEFORE

    def _token_request(self) -> httpx.Request:
        identity = self._identity
        url = f"{identity.base_url}/oauth/token"
        form = {
            "grant_type": "client_credentials",
            "client_id": identity.name,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": make_assertion(identity.dpop_key, identity.name, identity.base_url, time.time()),
        }
        proof = make_proof(identity.dpop_key, "POST", url, time.time(), nonce=self._nonce)
        return httpx.Request("POST", url, data=form, headers={"DPoP": proof})

    def _sign(self, request: httpx.Request) -> httpx.Request:
        url = f"{self._identity.base_url}{request.url.raw_path.decode('ascii')}"
        key = self._identity.dpop_key
        proof = make_proof(key, request.method, url, time.time(), nonce=self._nonce, token=self._token)
        for name in OTHERS:
            request.headers.pop(name, None)
        request.headers["DPoP"] = proof
        request.headers["Authorization"] = f"DPoP {self._token}"
        return request

    def _remember(self, response: httpx.Response) -> None:
        nonce = response.headers.get("dpop-nonce")
        if nonce:
            with self._lock:
                self._nonce = nonce
