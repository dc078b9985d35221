"""Tokens: whatever is wrong with a credential, nobody gets in by it, and the same credential made right gets in.

A case is a function `(kit, wrong)`: with `wrong` it makes the bad headers, else its twin's. Tokens are also forged
with the appliance's own key, so that only the one claim is wrong.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from mastio.client import Identity
from mastio.client.proofs import make_csr, make_key
from mastio.jose import decode_base64url, encode_base64url, encode_public_jwk
from mastio.pki.authority import Authority
from mastio.pki.certificates import Issuer, build_agent_leaf, build_root
from mastio_token.access import P256_ORDER
from threats.attempts import BODY, CHAT, SELF, TOKEN, Answer, Judge, Refusal, refusal
from threats.forging import by_own_leaf_sent_along, load, show
from threats.kit import DROP, Form, Headers, Kit, compact, hash_of, merge
from threats.test_json import MIB, rss
from world import Appliance, Stub, wait_until

BAD_TOKEN = refusal(401, "invalid_token")
NOBODY = refusal(401, "missing_credential")
BAD_PROOF = refusal(401, "invalid_dpop_proof")
NEEDS_NONCE = refusal(401, "use_dpop_nonce")
SQL = "' OR '1'='1' --"
FILE = "../../../../etc/passwd"


@dataclass(frozen=True)
class Case:
    make: Callable[[Kit, bool], Headers]
    expected: Refusal


# --- making cases ---------------------------------------------------------------------------------------------------


def token_claim(name: str, value: Any) -> Case:
    """Signed by the appliance's own key: only this claim is wrong."""
    return Case(lambda kit, wrong: kit.headers(token=kit.forge(claims={name: value} if wrong else {})), BAD_TOKEN)


def token_bytes(make: Callable[[Kit], bytes]) -> Case:
    """Claims that no serializer writes, signed by the appliance's own key."""
    return Case(lambda kit, wrong: kit.headers(token=kit.forge(claims=make(kit) if wrong else {})), BAD_TOKEN)


def token_header(**changes: Any) -> Case:
    return Case(lambda kit, wrong: kit.headers(token=kit.forge(header=changes if wrong else {})), BAD_TOKEN)


def token_text(make: Callable[[Kit], str]) -> Case:
    return Case(lambda kit, wrong: kit.headers(token=make(kit) if wrong else kit.forge()), BAD_TOKEN)


def proof_claim(name: str, value: Any, expected: Refusal = BAD_PROOF) -> Case:
    return Case(lambda kit, wrong: kit.headers(proof=kit.proof(claims={name: value} if wrong else {})), expected)


def proof_with(make: Callable[[Kit], dict[str, Any]], expected: Refusal = BAD_PROOF) -> Case:
    return Case(lambda kit, wrong: kit.headers(proof=kit.proof(claims=make(kit) if wrong else {})), expected)


def proof_header(**changes: Any) -> Case:
    return Case(lambda kit, wrong: kit.headers(proof=kit.proof(header=changes if wrong else {})), BAD_PROOF)


def proof_text(make: Callable[[Kit], str], expected: Refusal = BAD_PROOF) -> Case:
    return Case(lambda kit, wrong: kit.headers(proof=make(kit) if wrong else kit.proof()), expected)


def credentials(make: Callable[[Kit], Headers], expected: Refusal) -> Case:
    return Case(lambda kit, wrong: make(kit) if wrong else kit.headers(), expected)


def htu(make: Callable[[Kit], str]) -> Case:
    return proof_with(lambda kit: {"htu": make(kit)})


# --- texts that are not what they seem ------------------------------------------------------------------------------


def doubled(claims: dict[str, Any], name: str, first: Any) -> bytes:
    """`claims` as JSON with the member `name` twice, `first` before the right one."""
    return b"{" + orjson.dumps({name: first})[1:-1] + b"," + orjson.dumps(claims)[1:]


def infinite(claims: dict[str, Any], name: str) -> bytes:
    return orjson.dumps(merge(claims, {name: DROP}))[:-1] + b',"' + name.encode() + b'":1e400}'


def with_public_key(kit: Kit) -> str:
    """HS256 keyed with the public key that everybody can fetch."""
    public = orjson.dumps(encode_public_jwk(kit.signing.private.public_key()))
    return hmac_signed(kit.token_header(alg="HS256"), kit.token_claims(), public)


def hmac_signed(header: dict[str, Any], claims: dict[str, Any], key: bytes) -> str:
    text = compact(None, header, claims)
    return text + encode_base64url(hmac.digest(key, text[:-1].encode(), "sha256"))


def unsigned(kit: Kit) -> str:
    return compact(None, kit.token_header(alg="none"), kit.token_claims())


def by_own_key(kit: Kit, **header: Any) -> str:
    own = ec.generate_private_key(ec.SECP256R1())
    if "jwk" in header:
        header["jwk"] = encode_public_jwk(own.public_key())
    return kit.forge(key=own, header=header)


def encrypted(kit: Kit) -> str:
    header = encode_base64url(b'{"alg":"dir","enc":"A256GCM","zip":"DEF"}')
    return ".".join([header, "", encode_base64url(b"i" * 12), encode_base64url(b"c" * 64), encode_base64url(b"t" * 16)])


def deflated(kit: Kit, **header: Any) -> str:
    """A megabyte of spaces around the claims, deflated, well signed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(b" " * 1_000_000 + orjson.dumps(kit.token_claims())) + packer.flush()
    return compact(kit.signing.private, kit.token_header(zip="DEF", **header), bomb)


def other_spelling(text: str) -> str:
    """The same signature in base64url that is not canonical: the last letter has bits that nobody reads."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:-1] + alphabet[alphabet.index(text[-1]) + 1]


def twin(text: str) -> str:
    """The other valid ES256 signature over the same bytes: (r, n−s)."""
    signing_input, _, signature = text.rpartition(".")
    raw = decode_base64url(signature.encode())
    s = P256_ORDER - int.from_bytes(raw[32:], "big")
    return f"{signing_input}.{encode_base64url(raw[:32] + s.to_bytes(32, 'big'))}"


def with_private_key(kit: Kit) -> dict[str, str]:
    secret = kit.key.private_numbers().private_value.to_bytes(32, "big")  # type: ignore[union-attr]
    return {**encode_public_jwk(kit.key.public_key()), "d": encode_base64url(secret)}


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


# --- replay ---------------------------------------------------------------------------------------------------------


def fifty(ask: Callable[[], Answer]) -> list[Answer]:
    """Fifty at once: all wait at a barrier, then ask."""
    barrier = threading.Barrier(50)

    def one(_: int) -> Answer:
        barrier.wait(30)
        return ask()

    with ThreadPoolExecutor(50) as pool:
        return list(pool.map(one, range(50)))


def test_a_proof_works_once_among_fifty(kit: Kit, judge: Judge) -> None:
    headers = kit.headers()
    judge.mark()
    answers = fifty(lambda: kit.ask(headers))
    assert Counter(answer.status for answer in answers) == {200: 1, 401: 49}
    codes = {answer.document["error"]["code"] for answer in answers if answer.status == 401}
    assert codes == {"invalid_dpop_proof"}
    (served,) = [answer for answer in answers if answer.status == 200]
    assert Counter(entry["phase"] for entry in judge.entries()) == {"intent": 1, "outcome": 1, "event": 49}
    judge.served(served)
    again = kit.headers()
    judge.mark()
    judge.served(kit.ask(again))


def test_an_assertion_works_once_among_fifty(kit: Kit, judge: Judge) -> None:
    """Each with a proof of its own: it is the assertion that is used up."""
    form = kit.form()
    proofs = [kit.proof(path=TOKEN) for _ in range(50)]
    judge.mark()
    answers = fifty(lambda: kit.ask_token(form, [("DPoP", proofs.pop())]))
    assert Counter(answer.status for answer in answers) == {200: 1, 401: 49}
    assert {answer.document["error"] for answer in answers if answer.status == 401} == {"invalid_client"}


def test_the_twin_of_a_signature_is_a_replay(kit: Kit, judge: Judge) -> None:
    proof = kit.proof()
    judge.mark()
    judge.served(kit.ask(kit.headers(proof=proof)))
    judge.mark()
    judge.refused(kit.ask(kit.headers(proof=twin(proof))), BAD_PROOF, CHAT)
    other = twin(kit.proof())
    judge.mark()
    judge.served(kit.ask(kit.headers(proof=other)))  # as valid as the first, when it is the first


def test_a_jti_belongs_to_its_key(kit: Kit, other_kit: Kit, judge: Judge) -> None:
    """Two agents may use the same `jti`; one may not, whatever else its proof says."""
    mine, theirs, again = kit.proof(jti="same"), other_kit.proof(jti="same"), kit.proof(jti="same", x="y")
    judge.mark()
    judge.served(kit.ask(kit.headers(proof=mine)))
    judge.mark()
    judge.served(other_kit.ask(other_kit.headers(proof=theirs)))
    judge.mark()
    judge.refused(kit.ask(kit.headers(proof=again)), BAD_PROOF, CHAT)


def test_a_nonce_of_a_worker_that_is_gone_is_stale(impatient: tuple[Appliance, Stub], request: Any) -> None:
    """The nonce was good; its worker was killed; the proof that carries it is worth nothing now."""
    appliance, stub = impatient
    kit = Kit(appliance, appliance.enroll("restarted"))
    judge = Judge(appliance, stub, request.node.name)
    assert kit.ask(kit.headers()).status == 200
    old = kit.headers()
    before = appliance.pid("worker-0")
    appliance.kill_worker()
    wait_until(lambda: appliance.pid("worker-0") != before and appliance.is_ready(), 20, "the worker is back")
    judge.mark()
    answer = kit.ask(old)
    judge.refused(answer, NEEDS_NONCE, CHAT)
    fresh = kit.headers(proof=kit.proof(nonce=answer.header("dpop-nonce")))
    judge.mark()
    judge.served(kit.ask(fresh))


# --- somebody else's ------------------------------------------------------------------------------------------------

THEIRS = {
    "theirproof": lambda kit, their: kit.headers(proof=their.proof(token=kit.token)),
    "theirtoken": lambda kit, their: kit.headers(token=their.token, proof=kit.proof(token=their.token)),
    "stolen": lambda kit, their: [("Authorization", f"DPoP {their.token}"), ("DPoP", kit.proof())],
    "newkey": lambda kit, their: kit.headers(proof=kit.proof(key=make_key())),
    "edkey": lambda kit, their: kit.headers(proof=kit.proof(key=make_key("ed25519"))),
    "forgedown": lambda kit, their: kit.headers(token=kit.forge(claims={"sub": "agent-two"})),
}


@pytest.mark.parametrize("name", THEIRS)
def test_anothers_key_opens_nothing(kit: Kit, other_kit: Kit, judge: Judge, name: str) -> None:
    headers = THEIRS[name](kit, other_kit)
    judge.mark()
    judge.refused(kit.ask(headers), Refusal((401,), ("invalid_token", "invalid_dpop_proof")), CHAT)
    good = other_kit.headers()
    judge.mark()
    judge.served(other_kit.ask(good))
    assert judge.entries()[0]["agent"] == "agent-two"


# --- what was good a moment ago -------------------------------------------------------------------------------------

ENDS = {
    "revoked": ("POST", "/revoke", None),
    "suspended": ("PATCH", "", {"status": "suspended"}),
    "patched": ("PATCH", "", {"status": "revoked"}),
}


@pytest.mark.parametrize("name", ENDS)
def test_an_agent_that_was_ended_is_refused_within_a_second(appliance: Appliance, judge: Judge, name: str) -> None:
    kit = Kit(appliance, appliance.enroll(f"ended-{name}"))
    spare = [kit.headers() for _ in range(100)]
    judge.mark()
    judge.served(kit.ask(spare.pop()))
    method, path, body = ENDS[name]
    agent = f"/v1/admin/agents/ended-{name}"
    with appliance.admin() as admin:
        assert admin.request(method, agent + path, json=body).status_code == 200
        ended = time.monotonic()
        while (answer := kit.ask(spare.pop())).status == 200:
            assert time.monotonic() - ended < 1, "it is still let in"
        judge.mark()
        answer = kit.ask(spare.pop())
        judge.refused(answer, refusal(401, "agent_inactive"), CHAT)
        judge.mark()
        refused = kit.ask_token(kit.form())
        judge.refused(refused, refusal(401, "invalid_client"), TOKEN, "agent_inactive")
        assert admin.post(agent + "/reactivate").status_code == 200
    wait_until(lambda: kit.ask(kit.headers()).status == 200, 2, "it is let in again")


def test_a_leaf_that_expires_on_an_open_connection(impatient: tuple[Appliance, Stub], request: Any) -> None:
    appliance, stub = impatient
    identity = appliance.enroll("short")
    judge = Judge(appliance, stub, request.node.name)
    end = x509.load_pem_x509_certificate((identity.folder / "agent.crt").read_bytes()).not_valid_after_utc.timestamp()
    keep = httpx.Limits(keepalive_expiry=60)
    with appliance.client(verify=appliance.tls(identity), limits=keep) as client:
        judge.served(Answer.of(client.post(CHAT, json=BODY)))
        time.sleep(max(0.0, end - time.time()) + 0.05)
        judge.mark()
        judge.refused(Answer.of(client.post(CHAT, json=BODY)), refusal(401, "invalid_certificate"), CHAT)


def test_a_token_does_not_outlive_the_leaf(impatient: tuple[Appliance, Stub], request: Any) -> None:
    """Nor does it buy another token or a leaf then: else whoever has the key alone would stay the agent for ever."""
    appliance, stub = impatient
    kit = Kit(appliance, appliance.enroll("outlived"))
    judge = Judge(appliance, stub, request.node.name)
    end = kit.identity.leaf().not_valid_after_utc.timestamp()
    renewal = {"csr": make_csr(make_key(), "outlived")}

    def ask_by_token(path: str, **more: Any) -> Answer:
        with appliance.client() as client:
            return Answer.of(client.post(path, headers=kit.headers(proof=prove(path)), **more))

    def prove(path: str) -> str:
        return kit.proof(path=path, ath=hash_of(kit.token))

    judge.served(kit.ask(kit.headers()))
    assert ask_by_token(TOKEN, data={"grant_type": "client_credentials"}).status == 200
    time.sleep(max(0.0, end - time.time()) + 0.05)
    judge.mark()
    judge.refused(kit.ask(kit.headers()), refusal(401, "invalid_token"), CHAT)
    assert ask_by_token(TOKEN, data={"grant_type": "client_credentials"}).status == 401
    assert ask_by_token(f"{SELF}/renew", json=renewal).document["code"] == "invalid_token"


def test_what_strangers_send_is_not_kept(appliance: Appliance, kit: Kit, judge: Judge) -> None:
    """Credentials as long as the edge lets through, each another: nothing of them stays in memory."""

    def send(count: int) -> set[int]:
        statuses = set()
        with appliance.client() as client:
            for _ in range(count):
                secret, long = secrets.token_hex(3500), {"jwk": {**jwk, "more": secrets.token_hex(1800)}}
                headers = {"Authorization": f"DPoP {secret}", "DPoP": kit.proof(header=long, token=secret, nonce="")}
                statuses.add(client.get(SELF, headers=headers).status_code)
                headers = {"Authorization": f"Bearer {secret}", "X-Api-Key": secret, "Api-Key": secret}
                statuses.add(client.get(SELF, headers=headers).status_code)
        return statuses

    jwk = encode_public_jwk(kit.key.public_key())
    assert send(20) == {401}
    before = rss(appliance)
    with ThreadPoolExecutor(4) as pool:
        assert set().union(*pool.map(send, [300] * 4)) == {401}
    wait_until(lambda: rss(appliance) < before + 12 * MIB, 5, "memory is back to normal")
    judge.mark()
    judge.served(kit.ask(kit.headers()))


# --- certificates ---------------------------------------------------------------------------------------------------


def vouched(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    """`agent`'s own leaf signs one for another's name. What else it may sign: `test_identity_holds.py`."""
    return by_own_leaf_sent_along(agent, key, "agent-two")


def foreign(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    """An authority of the same name with another key."""
    own = ec.generate_private_key(ec.SECP256R1())
    root = build_root(own, "test.example", time.time(), 3600)
    leaf = build_agent_leaf(key.public_key(), "agent-one", "test.example", Issuer(root, own), time.time(), 3600)
    return [leaf, root]


def issued(
    *, domain: str = "test.example", name: str = "agent-one", ago: float = 0.0
) -> Callable[[Appliance, Identity, ec.EllipticCurvePrivateKey], list[x509.Certificate]]:
    """By the appliance's own authority, with one thing wrong."""

    def make(appliance: Appliance, _: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
        issuer = load(appliance.data / "ca", "intermediate")
        return [build_agent_leaf(key.public_key(), name, domain, issuer, time.time() - ago, 3600)]

    return make


def selfsigned(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    return [build_root(key, "test.example", time.time(), 3600)]


def authority(appliance: Appliance, agent: Identity, key: ec.EllipticCurvePrivateKey) -> list[x509.Certificate]:
    """A leaf with the agent's name that is a CA, by the appliance's own authority."""
    issuer = load(appliance.data / "ca", "intermediate")
    plain = build_agent_leaf(key.public_key(), "agent-one", "test.example", issuer, time.time(), 3600)
    builder = x509.CertificateBuilder(
        issuer.certificate.subject, plain.subject, key.public_key(), plain.serial_number,
        plain.not_valid_before_utc, plain.not_valid_after_utc,
    )  # fmt: skip
    for extension in plain.extensions:
        value = extension.value
        if isinstance(value, x509.BasicConstraints):
            value = x509.BasicConstraints(ca=True, path_length=0)
        builder = builder.add_extension(value, extension.critical)
    return [builder.sign(issuer.key, hashes.SHA256())]


BY_EDGE = refusal(401, "invalid_certificate", "edge")
BY_APP = refusal(401, "invalid_certificate")
CERTIFICATES = {
    "vouched": (vouched, BY_EDGE),
    "foreign": (foreign, BY_EDGE),
    "selfsigned": (selfsigned, BY_EDGE),
    "expired": (issued(ago=7200), BY_EDGE),
    "future": (issued(ago=-7200), BY_EDGE),
    "authority": (authority, refusal(401, "invalid_certificate", "edge", "app")),
    "domain": (issued(domain="evil.example"), BY_APP),
    "unpinned": (issued(), BY_APP),
    "unknown": (issued(name="nobody"), refusal(401, "agent_unknown")),
    "badname": (issued(name="../agent-one"), BY_APP),
}


@pytest.mark.parametrize("path", [CHAT, TOKEN, SELF], ids=["chat", "token", "self"])
@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_that_is_not_the_agents(
    appliance: Appliance, agent: Identity, judge: Judge, tmp_path: Path, name: str, path: str
) -> None:
    make, expected = CERTIFICATES[name]
    key = ec.generate_private_key(ec.SECP256R1())
    identity = show(tmp_path / "shown", key, *make(appliance, agent, key))
    logged = expected.code[0]
    said = Refusal(expected.status, ("invalid_client",) if path == TOKEN else expected.code, expected.by)
    judge.refused(present(appliance, identity, path), said, path, logged)
    judge.mark()
    judge.served(present(appliance, agent, path), upstream=path == CHAT)


@pytest.mark.parametrize("whose", ["own", "foreign"])
def test_the_certificate_of_an_edge_is_no_agents(
    appliance: Appliance, agent: Identity, judge: Judge, tmp_path: Path, whose: str
) -> None:
    """Of this appliance, and of another one with the same trust domain."""
    data, shown = appliance.data, tmp_path / "shown"
    if whose == "foreign":
        data = tmp_path / "other"
        authority = Authority.ensure(data, "test.example", time.time())
        authority.issue_server(["localhost"], time.time())
    shown.mkdir()
    for name, here in (("server.crt", "agent.crt"), ("server.key", "agent.key")):
        shutil.copyfile(data / "edge" / name, shown / here)
    identity = Identity(shown, "edge", "", shown / "ca.crt", make_key())
    judge.refused(present(appliance, identity, CHAT), refusal(401, "invalid_certificate", "edge", "app"), CHAT)
    judge.mark()
    judge.served(present(appliance, agent, CHAT))


def present(appliance: Appliance, identity: Identity, path: str) -> Answer:
    """One request by certificate alone."""
    with appliance.by_certificate(identity) as client:
        if path == SELF:
            return Answer.of(client.get(path))
        if path == CHAT:
            return Answer.of(client.post(path, json=BODY))
        return Answer.of(client.post(path, data={"grant_type": "client_credentials"}))


@pytest.mark.parametrize("scheme", ["Bearer", "DPoP"])
def test_a_token_bound_to_a_certificate_is_worth_nothing_without(
    appliance: Appliance, agent: Identity, other: Identity, judge: Judge, scheme: str
) -> None:
    token = present(appliance, agent, TOKEN).document["access_token"]

    def ask(client: httpx.Client, scheme: str) -> Answer:
        with client:
            return Answer.of(client.post(CHAT, json=BODY, headers={"Authorization": f"{scheme} {token}"}))

    judge.mark()
    judge.refused(ask(appliance.client(), scheme), BAD_TOKEN, CHAT)
    judge.mark()
    judge.refused(ask(appliance.by_certificate(other), scheme), refusal(401, "ambiguous_credential"), CHAT)
    judge.mark()
    judge.served(ask(appliance.by_certificate(agent), "Bearer"))


def test_two_principals_are_none(appliance: Appliance, agent: Identity, other_kit: Kit, judge: Judge) -> None:
    """One agent's certificate with another's token and proof; an admin's token with an agent's certificate."""
    headers = other_kit.headers()
    token = (appliance.data / "secrets" / "admin-token").read_text().strip()
    for said in (headers, [("Authorization", f"Bearer {token}")]):
        judge.mark()
        with appliance.by_certificate(agent) as client:
            answer = Answer.of(client.post(CHAT, json=BODY, headers=said))
        judge.refused(answer, refusal(401, "ambiguous_credential"), CHAT)
    good = other_kit.headers()
    judge.mark()
    judge.served(other_kit.ask(good))


# --- the token endpoint ---------------------------------------------------------------------------------------------


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
