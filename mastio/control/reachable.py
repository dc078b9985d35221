"""Whether what an admin describes may be connected to, looked at when it is described.

An address that every call would refuse is refused at once. A name that cannot be resolved is accepted with a warning,
because it may be resolved later and the name servers may be down just now. In both cases each call judges anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Response

from mastio.errors import BadRequest
from mastio.services import Obstacle

WARNING = "Mastio-Warning"
"""The header of the reply: one sentence about what was accepted all the same."""

Examine = Callable[[str, tuple[str, ...]], Awaitable[Obstacle | None]]
"""The obstacle on the way to a base URL, with these addresses allowed beside the public ones."""

Places = tuple[tuple[str, str], ...]
"""Members of a body, and the URL that each of them names."""


async def verify_places(examine: Examine | None, places: Places, allowed: tuple[str, ...], response: Response) -> None:
    """Raises `BadRequest` (invalid_body) for a place that calls would refuse. `examine` None: nothing is looked at."""
    if examine is None:
        return
    for member, url in places:
        obstacle = await examine(url, allowed)
        if obstacle is None:
            continue
        if obstacle.step == "address":
            message = f"{member}: {obstacle.reason} What may be reached is said by allow_addresses (docs/egress.md)."
            raise BadRequest(message, code="invalid_body")
        reason = obstacle.reason.encode("ascii", "replace").decode("ascii")
        response.headers[WARNING] = f"{member}: {reason} Calls fail until the name is resolved."
