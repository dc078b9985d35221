"""The one vocabulary of `code` in error replies: the HTTP status and the hint of each. Pure.

The appliance, its edge and the shim answer with these words.
"""

from __future__ import annotations

from dataclasses import dataclass


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
