"""The plugin `detectors`: looks at every text of a request and of its reply for seven classes of content.

`analysis` decides purely what a text is suspected of, `judgement`, `matched_policies` and `definitions` what is done
about it. `inspector` is the shell, `admin_api` answers admins. `docs/detectors.md` says what it means.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mastio.exchange.errors import AuditError, BadRequest
from mastio.exchange.inspection import Passage, Verdict
from mastio.exchange.values import Action, Entry, Principal
from mastio.plugin.hooks import Hooks, Plugin
from mastio.plugin.last_good import LastGood
from mastio.plugin.services import Services
from mastio_detectors.admin_api import ROUTES, DetectorsApi
from mastio_detectors.analysis.engine import Engine, OperatorPattern
from mastio_detectors.collection import DETECTORS
from mastio_detectors.definitions import Tool
from mastio_detectors.detector_policy import DetectorRow
from mastio_detectors.inspector import PROBED, Inspector
from mastio_detectors.judgement import Judgement
from mastio_detectors.matched_policies import DetectorPolicies
from mastio_detectors.settings import Settings

log = logging.getLogger("mastio.detectors")


@functools.lru_cache(maxsize=1)
def build_engine(settings: Settings) -> Engine:
    """The engine that these settings ask for. The last one is kept: the processes of an appliance share its memory."""
    own = [
        OperatorPattern(f"{pattern.kind}.{pattern.category}", pattern.weight, pattern.pattern)
        for pattern in settings.patterns
    ]
    rules = {kind: rule for kind, rule in settings.rules().items() if rule.action != "off"}
    return Engine(own, rules, {kind: min(rule.threshold, PROBED) for kind, rule in rules.items()})


def verify_row(settings: Settings, row: DetectorRow) -> None:
    """Raises `BadRequest` (invalid_body) for what the engine does not look for: it is built by the settings."""
    rules = settings.rules()
    for kind, said in row.classes.items():
        rule = rules.get(kind)
        if rule is None:
            raise BadRequest(f"classes: there is no class {kind}; see docs/detectors.md.", code="invalid_body")
        if rule.action == "off" and said.action != "off":
            raise BadRequest(f"classes.{kind}: the settings turn this class off.", code="invalid_body")
        floor = min(rule.threshold, PROBED)
        if said.threshold is not None and said.threshold < floor:
            raise BadRequest(
                f"classes.{kind}.threshold: it is at least {floor}, as in the settings.", code="invalid_body"
            )


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    rules, tasks = settings.rules(), set[asyncio.Task[None]]()

    async def note(entry: Entry) -> None:
        try:
            await services.note(entry)
        except AuditError as error:
            log.error("the event %s cannot be recorded: %s", entry.kind, error.message)

    def tell(principal: Principal, tool: Tool, judgement: Judgement) -> None:
        """An event, so that an admin knows what to allow."""
        said = {
            "tool": "".join(c if c.isprintable() else "\ufffd" for c in tool.name[:128]),
            "sha256": tool.sha256,
            "labels": [finding.label for finding in judgement.findings],
            "groups": sorted(principal.groups)[:20],
        }
        entry = Entry(services.worker.incarnation, "event", "detectors.definition", agent=principal.name, request=said)
        task = asyncio.create_task(note(entry))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    inspector = Inspector(
        build_engine(settings),
        rules,
        deadline=settings.deadline_seconds,
        when_broken=settings.when_broken,
        tell=tell,
    )

    good: LastGood[DetectorRow] = LastGood("detector policy", "detector policies")

    def reload() -> None:
        if good.take(DETECTORS.find_rows(services.directory)):
            inspector.rulings = DetectorPolicies(
                rules, settings.definitions, DETECTORS.find_rows(services.directory).values()
            )

    def in_force() -> str | None:
        reload()
        return good.problem

    async def inspect(principal: Principal, action: Action, passages: Sequence[Passage]) -> Verdict:
        good.verify_any()
        return await inspector.inspect(principal, action, passages)

    async def ready() -> str | None:
        return f"detectors: {good.problem}" if good.problem else await inspector.ready()

    reload()
    services.directory.on_change(reload)
    doors = DetectorsApi(inspector, services.directory)
    yield Hooks(
        inspect=inspect, ready=ready, read=doors.read, dispatch=doors.dispatch,
        verify={DETECTORS.name: lambda row: verify_row(settings, row)}, in_force={DETECTORS.name: in_force},
    )  # fmt: skip
    await asyncio.gather(*tasks, return_exceptions=True)


def preload(settings: Settings) -> None:
    build_engine(settings)


plugin = Plugin(
    name="detectors", settings=Settings, setup=setup, routes=ROUTES, collections=(DETECTORS,), preload=preload
)
