"""Redaction: finds personal data and secrets in messages and replies, and takes out what policies say.

`catalogue/` are the types, `engine.py` finds their values in one pass, `stream.py` in texts that come in pieces.
`matched_policies.py` says what policies do with them, `strategies.py` what takes their place, `vault.py` puts it back
for the caller. `inspector.py` looks at an exchange. The policies are objects of the control plane
(`/v1/admin/redaction`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from mastio.exchange.errors import BadRequest, ConfigurationError, Unavailable
from mastio.exchange.inspection import Passage, Verdict
from mastio.exchange.target import TargetError
from mastio.exchange.values import Action, Principal
from mastio.host import aside
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.last_good import LastGood
from mastio.plugin.services import Services
from mastio_redaction.admin_api import ROUTES, RedactionApi
from mastio_redaction.catalogue import CATALOGUE, DEFAULT
from mastio_redaction.collection import REDACTION
from mastio_redaction.custom import Custom, CustomError, Dictionary, verify_values
from mastio_redaction.engine import Engine
from mastio_redaction.inspector import Finder, Inspector
from mastio_redaction.matched_policies import ALL, RedactionPolicies, Rule
from mastio_redaction.recogniser import Recogniser, RecogniserSettings
from mastio_redaction.redaction_policy import RedactionRow
from mastio_redaction.replacement.strategies import Keys
from mastio_redaction.stream import UNREADABLE

MOST_ALWAYS = 20_000
"""Characters of the values that all policies together always find. They are compiled into one automaton in each worker:
this many take a second or two, beside the event loop."""

LISTED = "LISTED"
"""The type of values that a policy always finds."""

TypeName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]


class Words(PluginSettings):
    """`terms` are values of `type`, where up to `distance` letters may be wrong."""

    type: TypeName
    terms: tuple[str, ...]
    distance: int = Field(default=0, ge=0, le=2)


class Settings(PluginSettings):
    """`unspoken`: what is done with values that no policy speaks of: `redact` takes those with a check out of requests
    and puts them back in replies, and notes the others in the log; `flag` notes in the log that they were there; `off`
    does not look for them. `patterns`: further types, each with a list of expressions. `dictionaries`: words that
    are values of a type, one `[[redaction.dictionaries]]` table each, with `type`, `terms`, `distance`.
    `recogniser`: another recogniser that is asked too, with `url`, `allow_addresses`, `language`, `types`, `min_score`,
    `deadline_ms`, `when_broken`; none by default."""

    unspoken: Literal["redact", "flag", "off"] = "flag"
    patterns: dict[TypeName, tuple[str, ...]] = Field(default_factory=dict)
    dictionaries: tuple[Words, ...] = ()
    recogniser: RecogniserSettings | None = None


class Policies:
    """The redaction policies in force in this worker, kept up with the directory."""

    def __init__(self, settings: Settings, services: Services, finder: Finder, inspector: Inspector) -> None:
        self._settings = settings
        self._directory = services.directory
        self._finder = finder
        self._inspector = inspector
        self._good: LastGood[RedactionRow] = LastGood("redaction policy", "redaction policies")
        self._engines: dict[tuple[str, ...], Engine] = {(): finder.engine}
        """By the values that they always find: the one in force, and those that soon will be. Few: one change may
        follow the other."""
        self.reload()

    async def prepare(self, rows: Mapping[str, RedactionRow]) -> None:
        """Compile beside the event loop what `reload` will need: a thousand values take a second."""
        always = always_of(rows.values())
        if always not in self._engines:
            with contextlib.suppress(CustomError, Unavailable):  # `reload` says so
                self._engines[always] = await aside.run(False, self._compile, always)

    def _compile(self, always: tuple[str, ...]) -> Engine:
        return self._finder.engine.extended(own_of(self._settings, always))

    def reload(self) -> None:
        """Take the directory's policies, unless they are those in force, or one of them is damaged, or their values
        cannot be looked for together."""
        rows = REDACTION.find_rows(self._directory)
        always = always_of(rows.values())
        try:
            engine = self._engines.get(always) or self._compile(always)
        except CustomError as error:
            self._good.refuse(f"The values of always cannot be looked for: {error}")
            return
        if not self._good.take(rows):
            return
        self._finder.engine = engine
        self._engines = dict([*self._engines.items()][-2:]) | {always: engine}
        unspoken, defaults = rules_of(self._settings.unspoken)
        self._inspector.rulings = RedactionPolicies(rows.values(), unspoken, self._finder.classes, defaults)

    async def inspect(self, principal: Principal, action: Action, passages: Sequence[Passage]) -> Verdict:
        """`hooks.Inspect`. Raises `Unavailable` while it is not known what to do."""
        self._good.verify_any()
        return await self._inspector.inspect(principal, action, passages)

    def in_force(self) -> str | None:
        """None when the directory's policies are those in force; else why not."""
        self.reload()
        return self._good.problem

    async def ready(self) -> str | None:
        return f"redaction: {self._good.problem}" if self._good.problem else None

    def verify(self, row: RedactionRow) -> None:
        """Raises `BadRequest` (invalid_body) for a type that nobody finds, a value that cannot be looked for, and more
        values than all policies together may have."""
        unknown = row.types.keys() - self._finder.classes.keys() - {ALL}
        if unknown:
            raise BadRequest(f"types: nothing is called {min(unknown)} here.", code="invalid_body")
        try:
            verify_values(LISTED, row.always)
        except CustomError as error:
            raise BadRequest(f"always: {error}", code="invalid_body") from error
        together = always_of(
            (row, *(other for other in REDACTION.find_rows(self._directory).values() if other.name != row.name))
        )
        if row.always and sum(map(len, together)) > MOST_ALWAYS:
            message = f"always: the values of all policies together have more than {MOST_ALWAYS} characters."
            raise BadRequest(message, code="invalid_body")


def always_of(rows: Iterable[RedactionRow]) -> tuple[str, ...]:
    """The values that policies always find, each once, in order."""
    return tuple(sorted({value for row in rows for value in row.always}))


def rules_of(unspoken: Literal["redact", "flag", "off"]) -> tuple[Rule, Mapping[str, Rule]]:
    """The rule for types that no policy names, and the rules for some of them in requests."""
    if unspoken == "redact":
        return Rule("flag"), dict.fromkeys(DEFAULT, Rule("redact", "tag", restore=True))
    return Rule(unspoken), {}


def own_of(settings: Settings, always: tuple[str, ...]) -> Custom:
    """The admin's additions to the catalogue."""
    return Custom(
        expressions=dict(settings.patterns),
        dictionaries=tuple(Dictionary(one.type, one.terms, one.distance) for one in settings.dictionaries),
        always={LISTED: always} if always else {},
    )


@functools.cache
def catalogue_engine() -> Engine:
    """The engine of the built-in types alone. It is kept: the processes of an appliance share its memory."""
    return Engine(CATALOGUE)


def preload(_: Settings) -> None:
    catalogue_engine()


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    try:
        engine = catalogue_engine().extended(own_of(settings, ()))
    except CustomError as error:
        raise ConfigurationError(str(error), "See redaction.patterns and redaction.dictionaries.") from error
    recogniser = None
    if settings.recogniser is not None:
        try:
            recogniser = Recogniser(settings.recogniser, services.upstreams)
        except TargetError as error:
            raise ConfigurationError(f"The recogniser: {error}", "See redaction.recogniser.") from error
    own = (LISTED, UNREADABLE, *settings.patterns, *(one.type for one in settings.dictionaries))
    asked = settings.recogniser.types if settings.recogniser is not None else ()
    finder = Finder(engine, recogniser, (*own, *asked))
    keys = Keys(services.keys.key("redaction"))
    inspector = Inspector(finder, keys)
    policies = Policies(settings, services, finder, inspector)
    services.directory.before(REDACTION.name, policies.prepare)
    services.directory.on_change(policies.reload)
    doors = RedactionApi(inspector, services.directory, keys)
    yield Hooks(
        inspect=policies.inspect, mask=inspector.mask, read=doors.read, dispatch=doors.dispatch,
        verify={REDACTION.name: policies.verify}, in_force={REDACTION.name: policies.in_force}, ready=policies.ready,
    )  # fmt: skip


plugin = Plugin(
    name="redaction", settings=Settings, setup=setup, routes=ROUTES, collections=(REDACTION,), preload=preload
)
