"""A check, when an admin describes an upstream, that the appliance may connect to it.

An upstream that every call would refuse is accepted with a warning: a name may resolve to another address later, and a
description may be made before its address is allowed. With `Prefer: handling=strict` (RFC 7240 §4.4), which the command
line sends, such an address is refused at once. A name that cannot be resolved is a warning in both cases. Each call
judges the address anew.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Header, Response

from mastio.exchange.errors import BadRequest
from mastio.plugin.services import Obstacle

WARNING = "Mastio-Warning"
"""The header of the reply: one sentence about the problem with an upstream that was accepted."""

STRICT = re.compile(r"(^|,)\s*handling\s*=\s*\"?strict\"?\s*(,|;|$)", re.IGNORECASE)

Examine = Callable[[str, tuple[str, ...]], Awaitable[Obstacle | None]]
"""The obstacle on the way to a base URL, with these addresses allowed beside the public ones."""

Places = tuple[tuple[str, str], ...]
"""Members of a body, and the URL that each of them names."""


class _Handling:
    """The caller's wish for doubtful addresses: refuse them, or carry on and warn in this reply."""

    def __init__(self, response: Response, prefer: Annotated[str, Header()] = "") -> None:
        self.is_strict = STRICT.search(prefer) is not None
        self._response = response

    def warn(self, sentence: str) -> None:
        self._response.headers[WARNING] = sentence.encode("ascii", "replace").decode("ascii")


Handling = Annotated[_Handling, Depends()]


async def verify_places(examine: Examine | None, places: Places, allowed: tuple[str, ...], handling: Handling) -> None:
    """Judge each place. For a place that calls would refuse, a strict caller gets `BadRequest` (invalid_body), any
    other caller a warning. `examine` None: no place is judged."""
    if examine is None:
        return
    for member, url in places:
        obstacle = await examine(url, allowed)
        if obstacle is None:
            continue
        if obstacle.step != "address":
            handling.warn(f"{member}: {obstacle.reason} Calls fail until the name is resolved.")
        elif handling.is_strict:
            message = f"{member}: {obstacle.reason} What may be reached is said by allow_addresses (docs/egress.md)."
            raise BadRequest(message, code="invalid_body")
        else:
            handling.warn(
                f"{member}: {obstacle.reason} Calls fail, unless allow_addresses (docs/egress.md) lets it be reached."
            )
