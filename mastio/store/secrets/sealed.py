"""Secrets in the database, sealed: AES-256-GCM under the appliance's key `store-secrets`.

The place of a secret (table and row) is authenticated with it, so a sealed value that is moved to another row does
not open. A sealed value is `v1.` and the base64url of a random 96-bit nonce and the ciphertext.
"""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mastio.plugin.services import Keys
from mastio_primitives.jwk import JoseError, decode_base64url, encode_base64url

_VERSION = "v1."
_NONCE = 12


class SealError(ValueError):
    """A sealed value does not open: another key, another place, or damaged."""


class Sealer:
    """Seals and opens with the key `store-secrets`."""

    def __init__(self, keys: Keys) -> None:
        self._cipher = AESGCM(keys.key("store-secrets"))

    def seal(self, secret: str, place: str) -> str:
        """`place` is `table/name`."""
        nonce = secrets.token_bytes(_NONCE)
        return _VERSION + encode_base64url(nonce + self._cipher.encrypt(nonce, secret.encode(), place.encode()))

    def unseal(self, sealed: str, place: str) -> str:
        """Raises `SealError`."""
        try:
            if not sealed.startswith(_VERSION):
                raise SealError("The sealed value has an unknown version.")
            raw = decode_base64url(sealed.removeprefix(_VERSION).encode())
            return self._cipher.decrypt(raw[:_NONCE], raw[_NONCE:], place.encode()).decode()
        except (JoseError, InvalidTag, ValueError) as error:
            raise SealError("The sealed value does not open.") from error
