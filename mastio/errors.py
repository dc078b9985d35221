"""Every way an exchange ends early, and the one vocabulary of `code`. Pure.

An error is born where the reason is known and becomes HTTP in `mastio.problem`, nowhere else.

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
This module is imported by all and imports none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """The meaning of one `code`: its HTTP status, and a hint for the client."""

    status: int
    hint: str


CODES: dict[str, Code] = {
    # the request itself
    "bad_request": Code(400, "Correct the request; the message says what is wrong."),
    "invalid_json": Code(400, "Send one JSON value in UTF-8 without duplicate members, within the depth limit."),
    "invalid_path": Code(400, "Use the plain path, without encoded dots, slashes or control characters."),
    "not_found": Code(404, "Check the path and the identifier."),
    "archived": Code(410, "Read it from the archive with mastio audit, or begin where the Link header says."),
    "method_not_allowed": Code(405, "Use one of the methods in the Allow header."),
    "request_timeout": Code(408, "Send the request without long pauses."),
    "conflict": Code(409, "Choose another name, or change what exists."),
    "not_in_force": Code(409, "Correct or remove the object that the message names; the change is in force then."),
    "last_admin": Code(409, "Give another admin the role admin, without an end, first."),
    "payload_too_large": Code(413, "Send a smaller body."),
    "too_many_parts": Code(413, "Send fewer messages, parts, members, lines or pairs in one body: see docs/limits.md."),
    "unsupported_media_type": Code(415, "Send the content type that the route expects, without content encoding."),
    "headers_too_large": Code(431, "Send fewer or shorter headers."),
    "invalid_body": Code(422, "Correct the named member; unknown members are refused."),
    "model_not_found": Code(404, "Name a model of a configured provider: see GET /v1/models."),
    "not_translatable": Code(
        400, "Use the API of the provider's own kind, or a model of a provider that speaks this one."
    ),
    # who is calling
    "missing_credential": Code(
        401, "Present a client certificate, a bound token with its proof, or a key that you were given."
    ),
    "ambiguous_credential": Code(401, "Present the credentials of one principal only, each header once."),
    "invalid_certificate": Code(401, "Use the leaf that was issued at enrolment and is still valid, or enrol again."),
    "invalid_token": Code(401, "Get a new token from POST /oauth/token with the key it is to be bound to."),
    "invalid_dpop_proof": Code(401, "Sign a new proof for this method, URL, token and nonce with the bound key."),
    "use_dpop_nonce": Code(401, "Repeat the request with a proof that carries the nonce of the DPoP-Nonce header."),
    "invalid_api_key": Code(401, "Use an API key that is neither expired nor removed; an admin makes them."),
    "api_keys_off": Code(401, "Ask an admin to turn api_keys on for this agent."),
    "agent_unknown": Code(401, "Enrol the agent first."),
    "agent_inactive": Code(401, "The agent is suspended or revoked; ask an operator."),
    "invalid_admin_token": Code(401, "Use a named admin token that is neither expired nor revoked."),
    "invalid_proof_of_possession": Code(401, "Sign mastio-enrollment:v1|<id> with the key of the CSR."),
    "invalid_client": Code(401, "Authenticate the client by its certificate or by a private_key_jwt assertion."),
    # the token endpoint (RFC 6749 §5.2)
    "invalid_request": Code(400, "Correct the named parameter; each may appear once."),
    "unsupported_grant_type": Code(400, "Use grant_type=client_credentials."),
    "invalid_scope": Code(400, "Leave the scope out."),
    # what is allowed
    "denied": Code(403, "Ask an admin for a policy, or a wider credential, that permits this action."),
    "role_required": Code(403, "Use an admin token whose role covers this route."),
    "second_admin_required": Code(403, "Let another admin approve it: nobody approves their own request."),
    "hold_pending": Code(403, "A human has to approve this very request; make it again after Retry-After."),
    "hold_rejected": Code(403, "A human refused this request; do not repeat it."),
    "hold_expired": Code(403, "Nobody approved it in time; make the request again to ask anew."),
    "rate_limited": Code(429, "Wait for the time in Retry-After."),
    "budget_exceeded": Code(429, "Wait until the budget renews, or ask an admin to raise it."),
    "blocked": Code(422, "Remove the content that was named and try again."),
    # enrolment
    "invalid_csr": Code(422, "Send one certificate request (PKCS #10) signed by its own P-256, P-384 or Ed25519 key."),
    "invalid_enrollment_token": Code(403, "Ask an operator for a new one-time token for this name."),
    "name_taken": Code(409, "Choose another name, or ask an operator for this one."),
    # what is behind us
    "upstream_error": Code(502, "The provider failed; try again later or use another model."),
    "upstream_refused": Code(502, "The provider refused the appliance's own credential; tell the operator."),
    "upstream_unreachable": Code(502, "The provider cannot be reached; tell the operator if it stays so."),
    "upstream_forbidden_address": Code(502, "The provider's address is not allowed; an admin may add allow_addresses."),
    "upstream_paused": Code(503, "The provider is left alone for a moment; try again after Retry-After."),
    "upstream_timeout": Code(504, "The provider did not answer in time; try again later."),
    "not_cached": Code(504, "Ask without only-if-cached, so that the provider is asked."),
    # the shim on the agent's machine, before the appliance
    "not_for_pages": Code(403, "Only programs of this machine may use the shim, at its loopback address."),
    "appliance_unreachable": Code(502, "Check that the appliance runs and that this machine can reach it."),
    # the appliance itself
    "audit_unavailable": Code(503, "Nothing was done, because it could not be recorded; try again after Retry-After."),
    "audit_damaged": Code(500, "Run mastio audit verify beside the appliance; copy its data first: it is evidence."),
    "inspection_unavailable": Code(
        503, "Nothing was done, because what has to look at it does not answer; try again after Retry-After."
    ),
    "overloaded": Code(503, "Try again after Retry-After."),
    "not_ready": Code(503, "Try again after Retry-After; the message names the part that is not usable."),
    "store_unavailable": Code(503, "The control-plane database does not answer; try again after Retry-After."),
    "internal": Code(500, "A defect of the appliance; give the operator the request id."),
}


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
    """An inspector refused the content. `findings` are those of `mastio.inspection`."""

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


class ConfigurationError(Exception):
    """The appliance cannot start or a command cannot run: one sentence, and a hint what to do. Exit status 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
