"""Request bodies on their way in: the right media type and strict JSON before FastAPI sees it, its complaints as ours.

FastAPI would parse with the standard library, which takes duplicate members and NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from mastio.exchange.errors import BadRequest
from mastio.http.strictjson import Allowance, JsonError, TooManyValues, parse

JSON = "application/json"
MOST_WEIGHT = 40_000
"""The weight of a body (`mastio.http.strictjson`) above which it is not parsed. The longest lists that the models take
weigh 30,000. A member that no model knows costs ten microseconds."""

_MEMBER = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class StrictRequest(Request):
    """A request whose body was read and parsed already."""

    def __init__(self, request: Request, raw: bytes, document: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._raw = raw
        self._document = document

    async def body(self) -> bytes:
        return self._raw

    async def json(self) -> Any:
        return self._document


class StrictRoute(APIRoute):
    """A route whose body, if there is one, must be of the media type `takes`. Raises `BadRequest`."""

    takes = JSON

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            raw = await request.body()
            response = await handler(StrictRequest(request, raw, self._parse(request, raw)))
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return strict

    def _parse(self, request: Request, raw: bytes) -> Any:
        """The JSON value of the body; None without a body, or for one of another type, which is read as bytes."""
        if not raw:
            return None
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != self.takes or request.headers.get("content-encoding", "identity") != "identity":
            raise BadRequest(f"The body must be {self.takes} without encoding.", code="unsupported_media_type")
        if self.takes != JSON:
            return None
        try:
            return parse(raw, Allowance(MOST_WEIGHT))
        except TooManyValues as error:
            raise BadRequest(str(error), code="too_many_parts") from error
        except JsonError as error:
            raise BadRequest(str(error), code="invalid_json") from error


def route_taking(media_type: str) -> type[StrictRoute]:
    """The class of routes whose bodies are of this media type."""

    class Taking(StrictRoute):
        takes = media_type

    return Taking


async def refuse_body(_: Request, error: Exception) -> NoReturn:
    """Raises pydantic's errors as `BadRequest` (invalid_body). Never repeats the input.

    The pydantic error holds the input, secrets included, so it does not become the cause either.
    """
    details = error.errors() if isinstance(error, RequestValidationError) else ()
    raise BadRequest(describe(details), code="invalid_body") from None


async def refuse_route(_: Request, error: Exception) -> NoReturn:
    """FastAPI's own refusals (it found no route), which the front door should have made before."""
    status = error.status_code if isinstance(error, HTTPException) else 400
    code = {404: "not_found", 405: "method_not_allowed"}.get(status, "bad_request")
    raise BadRequest("There is nothing for this request.", code=code) from error


def describe(details: Sequence[Any]) -> str:
    """One sentence that names the first wrong member."""
    if not details:
        return "The body is not valid."
    first = details[0]
    place = [str(part) for part in first["loc"][1:] if isinstance(part, int) or _MEMBER.fullmatch(part)]
    hidden = len(place) < len(first["loc"]) - 1
    where = ".".join(place) or ("a member" if hidden else f"the {first['loc'][0]}")
    reason = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"{where}: {reason[:1].lower()}{reason[1:]}."
