"""Weak Ed25519 keys: each point of small order, in each encoding that a library accepts."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from mastio_primitives.ed25519 import WeakKeyError, load_ed25519, verify_ed25519
from support.weak_keys import PRIME, SMALL_ORDER, WEAK, forge

D = -121665 * pow(121666, -1, PRIME) % PRIME
Point = tuple[int, int]


def add(a: Point, b: Point) -> Point:
    """RFC 8032 §5.1.4, in affine coordinates."""
    product = D * a[0] * b[0] * a[1] * b[1]
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + product, -1, PRIME)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, PRIME)
    return x % PRIME, y % PRIME


def decode(raw: bytes) -> Point:
    """RFC 8032 §5.1.3, lenient about the encoding."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if x * x % PRIME != square:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    assert x * x % PRIME == square
    return (-x % PRIME if x & 1 != raw[31] >> 7 else x), y % PRIME


def times_eight(point: Point) -> Point:
    for _ in range(3):
        point = add(point, point)
    return point


def test_the_vectors_are_all_points_of_small_order() -> None:
    points = {decode(bytes.fromhex(text)) for text in SMALL_ORDER.values()}
    assert len(points) == 8
    assert {add(one, two) for one in points for two in points} == points
    assert {decode(raw) for raw in WEAK.values()} == points


@pytest.mark.parametrize("name", WEAK)
def test_a_weak_key_is_refused(name: str) -> None:
    forge(WEAK[name], lambda number: b"anything %d" % number)  # the library alone accepts the signature
    with pytest.raises(WeakKeyError):
        load_ed25519(WEAK[name])


@pytest.mark.parametrize("y", range(PRIME, 2**255))
def test_an_encoding_above_the_prime_is_refused(y: int) -> None:
    for sign in (0, 2**255):
        with pytest.raises(WeakKeyError):
            verify_ed25519((y + sign).to_bytes(32, "little"))


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_another_length_is_refused(size: int) -> None:
    with pytest.raises(WeakKeyError):
        load_ed25519(b"\x05" * size)


def test_generated_keys_are_accepted() -> None:
    for _ in range(50):
        public = Ed25519PrivateKey.generate().public_key()
        assert load_ed25519(public.public_bytes_raw()) == public
        assert times_eight(decode(public.public_bytes_raw())) != (0, 1)


def test_the_key_of_rfc_8032_is_accepted() -> None:
    raw = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert load_ed25519(raw) == Ed25519PublicKey.from_public_bytes(raw)
