"""Runs long work in a thread beside the event loop, one piece of work at a time, in fair turns.

The work is a pure function of values. Python switches between the thread and the event loop every few milliseconds
(`sys.getswitchinterval`). A worker has one such thread: several threads would leave the loop less than half of the
time. Each call of C code in the work must return within a few milliseconds, because nothing interrupts it.

Each caller has a queue of its own, and the queues take turns: the long work of one caller waits for one piece of each
other caller, and never for all that one of them has asked for. Who the caller is, the pipeline says with `serve`, in
the context of the exchange; work of nobody's exchange has a queue as well.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from mastio.errors import Unavailable

P = ParamSpec("P")
R = TypeVar("R")

SHORT = 16 * 1024
"""Bytes of a text that counts as short, unless it has more than `FEW` values."""

FEW = 1000
"""Values, lines or pairs of a short text. This many take about ten milliseconds of Python."""

MOST_WAITING = 1024
"""Pieces of work of one caller that may wait: as many as one agent may have exchanges, by default."""

_caller: ContextVar[str] = ContextVar("caller", default="")


def serve(caller: str) -> None:
    """Say whose work is done in this context from now on."""
    _caller.set(caller)


def is_short(raw: bytes) -> bool:
    """Whether the work on a text is short enough for the event loop. The count of values is an upper bound."""
    if len(raw) <= FEW:
        return True
    return len(raw) <= SHORT and sum(map(raw.count, (b",", b"[", b"{", b"\n", b"&"))) <= FEW


@cache
def _thread() -> ThreadPoolExecutor:
    """The thread, started at first use: a process that forks must not have threads."""
    return ThreadPoolExecutor(1, thread_name_prefix="aside")


class Turns:
    """The queues of one event loop. The caller whose turn it was goes to the end of the line."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[tuple[asyncio.Future[Any], Callable[[], Any]]]] = OrderedDict()
        self._busy = False

    def enqueue(self, caller: str, work: Callable[[], R]) -> asyncio.Future[R]:
        """The result to come. Raises `Unavailable` where too much of this caller waits."""
        queue = self._queues.get(caller)
        if queue is None:
            queue = self._queues[caller] = deque()
        elif len(queue) >= MOST_WAITING:
            raise Unavailable("Too much of your long work waits for its turn.")
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        queue.append((result, work))
        if not self._busy:
            self._next()
        return result

    def _next(self) -> None:
        """Begin the next piece of work that somebody still waits for."""
        while self._queues:
            caller, queue = self._queues.popitem(last=False)
            result, work = queue.popleft()
            if queue:
                self._queues[caller] = queue
            if not result.done():
                self._busy = True
                running = asyncio.get_running_loop().run_in_executor(_thread(), work)
                running.add_done_callback(partial(self._end, result))
                return
        self._busy = False

    def _end(self, result: asyncio.Future[Any], done: asyncio.Future[Any]) -> None:
        if done.cancelled():
            result.cancel()
        elif result.done():
            done.exception()  # nobody waits for it any more
        elif (error := done.exception()) is not None:
            result.set_exception(error)
        else:
            result.set_result(done.result())
        self._next()


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
