"""The services that the core passes to a plugin's `setup`: Protocols and values, no globals. For plugins.

The composition root (`mastio.process.app`) makes one `Services` for each process.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from socket import SocketKind, socket
from ssl import SSLContext
from typing import Protocol

from mastio.exchange.budgets import BudgetWindow, Claim, Grant, Usage
from mastio.exchange.errors import Denied
from mastio.exchange.inspection import Finding
from mastio.exchange.records import Directory
from mastio.exchange.values import Action, Entry, Message, NeedsApproval, Plane, Principal, RequestHead
from mastio.host.host_memory import HostMemory
from mastio.identity.trust import Trust


class Keys(Protocol):
    """The appliance's secret keys, one for each purpose, made at first start and kept in `secrets/` (0600)."""

    def key(self, purpose: str) -> bytes:
        """32 random bytes, the same for every worker. Raises `ConfigurationError` when the file cannot be read."""


@dataclass(frozen=True, slots=True)
class Worker:
    """The identity of this process: of a worker, or of control. `node` names the data folder, `slot` the process in it;
    `incarnation` is new at each start. At most one live process has a given (`node`, `slot`): the supervisor holds a
    lock on the data folder.
    """

    node: str
    slot: int
    incarnation: str


class Once(Protocol):
    """Remembers for all workers and replicas what was used."""

    async def use(self, name: str, expires_at: float, now: float) -> bool:
        """True the first time for `name`, durably. Raises `Unavailable`. `expires_at`: when it may be forgotten."""


class Leases(Protocol):
    """The remaining amounts of budgets, shared by all workers and replicas.

    Do not call it for each exchange: lease a part, spend it locally, and report.
    """

    async def claim(self, claims: Sequence[Claim], now: float) -> list[Grant | None]:
        """One answer for each claim, in one transaction. None: the budget does not count this any more.

        Raises `Unavailable`; then it is not known whether it happened, and the lease's next claim sets it right.
        """

    async def take_over(self, now: float) -> None:
        """At start: what the last worker in this slot held counts as spent. Raises `Unavailable`."""

    async def sweep(self, now: float) -> None:
        """Now and then: the same for workers that are gone; what is long over is removed. Raises `Unavailable`."""

    async def usage(self, places: Iterable[tuple[str, BudgetWindow]]) -> Mapping[str, Usage]:
        """The amounts spent in these windows, by series; a series without any lease is left out. Raises
        `Unavailable`."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """An action of an agent that needs a human's approval. `message` is the message after inspection, `raw` the
    original bytes.
    """

    head: RequestHead
    principal: Principal
    action: Action
    message: Message
    raw: bytes
    asked: NeedsApproval


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer to a request for approval. `refusal` is set if it was refused; otherwise `by` approved it, for one
    use."""

    hold: str
    by: str | None = None
    refusal: Denied | None = None


class Approvals(Protocol):
    """The approvals by humans of what agents ask for, shared by all workers and replicas."""

    async def wait(self, wanted: ApprovalRequest) -> Approval:
        """Asks for it, once for the very same request, and waits for an answer. Raises `Denied` (rate_limited) for who
        asks too much, and `Unavailable`."""

    async def use(self, hold: str) -> None:
        """Takes what was approved. Raises `Denied` where it was taken already, and `Unavailable`."""


class UpstreamReply(Protocol):
    """The head of an upstream's reply, its body still to be read. Closed by leaving the context that gave it."""

    status: int
    headers: list[tuple[bytes, bytes]]

    async def read(self, limit: int) -> bytes:
        """The whole body. Raises `DispatchError` beyond `limit` bytes or when the upstream breaks off."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, in pieces of any size. Raises `DispatchError` when the upstream breaks off."""


class Upstream(Protocol):
    """A pool of connections to one described base URL. Redirects are not followed, no proxy is used."""

    def send(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes | AsyncIterator[bytes]
    ) -> AbstractAsyncContextManager[UpstreamReply]:
        """One request; `path` is appended to the base URL. Leaving the context early cancels it upstream.

        A `body` that comes in pieces is asked for the next one when the upstream has taken the last; it is sent in
        chunks unless `headers` have its length, which it must then have. An upstream that answers anything but 2xx gets
        no more of it; while it answers 2xx, the body goes on. It is closed when the context is left. What it raises is
        raised here.

        Never sent twice, but for GET, HEAD and OPTIONS on a kept connection that turns out to have been closed.

        Raises `DispatchError` (unreachable, forbidden address, broken) or `UpstreamTimeout`.
        """

    async def close(self) -> None:
        """Close every connection."""


class Obstacle(Protocol):
    """The step at which reaching an upstream failed (resolve, address, connect, tls), and the reason."""

    @property
    def step(self) -> str: ...

    @property
    def reason(self) -> str: ...


class Upstreams(Protocol):
    """Makes pools. The only way out of the appliance: every address is resolved and judged before it is used."""

    def open(
        self,
        base_url: str,
        allow_addresses: tuple[str, ...],
        timeouts: Mapping[str, float],
        tls: SSLContext | None = None,
        pin: str | None = None,
    ) -> Upstream:
        """A pool for this base URL. `timeouts` in seconds: `connect`, `read` (between two pieces), `total`.

        `tls`: whom to trust instead of the system's authorities, made with `pin` if there is one. `pin`: SHA-256 (hex)
        of the one certificate that is accepted. Raises `TargetError` for a URL or network that is not acceptable.
        """

    async def connect(self, host: str, port: int, kind: SocketKind, allow_addresses: tuple[str, ...]) -> socket:
        """For what speaks another protocol than HTTP: a connected stream or datagram socket, not blocking.

        Raises `OSError`, also for an address that is not allowed, and `TargetError` for a network that is none.
        """

    async def examine(
        self,
        base_url: str,
        allow_addresses: tuple[str, ...],
        tls: SSLContext | None = None,
        pin: str | None = None,
        *,
        connects: bool = True,
    ) -> Obstacle | None:
        """The first thing that keeps a call of this base URL from its reply, for an admin. None: there is nothing.

        By the rules of a call. Without `connects` only the name and its addresses are looked at. Raises `TargetError`.
        """


class NoteEvent(Protocol):
    """Records an event that is no exchange."""

    async def __call__(self, entry: Entry, principal: Principal | None = None, action: Action | None = None) -> int:
        """The index of the entry. `principal` and `action`: where the event is of an exchange, whose it is and what is
        done; policies for them say what in its words is masked. Raises `AuditError`.
        """
        ...


class NoteUses(Protocol):
    """Keeps when API keys were last used. Not for each exchange: gather uses, and hand them over now and then."""

    async def __call__(self, uses: Mapping[str, float]) -> None:
        """`uses`: Unix time of the last use, by the key's id. An earlier time than the one kept changes nothing.

        Durable when it returns. Raises `Unavailable`.
        """


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a plugin may use. `public_url` has no trailing slash.

    `now` is Unix time in seconds: for dates that others read or set. An operator or NTP may step it at any moment.
    `monotonic` is in seconds since an unknown moment and never steps: for how long something has been remembered.
    """

    data: Path
    public_url: str
    trust_domain: str
    database_url: str
    directory: Directory
    keys: Keys
    worker: Worker
    workers: int
    """Those that take calls of any length; `slots` has one for each worker, those for long bodies too."""
    slots: range
    host_memory: HostMemory
    """Shared with the other workers of this host."""
    upstreams: Upstreams
    trust: Callable[[], Trust]
    """Cheap; the same object as long as nothing changed."""
    once: Once
    leases: Leases
    permits: Callable[[Principal, Action, Sequence[Finding]], Awaitable[bool]]
    """Returns True if the authorizers would allow the action with these findings. It is for choosing among permitted
    targets and for listing them; it does not replace the pipeline.
    """
    note_api_key_uses: NoteUses
    approvals: Approvals
    note: NoteEvent
    now: Callable[[], float]
    monotonic: Callable[[], float] = time.monotonic
    plane: Plane = "data"
    """Of this process. There is one process of the plane "control": what only one process of a data folder may do
    belongs there, such as what runs in the background. There agents are not served, and nothing waits for it."""

    def digest(self, content: bytes) -> str:
        """Keyed digest of content for the audit log (hex): equal content is recognisable, the content is not."""
        return hmac.digest(self.keys.key("audit-digest"), content, hashlib.sha256).hex()
