"""Looks at the texts of an exchange, both ways: finds values, does with them what policies say, puts originals back.

What is found in a message is replaced there and remembered in the exchange's own vault. Its watch looks at the reply:
what the model wrote is treated by the policies for replies, and then what took an original's place gives way to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from time import thread_time

from mastio.exchange.errors import Blocked, InspectionError
from mastio.exchange.inspection import (
    UNINSPECTED,
    Block,
    Carrier,
    Filter,
    Finding,
    Pass,
    Passage,
    Redact,
    Verdict,
    merge,
)
from mastio.exchange.values import Action, Principal
from mastio.host import aside
from mastio_redaction.catalogue import DEFAULT
from mastio_redaction.engine import Engine, Span
from mastio_redaction.labels.cells import MAX_HEAD
from mastio_redaction.labels.columns import find_table_head
from mastio_redaction.labels.labels import read_before
from mastio_redaction.matched_policies import RedactionPolicies, Side
from mastio_redaction.recogniser import Recogniser, unite
from mastio_redaction.replacement.apply_policy import Outcome, Treatment, describe_block, put_in_place
from mastio_redaction.replacement.strategies import Keys, Strategy
from mastio_redaction.replacement.vault import Restorer, Vault
from mastio_redaction.stream import UNREADABLE, Settled, Stream

BRIEF = 4 * 1024
"""Characters that are looked through in the event loop: an eighth of a millisecond's worth, and thirty at worst."""

PIECE = 16 * 1024
"""Characters that are looked through in one turn beside it."""

OVERLAP = 8 * 1024
"""Characters that a piece shares with the one before: longer than any value but those without end."""

MARGIN = 1024
"""What ends so near the end of a piece may be cut there: the next one sees it whole, and what stands before it."""

EACH = 64
"""Characters that a text counts for besides its own: to begin with one takes as long."""

MOST_FOUND = 100_000
"""Values in one message or reply: more are not kept in mind."""

MOST_CLEAN, LONGEST_CLEAN = 4096, 256
"""Texts for entries that are remembered as having no value in them, and their characters."""

DEADLINE = 10.0
"""Seconds for all texts of a message."""


class Finder:
    """The engine, and whoever is asked besides. `own`: the types that an admin added."""

    def __init__(
        self,
        engine: Engine,
        recogniser: Recogniser | None,
        own: Iterable[str] = (),
        clock: Callable[[], float] = thread_time,
    ) -> None:
        self.engine = engine
        self._clock = clock
        self._recogniser = recogniser
        self.classes: Mapping[str, str] = {
            **{kind.name: kind.cls for kind in engine.types}, **dict.fromkeys(own, "custom"),
        }  # fmt: skip
        self.labels: Mapping[str, str] = {kind: f"{cls}.{kind}" for kind, cls in self.classes.items()}

    async def find_all(self, passages: Sequence[Passage], side: Side) -> tuple[list[list[Span]], bool]:
        """The values in each passage, and True if every recogniser answered. Raises `InspectionError`."""
        texts = [passage.text for passage in passages]
        if sum(map(len, texts)) + EACH // 8 * len(texts) <= BRIEF:
            found = self.engine.find_all(texts, names=[passage.name for passage in passages], only=side.only)
        else:
            found = await self._find_long(passages, side)
        if self._recogniser is None:
            return found, True
        others = await self._recogniser.find_all(texts)
        if others is None:
            return found, False
        return [unite(own, other) for own, other in zip(found, others, strict=True)], True

    async def _find_long(self, passages: Sequence[Passage], side: Side) -> list[list[Span]]:
        """As `Engine.find_all`, in pieces beside the event loop. Raises `InspectionError` when it takes too long."""
        found: list[list[Span]] = []
        work, spent = self._find_pieces(passages, side, found), 0.0
        while (took := await aside.run(False, self._advance, work)) is not None:
            spent += took
            if spent > DEADLINE:
                raise InspectionError("The content could not be looked through in time, so it was refused.")
        return found

    def _advance(self, work: Iterator[None]) -> float | None:
        """Do one piece of the work. Returns the seconds that it took; None: all is done."""
        began = self._clock()
        for _ in work:
            return self._clock() - began
        return None

    def _find_pieces(self, passages: Sequence[Passage], side: Side, found: list[list[Span]]) -> Iterator[None]:
        """Fills `found`, a piece of about `PIECE` characters for each step."""
        done = 0
        previous = ""
        for passage in passages:
            asked = "" if passage.name else read_before("", passage.text, previous)
            previous = passage.text
            spans: list[Span] = []
            found.append(spans)
            head = ""
            for start, piece in cut(passage.text):
                if start:
                    head = find_table_head(head, passage.text[_first_line(passage.text, start) : start])
                before = asked + head + passage.text[_row_start(passage.text, head, start) : start]
                seen = self.engine.find_after(before, piece, name="" if start else passage.name, only=side.only)
                is_last = start + len(piece) == len(passage.text)
                behind = spans[-1].end if spans else 0
                spans += [
                    span._replace(start=span.start + start, end=span.end + start)
                    for span in seen
                    if span.start + start >= behind and (is_last or is_whole(span, len(piece)))
                ]
                done += len(piece) + EACH
                if done >= PIECE:
                    done = 0
                    yield


def _row_start(text: str, head: str, start: int) -> int:
    """The start of the table row that `start` cuts; `start` itself if it is in no table."""
    if not head:
        return start
    earliest = max(start - MAX_HEAD, 0)
    if head.startswith("("):  # of SQL
        found = text.rfind("(", earliest, start)
        return found if found >= 0 else start
    return max(text.rfind("\n", earliest, start) + 1, earliest)


def _first_line(text: str, start: int) -> int:
    """The start of the first whole line in the piece before `start`; that piece's start if it has none."""
    first = start - PIECE
    return text.find("\n", first, start) + 1 or first if first > 0 else 0


def count_found(found: Sequence[Sequence[Span]]) -> int:
    """Raises `Blocked` for more values than are kept in mind."""
    count = sum(map(len, found))
    if count > MOST_FOUND:
        raise Blocked(f"There are more than {MOST_FOUND} values in it to look after.")
    return count


def treat_and_merge(
    treatment: Treatment, texts: Sequence[str], found: Sequence[Sequence[Span]]
) -> tuple[Outcome, tuple[Finding, ...]]:
    outcome = treatment.treat_all(texts, found)
    return outcome, merge(outcome.findings)


def cut(text: str) -> Iterator[tuple[int, str]]:
    """A text in pieces that overlap, each with its place."""
    if len(text) <= PIECE + OVERLAP:
        yield 0, text
        return
    for start in range(0, len(text) - OVERLAP, PIECE):
        yield start, text[start : start + PIECE + OVERLAP]


def is_whole(span: Span, size: int) -> bool:
    """True if a value of a piece of this size is not cut by its end, or not seen again by the next piece."""
    return span.start < PIECE or span.end <= size - MARGIN


class Inspector:
    """`hooks.Inspect` of one worker."""

    def __init__(self, finder: Finder, keys: Keys) -> None:
        self.finder = finder
        self._keys = keys
        self._masked_by = finder.engine
        self._clean = set[str]()
        self.rulings = RedactionPolicies()

    async def inspect(self, principal: Principal, action: Action, passages: Sequence[Passage]) -> Verdict:
        ruling = self.rulings.find(principal, action)
        vault = self.open_vault(principal)
        watch = ReplyWatch(self, principal, ruling.response, vault)
        if ruling.request.is_off and ruling.observed is None:
            return Pass(watch=watch if watch.is_needed else None)
        found, complete = await self.finder.find_all(passages, ruling.request)
        if complete and not any(found):
            return Pass(watch=watch if watch.is_needed else None)
        texts = [passage.text for passage in passages]
        treatment = self.treat_by(ruling.request, principal, vault)
        few = count_found(found) <= aside.FEW
        outcome, findings = await aside.run(few, treat_and_merge, treatment, texts, found)
        if ruling.observed is not None:
            findings = (
                *findings,
                *await aside.run(few, self._observe, ruling.observed, principal, texts, found, outcome),
            )
        if not complete:
            findings = (*findings, Finding(UNINSPECTED, 100))
        if outcome.blocked:
            return Block(describe_block(outcome.blocked), findings)
        seen = watch if watch.is_needed else None
        return Redact(outcome.texts, findings, seen) if outcome.texts else Pass(findings, seen)

    def mask(self, principal: Principal, action: Action, text: str) -> str:
        """`hooks.Mask`: tags in the place of values that policies redact or block, and of secrets. Most texts come
        again and again."""
        engine = self.finder.engine
        if engine is not self._masked_by:
            self._masked_by, self._clean = engine, set()
        if text in self._clean:
            return text
        if not engine.find(text):
            if len(text) <= LONGEST_CLEAN:
                if len(self._clean) >= MOST_CLEAN:
                    self._clean.clear()
                self._clean.add(text)
            return text
        side = self.rulings.find(principal, action).request
        if text.startswith("/"):  # what is found in a part of a path leaves the others as they are
            masked = "/".join(self._mask(principal, side, part) for part in text.split("/"))
            if masked != text:
                return masked
        return self._mask(principal, side, text)

    def _mask(self, principal: Principal, side: Side, text: str) -> str:
        def choose(span: Span) -> Strategy | None:
            action = side.rule(span.type).action
            is_meant = action in ("redact", "block") or (action == "flag" and self._is_hidden(span.type))
            return "tag" if is_meant and text[span.start : span.end].casefold() not in side.never else None

        found = self.finder.engine.find(text, only=side.only) if text else ()
        return self.open_vault(principal).apply(text, found, choose) if found else text

    def _is_hidden(self, kind: str) -> bool:
        """True if entries do not have it even where it is only flagged: secrets, what has a check, an admin's own."""
        return kind in DEFAULT or self.finder.classes.get(kind, "custom") in ("credential", "custom")

    def open_vault(self, principal: Principal) -> Vault:
        """The same value of one agent has the same token in all of its exchanges."""
        return Vault(self._keys, principal.name.encode())

    def treat_by(self, side: Side, principal: Principal, vault: Vault, known: Vault | None = None) -> Treatment:
        """`vault` remembers what is to be put back, `known` has what was."""
        return Treatment(side, self.finder.labels, vault, partial(self.open_vault, principal), known)

    def _observe(
        self, side: Side, principal: Principal, texts: Sequence[str], found: Sequence[Sequence[Span]], done: Outcome
    ) -> list[Finding]:
        """The findings of policies that only observe: the changes that they would have made, under labels of their
        own."""
        would = self.treat_by(side, principal, self.open_vault(principal)).treat_all(texts, found)
        if would.blocked and not done.blocked:
            return [Finding("observed.block", 100)]
        more = [n for n, text in would.texts.items() if done.texts.get(n) != text]
        return [Finding("observed.redact", 100, len(more))] if more else []


class ReplyWatch:
    """`inspection.Watch` of one exchange."""

    def __init__(self, inspector: Inspector, principal: Principal, side: Side, vault: Vault) -> None:
        self._inspector = inspector
        self._principal = principal
        self._side = side
        self._vault = vault
        self._found: list[Finding] = []

    @cached_property
    def _treatment(self) -> Treatment:
        """The treatment for the model's own text, which is never restored: it has a vault of its own."""
        own = self._inspector.open_vault(self._principal)
        return self._inspector.treat_by(self._side, self._principal, own, self._vault)

    @property
    def is_needed(self) -> bool:
        return not self._side.is_off or len(self._vault) > 0

    async def look(self, passages: Sequence[Passage]) -> Verdict:
        changed: dict[int, str] = {}
        if not self._side.is_off:
            found, complete = await self._inspector.finder.find_all(passages, self._side)
            texts = [passage.text for passage in passages]
            few = count_found(found) <= aside.FEW
            outcome, findings = await aside.run(few, treat_and_merge, self._treatment, texts, found)
            self.note(findings)
            if not complete:
                self.note([Finding(UNINSPECTED, 100)])
            if outcome.blocked:
                return Block(describe_block(outcome.blocked), tuple(findings))
            changed = outcome.texts
        if len(self._vault):
            is_short = sum(map(len, (passage.text for passage in passages))) <= PIECE and len(passages) <= aside.FEW
            await aside.run(is_short, self._restore, passages, changed)
        return Redact(changed) if changed else Pass()

    def _restore(self, passages: Sequence[Passage], changed: dict[int, str]) -> None:
        for number, passage in enumerate(passages):
            said = changed.get(number, passage.text)
            original = self._vault.restore(said)
            if original != said:
                changed[number] = original

    def open(self, carrier: Carrier) -> Filter:
        return self.open_named(carrier, "")

    def open_named(self, carrier: Carrier, name: str) -> Filter:
        """As `open`, for the value of a member: its name counts as words before it."""
        return ReplyFilter(self._inspector.finder.engine, self._treatment, self._side, self._vault, self, name)

    def note(self, findings: Iterable[Finding]) -> None:
        self._found.extend(findings)

    def findings(self) -> Iterable[Finding]:
        return self._found


class ReplyFilter:
    """`inspection.Filter` of one text of a streamed reply. Where nothing may be changed nothing is held back."""

    def __init__(
        self, engine: Engine, treatment: Treatment, side: Side, vault: Vault, watch: ReplyWatch, name: str = ""
    ) -> None:
        self._treatment = treatment
        self._watch = watch
        self._stream = None if side.is_off else Stream(engine, name=name, only=side.only)
        self._changes = side.changes
        self._restorer = None if not len(vault) else Restorer(vault)

    def feed(self, text: str) -> str:
        settled = () if self._stream is None else self._stream.feed(text)
        return self._restore(self._treat(settled) if self._changes else self._note(settled, text))

    def close(self) -> str:
        settled = () if self._stream is None else self._stream.close()
        rest = self._restore(self._treat(settled) if self._changes else self._note(settled, ""))
        return rest if self._restorer is None else rest + self._restorer.close()

    def _treat(self, settled: Iterable[Settled]) -> str:
        return "".join(self._treat_one(one) for one in settled)

    def _treat_one(self, settled: Settled) -> str:
        if any(span.type == UNREADABLE for span in settled.spans):
            raise Blocked("The reply has a run of characters without end, which nobody can look into.")
        treated = self._treatment.treat(settled.text, settled.spans)
        self._watch.note(self._treatment.find(treated))
        blocked = {one.span.type for one in treated if one.rule.action == "block"}
        if blocked:
            raise Blocked(describe_block(blocked))
        return put_in_place(settled.text, treated)

    def _note(self, settled: Iterable[Settled], text: str) -> str:
        """Note the findings, and return the text unchanged."""
        for one in settled:
            self._watch.note(self._treatment.find(self._treatment.treat(one.text, one.spans)))
        return text

    def _restore(self, text: str) -> str:
        return text if self._restorer is None else self._restorer.feed(text)
