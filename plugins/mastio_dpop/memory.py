"""What a worker remembers so that a proof works once: its own nonces, and the `jti`s seen under them.

A nonce is an HMAC over a time bucket with a key of this incarnation of this worker, so it needs no store, and a proof
made for another worker, or from before a restart, fails on its nonce alone. Hence the `jti`s only have to be kept
here, and only as long as a nonce lives. Both are measured by the monotonic clock: a step of the wall clock neither
forgets a `jti` early, nor keeps the nonces and the memory of one moment for as long as the step was.
"""

from __future__ import annotations

import hashlib
import hmac

from mastio.jose import encode_base64url

BUCKET = 30
"""Seconds that a nonce is the newest; it stays valid for one bucket more."""


class Full(Exception):
    """More proofs in one bucket than may be remembered."""


class Memory:
    """Nonces in force and `jti`s seen. Not for several threads."""

    def __init__(self, key: bytes, limit: int = 2_000_000) -> None:
        self._key = key
        self._limit = limit
        self._bucket = -1
        self._seen: set[int] = set()
        self._seen_before: set[int] = set()
        self.nonce = ""
        self.nonces: tuple[str, ...] = ()

    def advance(self, monotonic: float) -> None:
        """Move to the bucket of this monotonic time, in seconds. Call before using `nonce` or `nonces`."""
        bucket = int(monotonic // BUCKET)
        if bucket <= self._bucket:
            return
        self._seen_before = self._seen if bucket == self._bucket + 1 else set()
        self._seen = set()
        self._bucket = bucket
        self.nonce = self._make(bucket)
        self.nonces = (self.nonce, self._make(bucket - 1))

    def _make(self, bucket: int) -> str:
        return encode_base64url(hmac.digest(self._key, bucket.to_bytes(8, "big", signed=True), hashlib.sha256)[:18])

    def use(self, thumbprint: str, jti: str) -> bool:
        """True the first time for this key and `jti`, False for a replay. Raises `Full`.

        Keyed by what the proof says, not by its bytes: an ES256 signature has a twin. A 64-bit keyed hash is kept
        instead of the strings: a collision could only refuse a good proof, one in 2^43 at the limit.
        """
        name = hash((thumbprint, jti))
        if name in self._seen or name in self._seen_before:
            return False
        if len(self._seen) >= self._limit:
            raise Full
        self._seen.add(name)
        return True
