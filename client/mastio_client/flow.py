"""The messages of a request with a proof, in their order, and the answers to challenges.

`mastio_client.auth` makes classes for httpx of it, and `mastio_client.httpx2` classes for its successor. The two
libraries have one interface and different types. An SDK takes one of them.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

import anyio

from mastio_client.credentials import SECRET_HEADERS, Token, TokenReplyError, read_challenge, read_token, token_form
from mastio_client.identity import Identity
from mastio_client.proofs import Prover

PATIENCE = 10.0
"""The most seconds that a caller waits for another caller's token. Then it fetches its own."""

LOOK_EVERY = 30.0
"""Seconds between two checks whether the certificate on disk was renewed."""

TIMEOUTS = {"timeout": 30.0, "read": 900.0}
"""Seconds, for the clients that this library makes. A model may take a quarter of an hour to answer."""

Request = Any
Response = Any


@dataclass(frozen=True, slots=True)
class Library:
    """The differences between the libraries: constructors of requests and URLs, and the library's own errors."""

    request: Callable[..., Request]
    url: Callable[[str], Any]
    refused: Callable[[Response], Exception]
    foreign: Callable[[str, Request], Exception]


class _Pause:
    """The flow yields it instead of a request, to be called again in a moment."""


_PAUSE = _Pause()
_PAUSE_SECONDS = 0.002
_Flow = Generator[Request | _Pause, Response | None, None]


class ProofFlow:
    """A bound token and a fresh proof for every request."""

    library: ClassVar[Library]

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._origin = _origin(self.library.url(identity.base_url))
        self._prover = Prover(identity.dpop_key)
        self._nonce: str | None = None
        self._token: Token | None = None
        self._fetching = threading.Lock()

    def sync_auth_flow(self, request: Request) -> Generator[Request, Response, None]:
        with closing(self._flow(request)) as flow:
            step = next(flow, None)
            while step is not None:
                response = None
                if isinstance(step, _Pause):
                    time.sleep(_PAUSE_SECONDS)
                else:
                    response = yield step
                    if step is not request:  # a token reply is read whole; the caller's own stays a stream
                        response.read()
                step = _send(flow, response)

    async def async_auth_flow(self, request: Request) -> AsyncGenerator[Request, Response]:
        with closing(self._flow(request)) as flow:
            step = next(flow, None)
            while step is not None:
                response = None
                if isinstance(step, _Pause):
                    await anyio.sleep(_PAUSE_SECONDS)
                else:
                    response = yield step
                    if step is not request:
                        await response.aread()
                step = _send(flow, response)

    # --- what is sent, in which order ---------------------------------------------------------------------------------

    def _flow(self, request: Request) -> _Flow:
        if _origin(request.url) != self._origin:
            raise self.library.foreign(f"{request.url.host} is not the appliance of this identity.", request)
        remove_secrets(request)
        token = yield from self._get_token(None)
        nonce: str | None = None
        answered: set[str] = set()
        while token is not None:
            response = yield self._sign(request, token, nonce or self._nonce)
            assert response is not None
            # A challenge is answered with its own nonce: another thread may have been given one by another host.
            nonce = self._remember(response)
            wanted = read_challenge(response.status_code, response.headers.get("www-authenticate", ""))
            if wanted is None or wanted in answered:
                return
            answered.add(wanted)
            if wanted == "invalid_token":  # it was revoked or its key was rotated
                token = yield from self._get_token(token)
                nonce, answered = None, {"invalid_token"}  # the new one may lead to another host, and to its nonce

    def _get_token(self, bad: Token | None) -> Generator[Request | _Pause, Response | None, Token | None]:
        """A token in force other than `bad`. Of several callers at the same time, one fetches it.

        None: the appliance refused the agent (401). The flow ends, and the caller gets this reply, as an SDK expects.
        """
        held, deadline = False, time.monotonic() + PATIENCE
        try:
            while True:
                token = self._token
                if token is not None and token is not bad and time.time() < token.renew_at:
                    return token
                if held or time.monotonic() >= deadline:
                    return (yield from self._fetch_token())
                held = self._fetching.acquire(blocking=False)
                if not held:
                    yield _PAUSE
        finally:
            if held:
                self._fetching.release()

    def _fetch_token(self) -> Generator[Request | _Pause, Response | None, Token | None]:
        response = yield self._token_request(self._nonce)
        assert response is not None
        nonce = self._remember(response)
        if response.status_code == 400:
            response = yield self._token_request(nonce)
            assert response is not None
            self._remember(response)
        if response.status_code == 401:
            return None
        if response.status_code != 200:
            raise self.library.refused(response)
        try:
            self._token = read_token(response.json(), time.time())
        except (TokenReplyError, ValueError) as error:
            raise self.library.refused(response) from error
        return self._token

    def _token_request(self, nonce: str | None) -> Request:
        identity, now = self._identity, time.time()
        url = f"{identity.base_url}/oauth/token"
        proof = self._prover.prove("POST", url, now, nonce, None)
        form = token_form(identity.dpop_key, identity.name, identity.base_url, now)
        return self.library.request("POST", url, data=form, headers={"DPoP": proof})

    def _sign(self, request: Request, token: Token, nonce: str | None) -> Request:
        htu = self._identity.base_url + request.url.raw_path.partition(b"?")[0].decode("ascii")
        request.headers["DPoP"] = self._prover.prove(request.method, htu, time.time(), nonce, token.ath)
        request.headers["Authorization"] = f"DPoP {token.value}"
        return request

    def _remember(self, response: Response) -> str | None:
        """The nonce that came with the answer."""
        nonce: str | None = response.headers.get("dpop-nonce")
        if nonce:
            self._nonce = nonce
        return nonce


def _send(flow: _Flow, response: Response | None) -> Request | _Pause | None:
    """The flow's next step; None at its end."""
    try:
        return flow.send(response)
    except StopIteration:
        return None


class CertificateFlow:
    """The client certificate is the credential: every other one is removed from each request.

    `context` is the one that shows it (`Identity.tls`). When the certificate on disk is renewed, new connections show
    the new one.
    """

    def __init__(
        self, identity: Identity, context: ssl.SSLContext | None = None, look_every: float = LOOK_EVERY
    ) -> None:
        self._identity = identity
        self._context = context
        self._shown = _stamp(identity)
        self._look_every = look_every
        self._look_at = time.monotonic() + look_every

    def auth_flow(self, request: Request) -> Generator[Request, Response, None]:
        remove_secrets(request)
        if self._context is not None and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + self._look_every
            self._show_newest(self._context)
        yield request

    def _show_newest(self, context: ssl.SSLContext) -> None:
        newest = _stamp(self._identity)
        if newest is not None and newest != self._shown:
            self._identity.show_certificate(context)
            self._shown = newest


def certificate_options(identity: Identity, more: dict[str, Any], auth: Callable[..., Any]) -> dict[str, Any]:
    """For a client that is the agent by its certificate; `more` is the caller's and wins."""
    context = identity.tls(certificate=True)
    own = {"base_url": identity.base_url, "auth": auth(identity, context), "verify": context, "trust_env": False}
    return {**own, **more}


def remove_secrets(request: Request) -> None:
    """Remove the credentials that SDKs add: the appliance refuses a second credential beside the agent's own."""
    for name in SECRET_HEADERS:
        request.headers.pop(name, None)


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # the library drops a default port


def _stamp(identity: Identity) -> tuple[int, int] | None:
    """A value that changes when the certificate on disk does."""
    try:
        status = (identity.folder / "agent.crt").stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino
