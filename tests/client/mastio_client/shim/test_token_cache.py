"""The shim's token and its proofs: what may be used again, and what not."""

from __future__ import annotations

import pytest

from mastio_client.credentials import Token, TokenReplyError, read_challenge, read_token
from mastio_client.shim.token_cache import KEEP_PROOF, MOST_KINDS, Grant, Stock

POST, PATH = "POST", "/v1/chat/completions"


def make_grant(nonce: str = "n") -> Grant:
    return Grant(Token("t", "ath", 1e12, 1e12), nonce)


def filled(grant: Grant, now: float = 100.0) -> Stock:
    stock = Stock()
    assert not stock.wants(POST, PATH)  # the first call of a kind promises no second
    assert stock.wants(POST, PATH)
    stock.put(grant, POST, PATH, now, "proof")
    return stock


def test_a_proof_is_handed_out_once() -> None:
    grant = make_grant()
    stock = filled(grant)
    assert not stock.wants(POST, PATH)
    assert stock.take(grant, POST, PATH, 101.0) == "proof"
    assert stock.take(grant, POST, PATH, 101.0) is None
    assert stock.wants(POST, PATH)


def test_a_proof_for_something_else_is_not() -> None:
    grant = make_grant()
    assert filled(grant).take(grant, "GET", PATH, 101.0) is None
    assert filled(grant).take(grant, POST, "/v1/models", 101.0) is None
    assert filled(grant).take(make_grant(), POST, PATH, 101.0) is None
    assert filled(grant).take(grant, POST, PATH, 100.0 + KEEP_PROOF) is None
    assert filled(grant).take(grant, POST, PATH, 99.9 + KEEP_PROOF) == "proof"
    stock = filled(grant)
    grant.remember([(b"dpop-nonce", b"newer")])
    assert stock.take(grant, POST, PATH, 101.0) is None


def test_kinds_are_bounded() -> None:
    stock = Stock()
    for number in range(MOST_KINDS + 5):
        assert not stock.wants(POST, f"/{number}")
    assert not stock.wants(POST, "/0")  # forgotten
    assert stock.wants(POST, f"/{MOST_KINDS + 4}")


@pytest.mark.parametrize(("seconds", "renew_at"), [(600, 1570.0), (60, 1030.0), (10, 1005.0)])
def test_when_a_token_is_replaced(seconds: int, renew_at: float) -> None:
    token = read_token({"access_token": "t", "expires_in": seconds}, 1000.0)
    assert (token.renew_at, token.ends) == (renew_at, 1000.0 + seconds)


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"access_token": "t"},
        {"access_token": 1, "expires_in": 1},
        "t",
        {"access_token": "\u20ac", "expires_in": 1},
        {"access_token": "t", "expires_in": "x"},
    ],
)
def test_what_is_no_token(document: object) -> None:
    with pytest.raises(TokenReplyError):
        read_token(document, 0.0)


@pytest.mark.parametrize(
    ("status", "said", "wanted"),
    [
        (401, 'DPoP error="use_dpop_nonce", algs="ES256 EdDSA"', "use_dpop_nonce"),
        (401, 'DPoP algs="ES256", error="invalid_token"', "invalid_token"),
        (401, 'DPoP error="invalid_dpop_proof"', None),
        (401, 'DPoP some_error="use_dpop_nonce"', None),
        (401, "", None),
        (400, 'DPoP error="use_dpop_nonce"', None),
        (200, 'DPoP error="invalid_token"', None),
    ],
)
def test_what_a_refusal_asks_for(status: int, said: str, wanted: str | None) -> None:
    assert read_challenge(status, said) == wanted
