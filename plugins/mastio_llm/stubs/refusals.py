"""The stub's refusals, in the words of each vendor."""

from __future__ import annotations

from typing import Any

from mastio_llm.stubs.template import Dialect, Headers


class Refusal(Exception):
    """The request cannot be answered as asked; becomes the dialect's error reply."""

    def __init__(self, status: int, message: str, headers: Headers | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or []


DRAWN_ERRORS: tuple[tuple[int, str, Headers], ...] = (
    (500, "The stub provider failed, as it was asked to.", []),
    (429, "The stub provider is rate limiting, as it was asked to.", [(b"retry-after", b"1")]),
    (503, "The stub provider is overloaded, as it was asked to.", []),
)
"""The answers of `--error-rate`, in turn."""

# per status: OpenAI (type, code), Anthropic type, Gemini status
ERROR_WORDS: dict[int, tuple[tuple[str, str | None], str, str]] = {
    400: (("invalid_request_error", None), "invalid_request_error", "INVALID_ARGUMENT"),
    404: (("invalid_request_error", "unknown_url"), "not_found_error", "NOT_FOUND"),
    405: (("invalid_request_error", "method_not_supported"), "invalid_request_error", "INVALID_ARGUMENT"),
    429: (("rate_limit_error", "rate_limit_exceeded"), "rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: (("server_error", "server_error"), "api_error", "INTERNAL"),
    503: (("server_error", "overloaded"), "overloaded_error", "UNAVAILABLE"),
}


def error_shape(dialect: Dialect, status: int, message: str, request_id: str) -> dict[str, Any]:
    """The error object of each vendor, as its documentation gives it."""
    (openai_type, openai_code), anthropic_type, gemini_status = ERROR_WORDS[status]
    if dialect == "anthropic":
        error = {"type": anthropic_type, "message": message}
        return {"type": "error", "error": error, "request_id": request_id}
    if dialect == "gemini":
        return {"error": {"code": status, "message": message, "status": gemini_status}}
    return {"error": {"message": message, "type": openai_type, "param": None, "code": openai_code}}
