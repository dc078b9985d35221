"""The endpoints of routes: the routers return them, and `build` ties them to the rows of `mastio.http.control_routes`.
Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel

from mastio.exchange.values import Principal


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`status` is that of success; `more` are the models of other successful statuses; `takes` is the media type of
    the body, which is handed over parsed when it is JSON, else as bytes.

    `second`: with four-eyes on, another admin has to approve it before it is carried out, unless `alone` says of this
    very call (caller, validated arguments) that it needs none. Its body must not hold secrets: the approver sees it.
    `claims`: it would answer a new token, which the approver must not see; who asks gets a one-time code instead,
    unless the body has `token_sha256`. `find` (validated arguments) raises `NotFound` where the object that is to be
    changed does not exist: such a change is refused at once and never held.
    """

    call: Callable[..., Any]
    status: int = 200
    more: Mapping[int, type[BaseModel]] = field(default_factory=dict)
    takes: str = "application/json"
    second: bool = False
    claims: bool = False
    alone: Callable[[Principal, Mapping[str, Any]], Awaitable[bool]] | None = None
    find: Callable[[Mapping[str, Any]], Awaitable[object]] | None = None


Endpoints = Mapping[tuple[str, str], Endpoint]
"""By method and path, as in `mastio.http.control_routes`."""


class Router(Protocol):
    """Some endpoints with what they share."""

    def endpoints(self) -> Endpoints: ...
