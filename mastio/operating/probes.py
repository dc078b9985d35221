"""The operator's routes of the data plane: probes and metrics. Core routes, dispatched here."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from mastio import __version__
from mastio.exchange.errors import Unavailable
from mastio.exchange.values import Action, Message, Principal, Recorded, Reply, RequestHead
from mastio.host.metrics import CONTENT_TYPE, Telemetry
from mastio.plugin.hooks import Dispatch, Read, Ready

JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
HEALTH = orjson.dumps({"status": "ok", "version": __version__})

WITHOUT_CONTROL = b"exclude=control"
"""In the query of `/readyz`: for who only asks whether agents are served, such as a balancer."""


def read_nothing(head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
    return Action(head.route.kind, "Appliance", "self"), Message(raw=b"")


class Readiness:
    """The checks of one process: each returns what is wrong, or None."""

    def __init__(self) -> None:
        self.checks: list[Ready] = []
        self.control: Ready | None = None
        """In a worker: whether control is usable."""

    async def find_problems(self, *, excludes_control: bool = False) -> list[str]:
        checks = self.checks if self.control is None or excludes_control else [*self.checks, self.control]
        return [problem for check in checks if (problem := await check()) is not None]


class Operating:
    """Dispatches `probe.*` and `operate.metrics`."""

    def __init__(self, readiness: Readiness, telemetry: Telemetry) -> None:
        self._readiness = readiness
        self._telemetry = telemetry

    def reads(self) -> Mapping[str, Read]:
        return dict.fromkeys(self.dispatches(), read_nothing)

    def dispatches(self) -> Mapping[str, Dispatch]:
        return {
            "probe.health": self.health,
            "probe.live": self.health,
            "probe.ready": self.ready,
            "operate.metrics": self.metrics,
        }

    async def health(self, recorded: Recorded) -> Reply:
        return Reply(200, list(JSON), HEALTH)

    async def ready(self, recorded: Recorded) -> Reply:
        """200 when every part is usable, control included. Raises `Unavailable` naming those that are not."""
        excludes = WITHOUT_CONTROL in recorded.head.query.split(b"&")
        problems = await self._readiness.find_problems(excludes_control=excludes)
        if problems:
            raise Unavailable(f"Not ready: {'; '.join(problems)}.", code="not_ready")
        return Reply(200, list(JSON), orjson.dumps({"status": "ready", "version": __version__}))

    async def metrics(self, recorded: Recorded) -> Reply:
        return Reply(200, [(b"content-type", CONTENT_TYPE)], self._telemetry.render())
