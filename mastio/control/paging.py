"""Pages of a list: `limit` and an opaque `cursor` in, `items` and `next_cursor` out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Query

from mastio.exchange.errors import BadRequest
from mastio.plugin.fields import Page as AnswerPage
from mastio.store.sql.changes import Page
from mastio_primitives.jwk import JoseError, decode_base64url, encode_base64url

T = TypeVar("T")
A = TypeVar("A")

MAX_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Paging:
    """The requested page: at most `limit` items behind the place `after`."""

    limit: int
    after: str

    def after_number(self) -> int:
        """For lists in the order of creation. Raises `BadRequest`."""
        if not self.after:
            return 0
        if not self.after.isascii() or not self.after.isdigit() or len(self.after) > 18:
            raise _refused()
        return int(self.after)


async def read_paging(
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Paging:
    if cursor is None:
        return Paging(limit, "")
    try:
        after = decode_base64url(cursor.encode("ascii")).decode("ascii")
    except (JoseError, UnicodeError) as error:
        raise _refused() from error
    if "\0" in after:
        raise _refused()
    return Paging(limit, after)


PagingQuery = Annotated[Paging, Depends(read_paging)]


def answer_page(page: Page[T], place: Callable[[T], str], answer: Callable[[T], A]) -> AnswerPage[A]:
    """The page as it is answered; `place` is where an item stands in the list."""
    following = encode_base64url(place(page.items[-1]).encode("ascii")) if page.more else None
    return AnswerPage(items=[answer(item) for item in page.items], next_cursor=following)


def _refused() -> BadRequest:
    return BadRequest("cursor: it is not one that was given out.", code="invalid_body")
