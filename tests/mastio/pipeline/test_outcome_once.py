"""An outcome whose commit is in doubt may be in the log, so it is written at most once."""

from __future__ import annotations

from typing import Any

from mastio.exchange.errors import AuditError
from mastio.exchange.values import Entry
from support.pipeline_world import World


async def test_a_doubtful_outcome_is_not_written_again() -> None:
    world, phases = World(), list[str]()

    async def record(entry: Entry) -> int:
        phases.append(entry.phase)
        if entry.phase == "outcome":
            raise AuditError("The commit took too long.")
        return await World.record(world, entry)

    hooks: Any = {"record": record}
    world.hooks = World(**hooks).hooks
    await world.run()
    assert phases == ["intent", "outcome"]
