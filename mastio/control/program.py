"""The program `control`: administration, enrolment, discovery. `python -m mastio.control.program`; see
`mastio.process.worker`.

It alone has the keys of the certificate authority, and the framework that hosts the control plane's application.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mastio.control.application import build
from mastio.control.context import Verifiers
from mastio.control.inprocess import InProcess, read_control, read_judged
from mastio.control.surface import Surface
from mastio.exchange.target import parse_base_url
from mastio.exchange.values import Plane
from mastio.host.control_down import find_file
from mastio.host.liveness import ControlState, Liveness
from mastio.host.metrics import Telemetry
from mastio.http.control_routes import ROUTES
from mastio.http.edge import server_names
from mastio.operating.probes import Readiness
from mastio.pki.authority import DAY, Authority
from mastio.plugin.hooks import Hooks
from mastio.process.app import Base, Program
from mastio.process.plan import secret_folders
from mastio.process.worker import main
from mastio.store.control import ControlStore


class ControlProgram(Program):
    """The control plane's application behind the front door, with the whole authority."""

    plane: Plane = "control"

    def __init__(self) -> None:
        self._verifiers = Verifiers()

    def load_authority(self, base: Base) -> Authority:
        self._authority = Authority.load(base.data, base.settings.server.trust_domain, time.time())
        return self._authority

    def publisher(self) -> Callable[[], None] | None:
        return self._authority.publish

    def hooks(self, base: Base, readiness: Readiness, telemetry: Telemetry) -> Hooks:
        settings, directory = base.settings, base.directory
        store = ControlStore(
            base.database,
            base.keys,
            refresh=directory.refresh,
            collections=base.collections,
            secret_folders=secret_folders(base.data),
        )
        application = build(
            store=store, collections=base.collections, directory=directory, verifiers=self._verifiers,
            authority=self._authority, public_url=settings.server.public_url,
            trust_domain=settings.server.trust_domain, leaf_seconds=settings.pki.leaf_hours * 3600, now=time.time,
            pending_seconds=settings.pki.pending_hours * 3600, server_names=tuple(server_names(settings)),
            server_seconds=settings.pki.server_days * DAY,
            four_eyes_seconds=settings.admin.four_eyes_seconds if settings.admin.four_eyes else None,
            claim_seconds=settings.admin.claim_seconds, examine=partial(base.pools.examine, connects=False),
        )  # fmt: skip
        surface = Surface(base.plan.routes, application.openapi)
        public = parse_base_url(settings.server.public_url)
        door = InProcess(application, (public.host, public.port))
        kinds = {*(route.kind for route in ROUTES), *(one.kind for one in base.collections)}
        judged = {one.kind: read_judged(one.judge) for one in base.collections if one.judge is not None}
        return Hooks(
            read={**dict.fromkeys(kinds, read_control), **judged, **surface.reads()},
            dispatch={**dict.fromkeys(kinds, door.dispatch), **surface.dispatches()},
        )

    def announce(self, data: Path) -> None:
        """Tell the edge at once: the supervisor looks a moment later, and calls in between would be refused."""
        find_file(data).unlink(missing_ok=True)

    def take(self, opened: Sequence[tuple[str, Hooks]]) -> None:
        for _, hook in opened:
            self._verifiers.add(hook.verify, hook.in_force)

    def tasks(self, base: Base, readiness: Readiness, liveness: Liveness) -> Sequence[Coroutine[Any, Any, None]]:
        return (ControlState(base.data, liveness).publish(readiness.find_problems),)


if __name__ == "__main__":
    sys.exit(main(ControlProgram()))
