"""Admission control: slots for exchanges and room for bodies, shared so that no caller takes what others need.

A slot is taken when it is known who calls. Agents, auditors, admins with operators, and callers without a credential
have slots of their own, so no kind of caller keeps out another. Among callers of one kind, a slot is given as long as
the caller holds no more than a fixed share, and fewer than are still free: whoever holds many leaves room for whoever
holds none.

Room is bytes of request bodies, for each caller. It is held until the exchange ends, as the body is. A body of unknown
length gets its room as it grows; one of known length waits for all of it before it is read, so that bodies never wait
for each other's rest.

Values of one event loop; nothing here knows HTTP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from mastio.exchange.errors import Denied, MastioError, Unavailable
from mastio.exchange.values import Principal, Route
from mastio.pipeline.refusal_rate import network_of

WAIT_SECONDS = 20.0
"""Seconds that a body waits for memory before its caller is told to come back."""

MOST_WAITING = 64
"""Bodies of one caller that may wait for room; the server keeps the beginning of each."""

DESK_BYTES = 8 * 1024 * 1024
"""Bytes of the long bodies of one caller that are looked into at once. Parsed, searched and translated, a body takes
five times its length. One longer than this is looked into alone."""

RULE = "admission/"
"""Prefix of the rules of refusals here, in the audit log."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The number of slots, and the share of slots and memory that one caller may have.

    `agents`, `admins`, `strangers`: slots for each kind of caller; auditors have as many as admins and operators.
    `agent_share`: the most that one agent may hold, as a part of `agents`. `body_bytes`: bytes of bodies that one
    caller may have in memory.
    """

    agents: int = 2048
    admins: int = 64
    strangers: int = 256
    agent_share: float = 0.5
    body_bytes: int = 48 * 1024 * 1024


class Room:
    """Bytes for the bodies of each caller, at most `most` for one. A single body always has room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, asyncio.Future[None]]]] = {}

    def used(self, caller: str) -> int:
        """The bytes that the caller has."""
        return self._used.get(caller, 0)

    def grow(self, caller: str, size: int) -> None:
        """Take room now. Raises `Denied` (429)."""
        used = self._used.get(caller, 0)
        if used and used + size > self._most:
            raise _no_room()
        self._used[caller] = used + size

    async def take(self, caller: str, size: int) -> None:
        """Take room, after those of the same caller who came before. Raises `Denied` (429) where too many wait."""
        queue = self._waiting.get(caller)
        used = self._used.get(caller, 0)
        if queue is None and (not used or used + size <= self._most):
            self._used[caller] = used + size
            return
        if queue is None:
            queue = self._waiting[caller] = deque()
        if len(queue) >= MOST_WAITING:
            raise _no_room()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (size, turn)
        queue.append(place)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await turn
        except (asyncio.CancelledError, TimeoutError) as error:
            if turn.done() and not turn.cancelled():
                self.give(caller, size)  # it had just been given
            elif place in queue:
                queue.remove(place)
                self._serve(caller)
            if isinstance(error, TimeoutError):
                raise _no_room() from error
            raise

    def give(self, caller: str, size: int) -> None:
        """Give room back; who waits for it gets it."""
        left = self._used[caller] - size
        if left:
            self._used[caller] = left
        else:
            del self._used[caller]
        if caller in self._waiting:
            self._serve(caller)

    def _serve(self, caller: str) -> None:
        queue = self._waiting[caller]
        while queue:
            size, turn = queue[0]
            used = self._used.get(caller, 0)
            if used and used + size > self._most:
                return
            queue.popleft()
            if not turn.done():
                self._used[caller] = used + size
                turn.set_result(None)
        del self._waiting[caller]


class Slots:
    """The slots of one kind of caller, `total` of them, at most `most` for one, and the room for their bodies: `room`
    while they are held, `desk` while they are looked into."""

    __slots__ = ("_held", "desk", "free", "most", "room")

    def __init__(self, total: int, most: int, room: Room) -> None:
        self.free = total
        self.most = most
        self.room = room
        self.desk = Room(DESK_BYTES)
        self._held: dict[str, int] = {}

    def take(self, caller: str) -> MastioError | None:
        """Take a slot; None: taken. The error says why not."""
        held = self._held.get(caller, 0)
        if held >= self.most:
            error = Denied(
                "You have as many exchanges under way as one caller may have.",
                code="rate_limited",
                headers=(("Retry-After", "1"),),
            )
            error.add_note(f"{RULE}share")
            return error
        if held >= self.free:
            return Unavailable("The appliance is at its limit of exchanges.")
        self._held[caller] = held + 1
        self.free -= 1
        return None

    def give(self, caller: str) -> None:
        """Give a slot back."""
        left = self._held[caller] - 1
        if left:
            self._held[caller] = left
        else:
            del self._held[caller]
        self.free += 1

    def held(self, caller: str) -> int:
        """The number of slots that the caller holds."""
        return self._held.get(caller, 0)


class Admission:
    """The slots and the room of one worker."""

    def __init__(self, shares: Shares) -> None:
        most = max(int(shares.agents * shares.agent_share), 1)
        self._agents = Slots(shares.agents, most, Room(shares.body_bytes))
        self._admins = Slots(shares.admins, shares.admins, Room(shares.body_bytes))
        self._auditors = Slots(shares.admins, shares.admins, Room(shares.body_bytes))
        self._strangers = Slots(shares.strangers, shares.strangers, Room(shares.body_bytes))

    def admit_stranger(self, route: Route, address: str) -> Ticket | None:
        """Take the slot of a caller who is not known before the body is read, or never; None: the route needs none.

        Probes and public documents need none: they have no body and do no work that lasts. Raises `Unavailable`.
        """
        return None if route.recorded == "none" else self._admit(self._strangers, network_of(address))

    def admit(self, principal: Principal) -> Ticket:
        """Take a slot for a known caller. Raises `Denied` (429), `Unavailable`."""
        if principal.is_agent:
            return self._admit(self._agents, principal.name)
        return self._admit(self._admins if "operator" in principal.roles else self._auditors, principal.name)

    def _admit(self, slots: Slots, caller: str) -> Ticket:
        error = slots.take(caller)
        if error is not None:
            raise error
        return Ticket(slots, caller)


class Ticket:
    """One exchange's slot and room. `end` gives both back, once."""

    __slots__ = ("_at_desk", "_caller", "_size", "_slots")

    def __init__(self, slots: Slots, caller: str) -> None:
        self._slots = slots
        self._caller = caller
        self._size = 0
        self._at_desk = 0

    async def take(self, size: int) -> None:
        """Room for a body of this length, as soon as there is some. Raises `Denied` (429)."""
        await self._slots.room.take(self._caller, size)
        self._size += size

    def grow(self, size: int) -> None:
        """More room for a body whose length is not known. Raises `Denied` (429)."""
        self._slots.room.grow(self._caller, size)
        self._size += size

    async def begin_work(self, size: int) -> None:
        """Room for what a body of this length becomes, as soon as there is some. Raises `Denied` (429)."""
        await self._slots.desk.take(self._caller, size)
        self._at_desk = size

    def end_work(self) -> None:
        """Give that back."""
        if self._at_desk:
            self._slots.desk.give(self._caller, self._at_desk)
            self._at_desk = 0

    def end(self) -> None:
        """Give everything back."""
        self.end_work()
        self._slots.give(self._caller)
        if self._size:
            self._slots.room.give(self._caller, self._size)


def _no_room() -> Denied:
    error = Denied(
        "Your bodies under way have as many bytes as one caller may have in memory.",
        code="rate_limited",
        headers=(("Retry-After", "1"),),
    )
    error.add_note(f"{RULE}memory")
    return error
