"""Enrolment of a new agent: it sends a certificate request, and fetches the decision with a proof of its key."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Response

from mastio.control.context import Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.enrollment.issuing import issue_with_token, make_enrollment
from mastio.control.models import Ended, EnrollmentRequest, Issued, Pending
from mastio.exchange.errors import AuthenticationError
from mastio.exchange.records import Enrollment
from mastio.pki.csr import PossessionError, load_public_key, possession_message, verify_possession
from mastio.plugin.fields import encode_time

POLL_SECONDS = 2
"""Seconds between two polls that the agent is asked to keep."""


class EnrollmentRouter:
    """Open to strangers: everything here is decided by what they hold, not by who they say they are."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def endpoints(self) -> Endpoints:
        return {
            ("POST", "/v1/enrollments"): Endpoint(self.request, status=201, more={202: Pending}),
            ("GET", "/v1/enrollments/{id}"): Endpoint(self.poll),
        }

    async def request(self, body: EnrollmentRequest, response: Response) -> Issued | Pending:
        """With a one-time token that is good for the name the leaf is issued at once (201); else a human decides."""
        key = self._context.parse_csr(body.csr, body.name)
        enrollment = make_enrollment(self._context, key, body.name, body.dpop_jwk, body.reason)
        if body.token is not None:
            return self._issued(await issue_with_token(self._context, enrollment, body.token))
        pending = await self._context.store.enrollments.request(enrollment, self._context.max_pending)
        response.status_code = 202
        return self._pending(pending)

    async def poll(
        self, id: str, x_enrollment_proof: Annotated[str | None, Header()] = None
    ) -> Issued | Pending | Ended:
        """Only the holder of the request's key learns what was decided."""
        if x_enrollment_proof is None:
            raise AuthenticationError("The enrolment proof is missing.", code="invalid_proof_of_possession")
        enrollment = await self._context.store.enrollments.get(id, self._context.now())
        try:
            proof = x_enrollment_proof.encode("ascii")
            verify_possession(load_public_key(enrollment.public_key), possession_message(id), proof)
        except (PossessionError, UnicodeError) as error:
            raise AuthenticationError(
                "The enrolment proof is not by the key of the request.", code="invalid_proof_of_possession"
            ) from error
        match enrollment.status:
            case "issued":
                return self._issued(enrollment)
            case "pending":
                return self._pending(enrollment)
            case "rejected" | "expired":
                return Ended(id=id, status=enrollment.status, reason=enrollment.decision_reason)

    def _issued(self, enrollment: Enrollment) -> Issued:
        return Issued(
            id=enrollment.id,
            name=enrollment.name,
            spiffe_id=self._context.spiffe_id(enrollment.name),
            certificate=enrollment.certificate or "",
            chain=enrollment.chain or "",
        )

    def _pending(self, enrollment: Enrollment) -> Pending:
        return Pending(id=enrollment.id, poll_interval=POLL_SECONDS, expires_at=encode_time(enrollment.expires_at))
