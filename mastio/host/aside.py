"""Runs long work in a thread beside the event loop, one piece of work at a time, in fair turns. For plugins.

The work is a pure function of values. Python switches between the thread and the event loop every few milliseconds
(`sys.getswitchinterval`). A worker has one such thread: several threads would leave the loop less than half of the
time. Each call of C code in the work must return within a few milliseconds, because nothing interrupts it.

Each caller has a queue of its own, and the queues share the thread's time in equal parts (start-time fair queueing):
the next piece is that of the caller who has had the least of it. So many short pieces of one caller do not each wait
for a long piece of another one, whatever kind of work the pieces are. A caller who had nothing to do saves no time up.

The pipeline names the caller with `serve`, in the context of the exchange. An agent, a person and a network may have
the same name and are still three callers. Work of no exchange has a queue as well.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache, partial
from time import thread_time
from typing import Any, Literal, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from mastio.exchange.errors import Unavailable

P = ParamSpec("P")
R = TypeVar("R")

SWITCH_SECONDS = 0.0001
"""Seconds that the thread continues while the event loop waits for the interpreter. An exchange gives the interpreter
away, and waits for it, a dozen times; with Python's five milliseconds it would take sixty more beside long work."""

SHORT = 16 * 1024
"""Bytes of a text that counts as short, unless it has more than `FEW` values."""

FEW = 1000
"""Values, lines or pairs of a short text. This many take about ten milliseconds of Python."""

MOST_WAITING = 1024
"""Pieces of work of one caller that may wait: as many as one agent may have exchanges, by default."""

MOST_REMEMBERED = 4096
"""Callers without waiting work whose time is remembered."""

Kind = Literal["agent", "person", "network", "appliance"]
Caller = tuple[Kind, str]

_caller: ContextVar[Caller] = ContextVar("caller", default=("appliance", ""))


def serve(kind: Kind, name: str) -> None:
    """Say whose work is done in this context from now on."""
    _caller.set((kind, name))


def is_short(raw: bytes) -> bool:
    """True if the work on a text is short enough for the event loop. The number of values is an upper bound."""
    if len(raw) <= FEW:
        return True
    return len(raw) <= SHORT and sum(map(raw.count, (b",", b"[", b"{", b"\n", b"&"))) <= FEW


@cache
def _thread() -> ThreadPoolExecutor:
    """The thread, started at first use: a process that forks must not have threads."""
    sys.setswitchinterval(SWITCH_SECONDS)
    return ThreadPoolExecutor(1, thread_name_prefix="aside")


class Turns:
    """The queues of one event loop."""

    def __init__(self) -> None:
        self._queues: dict[Caller, deque[tuple[asyncio.Future[Any], Piece]]] = {}
        """Those with waiting work; of callers with equal times the first one is next."""
        self._times: dict[Caller, float] = {}
        """Seconds of the thread that each caller has had, on a scale that begins where the caller joined the others."""
        self._now = 0.0
        """On that scale, the time of the caller whose piece was begun last."""
        self._busy = False

    def enqueue(self, caller: Caller, work: Callable[[], R]) -> asyncio.Future[R]:
        """The result to come. Raises `Unavailable` where too much of this caller waits."""
        queue = self._queues.get(caller)
        if queue is None:
            queue = self._join(caller)
        elif len(queue) >= MOST_WAITING:
            raise Unavailable("Too much of your long work waits for its turn.")
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        queue.append((result, Piece(work)))
        if not self._busy:
            self._next()
        return result

    def _join(self, caller: Caller) -> deque[tuple[asyncio.Future[Any], Piece]]:
        if len(self._times) > MOST_REMEMBERED:
            self._times = {one: at for one, at in self._times.items() if at > self._now or one in self._queues}
        self._times[caller] = max(self._times.get(caller, 0.0), self._now)
        queue = self._queues[caller] = deque()
        return queue

    def _next(self) -> None:
        """Begin the next piece of work that somebody still waits for."""
        self._busy = False
        while self._queues:
            caller = min(self._queues, key=self._times.__getitem__)
            queue = self._queues.pop(caller)
            result, piece = queue.popleft()
            if queue:
                self._queues[caller] = queue  # behind callers with the same time
            if not result.done():
                self._busy = True
                self._now = self._times[caller]
                running = asyncio.get_running_loop().run_in_executor(_thread(), piece.do)
                running.add_done_callback(partial(self._end, caller, result, piece))
                return
        self._times.clear()  # nobody waits: the next callers are equal
        self._now = 0.0

    def _end(self, caller: Caller, result: asyncio.Future[Any], piece: Piece, done: asyncio.Future[Any]) -> None:
        self._times[caller] = self._times.get(caller, self._now) + piece.seconds
        if done.cancelled():
            result.cancel()
        elif result.done():
            done.exception()  # nobody waits for it any more
        elif (error := done.exception()) is not None:
            result.set_exception(error)
        else:
            result.set_result(done.result())
        # in a moment: who waited for this result may have another piece, and the least time
        asyncio.get_running_loop().call_soon(self._next)


class Piece:
    """One piece of work. `seconds` is the processor time that it took. It knows nothing of its result: an error of the
    work refers to it, and would refer to itself by the result."""

    __slots__ = ("_work", "seconds")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self.seconds = 0.0

    def do(self) -> Any:
        began = thread_time()
        try:
            return self._work()
        finally:
            self.seconds = thread_time() - began


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def _turns_here() -> Turns:
    loop = asyncio.get_running_loop()
    found = _turns.get(loop)
    if found is None:
        found = _turns[loop] = Turns()
    return found


async def run(is_brief: bool, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Returns the result of `work`, and raises its errors. Brief work runs at once, in the event loop. A cancelled
    caller stops waiting; work that has begun runs to its end. Raises `Unavailable` where too much of it waits."""
    if is_brief:
        return work(*args, **kwargs)
    return await _turns_here().enqueue(_caller.get(), lambda: work(*args, **kwargs))
