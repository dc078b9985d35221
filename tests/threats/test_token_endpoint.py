"""The token endpoint: whatever is wrong with a request, no token comes of it, and the same made right gets one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from mastio_client.proofs import make_key
from support.threats.agent_kit import DROP, Form, Headers, Kit
from support.threats.judge import TOKEN, Judge, Refusal
from support.threats.wrong_credentials import SQL, encrypted, infinite


@dataclass(frozen=True)
class Ask:
    """A bad token request: changes to the right form, or other headers. `code` as RFC 6749 has it."""

    make: Callable[[Kit], tuple[Form | bytes, Headers | None]]
    status: int
    code: str


def form(status: int, code: str, **changes: Any) -> Ask:
    return Ask(lambda kit: (kit.form(**changes), None), status, code)


def assertion(make: Callable[[Kit], str]) -> Ask:
    return Ask(lambda kit: (kit.form(client_assertion=make(kit)), None), 401, "invalid_client")


def claim(name: str, value: Any) -> Ask:
    return assertion(lambda kit: kit.assertion(claims={name: value}))


def asserted_header(**changes: Any) -> Ask:
    return assertion(lambda kit: kit.assertion(header=changes))


def proven(code: str, make: Callable[[Kit], Headers]) -> Ask:
    return Ask(lambda kit: (kit.form(), make(kit)), 400, code)


def proof(code: str = "invalid_dpop_proof", **claims: Any) -> Ask:
    return proven(code, lambda kit: [("DPoP", kit.proof(path=TOKEN, claims=claims))])


def encode(fields: dict[str, str]) -> bytes:
    return httpx.Request("POST", "http://x", data=fields).content


REQUESTS = {
    "unbound": Ask(lambda kit: (kit.form(), []), 400, "invalid_request"),
    "nobody": Ask(lambda kit: ({"grant_type": "client_credentials"}, None), 401, "invalid_client"),
    "nogrant": form(400, "invalid_request", grant_type=DROP),
    "password": form(400, "unsupported_grant_type", grant_type="password"),
    "scope": form(400, "invalid_scope", scope="admin"),
    "otherclient": form(401, "invalid_client", client_id="agent-two"),
    "secret": form(401, "invalid_client", client_assertion=DROP, client_assertion_type=DROP, client_secret="x"),
    "type": form(401, "invalid_client", client_assertion_type="urn:x"),
    "notype": form(401, "invalid_client", client_assertion_type=DROP),
    "empty": form(401, "invalid_client", client_assertion=""),
    "twice": Ask(lambda kit: (encode(kit.form()) + b"&client_id=agent-one", None), 400, "invalid_request"),
    "json": Ask(
        lambda kit: (
            json.dumps(kit.form()).encode(),
            [("Content-Type", "application/json"), ("DPoP", kit.proof(path=TOKEN))],
        ),
        400,
        "invalid_request",
    ),
    "broken": Ask(lambda kit: (b"grant_type", None), 400, "invalid_request"),
    "notutf8": Ask(lambda kit: (encode(kit.form()) + b"&x=%ff", None), 400, "invalid_request"),
    "fields": Ask(lambda kit: (encode(kit.form()) + b"&a=1" * 100, None), 400, "invalid_request"),
    "a-iss": claim("iss", "agent-two"),
    "a-sub": claim("sub", "agent-two"),
    "a-subsql": claim("sub", SQL),
    "a-submissing": claim("sub", DROP),
    "a-aud": claim("aud", "https://evil.example"),
    "a-audlist": claim("aud", ["https://evil.example", "https://other.example"]),
    "a-audmissing": claim("aud", DROP),
    "a-expstring": claim("exp", "9999999999"),
    "a-expmissing": claim("exp", DROP),
    "a-explong": assertion(lambda kit: kit.assertion(claims={"exp": int(time.time()) + 86_400})),
    "a-expired": claim("exp", 1),
    "a-expinfinite": assertion(
        lambda kit: kit.assertion(claims=infinite({"iss": "agent-one", "sub": "agent-one"}, "exp"))
    ),
    "a-nbf": assertion(lambda kit: kit.assertion(claims={"nbf": int(time.time()) + 60})),
    "a-jtimissing": claim("jti", DROP),
    "a-jtilong": claim("jti", "j" * 257),
    "a-algnone": asserted_header(alg="none"),
    "a-hs256": asserted_header(alg="HS256"),
    "a-typ": asserted_header(typ="dpop+jwt"),
    "a-jku": asserted_header(jku="https://evil.example"),
    "a-x5c": asserted_header(x5c=["MIIB"]),
    "a-jwk": asserted_header(jwk={"kty": "EC"}),
    "a-crit": asserted_header(crit=["exp"]),
    "a-newkey": assertion(lambda kit: kit.assertion(key=make_key())),
    "a-token": assertion(lambda kit: kit.token),
    "a-jwe": assertion(encrypted),
    "a-huge": assertion(lambda kit: "A" * 9000),
    "p-two": proven(
        "invalid_dpop_proof", lambda kit: [("DPoP", kit.proof(path=TOKEN)), ("DPoP", kit.proof(path=TOKEN))]
    ),
    "p-newkey": proven("invalid_dpop_proof", lambda kit: [("DPoP", kit.proof(path=TOKEN, key=make_key()))]),
    "p-nononce": proof("use_dpop_nonce", nonce=DROP),
    "p-foreignnonce": proof("use_dpop_nonce", nonce="A" * 24),
    "p-htm": proof(htm="GET"),
    "p-htu": proof(htu="https://evil.example/oauth/token"),
    "p-iat": proof(iat=1),
    "p-jti": proof(jti=DROP),
}
CODES = {  # what the log says where RFC 6749 has no word for it
    "invalid_client": {"invalid_client", "missing_credential", "invalid_token"},
    "invalid_request": {"invalid_request"},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_wrong_token_request_is_refused(kit: Kit, judge: Judge, name: str) -> None:
    case = REQUESTS[name]
    body, headers = case.make(kit)
    judge.mark()
    answer = kit.ask_token(body, headers)
    assert answer.document["error"] == case.code, answer.body
    logged = [entry["outcome"].get("code") for entry in judge.entries() if entry["outcome"]]
    assert len(logged) == 1 and logged[0] in CODES.get(case.code, {case.code}), logged
    judge.refused(answer, Refusal((case.status,), (), ("app", "control")), TOKEN, logged[0])
    right, signed = kit.form(), [("DPoP", kit.proof(path=TOKEN))]
    judge.mark()
    judge.served(kit.ask_token(right, signed), upstream=False)
