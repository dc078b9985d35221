"""Reading the log over REST: checkpoint, tiles, entries, proofs, the whole.

An auditor sees everything, an agent the checkpoint, the key, and what is about itself since it was enrolled; for an
agent, another's entry is not there at all, nor is one of who had its name before. What
was asked for is what the log covered at the moment of the asking.

Reading has a connection of its own and never waits for the sequencer.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode

import orjson

from mastio.exchange.errors import AuditError, BadRequest, MastioError
from mastio.exchange.values import JSON, Principal, Recorded, Reply, Role, Route, Window
from mastio.host import aside
from mastio_audit import query as asking
from mastio_audit import spending
from mastio_audit.log import tiles
from mastio_audit.log.chain import ChainError, Head, Row, timestamp
from mastio_audit.log.keys import LogKeys
from mastio_audit.log.published import sign_head
from mastio_audit.log.store import LogReader, StoreError
from mastio_audit.query import (
    CHECKPOINT_QUERY,
    DEFAULT_LIMIT,
    ENTRIES,
    ENTRIES_QUERY,
    LOG,
    USAGE,
    USAGE_QUERY,
    AskedUsage,
    EntryQuery,
    LogState,
    nothing_there,
)
from mastio_audit.search import EntryFilter, Page, find_first, read_time, search
from mastio_audit.spending import Part, UsageQuery
from mastio_primitives.transparency import merkle, notes
from mastio_primitives.transparency.notes import Checkpoint

FOREVER = b"private, max-age=31536000, immutable"
MOST_BYTES = 4 * 1024 * 1024
PAGE = 500
WITHIN = 10.0  # seconds
_AUDITOR: frozenset[Role] = frozenset({"auditor"})
_ADMIN = frozenset[Role]({"admin"})
_BOTH: frozenset[Role] = frozenset({"auditor", "agent"})
_TEXT, _LINES = ("text/plain",), ("application/x-ndjson",)
T = TypeVar("T")

ROUTES = (
    Route(
        f"{LOG}/checkpoint",
        ("GET",),
        _BOTH,
        "audit.checkpoint",
        "The log's signed checkpoint",
        recorded="refusals",
        produces=_TEXT,
        parameters=CHECKPOINT_QUERY,
    ),
    Route(
        f"{LOG}/cosigned",
        ("GET",),
        _BOTH,
        "audit.checkpoint",
        "With witnesses' signatures",
        recorded="refusals",
        produces=_TEXT,
    ),
    Route(
        f"{LOG}/vkey",
        ("GET",),
        _BOTH,
        "audit.checkpoint",
        "The log's public key",
        recorded="refusals",
        produces=_TEXT,
    ),
    Route(
        f"{LOG}/tile/{{path...}}",
        ("GET",),
        _AUDITOR,
        "audit.tile",
        "Tiles of the tree",
        recorded="refusals",
        produces=("application/octet-stream",),
    ),
    Route(ENTRIES, ("GET",), _BOTH, "audit.entries", "Entries, a line each", produces=_LINES, parameters=ENTRIES_QUERY),
    Route(
        "/v1/audit/proof/{index}",
        ("GET",),
        _BOTH,
        "audit.proof",
        "Proof that an entry is in the log",
        produces=_TEXT,
    ),
    Route(
        USAGE,
        ("GET",),
        _ADMIN,
        "admin.usage",
        "What calls of models used: requests, tokens, USD",
        produces=("application/json",),
        parameters=USAGE_QUERY,
    ),
    Route(
        "/v1/audit/export",
        ("GET",),
        _AUDITOR,
        "audit.export",
        "The whole log, with its checkpoint",
        streams=True,
        produces=_LINES,
    ),
)


class LogApi:
    """The read and dispatch hooks of the routes above. `reader` is theirs alone. `cosigned`: the file of the newest
    checkpoint that witnesses have signed, if there is one. `enrolled_at`: when the agent of a name got it, Unix
    seconds. `groups_of`: the present groups of an agent."""

    def __init__(
        self,
        reader: LogReader,
        keys: LogKeys,
        now: Callable[[], float],
        cosigned: Path,
        enrolled_at: Callable[[str], float] = lambda name: 0.0,
        groups_of: Callable[[str], Collection[str]] = lambda name: (),
    ) -> None:
        self._groups_of = groups_of
        self._enrolled_at = enrolled_at
        self._reader = reader
        self._keys = keys
        self._now = now
        self._cosigned = cosigned
        self._lock = asyncio.Lock()
        self._open = False
        self.read = {
            "audit.checkpoint": asking.read_checkpoint,
            "audit.tile": asking.read_tile,
            "audit.entries": asking.read_entries,
            "audit.proof": asking.read_proof,
            "audit.export": asking.read_plain,
            "admin.usage": asking.read_usage,
        }
        self.dispatch = {
            "audit.checkpoint": self._checkpoint,
            "audit.tile": self._tile,
            "audit.entries": self._entries,
            "audit.proof": self._proof,
            "audit.export": self._export,
            "admin.usage": self._usage,
        }

    async def close(self) -> None:
        await self._reader.close()

    async def _checkpoint(self, recorded: Recorded) -> Reply:
        if recorded.message.plan == f"{LOG}/vkey":
            return _text(f"{self._keys.signers(self._now())[0].verifier}\n".encode())
        if recorded.message.plan == f"{LOG}/cosigned":
            return _text(await self._read_cosigned())
        return _text(await self._extend(recorded.message.plan))

    async def _extend(self, past: LogState) -> bytes:
        """A signed checkpoint, after the proof that was asked for with it."""
        head = await self._head()
        size = head.size if past.size is None else past.size
        if size > head.size:
            raise nothing_there()
        if past.old is not None and not 0 < past.old <= size:
            raise BadRequest("The parameter old must be from 1 to the size of the log.")
        ranges = [] if past.old is None else merkle.consistency(past.old, size)

        async def read() -> tuple[bytes, list[bytes]]:
            root = merkle.root(head.frontier) if size == head.size else await tiles.read_root(self._reader, size)
            return root, await tiles.read_proof(self._reader, ranges, size)

        root, hashes = await self._ask(read)
        signed = notes.sign(Checkpoint(self._keys.origin, size, root), self._keys.signers(self._now()))
        return signed if past.old is None else notes.write_extension(past.old, hashes, signed)

    async def _read_cosigned(self) -> bytes:
        try:
            return await asyncio.to_thread(self._cosigned.read_bytes)
        except FileNotFoundError as error:
            raise nothing_there() from error
        except OSError as error:
            raise AuditError("The cosigned checkpoint cannot be read at present.") from error

    async def _tile(self, recorded: Recorded) -> Reply:
        tile = recorded.message.plan
        head, start = await self._find_ends()
        if tile.size > head.size:
            raise nothing_there()
        if tile.level == tiles.ENTRIES and tile.start < start:
            raise _archived(start)
        content = await self._ask(lambda: tiles.read_tile(self._reader, tile))
        headers = [(b"content-type", b"application/octet-stream"), (b"cache-control", FOREVER)]
        return Reply(200, headers, content, facts={"tile": tiles.write_path(tile)})

    async def _entries(self, recorded: Recorded) -> Reply:
        asked: EntryQuery = recorded.message.plan
        head, first = await self._find_ends()
        while True:
            if asked.start is not None and asked.start < first:
                raise _archived(first, asked)
            within = range(first, head.size)
            page = await self._ask(functools.partial(self._search, recorded.principal, asked, within))
            _, first = await self._find_ends()
            lowest = asked.cut(within).start
            if asked.newest_first and page.rows:
                lowest = page.rows[-1][0]
            if first <= lowest:  # else entries of the page may have been archived while it was read
                break
        headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
        if page.following is not None:
            headers.append((b"link", asked.link(page.following).encode("ascii")))
        content = b"".join(entry + b"\n" for _, entry in page.rows)
        return Reply(200, headers, content, facts={"entries": len(page.rows)})

    async def _search(self, principal: Principal, asked: EntryQuery, there: range) -> Page:
        """A page of what the caller may see. For an agent that is its own, since it was enrolled."""
        wanted, within = asked.wanted, asked.cut(there)
        if wanted.since is not None:
            within = range(await find_first(self._reader, within, wanted.since), within.stop)
        if principal.is_agent:
            if wanted.agent not in (None, principal.name):
                return Page((), None)
            since = max(wanted.since or 0.0, self._enrolled_at(principal.name))
            wanted = replace(wanted, agent=principal.name, since=since)
        return await search(
            self._reader, wanted, within, asked.limit, newest_first=asked.newest_first, most_bytes=MOST_BYTES
        )

    async def _usage(self, recorded: Recorded) -> Reply:
        """The sums of a period. Where that takes long, those of its first part, and where the rest is to be had."""
        asked: AskedUsage = recorded.message.plan
        question = self._complete(asked)
        head, first = await self._find_ends()
        while True:
            there = range(first, head.size)
            begin = await self._ask(functools.partial(find_first, self._reader, there, question.since))
            end = await self._ask(functools.partial(find_first, self._reader, range(begin, head.size), question.until))
            within = range(max(begin, asked.start or 0), end)
            part = await spending.add_up(
                self._find, question, within, functools.partial(aside.run, False), most_rows=spending.MOST_ROWS
            )
            _, now_first = await self._find_ends()
            if now_first <= begin or now_first == first:
                break
            first = now_first  # entries may have been archived while they were added up
        is_complete = not (first and begin == first)
        return _answer_usage(asked, question, part, is_complete)

    def _complete(self, asked: AskedUsage) -> UsageQuery:
        """With the default times. Raises `BadRequest`."""
        try:
            since, until = spending.make_period(asked.since, asked.until, self._now())
        except ValueError as error:
            raise BadRequest("The parameter since must not be later than until.") from error
        return UsageQuery(since, until, asked.by, asked.agent, asked.model, self._groups_of)

    async def _find(self, within: range, limit: int, contained: Sequence[bytes]) -> Sequence[Row]:
        return await self._ask(functools.partial(self._reader.find, within, limit, contained, False))

    async def _proof(self, recorded: Recorded) -> Reply:
        index = recorded.message.plan
        head, start = await self._find_ends()
        if index >= head.size:
            raise nothing_there()
        if index < start and recorded.principal.is_agent:
            raise _archived(start)

        async def prove() -> list[bytes]:
            if recorded.principal.is_agent:
                [entry] = await tiles.read_entries(self._reader, index, 1)
                principal = recorded.principal
                if not entry.startswith(_prefix(principal)) or read_time(entry) < self._enrolled_at(principal.name):
                    raise nothing_there()
            return await tiles.read_proof(self._reader, merkle.inclusion(index, head.size), head.size)

        hashes = await self._ask(prove)
        return _text(notes.write_proof(index, hashes, self._sign(head)), facts={"index": index, "size": head.size})

    async def _export(self, recorded: Recorded) -> Reply:
        head, start = await self._find_ends()
        headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
        headers.append((b"content-disposition", b'attachment; filename="audit.ndjson"'))
        return Reply(200, headers, self._whole(head, start), facts={"from": start, "size": head.size})

    async def _whole(self, head: Head, start: int) -> AsyncIterator[Window]:
        """From the first entry that is here: those before it are archived."""
        while start < head.size:
            count = min(PAGE, head.size - start)
            entries = await self._ask(functools.partial(tiles.read_entries, self._reader, start, count))
            yield Window(b"".join(entry + b"\n" for entry in entries))
            start += count
        signers = self._keys.signers(self._now())
        end = {"checkpoint": self._sign(head).decode(), "vkey": str(signers[0].verifier)}
        yield Window(orjson.dumps(end) + b"\n", last=True)

    async def _head(self) -> Head:
        return (await self._find_ends())[0]

    async def _find_ends(self) -> tuple[Head, int]:
        """The head, and the first entry that is not archived."""
        extent = await self._ask(self._reader.extent)
        if extent.head is None:
            raise AuditError("The log cannot be read at present.")
        return extent.head, extent.start

    def _sign(self, head: Head) -> bytes:
        return sign_head(head, self._keys, self._now())

    async def _ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """One question at a time. Raises `AuditError` where the log does not answer, or lacks what it should have."""
        try:
            async with asyncio.timeout(WITHIN), self._lock:
                if not self._open:
                    await self._reader.open()
                    self._open = True
                return await question()
        except ChainError as error:
            raise await self._explain(error) from error
        except (StoreError, TimeoutError) as error:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WITHIN), self._lock:
                    self._open = False
                    await self._reader.close()
            raise AuditError("The log cannot be read at present.") from error

    async def _explain(self, error: ChainError) -> MastioError:
        """The error for a missing entry: it may have been archived since the request began; otherwise the log is
        damaged."""
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(WITHIN), self._lock:
                extent = await self._reader.extent()
            if error.index is not None and error.index < extent.start:
                return _archived(extent.start)
        return AuditError("The log is not what was written.", code="audit_damaged", headers=())


def _answer_usage(asked: AskedUsage, question: UsageQuery, part: Part, is_complete: bool) -> Reply:
    times = {name: timestamp(getattr(question, name)).decode("ascii") for name in ("since", "until")}
    following = None
    if part.following is not None:
        given = {"by": ",".join(asked.by), "agent": asked.agent, "model": asked.model, **times, "from": part.following}
        following = f"{USAGE}?{urlencode({name: value for name, value in given.items() if value is not None})}"
    document = {
        **times,
        "by": asked.by,
        "rows": spending.describe_rows(part.sums, asked.by),
        "total": spending.describe(part.sums.total),
        "complete": is_complete,
        "next": following,
    }
    content = json.dumps(document, ensure_ascii=False).encode()  # of numbers of any size
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    return Reply(200, headers, content, facts={"rows": len(part.sums.by_key)})


def _prefix(principal: Principal) -> bytes:
    """The first bytes of every entry of this agent: `agent` is the first member in canonical order."""
    return b'{"agent":' + orjson.dumps(principal.name) + b","


def _text(content: bytes, facts: dict[str, JSON] | None = None) -> Reply:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    return Reply(200, headers, content, facts=facts or {})


def _archived(start: int, asked: EntryQuery | None = None) -> BadRequest:
    link = (asked or EntryQuery(EntryFilter(), None, DEFAULT_LIMIT, False, {"limit": str(DEFAULT_LIMIT)})).link(start)
    return BadRequest(f"Entries before {start} are archived.", code="archived", headers=(("Link", link),))
