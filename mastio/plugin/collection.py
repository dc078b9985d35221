"""Collections: named objects that admins describe, each kind declared once by the plugin that uses it. For plugins.

A plugin lists its collections in `Plugin.collections`. Each declaration yields the rows in the database, the hot copy
in the memory of every process, and the routes below `/v1/admin/<name>` with their OpenAPI. A change by an admin is
judged, stored, and in force before it is answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from mastio.exchange.budgets import BudgetWindow, Usage
from mastio.exchange.records import Directory
from mastio.exchange.values import Role, Route
from mastio.plugin.fields import Answer, Body

ADMIN: frozenset[Role] = frozenset({"admin"})

MOST_OBJECTS = 2000
"""The most objects of one collection. Every worker has all of them in memory, and reads all of them again after each
change."""


class Named(Protocol):
    """A row of a collection: a frozen dataclass or pydantic model with this member."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


@dataclass(frozen=True, slots=True)
class Secret:
    """The secret of an object. `value` is in the clear; `file` is the file that it was read from, if it is not in the
    database.

    `is_lost`: there is a secret, but it cannot be read.
    """

    value: str | None
    file: str | None = None
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Secrets(Generic[N]):
    """The place of the secret in an object. `take` returns the object without it, and the secret; `put` the object
    with it, and without one that is not valid. The database has the secret sealed, and apart from the rest."""

    take: Callable[[N], tuple[N, Secret]]
    put: Callable[[N, Secret], N]


class Desk(Protocol):
    """The services of the control plane that a `Serializer` may use."""

    @property
    def now(self) -> Callable[[], float]:
        """Unix time in seconds."""

    def read_secret(self, path: str) -> str:
        """The secret in a file below the folders for secrets. Raises `SecretFileError` (a `ValueError`)."""

    async def usage(self, places: Iterable[tuple[str, BudgetWindow]]) -> Mapping[str, Usage]:
        """The amounts spent in windows of budgets, by series. Raises `Unavailable`."""


Places = tuple[tuple[str, str], ...]
"""Members of an object, and the URL that each of them names."""


class Serializer(ABC, Generic[N]):
    """Turns bodies of requests into objects of a collection, and objects into bodies of replies.

    `body` creates, `put` replaces, `patch` changes, `answer` shows. Every method may raise `BadRequest`.
    """

    body: ClassVar[type[Body]]
    put: ClassVar[type[Body]]
    patch: ClassVar[type[Body]]
    answer: ClassVar[type[Answer]]
    names_places: ClassVar[bool] = False
    """True if `find_places` may return a URL. Then changes do not wait for another admin."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    @abstractmethod
    def make(self, name: str, body: Any) -> N:
        """The object that a `put` or a `body` describes."""

    def replace(self, present: N, new: N) -> N:
        """The object to store in the place of `present`."""
        del present
        return new

    @abstractmethod
    def change(self, present: N, patch: Any) -> N:
        """The object with the members of `patch` changed."""

    @abstractmethod
    async def show(self, rows: Sequence[N]) -> list[Answer]:
        """The answer for each object, in the same order. No secret is in it."""

    def find_places(self, row: N) -> tuple[Places, tuple[str, ...]]:
        """The upstreams that the object names, and the addresses that it allows beside the public ones."""
        del row
        return (), ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collection(Generic[N]):
    """The declaration of one collection.

    - `name` stands in the path, in the kind of action (`admin.<name>`) and in the database. Messages call one object
      `noun` and several `nouns`.
    - `row` is the type of an object. Its members make up the stored document, but for those in `transient`.
    - `later` names members that earlier versions did not write. A document that lacks any other member is damaged.
    - `damaged` takes the name of a damaged row and the members that can still be read. It returns the value that stands
      for the row. Without it, the row is left out.
    - `most` bounds the number of objects, `limit` the bytes of a body.
    - `needs_second`: where four eyes are on, another admin approves each change.
    - `judge` does work on a body that is too long for the event loop. It is awaited before the body is validated, and
      must not raise.
    - `first` takes the environment variables. It returns the objects of a new appliance, each with a sentence for
      whoever brings it up, or with an empty one. It may raise `ConfigurationError`.
    - `target_type` is the type of actions whose target is an object. They end when the object is removed.
    - `key` returns another name of an object, by which tables of plugins refer to it.
    - `inherit` takes an object and the name of an agent that was given to somebody else. It returns the object as it
      must be from then on, or the same object.
    """

    name: str
    noun: str
    nouns: str
    row: type[N]
    serializer: type[Serializer[N]]
    secrets: Secrets[N] | None = None
    transient: frozenset[str] = frozenset({"is_damaged"})
    later: frozenset[str] = frozenset()
    damaged: Callable[[str, Mapping[str, Any]], N] | None = None
    most: int = MOST_OBJECTS
    limit: int = 128 * 1024
    needs_second: bool = False
    judge: Callable[[bytes], Awaitable[None]] | None = None
    first: Callable[[Mapping[str, str]], Sequence[tuple[N, str]]] | None = None
    target_type: str | None = None
    key: Callable[[N], str] | None = None
    inherit: Callable[[N, str], N] | None = None

    @property
    def path(self) -> str:
        return f"/v1/admin/{self.name}"

    @property
    def item_path(self) -> str:
        return f"/v1/admin/{self.name}/{{name}}"

    @property
    def kind(self) -> str:
        """The kind of action of its routes."""
        return f"admin.{self.name}"

    def find_rows(self, directory: Directory) -> Mapping[str, N]:
        """The objects in the hot copy, by name. Do not keep it across an `await`."""
        return cast(Mapping[str, N], directory.objects(self.name))

    def routes(self) -> tuple[Route, ...]:
        """The rows of the route table."""
        one, many, limit = self.noun, self.nouns, self.limit
        return (
            Route(self.path, ("GET",), ADMIN, self.kind, f"List {many}"),
            Route(self.path, ("POST",), ADMIN, self.kind, f"Create a {one}", limit=limit),
            Route(self.item_path, ("GET",), ADMIN, self.kind, f"Read a {one}"),
            Route(self.item_path, ("PUT",), ADMIN, self.kind, f"Replace a {one}", limit=limit),
            Route(self.item_path, ("PATCH",), ADMIN, self.kind, f"Change a {one}", limit=limit),
            Route(self.item_path, ("DELETE",), ADMIN, self.kind, f"Remove a {one}"),
        )


def describe_first(collections: Iterable[Collection[Any]], environment: Mapping[str, str]) -> list[str]:
    """The sentences about the first objects of an appliance. Raises `ConfigurationError`."""
    first = [one.first(environment) for one in collections if one.first is not None]
    return [sentence for objects in first for _, sentence in objects if sentence]
