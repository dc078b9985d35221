"""An error becomes HTTP here and nowhere else: RFC 9457 problem+json, or the shape of the caller's dialect. Pure.

Never a stack trace, a path of this machine or a secret: only the code, its status, one sentence and a hint.
"""

from __future__ import annotations

import orjson

from mastio.exchange.errors import MastioError
from mastio.exchange.values import Dialect

Header = tuple[bytes, bytes]

_OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
_GEMINI_STATUSES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_OAUTH_CODES = frozenset(
    {
        "invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope",
        "invalid_dpop_proof", "use_dpop_nonce",
    }
)  # fmt: skip


def render(dialect: Dialect, error: MastioError, request_id: str) -> tuple[int, list[Header], bytes]:
    """Status, headers and body of `error` for a caller who speaks `dialect`."""
    status, content_type = error.status, b"application/json"
    match dialect:
        case "openai":
            body = encode_openai(error)
        case "anthropic":
            body = encode_anthropic(error, request_id)
        case "gemini":
            body = encode_gemini(error)
        case "oauth":
            status, body = encode_oauth(error)
        case "problem":
            body, content_type = encode_problem(error, request_id), b"application/problem+json"
    headers = [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in error.headers]
    headers += [(b"content-type", content_type), (b"cache-control", b"no-store")]
    if dialect == "anthropic":
        headers.append((b"request-id", request_id.encode("ascii")))  # what its SDKs show beside an error
    return status, headers, body


def encode_problem(error: MastioError, request_id: str) -> bytes:
    """RFC 9457; `type` stays about:blank, `code` is the word to program against."""
    return orjson.dumps(
        {
            "type": "about:blank",
            "title": error.code.replace("_", " "),
            "status": error.status,
            "detail": error.message,
            "code": error.code,
            "hint": error.hint,
            "request_id": request_id,
        }
    )


def encode_openai(error: MastioError) -> bytes:
    """The OpenAI error object. The hint is part of the message, since SDKs show only that."""
    kind = _OPENAI_TYPES.get(error.status, "server_error" if error.status >= 500 else "invalid_request_error")
    if error.code == "budget_exceeded":
        kind = error.code  # what other gateways say too, and their clients look for
    message = f"{error.message} {error.hint}"
    return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": error.code}})


def encode_anthropic(error: MastioError, request_id: str) -> bytes:
    """The Anthropic error object. It has no place for our code, which therefore ends the message."""
    kind = _ANTHROPIC_TYPES.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
    said = {"type": kind, "message": _with_code(error)}
    return orjson.dumps({"type": "error", "error": said, "request_id": request_id or None})


def encode_gemini(error: MastioError) -> bytes:
    """The error object of Google's APIs. Here too our code ends the message."""
    status = _GEMINI_STATUSES.get(error.status, "INTERNAL" if error.status >= 500 else "INVALID_ARGUMENT")
    return orjson.dumps({"error": {"code": error.status, "message": _with_code(error), "status": status}})


def _with_code(error: MastioError) -> str:
    return f"{error.message} {error.hint} ({error.code})"


def encode_oauth(error: MastioError) -> tuple[int, bytes]:
    """RFC 6749 §5.2: 401 only for a client that is not who it says; RFC 9449 §8: proof errors are 400."""
    code, status = error.code, error.status
    if code not in _OAUTH_CODES:
        if status == 401:
            code = "invalid_client"
        elif status == 403:
            code = "unauthorized_client"
        elif status < 500:
            code = "invalid_request"
        else:
            code = "temporarily_unavailable" if status == 503 else "server_error"
    if status == 401 and code != "invalid_client":
        status = 400
    return status, orjson.dumps({"error": code, "error_description": f"{error.message} {error.hint}"})


def error_event(dialect: Dialect, error: MastioError, request_id: str) -> bytes:
    """The server-sent event that ends a stream which cannot go on."""
    match dialect:
        case "openai":
            return b"data: " + encode_openai(error) + b"\n\n"
        case "gemini":
            return b"data: " + encode_gemini(error) + b"\r\n\r\n"
        case "anthropic":
            return b"event: error\ndata: " + encode_anthropic(error, request_id) + b"\n\n"
        case _:
            return b"event: error\ndata: " + encode_problem(error, request_id) + b"\n\n"
