"""The plugin `detectors`: looks at every text of a request and of its reply for seven classes of content.

`words`, `signals` and `cues` are data; `lexicon`, `scoring`, `disguise` and `engine` decide purely what a text is
suspected of, `judging` what is done about it; `inspecting` is the shell. `docs/detectors.md` says what it means.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mastio.hooks import Hooks, Plugin
from mastio.services import Services
from mastio_detectors.engine import Engine, Own
from mastio_detectors.inspecting import PROBED, Inspector
from mastio_detectors.settings import Settings


def build_engine(settings: Settings) -> Engine:
    own = [Own(f"{pattern.kind}.{pattern.category}", pattern.weight, pattern.pattern) for pattern in settings.patterns]
    rules = {kind: rule for kind, rule in settings.rules().items() if rule.action != "off"}
    return Engine(own, rules, {kind: min(rule.threshold, PROBED) for kind, rule in rules.items()})


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    inspector = Inspector(
        build_engine(settings),
        settings.rules(),
        deadline=settings.deadline_seconds,
        when_broken=settings.when_broken,
    )
    yield Hooks(inspect=inspector.inspect, ready=inspector.ready)


plugin = Plugin(name="detectors", settings=Settings, setup=setup)
