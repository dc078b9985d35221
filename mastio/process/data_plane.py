"""The program `worker`: the data plane, all that agents call. `python -m mastio.process.data_plane`; see
`mastio.process.worker`.

It has no framework, no administration, and of the certificate authority the certificates alone.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from mastio.exchange.values import Plane
from mastio.host.liveness import ControlState, Liveness
from mastio.host.metrics import Telemetry
from mastio.operating.probes import Operating, Readiness
from mastio.operating.whoami import KIND as SELF
from mastio.operating.whoami import Whoami, read_self
from mastio.plugin.hooks import Hooks
from mastio.process.app import Base, Program
from mastio.process.worker import main


class DataProgram(Program):
    """Probes, metrics and the caller's own identity, beside what the plugins serve."""

    plane: Plane = "data"

    def hooks(self, base: Base, readiness: Readiness, telemetry: Telemetry) -> Hooks:
        operating, whoami = Operating(readiness, telemetry), Whoami(base.directory)
        return Hooks(
            read={**operating.reads(), SELF: read_self}, dispatch={**operating.dispatches(), SELF: whoami.dispatch}
        )

    def tasks(self, base: Base, readiness: Readiness, liveness: Liveness) -> Sequence[Coroutine[Any, Any, None]]:
        readiness.control = ControlState(base.data, liveness).ready
        return ()


if __name__ == "__main__":
    sys.exit(main(DataProgram()))
