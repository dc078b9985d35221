"""Every way an exchange ends early. Pure. The vocabulary of `code` is in `mastio_primitives.codes`.

An error is born where the reason is known and becomes HTTP in `mastio.http.problem`, nowhere else.

    MastioError                  code, status, message for the caller, headers; the cause stays in the log
    ├── BadRequest           400 the request itself is wrong: repair it        (404 405 408 409 410 413 415 422 by code)
    ├── AuthenticationError  401 who you are is not proven: repair the credential
    ├── Denied               403 known but not allowed; 429 when a limit is spent: ask an admin, or wait
    ├── Blocked              422 the content was refused: change the content
    ├── InspectionError      503 what has to look at the content does not answer: try again later
    ├── DispatchError        502 the upstream failed: try again later, or another model
    │   └── UpstreamTimeout  504
    ├── AuditError           503 it cannot be recorded, so it is not done: try again later
    ├── Unavailable          503 a part of the appliance is busy or broken: try again later
    └── PluginError          500 a defect of the appliance: tell the operator
    ConfigurationError           at start only: one sentence and a hint, exit 2

There is one class per thing that a caller does differently. `ProofError`, `TargetError`, `ChainError` … are
`ValueError`s of the pure modules; the plugin that uses them maps them to one of these.
This module is imported by all. It imports only `mastio_primitives`, whose `ConfigurationError` it hands on.
"""

from __future__ import annotations

from collections.abc import Sequence

from mastio_primitives.codes import CODES
from mastio_primitives.errors import ConfigurationError as ConfigurationError

Headers = tuple[tuple[str, str], ...]


class MastioError(Exception):
    """An exchange ends early. `message` is for the caller: one sentence, no secret, path or version in it.

    `status` and `hint` come from `CODES`; a place that knows better gives its own `hint`. `headers` are added to the
    reply. What went wrong inside is the exception's `__cause__`, and is only ever written to the appliance's own log.
    """

    default_code = "internal"

    def __init__(
        self, message: str, *, code: str | None = None, headers: Headers = (), hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.status = CODES[self.code].status
        self.hint = hint or CODES[self.code].hint
        self.headers = headers


class BadRequest(MastioError):
    """The request itself is wrong; nothing was done."""

    default_code = "bad_request"


class AuthenticationError(MastioError):
    """A credential is missing, or present and wrong. Final even when another credential is good."""

    default_code = "missing_credential"


class Denied(MastioError):
    """The principal is known and may not do this (403), or has spent a limit (429 with Retry-After)."""

    default_code = "denied"


class Blocked(MastioError):
    """An inspector refused the content. `findings` are those of `mastio.exchange.inspection`."""

    default_code = "blocked"

    def __init__(self, message: str, findings: Sequence[tuple[str, int, int, str, int]] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class InspectionError(MastioError):
    """An inspector cannot look at the content, so the exchange is refused."""

    default_code = "inspection_unavailable"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers=(("Retry-After", "1"),))


class DispatchError(MastioError):
    """The upstream failed or gave an answer that cannot be passed on."""

    default_code = "upstream_error"


class UpstreamTimeout(DispatchError):
    """The upstream did not answer in time. `was_sent`: it may have got the request, and be at work on it."""

    default_code = "upstream_timeout"
    was_sent = True


class AuditError(MastioError):
    """The entry cannot be made durable, so the exchange is refused (promise 1)."""

    default_code = "audit_unavailable"

    def __init__(self, message: str, *, code: str | None = None, headers: Headers = (("Retry-After", "1"),)) -> None:
        super().__init__(message, code=code, headers=headers)


class Unavailable(MastioError):
    """A part of the appliance is overloaded or not usable now."""

    default_code = "overloaded"

    def __init__(self, message: str, *, code: str | None = None, headers: Headers = (("Retry-After", "1"),)) -> None:
        super().__init__(message, code=code, headers=headers)


class PluginError(MastioError):
    """A plugin raised what it had not declared. Refused; the cause is in the log."""
