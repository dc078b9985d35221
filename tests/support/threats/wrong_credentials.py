"""Credentials with one thing wrong in them, each with a twin that is right: for the tests of tokens and of replay."""

from __future__ import annotations

import hmac
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric import ec

from mastio_primitives.jwk import decode_base64url, encode_base64url, encode_public_jwk
from mastio_token.access import P256_ORDER
from support.threats.agent_kit import DROP, Headers, Kit, compact, merge
from support.threats.judge import Refusal, refusal
from support.weak_keys import WEAK, forge

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


def by_weak_key(kit: Kit) -> str:
    """A proof with a valid signature by a key of small order, made without any secret."""
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(WEAK["order8"])}
    header = {"typ": "dpop+jwt", "alg": "EdDSA", "jwk": jwk}
    claims = kit.proof_claims()

    def message(number: int) -> bytes:
        return compact(None, header, {**claims, "exp": number}).removesuffix(".").encode()

    number, signature = forge(WEAK["order8"], message)
    return f"{message(number).decode()}.{encode_base64url(signature)}"


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
