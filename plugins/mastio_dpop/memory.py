"""The shared memory of a host's workers that makes a proof work once: their nonces, and the `jti`s seen.

A nonce is an HMAC over a time bucket with a key of this start of the appliance, so it needs no store. A proof made for
another host, or from before a restart, fails on its nonce alone. Hence the `jti`s only have to be kept on this host,
and only as long as a nonce lives. Both are measured by the monotonic clock, which all processes of a host share: a step
of the wall clock neither forgets a `jti` early, nor keeps the nonces and the memory of one moment for as long as the
step was.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from mastio.host.host_memory import SIZE, HostMemory
from mastio_primitives.jwk import encode_base64url

BUCKET = 30
"""Seconds that a nonce is the newest; it stays valid for one bucket more."""

LIMIT = 2_000_000
"""Proofs in one bucket."""

KEY = slice(0, 4)
"""The words of the key of nonces. All zeros: nobody has made it yet."""

AREAS = 512
"""The first word after the head. Two areas follow, for buckets with even and odd numbers."""

assert AREAS + 2 * LIMIT <= SIZE // 8


class Full(Exception):
    """More proofs in one bucket than may be remembered."""


class Memory:
    """Nonces in force and `jti`s seen, in one worker. Not for several threads.

    Of each bucket the host's memory has a number (plus one), a count, and so many marks. A worker appends its own,
    reads those of others that it has not seen yet, and looks up marks in sets of its own. Raises `Busy`.
    """

    def __init__(self, host: HostMemory, limit: int = LIMIT) -> None:
        self._host = host
        self._limit = limit
        self._bucket = -1
        self._seen: dict[int, set[int]] = {}
        """The marks that this worker knows, of this bucket and the one before."""
        with host:
            if not any(host.words[KEY]):
                host.words[KEY] = memoryview(os.urandom(32)).cast("Q")
            self._key = host.words[KEY].tobytes()
        self.nonce = ""
        self.nonces: tuple[str, ...] = ()

    def advance(self, monotonic: float) -> None:
        """Move to the bucket of this monotonic time, in seconds. Call before using `nonce` or `nonces`."""
        bucket = int(monotonic // BUCKET)
        if bucket <= self._bucket:
            return
        self._seen = {number: self._seen.get(number, set()) for number in (bucket, bucket - 1)}
        self._bucket = bucket
        self.nonce = self._make(bucket)
        self.nonces = (self.nonce, self._make(bucket - 1))

    def _make(self, bucket: int) -> str:
        return encode_base64url(hmac.digest(self._key, bucket.to_bytes(8, "big", signed=True), hashlib.sha256)[:18])

    def use(self, thumbprint: str, jti: str) -> bool:
        """True the first time for this key and `jti` on this host, False for a replay. Raises `Full`, `Busy`.

        Keyed by what the proof says, not by its bytes: an ES256 signature has a twin. A 64-bit keyed hash is kept
        instead of the strings: a collision could only refuse a good proof, one in 2^43 at the limit.
        """
        named = f"{thumbprint} {jti}".encode()  # a thumbprint has no space
        mark = int.from_bytes(hashlib.blake2b(named, digest_size=8, key=self._key).digest(), "big")
        words, bucket = self._host.words, self._bucket
        with self._host:
            for number, marks in self._seen.items():
                if self._catch_up(number, marks):
                    return False  # this process was stopped after `advance`, and the nonce is over by now
                if mark in marks:
                    return False
            head, area = _place(bucket)
            if words[head] != bucket + 1:
                words[head + 1] = 0
                words[head] = bucket + 1
            count = words[head + 1]
            if count >= self._limit:
                raise Full
            words[area + count] = mark
            words[head + 1] = count + 1
            self._seen[bucket].add(mark)
        return True

    def _catch_up(self, number: int, marks: set[int]) -> bool:
        """Read what others appended in this bucket. True when its area is a later bucket's by now."""
        words = self._host.words
        head, area = _place(number)
        if words[head] == number + 1 and words[head + 1] > len(marks):
            marks.update(words[area + len(marks) : area + words[head + 1]])
        return bool(words[head] > number + 1)


def _place(bucket: int) -> tuple[int, int]:
    """The words of a bucket's head, and of its first mark."""
    odd = bucket % 2
    return 4 + 2 * odd, AREAS + odd * LIMIT
