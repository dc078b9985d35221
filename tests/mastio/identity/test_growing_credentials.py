"""Forms of the token endpoint, assertions, proofs, access tokens, filters of the log, grown: the cost is linear or
there is a bound before the work, and the longest that the edge lets through takes little of the event loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from mastio.exchange.errors import MastioError
from mastio.exchange.presented_credentials import parse_password, parse_presented
from mastio.exchange.values import Principal, RequestHead
from mastio.identity.jose import MAX_BYTES
from mastio_audit.admin_api import ROUTES as LOG_ROUTES
from mastio_audit.query import read_checkpoint, read_entries, read_plain, read_proof, read_tile
from mastio_dpop.proof import Expected, KeyCache, ProofError, parse_proof, verify_proof
from mastio_primitives.jwk import JoseError, encode_base64url, encode_public_jwk, sign_es256
from mastio_token.access import Issuer, TokenError, peek_assertion_subject, verify_access_token, verify_assertion
from mastio_token.endpoint import parse_form
from mastio_token.plugin import ROUTES as TOKEN_ROUTES
from support.cpu_cost import cost, verify_linear
from support.loop_holds import MOST_HOLD

LINE = 8 * 1024
"""Bytes of the longest header or request line that the edge takes."""

FORM = TOKEN_ROUTES[0].limit
NOW = 1_000_000.0
KEY = ec.derive_private_key(11, ec.SECP256R1())
JWK = encode_public_jwk(KEY.public_key())
HEADER: dict[str, Any] = {"typ": "dpop+jwt", "alg": "ES256", "jwk": JWK}
CLAIMS: dict[str, Any] = {"jti": "1", "htm": "POST", "htu": "https://m/x", "iat": NOW, "nonce": "n"}
EXPECTED = Expected("POST", "https://m/x", None, ("n",), NOW)
REFUSALS = (MastioError, ProofError, TokenError, JoseError, ValueError)


def sign(header: Any, claims: Any) -> bytes:
    """As long as it comes: what is too long is refused by whoever reads it."""
    parts = (part if isinstance(part, bytes) else orjson.dumps(part) for part in (header, claims))
    signing_input = ".".join(map(encode_base64url, parts)).encode()
    return signing_input + b"." + encode_base64url(sign_es256(signing_input, KEY)).encode()


def prove(raw: bytes) -> None:
    with suppress(*REFUSALS):
        verify_proof(parse_proof(raw, KeyCache()), EXPECTED)


def assert_client(raw: bytes) -> None:
    with suppress(*REFUSALS):
        peek_assertion_subject(raw)
    with suppress(*REFUSALS):
        verify_assertion(raw, "a", (JWK,) * 4, ("https://m",), NOW)


def present(raw: bytes) -> None:
    with suppress(*REFUSALS):
        parse_presented([(b"authorization", b"DPoP " + raw), (b"x-api-key", raw)])
    with suppress(*REFUSALS):
        verify_access_token(raw, Issuer("https://m", ()), NOW)


def fill_form(raw: bytes) -> None:
    with suppress(*REFUSALS):
        parse_form(head(TOKEN_ROUTES[0], content_type=b"application/x-www-form-urlencoded"), raw)


def head(route: Any, query: bytes = b"", content_type: bytes = b"", **params: str) -> RequestHead:
    headers = [(b"content-type", content_type)]
    return RequestHead("r", "GET", route.path, query, params, headers, route, None, "127.0.0.1")


READERS = (read_plain, read_checkpoint, read_tile, read_entries, read_proof)
AUDITOR = Principal("auditor", frozenset({"auditor"}))


def filter_log(raw: bytes) -> None:
    text = raw.decode("latin-1")
    for route in LOG_ROUTES:
        for read in READERS:
            with suppress(*REFUSALS):
                read(head(route, raw, path=text, index=text), AUDITOR, b"")


def members(n: int) -> dict[str, int]:
    return {f"a{k}": k for k in range(n)}


def nested(n: int) -> bytes:
    return b'{"jti":' + b"[" * n + b"]" * n + b"}"


GROWING: dict[str, tuple[Callable[[bytes], None], Callable[[int], bytes], int]] = {
    "proof: members of the header": (prove, lambda n: sign({**HEADER, **members(n)}, CLAIMS), LINE),
    "proof: members of the key": (prove, lambda n: sign({**HEADER, "jwk": {**JWK, **members(n)}}, CLAIMS), LINE),
    "proof: operations": (prove, lambda n: sign({**HEADER, "jwk": {**JWK, "key_ops": ["x"] * n}}, CLAIMS), LINE),
    "proof: members of the claims": (prove, lambda n: sign(HEADER, {**CLAIMS, **members(n)}), LINE),
    "proof: depth": (prove, lambda n: sign(HEADER, nested(n)), LINE),
    "proof: depth of the header": (prove, lambda n: sign(nested(n), CLAIMS), LINE),
    "proof: jti": (prove, lambda n: sign(HEADER, {**CLAIMS, "jti": "x" * n}), LINE),
    "proof: htu": (prove, lambda n: sign(HEADER, {**CLAIMS, "htu": "https://m:1/" + "[/" * n}), LINE),
    "proof: digits": (prove, lambda n: sign(HEADER, b'{"iat":' + b"9" * n + b"}"), LINE),
    "proof: dots": (prove, lambda n: b"." * n, LINE),
    "proof: letters": (prove, lambda n: b"A" * n + b".A.A", LINE),
    "assertion: audiences": (assert_client, lambda n: sign({"alg": "ES256"}, {"sub": "a", "aud": ["x"] * n}), FORM),
    "assertion: members": (assert_client, lambda n: sign({"alg": "ES256", **members(n)}, {"sub": "a"}), FORM),
    "assertion: letters": (assert_client, lambda n: b"A" * n + b".A.A", FORM),
    "token: letters": (present, lambda n: b"A" * n, LINE),
    "token: members": (present, lambda n: sign({"typ": "at+jwt", **members(n)}, CLAIMS), LINE),
    "password": (lambda raw: parse_password(raw.decode()) and None, lambda n: b"Basic " + b"A" * n, LINE),
    "form: parameters": (fill_form, lambda n: b"&".join([b"a%d=1" % k for k in range(n)]), FORM),
    "form: empty": (fill_form, lambda n: b"&" * n, FORM),
    "form: escapes": (fill_form, lambda n: b"scope=" + b"%41" * n, FORM),
    "form: a long value": (fill_form, lambda n: b"client_assertion=" + b"A" * n, FORM),
    "filter: numbers": (filter_log, lambda n: b"from=" + b"9" * n, LINE),
    "filter: parameters": (filter_log, lambda n: b"&".join([b"limit=1"] * n), LINE),
    "filter: empty": (filter_log, lambda n: b"&" * n, LINE),
    "filter: escapes": (filter_log, lambda n: b"from=%31" * n, LINE),
    "filter: path": (filter_log, lambda n: b"0/" * n, LINE),
}  # fmt: skip


def longest(make: Callable[[int], bytes], most: int) -> bytes:
    size = 8
    while len(make(2 * size)) <= most and size < 10**5:
        size *= 2
    return make(size)


@pytest.mark.parametrize("name", GROWING)
def test_the_cost_is_linear_and_small(name: str) -> None:
    work, make, most = GROWING[name]
    small, large, all_of_it = make(40), make(400), longest(make, most)
    verify_linear(lambda: work(small), lambda: work(large))
    assert len(all_of_it) > most // 8
    assert cost(lambda: work(all_of_it)) < MOST_HOLD / 2


def test_what_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(ProofError, match=str(MAX_BYTES)):
        parse_proof(sign(HEADER, {**CLAIMS, "jti": "x" * MAX_BYTES}), KeyCache())
    verify_proof(parse_proof(sign(HEADER, CLAIMS), KeyCache()), EXPECTED)
