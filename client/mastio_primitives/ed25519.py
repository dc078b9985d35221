"""Loads Ed25519 public keys (RFC 8032) and refuses weak ones, for which signatures need no private key. Pure.

A point of small order makes the verification equation independent of the message: one constant signature is valid for
each of a share of all messages, for the neutral element for all of them. OpenSSL checks neither this nor that an
encoding is canonical. Every public key from outside passes through `load_ed25519` or `verify_ed25519`: JWKs,
certificate requests, client certificates, keys of logs and witnesses. P-256 and P-384 have no such points.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_PRIME = 2**255 - 19
_SIGN = 2**255
_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = frozenset({0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8})
"""The y of the eight points of small order: 0 has order 4, 1 order 1, -1 order 2. Each x has the same order as -x."""


class WeakKeyError(ValueError):
    """The bytes are no Ed25519 public key, or a weak one. The text is for the caller."""


def verify_ed25519(raw: bytes) -> None:
    """Raises `WeakKeyError` unless `raw` has 32 bytes, encodes a y below the prime (RFC 8032 §5.1.3), and its point has
    no small order. The sign bit of x is not looked at: it matters only for y = 1 and y = -1, which are refused.
    """
    if len(raw) != 32:
        raise WeakKeyError("An Ed25519 key has 32 bytes.")
    y = int.from_bytes(raw, "little") & (_SIGN - 1)
    if y >= _PRIME:
        raise WeakKeyError("The Ed25519 key is not in its canonical encoding.")
    if y in _SMALL_ORDER:
        raise WeakKeyError("The Ed25519 key is a point of small order: it proves nothing. Make a new key.")


def load_ed25519(raw: bytes) -> Ed25519PublicKey:
    """The key of these 32 bytes. Raises `WeakKeyError`."""
    verify_ed25519(raw)
    return Ed25519PublicKey.from_public_bytes(raw)
