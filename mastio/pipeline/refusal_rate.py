"""The rate limit for audit entries of refused callers without a credential, and the count of the refusals beyond it.

An entry costs disk for good, and anybody on the network can ask for one. So each address has a bucket of entries that
fills again at a rate, and all addresses together have one as well. Refusals beyond it are counted in one entry a
second. An IPv6 network of 64 bits counts as one address, because one host has all of it. Addresses beyond the table
share one bucket.

Pure but for its own notes; time is handed in, monotonic seconds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from mastio.exchange.values import JSON, Entry

KIND = "refusals"
MOST_ADDRESSES = 4096
MOST_TOLD = 16
"""Addresses that one entry names."""

ALL_TIMES = 4
"""The bucket of all addresses together, as a multiple of that of one."""

_OTHERS = "others"


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Refusals:
    """`burst` entries at once and `rate` a second from then on, for each address."""

    def __init__(self, burst: int = 1000, rate: float = 5) -> None:
        self._burst = burst
        self._rate = rate
        self._all = _Bucket(burst * ALL_TIMES, 0.0)
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._counted: Counter[str] = Counter()

    def another(self) -> Refusals:
        """One with the same bounds and nothing in it."""
        return Refusals(self._burst, self._rate)

    @property
    def pending(self) -> bool:
        """True if some counted refusals are not reported yet."""
        return bool(self._counted)

    def takes(self, address: str, now: float) -> bool:
        """True if this refusal gets an entry; otherwise it is counted."""
        network = network_of(address)
        bucket = self._find(network, now)
        everybody = _fill(self._all, self._burst * ALL_TIMES, self._rate * ALL_TIMES, now)
        if _fill(bucket, self._burst, self._rate, now).left < 1 or everybody.left < 1:
            known = network in self._counted or len(self._counted) < MOST_ADDRESSES
            self._counted[network if known else _OTHERS] += 1
            return False
        bucket.left -= 1
        everybody.left -= 1
        return True

    def has_left(self, address: str, now: float) -> bool:
        """True if an exchange of this address may be recorded before it is judged."""
        bucket = _fill(self._find(network_of(address), now), self._burst, self._rate, now)
        return bucket.left >= 1

    def spend(self, address: str, now: float) -> None:
        """An exchange was recorded and refused then."""
        _fill(self._find(network_of(address), now), self._burst, self._rate, now).left -= 1

    def take_counted(self) -> Counter[str]:
        """The counts since the last call, by address."""
        counted, self._counted = self._counted, Counter()
        return counted

    def put_back(self, counted: Counter[str]) -> None:
        """Count these again: they could not be told."""
        self._counted.update(counted)

    def _find(self, network: str, now: float) -> _Bucket:
        bucket = self._buckets.get(network)
        if bucket is not None:
            self._buckets.move_to_end(network)
            return bucket
        if len(self._buckets) >= MOST_ADDRESSES:
            self._forget(now)
        name = network if len(self._buckets) < MOST_ADDRESSES else _OTHERS
        return self._buckets.setdefault(name, _Bucket(self._burst, now))

    def _forget(self, now: float) -> None:
        """The address that was quiet longest, if its bucket is full again: nothing is lost with it."""
        network = next(iter(self._buckets))
        if _fill(self._buckets[network], self._burst, self._rate, now).left >= self._burst:
            del self._buckets[network]


def network_of(address: str) -> str:
    """The network that counts as one address: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return _OTHERS
    if not isinstance(parsed, IPv6Address) or parsed.ipv4_mapped is not None:
        return address
    return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"


def describe(counted: Counter[str], name: str) -> Entry:
    """The one entry of a second. `name` is its id."""
    top = counted.most_common(MOST_TOLD)
    told: dict[str, JSON] = {
        "refused": counted.total(),
        "addresses": [{"address": address, "refused": times} for address, times in top],
    }
    if len(counted) > len(top):
        told["more_addresses"] = len(counted) - len(top)
    return Entry(name, "event", KIND, request=told, outcome={"status": "refused", "code": "counted"})


def _fill(bucket: _Bucket, most: float, rate: float, now: float) -> _Bucket:
    bucket.left = min(most, bucket.left + rate * max(now - bucket.at, 0.0))
    bucket.at = now
    return bucket
