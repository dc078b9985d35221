"""The admin endpoints of collections: the same six for each, made of its declaration."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, cast

from mastio.control.admin.reachable import Handling, verify_places
from mastio.control.context import Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.paging import PagingQuery, answer_page
from mastio.exchange.budgets import BudgetWindow, Usage
from mastio.exchange.errors import BadRequest
from mastio.plugin.collection import Collection, N, Serializer
from mastio.plugin.fields import Page
from mastio.store.secrets.secret_files import read_secret_file


class ControlDesk:
    """Implements `mastio.plugin.collection.Desk`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def now(self) -> Callable[[], float]:
        return self._context.now

    def read_secret(self, path: str) -> str:
        return read_secret_file(path, self._context.store.secret_folders)

    async def usage(self, places: Iterable[tuple[str, BudgetWindow]]) -> Mapping[str, Usage]:
        return await self._context.store.usage.read(places)


class CollectionRouter(Generic[N]):
    """The endpoints of `/v1/admin/<name>`."""

    def __init__(self, collection: Collection[N], context: Context) -> None:
        self._collection = collection
        self._context = context
        self._serializer: Serializer[N] = collection.serializer(ControlDesk(context))

    def endpoints(self) -> Endpoints:
        path, item, second = self._collection.path, self._collection.item_path, self._collection.needs_second
        serializer = self._serializer
        answer: Any = serializer.answer
        # A request that another admin has to approve is kept without its headers.
        left_out = () if serializer.names_places else ("handling",)
        create = _typed(self._create, left_out, handling=Handling, body=serializer.body, returns=answer)
        replace = _typed(self._replace, left_out, handling=Handling, body=serializer.put, returns=answer)
        change = _typed(self._change, left_out, handling=Handling, body=serializer.patch, returns=answer)
        return {
            ("GET", path): Endpoint(_typed(self._list, (), returns=Page[answer])),
            ("POST", path): Endpoint(create, status=201, second=second),
            ("GET", item): Endpoint(_typed(self._read, (), returns=answer)),
            ("PUT", item): Endpoint(replace, second=second, find=self._find),
            ("PATCH", item): Endpoint(change, second=second, find=self._find),
            ("DELETE", item): Endpoint(self._delete, status=204, second=second, find=self._find),
        }

    @property
    def _objects(self) -> Any:
        return self._context.store.of(self._collection)

    async def _list(self, paging: PagingQuery) -> Any:
        """In the order of their names."""
        page = await self._objects.list(paging.limit, paging.after)
        answers = {row.name: answer for row, answer in zip(page.items, await self._show(*page.items), strict=True)}
        return answer_page(page, lambda row: row.name, lambda row: answers[row.name])

    async def _create(self, body: Any, handling: Handling | None = None) -> Any:
        """In force on every worker of this host when it is answered, on other hosts within a second."""
        row = self._serializer.make(body.name, body)
        await self._verify(row, handling)
        return await self._answer(await self._objects.create(row))

    async def _find(self, values: Mapping[str, Any]) -> N:
        """The stored object. Raises `NotFound`."""
        found: N = await self._objects.get(values["name"])
        return found

    async def _read(self, name: str) -> Any:
        """Secrets are left out."""
        return (await self._show(await self._objects.get(name)))[0]

    async def _replace(self, name: str, body: Any, handling: Handling | None = None) -> Any:
        """Replaces every member, the secret too: one that is left out has its default."""
        if body.name is not None and body.name != name:
            raise BadRequest("name: it must be the one in the path.", code="invalid_body")
        row = self._serializer.make(name, body)
        await self._verify(row, handling)
        return await self._answer(await self._objects.change(name, lambda old: self._serializer.replace(old, row)))

    async def _change(self, name: str, body: Any, handling: Handling | None = None) -> Any:
        """Changes the members that are given."""
        present = await self._objects.get(name)
        changed = self._serializer.change(present, body)
        if self._serializer.find_places(changed) != self._serializer.find_places(present):
            await self._verify_places(changed, handling)

        def edit(row: N) -> N:
            changed = self._serializer.change(row, body)
            self._context.verifiers.verify(self._collection.name, changed)
            return changed

        return await self._answer(await self._objects.change(name, edit))

    async def _delete(self, name: str) -> None:
        """Out of force on every worker of this host when it is answered, on other hosts within a second."""
        await self._objects.delete(name)
        self._context.verifiers.verify_in_force(self._collection.name)

    async def _verify(self, row: N, handling: Handling | None) -> None:
        self._context.verifiers.verify(self._collection.name, row)
        await self._verify_places(row, handling)

    async def _verify_places(self, row: N, handling: Handling | None) -> None:
        places, allowed = self._serializer.find_places(row)
        if handling is None:
            return
        await verify_places(self._context.examine, places, allowed, handling)

    async def _answer(self, row: N) -> Any:
        """The answer to a change. Raises `BadRequest` (not_in_force) where a plugin does not use what is stored now."""
        self._context.verifiers.verify_in_force(self._collection.name)
        return (await self._show(row))[0]

    async def _show(self, *rows: N) -> list[Any]:
        return cast(list[Any], await self._serializer.show(rows))


def _typed(call: Callable[..., Any], left_out: tuple[str, ...], **types: Any) -> Callable[..., Any]:
    """The endpoint as FastAPI is to read it: without the parameters in `left_out`, and with the types of these
    parameters and of what it returns."""

    @functools.wraps(call)
    async def endpoint(**values: Any) -> Any:
        return await call(**values)

    own = inspect.signature(call, eval_str=True)
    parameters = [
        one.replace(annotation=types.get(one.name, one.annotation), default=inspect.Parameter.empty)
        for one in own.parameters.values()
        if one.name not in left_out
    ]
    endpoint.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=types.get("returns", own.return_annotation)
    )
    return endpoint
