"""The objects of collections in the database: one table for all, a JSON document each, secrets sealed apart."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic

import orjson
from pydantic import TypeAdapter
from sqlalchemy import Connection, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from mastio.exchange.errors import BadRequest
from mastio.plugin.collection import Collection, N, Secret
from mastio.store.secrets.sealed import Sealer, SealError
from mastio.store.secrets.secret_files import SecretFileError, read_secret_file
from mastio.store.sql import tables
from mastio.store.sql.changes import Change, Page, read_page
from mastio.store.sql.damage import DAMAGE, AnyRow, decode_one, read_rows, show_key, verify_name
from mastio.store.sql.engine import Database

log = logging.getLogger("mastio.store")

_COLUMNS = (tables.objects.c.name, tables.objects.c.document, tables.objects.c.secret, tables.objects.c.secret_file)


def select_objects(collection: str) -> Select[Any]:
    """Every row of a collection; the name comes first."""
    return select(*_COLUMNS).where(tables.objects.c.collection == collection)


class ObjectCodec(Generic[N]):
    """Turns objects of one collection into rows and back. A sealed secret opens only in the row that it was written to.

    Secret files are read below `secret_folders` only: whoever may describe an upstream also says to whom its secret is
    sent, and any other file of the appliance would be theirs for the asking.
    """

    def __init__(self, collection: Collection[N], sealer: Sealer, secret_folders: tuple[Path, ...]) -> None:
        self._collection = collection
        self._sealer = sealer
        self._folders = secret_folders
        self._adapter: TypeAdapter[N] = TypeAdapter(collection.row)
        self._apart: Any = {"name", *collection.transient}

    def encode(self, item: N) -> dict[str, Any]:
        """The columns of its row, but for `version`."""
        secrets, secret = self._collection.secrets, Secret(None)
        if secrets is not None:
            item, secret = secrets.take(item)
        sealed = None
        if secret.value is not None and secret.file is None:
            sealed = self._sealer.seal(secret.value, self._place(item.name))
        return {
            "collection": self._collection.name,
            "name": item.name,
            "document": orjson.dumps(self._dump(item)).decode(),
            "secret": sealed,
            "secret_file": secret.file,
            "key": None if self._collection.key is None else self._collection.key(item),
        }

    def decode(self, row: AnyRow) -> N:
        """The object, or the value that stands for a damaged one. Raises one of `DAMAGE` where there is none."""
        members: dict[str, Any] = {}
        try:
            name = verify_name(row)
            members = orjson.loads(row.document)  # type: ignore[union-attr]
            return self._decode(name, members, row)
        except DAMAGE:
            if self._collection.damaged is None:
                raise
        return self._collection.damaged(show_key(row[0]), members if isinstance(members, dict) else {})

    def _decode(self, name: str, members: dict[str, Any], row: Any) -> N:
        item = self._adapter.validate_json(orjson.dumps({**members, "name": name}), strict=True)
        whole = self._dump(item)
        # A member whose name was damaged would leave a default, and so another rule.
        if {**{name: whole[name] for name in self._collection.later - members.keys()}, **members} != whole:
            raise ValueError("other members than those that are written")
        secrets = self._collection.secrets
        return item if secrets is None else secrets.put(item, self._read_secret(row))

    def _dump(self, item: N) -> Any:
        return self._adapter.dump_python(item, mode="json", exclude=self._apart)

    def _read_secret(self, row: Any) -> Secret:
        try:
            if row.secret_file is not None:
                return Secret(read_secret_file(row.secret_file, self._folders), row.secret_file)
            if row.secret is not None:
                return Secret(self._sealer.unseal(row.secret, self._place(row.name)))
        except (SealError, SecretFileError) as error:
            log.error("the secret of the %s %s cannot be had: %s", self._collection.noun, row.name, error)
            return Secret(None, row.secret_file, is_lost=True)
        return Secret(None)

    def _place(self, name: str) -> str:
        return f"{self._collection.name}/{name}"


class ObjectStore(Generic[N]):
    """The objects of one collection: `list get create replace change delete`. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, change: Change, collection: Collection[N], codec: ObjectCodec[N]) -> None:
        self._database = database
        self._change = change
        self._collection = collection
        self._codec = codec

    @property
    def name(self) -> str:
        return self._collection.name

    @property
    def is_inheriting(self) -> bool:
        """True if `hand_over` may change an object."""
        return self._collection.inherit is not None

    async def list(self, limit: int, after: str = "") -> Page[N]:
        """In the order of their names, beginning behind `after`."""
        column = tables.objects.c.name
        statement = select_objects(self._collection.name).where(column > after).order_by(column)
        return await read_page(self._database, statement, limit, self._codec.decode, column)

    async def get(self, name: str) -> N:
        """Raises `BadRequest` (not_found)."""
        return await self._database.read(lambda connection: self._get(connection, name))

    async def create(self, item: N) -> N:
        """Raises `BadRequest` (conflict) when the name is taken, and when there are as many as there may be."""

        def work(connection: Connection, version: int) -> N:
            count = select(func.count()).where(tables.objects.c.collection == self._collection.name)
            if connection.execute(count.select_from(tables.objects)).scalar_one() >= self._collection.most:
                message = f"There may be {self._collection.most} {self._collection.nouns}, and there are. Remove one."
                raise BadRequest(message, code="conflict")
            try:
                connection.execute(insert(tables.objects).values(version=version, **self._codec.encode(item)))
            except IntegrityError as error:
                raise BadRequest(f"A {self._collection.noun} of this name exists.", code="conflict") from error
            return item

        return await self._change(work, self._collection.name)

    async def replace(self, item: N) -> N:
        """Raises `BadRequest` (not_found)."""
        return await self.change(item.name, lambda _: item)

    async def change(self, name: str, edit: Callable[[N], N]) -> N:
        """Write what `edit` makes of the present one; nobody changes it in between. Raises `BadRequest` (not_found)."""

        def work(connection: Connection, version: int) -> N:
            item = edit(self._get(connection, name))
            statement = self._where(update(tables.objects), name)
            connection.execute(statement.values(version=version, **self._codec.encode(item)))
            return item

        return await self._change(work, self._collection.name)

    async def delete(self, name: str) -> None:
        """Raises `BadRequest` (not_found)."""

        def work(connection: Connection, version: int) -> None:
            del version
            if connection.execute(self._where(delete(tables.objects), name)).rowcount == 0:
                raise self._none()

        await self._change(work, self._collection.name)

    def hand_over(self, connection: Connection, version: int, agent: str) -> None:
        """Change the objects that must not go on as they are when another agent gets this name (`Collection.inherit`).

        It is part of the transaction that gives the name away."""
        inherit = self._collection.inherit
        assert inherit is not None
        named = select_objects(self._collection.name).where(tables.objects.c.document.contains(f'"{agent}"'))
        for row in read_rows(connection, named, tables.objects.c.name):
            item = decode_one(row, self._codec.decode)
            if (inherited := inherit(item, agent)) is not item:
                statement = self._where(update(tables.objects), item.name)
                connection.execute(statement.values(version=version, **self._codec.encode(inherited)))

    def _get(self, connection: Connection, name: str) -> N:
        column = tables.objects.c.name
        rows = read_rows(connection, self._where(select_objects(self._collection.name), name), column)
        if not rows:
            raise self._none()
        return decode_one(rows[0], self._codec.decode)

    def _where(self, statement: Any, name: str) -> Any:
        return statement.where(tables.objects.c.collection == self._collection.name, tables.objects.c.name == name)

    def _none(self) -> BadRequest:
        return BadRequest(f"There is no {self._collection.noun} of this name.", code="not_found")
