"""Tokens: whatever is wrong with a credential, nobody gets in by it, and the same credential made right gets in.

A case is a function `(kit, wrong)`: with `wrong` it makes the bad headers, else its twin's. Tokens are also forged
with the appliance's own key, so that only the one claim is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson
import pytest

from support.threats.agent_kit import DROP, Kit, hash_of
from support.threats.judge import CHAT, Answer, Judge, Refusal, refusal
from support.threats.wrong_credentials import (
    BAD_PROOF,
    BAD_TOKEN,
    FILE,
    NEEDS_NONCE,
    NOBODY,
    SQL,
    Case,
    by_own_key,
    by_weak_key,
    credentials,
    deflated,
    doubled,
    encrypted,
    htu,
    infinite,
    other_spelling,
    proof_claim,
    proof_header,
    proof_text,
    proof_with,
    token_bytes,
    token_claim,
    token_header,
    token_text,
    unsigned,
    with_private_key,
    with_public_key,
)

TOKENS = {
    # how it is presented
    "none": credentials(lambda kit: [], NOBODY),
    "bare": credentials(lambda kit: [("Authorization", f"DPoP {kit.token}")], BAD_PROOF),
    "proofalone": credentials(
        lambda kit: [("DPoP", kit.proof(claims={"ath": DROP}))], refusal(401, "missing_credential")
    ),
    "bearer": credentials(lambda kit: [("Authorization", f"Bearer {kit.token}"), ("DPoP", kit.proof())], BAD_TOKEN),
    "bearerbare": credentials(lambda kit: [("Authorization", f"Bearer {kit.token}")], BAD_TOKEN),
    "basic": credentials(lambda kit: [("Authorization", f"Basic {kit.token}"), ("DPoP", kit.proof())], NOBODY),
    "twotokens": credentials(
        lambda kit: [*kit.headers(), ("Authorization", f"DPoP {kit.token}")],
        Refusal((400, 401), ("bad_request", "ambiguous_credential"), ("edge", "app")),
    ),
    "listed": credentials(
        lambda kit: [("Authorization", f"DPoP {kit.token}, DPoP {kit.token}"), ("DPoP", kit.proof())],
        Refusal((401,), ("invalid_token", "invalid_dpop_proof")),
    ),
    "twoproofs": credentials(lambda kit: [*kit.headers(), ("DPoP", kit.proof())], BAD_PROOF),
    "listedproofs": proof_text(lambda kit: f"{kit.proof()}, {kit.proof()}"),
    "adminlike": credentials(
        lambda kit: [("Authorization", "Bearer mastio_admin_" + "A" * 43)], refusal(401, "invalid_admin_token")
    ),
    "huge": proof_text(lambda kit: "A" * 65536, refusal(431, "headers_too_large", "edge")),
    "large": proof_text(lambda kit: kit.proof(claims={"x": "A" * 6100}), refusal(431, "headers_too_large", "edge")),
    "hugetoken": Case(
        lambda kit, wrong: kit.headers(token=kit.forge(claims={"x": "A" * 6100} if wrong else {})),
        refusal(431, "headers_too_large", "edge"),
    ),
    # the token's algorithm and keys
    "algnone": token_text(unsigned),
    "algcase": token_header(alg="nOnE"),
    "hs256": token_text(with_public_key),
    "es384": token_header(alg="ES384"),
    "rs256": token_header(alg="RS256"),
    "eddsa": token_header(alg="EdDSA"),
    "algnumber": token_header(alg=256),
    "algmissing": token_header(alg=DROP),
    "ownkey": token_text(by_own_key),
    "jwk": token_text(lambda kit: by_own_key(kit, jwk=True)),
    "jku": token_header(jku="https://evil.example/jwks.json"),
    "x5u": token_header(x5u="https://evil.example/chain.pem"),
    "x5c": token_header(x5c=["MIIB"]),
    "crit": token_header(crit=["exp"]),
    "b64": token_header(b64=False, crit=["b64"]),
    "kidpath": token_header(kid=FILE),
    "kidsql": token_header(kid=SQL),
    "kidnumber": token_header(kid=1),
    "typ": token_header(typ="JWT"),
    "typproof": token_header(typ="dpop+jwt"),
    "typmissing": token_header(typ=DROP),
    # the token's claims
    "iss": token_claim("iss", "https://evil.example"),
    "isslist": token_claim("iss", ["https://localhost"]),
    "aud": token_claim("aud", "https://evil.example"),
    "audlist": Case(
        lambda kit, wrong: kit.headers(
            token=kit.forge(claims={"aud": [kit.appliance.base_url, "https://evil.example"]} if wrong else {})
        ),
        BAD_TOKEN,
    ),
    "expstring": token_claim("exp", "9999999999"),
    "expmissing": token_claim("exp", DROP),
    "expired": token_claim("exp", 1_000_000_000),
    "iatahead": token_text(lambda kit: kit.forge(claims={"iat": int(time.time()) + 60})),
    "explong": token_text(lambda kit: kit.forge(claims={"exp": int(time.time()) + 700})),
    "minted-ahead": token_text(
        lambda kit: kit.forge(claims={"iat": int(time.time()) + 3600, "exp": int(time.time()) + 4200})
    ),
    "expbool": token_claim("exp", True),
    "expnull": token_claim("exp", None),
    "expinfinite": token_bytes(lambda kit: infinite(kit.token_claims(), "exp")),
    "expnan": token_bytes(lambda kit: orjson.dumps(kit.token_claims(exp=DROP))[:-1] + b',"exp":NaN}'),
    "subtwice": token_bytes(lambda kit: doubled(kit.token_claims(), "sub", "agent-two")),
    "exptwice": token_bytes(lambda kit: doubled(kit.token_claims(), "exp", 1)),
    "submissing": token_claim("sub", DROP),
    "subnumber": token_claim("sub", 5),
    "sublist": token_claim("sub", ["agent-one"]),
    "subunknown": Case(
        lambda kit, wrong: kit.headers(token=kit.forge(claims={"sub": "nobody"} if wrong else {})),
        refusal(401, "agent_unknown"),
    ),
    "subsql": Case(
        lambda kit, wrong: kit.headers(token=kit.forge(claims={"sub": SQL} if wrong else {})),
        refusal(401, "agent_unknown"),
    ),
    "enrolledbefore": token_claim("enrolled_at", 1.5),
    "enrolledstring": token_claim("enrolled_at", "now"),
    "enrolledever": token_claim("enrolled_at", DROP),
    "unbound": token_claim("cnf", DROP),
    "cnfempty": token_claim("cnf", {}),
    "cnfother": token_claim("cnf", {"jkt": "A" * 43}),
    "cnfboth": token_claim("cnf", {"jkt": "A" * 43, "x5t#S256": "A" * 43}),
    "cnfcertificate": token_claim("cnf", {"x5t#S256": "A" * 43}),
    "cnfstring": token_claim("cnf", "jkt"),
    # the token's form
    "jwe": token_text(encrypted),
    "bomb": token_text(deflated),
    "twoparts": token_text(lambda kit: kit.forge().rpartition(".")[0]),
    "fourparts": token_text(lambda kit: kit.forge() + ".AAAA"),
    "padded": token_text(lambda kit: kit.forge() + "=="),
    "spelled": token_text(lambda kit: other_spelling(kit.forge())),
    "cutsignature": token_text(lambda kit: kit.forge()[:-4]),
    "nosignature": token_text(lambda kit: kit.forge().rpartition(".")[0] + "."),
    "notjson": token_bytes(lambda kit: b"not json"),
    "listclaims": token_bytes(lambda kit: b"[" + orjson.dumps(kit.token_claims()) + b"]"),
    "notutf8": token_bytes(lambda kit: orjson.dumps(kit.token_claims(jti="x"))[:-1] + b',"x":"\xff"}'),
    # the proof's header
    "p-algnone": proof_header(alg="none"),
    "p-hs256": proof_header(alg="HS256"),
    "p-es384": proof_header(alg="ES384"),
    "p-eddsa": proof_header(alg="EdDSA"),
    "p-typ": proof_header(typ="JWT"),
    "p-typcase": proof_header(typ="DPOP+JWT"),
    "p-typmissing": proof_header(typ=DROP),
    "p-nojwk": proof_header(jwk=DROP),
    "p-jwktext": proof_header(jwk="{}"),
    "p-jku": proof_header(jku="https://evil.example/jwks.json"),
    "p-x5u": proof_header(x5u="https://evil.example/chain.pem"),
    "p-x5c": proof_header(x5c=["MIIB"]),
    "p-crit": proof_header(crit=["exp"]),
    "p-kid": proof_header(kid=FILE),
    "p-private": Case(
        lambda kit, wrong: kit.headers(proof=kit.proof(header={"jwk": with_private_key(kit)} if wrong else {})),
        BAD_PROOF,
    ),
    "p-symmetric": proof_header(jwk={"kty": "oct", "k": "AAAA"}),
    "p-offcurve": proof_header(jwk={"kty": "EC", "crv": "P-256", "x": "A" * 43, "y": "A" * 42 + "E"}),
    "p-weakkey": proof_text(by_weak_key),
    "p-bomb": proof_header(zip="DEF"),
    # the proof's claims
    "p-jwe": proof_text(encrypted),
    "p-jtimissing": proof_claim("jti", DROP),
    "p-jtiempty": proof_claim("jti", ""),
    "p-jtilong": proof_claim("jti", "j" * 257),
    "p-jtinumber": proof_claim("jti", 7),
    "p-iatmissing": proof_claim("iat", DROP),
    "p-iatstring": proof_claim("iat", "now"),
    "p-iatbool": proof_claim("iat", True),
    "p-iatold": proof_with(lambda kit: {"iat": int(time.time()) - 62}),
    "p-iatahead": proof_with(lambda kit: {"iat": int(time.time()) + 8}),
    "p-iatinfinite": proof_text(lambda kit: kit.proof(claims=infinite(kit.proof_claims(), "iat"))),
    "p-jtitwice": proof_text(lambda kit: kit.proof(claims=doubled(kit.proof_claims(), "jti", "other"))),
    "p-htutwice": proof_text(lambda kit: kit.proof(claims=doubled(kit.proof_claims(), "htu", "https://evil.example"))),
    "p-nononce": proof_claim("nonce", DROP, NEEDS_NONCE),
    "p-foreignnonce": proof_claim("nonce", "A" * 24, NEEDS_NONCE),
    "p-emptynonce": proof_claim("nonce", "", NEEDS_NONCE),
    "p-noncelist": proof_claim("nonce", ["A"]),
    "p-noath": proof_claim("ath", DROP),
    "p-ath": proof_with(lambda kit: {"ath": hash_of(kit.forge())}),
    "p-athempty": proof_claim("ath", ""),
    # htm
    "htm-get": proof_claim("htm", "GET"),
    "htm-lower": proof_claim("htm", "post"),
    "htm-space": proof_claim("htm", "POST "),
    "htm-list": proof_claim("htm", ["POST"]),
    "htm-missing": proof_claim("htm", DROP),
    # htu
    "htu-missing": proof_claim("htu", DROP),
    "htu-empty": proof_claim("htu", ""),
    "htu-path": htu(lambda kit: kit.url("/v1/models")),
    "htu-parent": htu(lambda kit: kit.url("/v1/chat")),
    "htu-slash": htu(lambda kit: kit.url(CHAT + "/")),
    "htu-dot": htu(lambda kit: kit.url("/v1/./chat/completions")),
    "htu-dotdot": htu(lambda kit: kit.url("/v1/x/../chat/completions")),
    "htu-coded": htu(lambda kit: kit.url("/v1/chat%2Fcompletions")),
    "htu-letter": htu(lambda kit: kit.url("/v1/c%68at/completions")),
    "htu-upper": htu(lambda kit: kit.url("/V1/chat/completions")),
    "htu-backslash": htu(lambda kit: kit.url("\\v1\\chat\\completions")),
    "htu-relative": htu(lambda kit: CHAT),
    "htu-scheme": htu(lambda kit: kit.url(CHAT).replace("https:", "http:")),
    "htu-host": htu(lambda kit: f"https://evil.example{CHAT}"),
    "htu-address": htu(lambda kit: kit.url(CHAT).replace("localhost", "127.0.0.1")),
    "htu-port": htu(lambda kit: f"https://localhost{CHAT}"),
    "htu-otherport": htu(lambda kit: f"https://localhost:{kit.appliance.port + 1}{CHAT}"),
    "htu-user": htu(lambda kit: kit.url(CHAT).replace("https://", "https://user@")),
    "htu-lookalike": htu(lambda kit: kit.url(CHAT).replace("localhost", "localhost.evil.example")),
    "htu-rooted": htu(lambda kit: kit.url(CHAT).replace("localhost", "localhost.")),
    "htu-space": htu(lambda kit: kit.url(CHAT) + " "),
    "htu-line": htu(lambda kit: kit.url(CHAT) + "\n"),
    "htu-nul": htu(lambda kit: kit.url(CHAT) + "\0"),
    "htu-confusable": htu(lambda kit: kit.url(CHAT).replace("localhost", "l\u043ecalhost")),
    "htu-bracket": htu(lambda kit: f"https://[::1{CHAT}"),
}


@pytest.mark.parametrize("name", TOKENS)
def test_a_wrong_credential_is_refused(kit: Kit, judge: Judge, name: str) -> None:
    case = TOKENS[name]
    bad = case.make(kit, True)
    judge.mark()
    answer = kit.ask(bad)
    judge.refused(answer, case.expected, CHAT)
    if answer.status == 401:
        verify_challenge(answer)
    good = case.make(kit, False)
    judge.mark()
    judge.served(kit.ask(good))


def verify_challenge(answer: Answer) -> None:
    """RFC 9449 §7.1 and contract §5."""
    challenge = answer.header("www-authenticate") or ""
    code = answer.document["error"]["code"]
    named = code in ("invalid_token", "invalid_dpop_proof", "use_dpop_nonce")
    assert challenge == (f'DPoP error="{code}", ' if named else "DPoP ") + 'algs="ES256 EdDSA"'
    assert answer.header("dpop-nonce")


@pytest.mark.parametrize(
    "spell",
    [
        pytest.param(lambda url: url + "?x=y", id="query"),
        pytest.param(lambda url: url + "#x", id="fragment"),
        pytest.param(lambda url: url.replace("localhost", "LOCALHOST"), id="host"),
        pytest.param(lambda url: url.replace("https", "HTTPS"), id="scheme"),
    ],
)
def test_the_same_htu_in_other_words_is_good(kit: Kit, judge: Judge, spell: Callable[[str], str]) -> None:
    headers = kit.headers(proof=kit.proof(htu=spell(kit.url(CHAT))))
    judge.mark()
    judge.served(kit.ask(headers))
