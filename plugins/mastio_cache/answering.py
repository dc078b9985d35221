"""Around the dispatch of an LLM call: an answer from memory, or the call, whose answer is then kept.

    who asks, and by which directives ─▶ key ─▶ memory ─▶ somebody is asking already? wait ─▶ shared table
        ─▶ nearly the same was asked? (where that is on) ─▶ the call

Everything before this has happened to a hit as to any other exchange: its caller is known, a policy allows it, its
body was inspected, its intent is durable. What comes out of memory is inspected and recorded like what comes from a
provider.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from typing import NamedTuple, Protocol
from urllib.parse import unquote_to_bytes

from mastio.exchange.errors import DispatchError
from mastio.exchange.values import AnswerInputs, Recorded, Reply, Window
from mastio.plugin.hooks import Dispatch
from mastio.plugin.services import Services
from mastio_cache.cache_entry import (
    KEPT_HEADERS,
    PIECE,
    CacheEntry,
    is_failure,
)
from mastio_cache.directives import AnsweredKinds, Course, choose, forbids_keeping, read_wishes
from mastio_cache.key import Share, derive, digest, key_of, pack, tenant_of, version_of
from mastio_cache.memory import Memory
from mastio_cache.metrics import CacheMetrics
from mastio_cache.nearness import KINDS, split_text
from mastio_cache.semantic import QuestionScope, Semantic
from mastio_cache.single_flight import Flights, Turn

Headers = list[tuple[bytes, bytes]]

NANO = 10**9


class SecondLevel(Protocol):
    """Answers that other workers kept. Never an error: what cannot be had is not there."""

    async def find(self, key: bytes) -> CacheEntry | None: ...

    def put(self, key: bytes, kept: CacheEntry) -> None:
        """Soon, and not waited for."""


class NoSharedCache:
    """No second level."""

    async def find(self, key: bytes) -> CacheEntry | None:
        return None

    def put(self, key: bytes, kept: CacheEntry) -> None:
        return None


class CacheLookup(NamedTuple):
    """A lookup in the cache: the inputs of the call, its caller, and the caller's directives."""

    tenant: bytes
    key: bytes
    question: AnswerInputs
    course: Course


class Cache:
    """One worker's. `patience`: seconds that somebody waits for another's answer to the same question."""

    def __init__(
        self,
        services: Services,
        memory: Memory,
        second: SecondLevel,
        *,
        answers: AnsweredKinds,
        share: Share,
        ttl: float,
        patience: float,
        max_answer_bytes: int,
        max_gathering_bytes: int,
        semantic: Semantic | None = None,
    ) -> None:
        self._directory = services.directory
        self._now = services.now
        self._secret = derive(services.keys.key("cache"), "key")
        self._memory = memory
        self._second = second
        self._semantic = semantic
        self._answers = answers
        self._share: Share = share
        self._ttl = ttl
        self._patience = patience
        self.max_answer_bytes = max_answer_bytes
        self.room = max_gathering_bytes
        """Bytes that answers under way may still take here, all together."""
        self.flights = Flights()
        self._figures = CacheMetrics()
        self._version: tuple[int, bytes] | None = None

    def around(self, inner: Dispatch) -> Dispatch:
        async def dispatch(recorded: Recorded) -> Reply:
            question = recorded.message.question
            course = choose(self._answers, question, read_wishes(recorded.head.all(b"cache-control")))
            if course.is_bypass:
                return await self._bypass(inner, recorded)
            agent = self._directory.agents.get(recorded.principal.name)
            if question is None or agent is None or not recorded.principal.is_agent:
                if course.only:
                    raise _not_kept()
                return await self._bypass(inner, recorded)
            tenant = tenant_of(agent, self._share)
            key = self._key(recorded, question, tenant, recorded.message.raw)
            return await self._answer(inner, recorded, CacheLookup(tenant, key, question, course))

        return dispatch

    async def _bypass(self, inner: Dispatch, recorded: Recorded) -> Reply:
        """Nobody looks; the inner dispatch says so itself."""
        self._figures.count(recorded.action.kind, "bypass")
        return await inner(recorded)

    def _key(self, recorded: Recorded, question: AnswerInputs, tenant: bytes, body: bytes) -> bytes:
        if self._version is None or self._version[0] != self._directory.version:
            self._version = (
                self._directory.version,
                version_of(self._directory.objects("policies"), self._directory.objects("providers")),
            )
        action, path = recorded.action, recorded.head.route.path
        place = pack(action.kind.encode(), action.target.encode(), path.encode())
        return key_of(self._secret, tenant, self._version[1], place, question, body)

    async def _answer(self, inner: Dispatch, recorded: Recorded, wanted: CacheLookup) -> Reply:
        key, course = wanted.key, wanted.course
        if course.look:
            kept = self._memory.get(key, self._now(), course.max_age)
            if kept is not None:
                return self._replay(recorded, kept)
        if course.only:
            kept = await self._find_second(key, course) if course.look else None
            if kept is None:
                raise _not_kept()
            return self._replay(recorded, kept)
        turn = Turn()
        if course.look:
            joined = await self.flights.join(key, self._patience)
            if isinstance(joined, Turn):
                turn = joined
            elif self._will_do(joined, course):
                return self._replay(recorded, joined)
        with ExitStack() as undo:
            undo.callback(turn.give_up)
            kept = await self._find_second(key, course) if course.look else None
            if kept is not None:
                turn.land(kept)
                return self._replay(recorded, kept)
            place = await self._place(recorded, wanted) if course.look else None
            if place is not None and (near := self._find_near(place, course)) is not None:
                turn.release()  # for others it may be less near
                return self._replay(recorded, near[1], near[0])
            self._figures.count(recorded.action.kind, "miss")
            reply = await inner(recorded)
            _set_cache_header(reply, b"MISS")
            self._watch(reply, recorded, key, turn, place)
            undo.pop_all()
        return reply

    async def _place(self, recorded: Recorded, wanted: CacheLookup) -> QuestionScope | None:
        """The question's place among answered ones; None if similarity is off or no vector is available."""
        if self._semantic is None or recorded.action.kind not in KINDS or recorded.is_redacted:
            return None  # the answer to a near question has the tokens of other values
        split = split_text(recorded.message.raw)
        if split is None:
            return None
        text, rest = split
        scope = digest(self._secret, (b"scope", self._key(recorded, wanted.question, wanted.tenant, rest)))
        return await self._semantic.place(wanted.tenant, scope, text)

    def _find_near(self, place: QuestionScope, course: Course) -> tuple[float, CacheEntry] | None:
        assert self._semantic is not None
        neighbours, floor = self._semantic.neighbours, self._semantic.settings.floor
        for similarity, key in neighbours.nearest(place.tenant, place.scope, place.vector, floor):
            kept = self._memory.get(key, self._now(), course.max_age)
            if kept is not None:
                return similarity, kept
            if self._memory.get(key, self._now()) is None:
                neighbours.remove(place.tenant, place.scope, key)
        return None

    async def _find_second(self, key: bytes, course: Course) -> CacheEntry | None:
        kept = await self._second.find(key)
        if kept is None or not self._will_do(kept, course):
            return None
        self._memory.put(key, kept)
        return kept

    def _will_do(self, kept: CacheEntry, course: Course) -> bool:
        age = kept.age(self._now())
        return age < self._ttl and (course.max_age is None or age <= course.max_age)

    # --- keeping -----------------------------------------------------------------------------------------------------

    def _watch(self, reply: Reply, recorded: Recorded, key: bytes, turn: Turn, place: QuestionScope | None) -> None:
        """Keep what comes, if it is an answer and comes whole. A stream is passed on as it comes."""
        if reply.status != 200:
            turn.give_up()
            return
        forbidden = forbids_keeping(value for name, value in reply.headers if name == b"cache-control")
        shortened = bool(recorded.reserved.granted)  # who asks with more left may get more
        if forbidden or shortened or not _is_from(reply, recorded.action.target):
            turn.release()
            return
        gathering = Gathering(self, reply, lambda kept: self._keep(key, kept, turn, place), turn)
        if not isinstance(reply.body, bytes):
            gathering.follow(reply.body, recorded)
        elif len(reply.body) > self.max_answer_bytes or is_failure(reply.body):
            turn.release()
        else:
            gathering.take(reply.body)
            gathering.complete(recorded, streamed=False)

    def _keep(self, key: bytes, kept: CacheEntry, turn: Turn, place: QuestionScope | None) -> None:
        self._memory.put(key, kept)
        if self._semantic is not None and place is not None:
            self._semantic.neighbours.add(place.tenant, place.scope, key, place.vector)
        self._second.put(key, kept)
        turn.land(kept)

    @property
    def now(self) -> float:
        return self._now()

    # --- giving it again ---------------------------------------------------------------------------------------------

    def _replay(self, recorded: Recorded, kept: CacheEntry, similarity: float | None = None) -> Reply:
        """A stream comes in the pieces that it came in, without the pauses between them.

        `similarity`: how near the question was that this is the answer to; None: it is the same.
        """
        word = "hit" if similarity is None else "near"
        self._figures.count(recorded.action.kind, word)
        self._figures.saved(recorded.action.kind, kept)
        recorded.meter.usage = saved(kept)
        headers = [*kept.headers, *hit_headers(kept, self._now())]
        if similarity is not None:
            headers.append((b"x-cache-similarity", b"%.4f" % similarity))
        body: bytes | AsyncIterator[Window] = _windows(kept.pieces) if kept.streamed else b"".join(kept.pieces)
        return Reply(200, headers, body, facts={"cache": word})


class Gathering:
    """The pieces of one reply while it comes. Given up as soon as it is too large, or fails."""

    def __init__(self, cache: Cache, reply: Reply, keep: Callable[[CacheEntry], None], turn: Turn) -> None:
        self._cache = cache
        self._reply = reply
        self._keep = keep
        self._turn = turn
        self._pieces: list[bytes] | None = []
        self._size = 0

    def take(self, piece: bytes) -> None:
        if self._pieces is None:
            return
        taken = len(piece) + PIECE
        if self._size + len(piece) > self._cache.max_answer_bytes or taken > self._cache.room:
            self._forget()
            self._turn.release()
            return
        self._pieces.append(piece)
        self._size += len(piece)
        self._cache.room -= taken

    def complete(self, recorded: Recorded, *, streamed: bool) -> None:
        """The answer is whole: it is kept, if all of it is here."""
        pieces = self._forget()
        if pieces:
            usage = recorded.meter.usage
            headers = tuple((name, value) for name, value in self._reply.headers if name in KEPT_HEADERS)
            copied = None if usage is None else dict(usage)
            self._keep(CacheEntry(headers, tuple(pieces), streamed, copied, self._cache.now))

    def give_up(self) -> None:
        self._forget()
        self._turn.give_up()

    def follow(self, windows: AsyncIterator[Window], recorded: Recorded) -> None:
        """Take the reply's windows as they pass. Whatever ends it before its end gives it up."""
        close = self._reply.close

        async def release() -> None:
            self.give_up()
            await close()

        self._reply.body = self._pass(windows, recorded)
        self._reply.close = release

    async def _pass(self, windows: AsyncIterator[Window], recorded: Recorded) -> AsyncIterator[Window]:
        try:
            async for window in windows:
                self.take(window.data)
                if window.failure is not None:
                    self.give_up()
                elif window.last:  # whoever reads does not come back after the last one
                    self.complete(recorded, streamed=True)
                yield window
            self.complete(recorded, streamed=True)
        finally:
            self.give_up()

    def _forget(self) -> list[bytes] | None:
        pieces, self._pieces = self._pieces, None
        if pieces is not None:
            self._cache.room += self._size + PIECE * len(pieces)
        return pieces


async def _windows(pieces: tuple[bytes, ...]) -> AsyncIterator[Window]:
    end = len(pieces) - 1
    for number, piece in enumerate(pieces):
        yield Window(piece, last=number == end)


def _is_from(reply: Reply, target: str) -> bool:
    """True if the one who was asked answered, and not another in its place: that answer is good for this call only."""
    said = dict(reply.headers)
    provider, model = said.get(b"x-provider"), said.get(b"x-model")
    return provider is None or model is None or f"{provider.decode()}/{unquote_to_bytes(model).decode()}" == target


def _set_cache_header(reply: Reply, word: bytes) -> None:
    reply.headers = [pair for pair in reply.headers if pair[0] != b"x-cache"]
    reply.headers.append((b"x-cache", word))


def saved(kept: CacheEntry) -> dict[str, int]:
    """The usage of a hit: nothing, and what it would have been."""
    used = kept.usage or {}
    names = ("input_tokens", "output_tokens", "cost_nano_usd")
    return dict.fromkeys(names, 0) | {f"saved_{name}": used[name] for name in (*names, "estimated") if name in used}


def hit_headers(kept: CacheEntry, now: float) -> Headers:
    """`Age` (RFC 9111 §5.1), what the answer once took, and that it took nothing now."""
    headers = [(b"x-cache", b"HIT"), (b"age", b"%d" % kept.age(now)), (b"x-cost-usd", b"0")]
    used = kept.usage
    if used is None:
        return headers
    if "estimated" not in used:  # those are the provider's own count
        pairs = ((b"x-tokens-input", "input_tokens"), (b"x-tokens-output", "output_tokens"))
        headers += [(header, b"%d" % used[name]) for header, name in pairs if name in used]
    headers.append((b"x-saved-tokens", b"%d" % (used.get("input_tokens", 0) + used.get("output_tokens", 0))))
    if "cost_nano_usd" in used:
        headers.append((b"x-saved-cost-usd", encode_usd(used["cost_nano_usd"])))
    return headers


def encode_usd(nano: int) -> bytes:
    """As decimal USD, exactly."""
    return b"%d.%09d" % divmod(nano, NANO)


def _not_kept() -> DispatchError:
    return DispatchError("No answer is kept for this request.", code="not_cached", headers=(("X-Cache", "MISS"),))
