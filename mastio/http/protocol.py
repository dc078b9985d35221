"""The HTTP protocol of a worker: what is not well-formed is answered with a problem document."""

from __future__ import annotations

from mastio.exchange.errors import BadRequest
from mastio.http.problem import encode_problem
from mastio_primitives.http_protocol import HttpProtocol


class JoiningProtocol(HttpProtocol):
    """For `uvicorn.Config(http=…)`. A request that is refused here has no route and so no dialect."""

    malformed = (b"application/problem+json", encode_problem(BadRequest("The request is not well-formed."), ""))
