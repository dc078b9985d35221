"""An agent's keys and signatures for tests that sign requests themselves, correctly or with one defect."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from mastio.exchange.records import SigningKey
from mastio.store.secrets.file_keys import FileKeys
from mastio.store.secrets.sealed import Sealer
from mastio_client import Identity
from mastio_client.proofs import PrivateKey, key_thumbprint
from mastio_primitives.jwk import decode_base64url, encode_base64url, encode_public_jwk, sign_es256
from mastio_token.access import TokenKey
from support.appliance import Appliance
from support.threats.judge import BODY, CHAT, TOKEN, Answer

Headers = list[tuple[str, str]]
Form = dict[str, str]
DROP = object()
"""A change that leaves the member out."""

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
NONCE_SECONDS = 20
TOKEN_SECONDS = 240


def merge(members: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**members, **changes}
    return {name: value for name, value in merged.items() if value is not DROP}


def sign(key: PrivateKey | None, signing_input: bytes) -> bytes:
    if key is None:
        return b""
    return key.sign(signing_input) if isinstance(key, ed25519.Ed25519PrivateKey) else sign_es256(signing_input, key)


def compact(key: PrivateKey | None, header: Any, claims: Any) -> str:
    """A compact JWS; header and claims are bytes where orjson would not write what is wanted."""
    parts = [part if isinstance(part, bytes) else orjson.dumps(part) for part in (header, claims)]
    signing_input = ".".join(encode_base64url(part) for part in parts)
    return f"{signing_input}.{encode_base64url(sign(key, signing_input.encode('ascii')))}"


def hash_of(token: str) -> str:
    return encode_base64url(hashlib.sha256(token.encode()).digest())


def claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = orjson.loads(decode_base64url(token.split(".")[1].encode()))
    return claims


def _token_key(appliance: Appliance) -> TokenKey:
    """The appliance's own, as only somebody who has its whole data folder can have it."""
    with closing(sqlite3.connect(appliance.data / "db" / "control.sqlite")) as connection:
        row = connection.execute("SELECT id, secret, created_at FROM signing_keys ORDER BY created_at").fetchone()
    secret = bytes.fromhex(Sealer(FileKeys(appliance.data)).unseal(row[1], f"signing_keys/{row[0]}"))
    return TokenKey.derive(SigningKey(row[0], "token", secret, row[2], row[2]))


class Kit:
    """One agent's keys and its token, and the appliance's own signing key to forge with."""

    def __init__(self, appliance: Appliance, identity: Identity) -> None:
        self.appliance = appliance
        self.identity = identity
        self.key = identity.dpop_key
        self.signing = _token_key(appliance)
        self._nonce = ""
        self._nonce_at = 0.0
        self._token = ""
        self._token_at = 0.0

    # --- what is right --------------------------------------------------------------------------------------------

    @property
    def nonce(self) -> str:
        if time.monotonic() - self._nonce_at > NONCE_SECONDS:
            with self.appliance.client() as client:
                self._nonce = client.post(CHAT, json=BODY).headers["dpop-nonce"]
            self._nonce_at = time.monotonic()
        return self._nonce

    @property
    def token(self) -> str:
        if not self._token:
            self._token = self.new_token()
            self._token_at = time.monotonic()
        return self._token

    def freshen(self) -> None:
        """Between two tests: a token lives for ten minutes, and a session longer. Within one it stays the same."""
        if time.monotonic() - self._token_at > TOKEN_SECONDS:
            self._token = ""

    def new_token(self) -> str:
        answer = self.ask_token(self.form())
        assert answer.status == 200, answer.body
        token: str = answer.document["access_token"]
        return token

    def url(self, path: str) -> str:
        return f"{self.appliance.base_url}{path}"

    # --- what may be wrong ----------------------------------------------------------------------------------------

    def proof(
        self, *, key: PrivateKey | None = None, header: Any = None, claims: Any = None, path: str = CHAT,
        token: str | None = None, **more: Any,
    ) -> str:  # fmt: skip
        """A DPoP proof. `header` and `claims` are changes to what is right, `more` single claims."""
        signer = key or self.key
        algorithm = "EdDSA" if isinstance(signer, ed25519.Ed25519PrivateKey) else "ES256"
        right = {"typ": "dpop+jwt", "alg": algorithm, "jwk": encode_public_jwk(signer.public_key())}
        if not isinstance(claims, bytes):
            claims = merge(self.proof_claims(path, token), {**(claims or {}), **more})
        return compact(signer, merge(right, header or {}), claims)

    def proof_claims(self, path: str = CHAT, token: str | None = None) -> dict[str, Any]:
        claims = {"jti": secrets.token_hex(16), "htm": "POST", "htu": self.url(path), "iat": int(time.time())}
        claims["nonce"] = self.nonce
        return claims if path == TOKEN else {**claims, "ath": hash_of(token or self.token)}

    def token_claims(self, **changes: Any) -> dict[str, Any]:
        now, name = int(time.time()), self.identity.name
        right = {
            "iss": self.appliance.base_url, "aud": self.appliance.base_url, "sub": name, "client_id": name,
            "iat": now, "exp": now + 300, "jti": secrets.token_hex(16), "cnf": {"jkt": key_thumbprint(self.key)},
            "enrolled_at": claims_of(self.token)["enrolled_at"],
        }  # fmt: skip
        return merge(right, changes)

    def token_header(self, **changes: Any) -> dict[str, Any]:
        return merge({"typ": "at+jwt", "alg": "ES256", "kid": self.signing.kid}, changes)

    def forge(self, *, key: ec.EllipticCurvePrivateKey | None = None, header: Any = None, claims: Any = None) -> str:
        """An access token by the appliance's own key, or by `key`; header and claims are changes, or the very bytes."""
        head = header if isinstance(header, bytes) else self.token_header(**(header or {}))
        said = claims if isinstance(claims, bytes) else self.token_claims(**(claims or {}))
        return compact(key or self.signing.private, head, said)

    def assertion(self, *, key: PrivateKey | None = None, header: Any = None, claims: Any = None) -> str:
        now, name = int(time.time()), self.identity.name
        right = {
            "iss": name, "sub": name, "aud": self.appliance.base_url, "iat": now, "exp": now + 60,
            "jti": secrets.token_hex(16),
        }  # fmt: skip
        said = claims if isinstance(claims, bytes) else merge(right, claims or {})
        return compact(key or self.key, merge({"typ": "JWT", "alg": "ES256"}, header or {}), said)

    def form(self, **changes: Any) -> Form:
        right = {
            "grant_type": "client_credentials", "client_id": self.identity.name,
            "client_assertion_type": ASSERTION, "client_assertion": self.assertion(),
        }  # fmt: skip
        return merge(right, changes)

    # --- asking ---------------------------------------------------------------------------------------------------

    def headers(self, *, token: str | None = None, proof: str | None = None) -> Headers:
        chosen = token or self.token
        return [("Authorization", f"DPoP {chosen}"), ("DPoP", proof or self.proof(token=chosen))]

    def ask(self, headers: Headers) -> Answer:
        """A chat call with these credentials and nothing else, on a connection of its own."""
        with self.appliance.client() as client:
            return Answer.of(client.post(CHAT, json=BODY, headers=headers))

    def ask_token(self, form: Form | bytes, headers: Headers | None = None) -> Answer:
        """A token request by assertion; the right proof unless `headers` are given."""
        sent = [("DPoP", self.proof(path=TOKEN))] if headers is None else headers
        with self.appliance.client() as client:
            if isinstance(form, bytes):
                if not any(name == "Content-Type" for name, _ in sent):
                    sent = [("Content-Type", "application/x-www-form-urlencoded"), *sent]
                return Answer.of(client.post(TOKEN, content=form, headers=sent))
            return Answer.of(client.post(TOKEN, data=form, headers=sent))
