"""The plugin contract. A plugin is a `Plugin`; its `setup` yields `Hooks`: a record of functions, all optional.
For plugins.

Third parties and the appliance's own plugins use the same door: a `Plugin` object named in the entry-point group
`mastio.plugins`. *Installed* is not *active*: settings list the active plugins in order, and the order of that list
is the order in which hooks of one stage are called.

| stage | hook | normal answer | to end the exchange |
|---|---|---|---|
| authenticate | `authenticate` | `None`: not on this request; a `Credential` | `AuthenticationError`: wrong |
| authenticate | `authenticate_body` | the same, for routes that carry the credential in the body | the same |
| read | `intake[kind]` | `Intake`: how the body is taken in | `BadRequest`, `Denied` |
| read | `read[kind]` | `(Action, Message)` | `BadRequest` |
| authorize | `authorize` | `None`: abstain; `Allow`; `NeedsApproval` | `Deny`; one Deny wins, no Allow is a Deny |
| inspect | `inspect` | `Pass`, `Redact` | `Block` |
| inspect | `authorize_content` | `None`: abstain; `Allow` | `Deny`; one Deny wins |
| reserve | `reserve` | `None`: no limit concerns it; a `Reservation` | `Denied` (429) |
| record | `record` | the index of the entry, once it is durable | `AuditError` |
| dispatch | `dispatch[kind]` | `Reply` | `DispatchError` and the other errors of `errors.py` |
| dispatch | `around[kind]` | a dispatch that may answer in place of the one it is given, or call it | the same |
| record | `mask` | a text of the caller as an entry may have it | cannot |
| respond | `annotate` | more reply headers | cannot |
| refuse | `challenge` | more headers of a 401 | cannot |
| administer | `verify[collection]` | `None` | `BadRequest` |
| administer | `in_force[collection]` | `None`: the stored objects are in force; otherwise the reason | cannot |
| probe | `ready` | `None`: usable; else which part is not, in one phrase | cannot |
| lifetime | `setup` | an open context | `ConfigurationError` |

Any other exception is a `PluginError`: the exchange is refused (fail closed).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.inspection import Finding, Passage, Verdict
from mastio.exchange.target import parse_base_url, parse_networks
from mastio.exchange.values import (
    Action,
    Credential,
    Decision,
    Entry,
    Intake,
    Message,
    Principal,
    Recorded,
    Reply,
    RequestHead,
    Reservation,
    Route,
)
from mastio.plugin.collection import Collection
from mastio.plugin.services import Services

Authenticate = Callable[[RequestHead], Credential | None]
"""Called for every request before its body is read, in plugin order. Synchronous: no network, no database."""

AuthenticateBody = Callable[[RequestHead, bytes], Credential | None]
"""As `Authenticate`, for routes with `credential_in_body` only."""

TakeIn = Callable[[RequestHead, Principal], Intake]
"""Called before the body is read, for the kinds that it is given for; all others are read whole, up to the route's
limit."""

Read = Callable[[RequestHead, Principal, bytes], tuple[Action, Message] | Awaitable[tuple[Action, Message]]]
"""Called once for the route's kind, after authentication and before authorization. Parses the whole body; a body that
goes on as it arrives is empty here. Raises `BadRequest` for an unknown or doubtful body. Bound the work before you do
it; return an awaitable where the work may be long (`mastio.host.aside`)."""

Authorize = Callable[[Principal, Action], Awaitable[Decision | None]]
"""Called for every action of an agent, in plugin order, until one denies."""

Inspect = Callable[[Principal, Action, Sequence[Passage]], Awaitable[Verdict]]
"""Called with the texts of the message, in plugin order; sees the earlier ones' redactions. Its verdict may hand over a
`Watch`, which sees the reply. Not called for what has no texts."""

AuthorizeContent = Callable[[Principal, Action, Sequence[Finding]], Awaitable[Decision | None]]
"""Called for every action of an agent once it is inspected, in plugin order, until one denies: for rules that look at
what was found. An `Allow` takes the place of the one given before, but never of
a `NeedsApproval`."""

Reserve = Callable[[Principal, Action, Message], Awaitable[Reservation | None]]
"""Sets aside what the exchange may use, before its intent. Called in plugin order until one refuses, and then those
before it are settled with nothing. Its `settle` is called once, when the exchange is over, however it ended."""

Record = Callable[[Entry], Awaitable[int]]
"""Returns the index when the entry is on stable storage, never earlier. The caller may go away: it is recorded
all the same. Raises `AuditError` when it cannot be known to be durable."""

Mask = Callable[[Principal, Action, str], str]
"""Called with what the caller wrote and an entry is to have: a path, an id, a model's name. Returns it without the
values that this plugin finds in texts. Must be cheap and cannot fail the exchange."""

Dispatch = Callable[[Recorded], Awaitable[Reply]]
"""Carries the action out. Exactly one plugin claims a kind. Cancelled when the client hangs up."""

Around = Callable[[Dispatch], Dispatch]
"""Called once at start for each kind it is given for. The first active plugin is the outermost."""

Annotate = Callable[[Recorded, Reply], Mapping[str, str]]
"""More headers for a reply that is about to be sent. Must be cheap and cannot fail the exchange."""

Verify = Callable[[Any], None]
"""Called with an object of a collection of the control plane before it is stored. Raises `BadRequest` (invalid_body)
for what this plugin could not use. Pure."""

InForce = Callable[[], str | None]
"""Called after each change of a collection, once the directory has it. Returns None when the stored objects are in
force, otherwise the reason, which the admin gets. Must not wait."""

Challenge = Callable[[RequestHead, AuthenticationError], Mapping[str, str]]
"""More headers for a 401 (RFC 9110 §11.6.1): how this plugin's credential would have to look."""

Ready = Callable[[], Awaitable[str | None]]
"""Called by `/readyz`. Answers within a second."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one plugin, stage by stage. A hook that is not set costs nothing on the hot path."""

    authenticate: Authenticate | None = None
    authenticate_body: AuthenticateBody | None = None
    intake: Mapping[str, TakeIn] = field(default_factory=dict)
    read: Mapping[str, Read] = field(default_factory=dict)
    authorize: Authorize | None = None
    inspect: Inspect | None = None
    authorize_content: AuthorizeContent | None = None
    reserve: Reserve | None = None
    record: Record | None = None
    mask: Mask | None = None
    dispatch: Mapping[str, Dispatch] = field(default_factory=dict)
    around: Mapping[str, Around] = field(default_factory=dict)
    annotate: Annotate | None = None
    challenge: Challenge | None = None
    verify: Mapping[str, Verify] = field(default_factory=dict)
    in_force: Mapping[str, InForce] = field(default_factory=dict)
    ready: Ready | None = None


class PluginSettings(BaseModel):
    """Base of a plugin's settings, read from the section with the plugin's name. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _base_url(value: str) -> str:
    parse_base_url(value)
    return value


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    parse_networks(value)
    return value


BaseUrl = Annotated[str, AfterValidator(_base_url)]
"""A setting: where an upstream is."""

Networks = Annotated[tuple[str, ...], AfterValidator(_networks)]
"""A setting: the addresses where it may be, beyond public ones."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin as its package offers it. `routes` are static, so that the edge can be rendered without opening it.

    `setup(settings, services)` is entered once in each process before the first request and left after the last.
    `preload(settings)` is called once in the process that all others are forked from, so that they share in memory what
    it keeps in the module. It opens no file but code, no thread and no connection, and sees no secret. `setup` must do
    without it too: a process may be forked before.
    """

    name: str
    settings: type[PluginSettings]
    setup: Callable[[Any, Services], AbstractAsyncContextManager[Hooks]]
    routes: tuple[Route, ...] = ()
    collections: tuple[Collection[Any], ...] = ()
    preload: Callable[[Any], None] | None = None
