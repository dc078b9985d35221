"""The replacements of values. Pure: the same value under the same keys and scope gets the same replacement.

| strategy | becomes | can be undone by |
|---|---|---|
| `tag` | `<EMAIL_ADDRESS_3f9a1c2b>` | the exchange's vault |
| `mask` | `************1111` | nobody |
| `truncate` | `4111…` | nobody |
| `hash` | 32 hex digits, the same in every session | the exchange's vault |
| `encrypt` | `<EMAIL_ADDRESS~…>`, AES-256-GCM | whoever has the key |
| `fpe` | digits for digits, letters for letters, FF3-1 | whoever has the key and knows the type |
| `surrogate` | a made-up value of the same type | the exchange's vault |
"""

from __future__ import annotations

import base64
import hmac
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from struct import pack
from typing import Any, Literal, NamedTuple, get_args

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mastio_redaction.replacement.fpe import FF31, FormError, alphabet_of
from mastio_redaction.replacement.surrogates import surrogate

Strategy = Literal["tag", "mask", "truncate", "hash", "encrypt", "fpe", "surrogate"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

RESTORABLE: frozenset[Strategy] = frozenset({"tag", "hash", "encrypt", "fpe", "surrogate"})
"""Those of which two values of an exchange never become the same."""

SUFFIX = 8
"""Hex digits of a tag. A vault takes more where two values would have the same."""

_ENCRYPTED = re.compile(r"<?([A-Z][A-Z0-9_]{0,63})~([A-Za-z0-9_-]{40,})>?")


class ReidentifyError(ValueError):
    """A token that cannot be turned back: not one, of another key, or changed. The text is a sentence."""


class Replaced(NamedTuple):
    """The replacement of a value, and its strategy: another than requested if that one is impossible for the value."""

    token: str
    strategy: Strategy
    why: str = ""
    """A sentence, where it is another strategy."""


@dataclass(frozen=True, slots=True)
class Keys:
    """32 bytes, from which every key of this module follows; and older ones, by which tokens are still turned back."""

    secret: bytes
    older: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if any(len(secret) < 32 for secret in (self.secret, *self.older)):
            raise ValueError("A redaction key has at least 32 bytes.")

    def __repr__(self) -> str:
        return f"Keys(…, {len(self.older)} older)"


def _mac(secret: bytes, purpose: str, *parts: bytes) -> bytes:
    """HMAC-SHA-256 over the parts, each with its length, so that no two lists of parts are the same input."""
    return _finish_mac(_begin_mac(secret, purpose, *parts[:-1]), *parts[-1:])


Begun = tuple[Any, bytes]
"""The inner hash of a MAC, with what it has taken, and what the outer one begins with."""


@lru_cache(maxsize=4096)
def _begin_mac(secret: bytes, purpose: str, *parts: bytes) -> Begun:
    """Remembered: it has no value, only what many values have in common."""
    inner, outer = _pads(secret)
    return sha256(b"".join([inner, *(pack(">Q", len(part)) + part for part in (purpose.encode(), *parts))])), outer


def _finish_mac(begun: Begun, *rest: bytes) -> bytes:
    inner = begun[0].copy()
    for part in rest:
        inner.update(pack(">Q", len(part)) + part)
    return sha256(begun[1] + inner.digest()).digest()


@lru_cache(maxsize=64)
def _pads(secret: bytes) -> tuple[bytes, bytes]:
    """The padded keys of HMAC's two hashes (RFC 2104). `hmac.digest` takes three times as long for short messages."""
    key = (sha256(secret).digest() if len(secret) > 64 else secret).ljust(64, b"\0")
    return bytes(byte ^ 0x36 for byte in key), bytes(byte ^ 0x5C for byte in key)


def replace(
    strategy: Strategy, kind: str, value: str, keys: Keys, *, scope: bytes = b"", suffix: int = SUFFIX, attempt: int = 0
) -> Replaced:
    """The replacement of `value`, of the type `kind`.

    `scope` bounds where the same value becomes the same tag or surrogate, such as a session. `suffix` and `attempt` are
    for a vault that has the result already, for another value.
    """
    raw = value.encode() if value.isascii() else value.encode("utf-8", "surrogatepass")
    match strategy:
        case "tag":
            begun = _begin_mac(keys.secret, "tag", scope, kind.encode())
            return Replaced(f"<{kind}_{_finish_mac(begun, raw).hex()[:suffix]}>", strategy)
        case "mask":
            return Replaced(mask(value), strategy)
        case "truncate":
            return Replaced(truncate(value), strategy)
        case "hash":
            return Replaced(_mac(keys.secret, "hash", kind.encode(), raw).hex()[:32], strategy)
        case "encrypt":
            return Replaced(_encrypt(keys.secret, kind, raw, scope), strategy)
        case "surrogate":
            begun = _begin_mac(keys.secret, "surrogate", scope, kind.encode())
            seed = _finish_mac(begun, raw, attempt.to_bytes(4, "big"))
            return Replaced(surrogate(kind, value, seed), strategy)
        case "fpe":
            try:
                return Replaced(_exchange(keys.secret, kind, value, decrypt=False), strategy)
            except FormError as error:
                return replace("tag", kind, value, keys, scope=scope, suffix=suffix)._replace(why=str(error))


def mask(value: str, keep: int = 4) -> str:
    """Everything but the last four letters and digits, of those that have at least twice as many."""
    count = sum(character.isalnum() for character in value)
    hidden = count - keep if count >= 2 * keep else count
    masked = []
    for character in value:
        if character.isalnum():
            masked.append("*" if hidden > 0 else character)
            hidden -= 1
        else:
            masked.append(character)
    return "".join(masked)


def truncate(value: str, keep: int = 4) -> str:
    """The first four characters, of values that have at least three times as many."""
    return value[:keep] + "…" if len(value) >= 3 * keep else "…"


# --- encrypt -----------------------------------------------------------------------------------------------------


def _key_id(secret: bytes) -> bytes:
    return _mac(secret, "key id")[:4]


def _encrypt(secret: bytes, kind: str, raw: bytes, scope: bytes) -> str:
    """The nonce follows from the value, so that the same value becomes the same token, and no nonce has two values."""
    nonce = _mac(secret, "nonce", scope, kind.encode(), raw)[:12]
    sealed = AESGCM(_mac(secret, "aes-gcm")).encrypt(nonce, raw, kind.encode())
    return f"<{kind}~{base64.urlsafe_b64encode(_key_id(secret) + nonce + sealed).decode().rstrip('=')}>"


def _decrypt(kind: str, body: str, keys: Keys) -> str:
    try:
        raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError as error:
        raise ReidentifyError("The token is damaged.") from error
    for secret in (keys.secret, *keys.older):
        if hmac.compare_digest(_key_id(secret), raw[:4]):
            try:
                plain = AESGCM(_mac(secret, "aes-gcm")).decrypt(raw[4:16], raw[16:], kind.encode())
            except InvalidTag as error:
                raise ReidentifyError("The token was changed, or is of another type.") from error
            return plain.decode("utf-8", "surrogatepass")
    raise ReidentifyError("The token is of a key that is not known here.")


# --- format-preserving -------------------------------------------------------------------------------------------


def _exchange(secret: bytes, kind: str, value: str, decrypt: bool) -> str:
    """Letters and digits exchanged, everything between them kept. Raises `FormError`.

    What comes out needs the same alphabet as what went in, or it could not be turned back: so the cipher is applied
    until it does, which is a permutation of those that do (cycle walking).
    """
    characters = "".join(character for character in value if character.isalnum())
    alphabet = alphabet_of(characters)
    cipher = FF31(_mac(secret, "ff3-1"), _mac(secret, "tweak", kind.encode())[:7], alphabet)
    step = cipher.decrypt if decrypt else cipher.encrypt
    characters = step(characters)
    while alphabet_of(characters) != alphabet:
        characters = step(characters)
    made = iter(characters)
    return "".join(next(made) if character.isalnum() else character for character in value)


# --- back --------------------------------------------------------------------------------------------------------


def reidentify(token: str, keys: Keys, *, kind: str = "", strategy: Strategy = "encrypt") -> str:
    """The value that a token stands for: of `encrypt` by itself, of `fpe` with its type. Raises `ReidentifyError`.

    Of `fpe`, whatever has the form comes back as something: only `encrypt` proves that the token was made here. Tokens
    of older keys are of `encrypt`'s only.
    """
    if strategy == "fpe":
        if not kind:
            raise ReidentifyError("A token of this kind needs the type of the value.")
        try:
            return _exchange(keys.secret, kind, token, decrypt=True)
        except FormError as error:
            raise ReidentifyError(str(error)) from error
    match = _ENCRYPTED.fullmatch(token.strip())
    if strategy != "encrypt" or match is None:
        raise ReidentifyError("Only encrypted and format-preserving tokens can be turned back.")
    return _decrypt(match[1], match[2], keys)


def fingerprint(value: str, keys: Keys) -> str:
    """A keyed digest of a value, for lists and logs that must not have the value."""
    return _mac(keys.secret, "fingerprint", sha256(value.encode("utf-8", "surrogatepass")).digest()).hex()[:16]
