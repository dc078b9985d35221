"""Four eyes: who may decide about what was held, and when. Pure: the hold, the admins and the clock are handed in.

A hold is a request that was found good and has not been carried out: of an admin, then another one has to approve it,
or of an agent, whose policies want a human to. What is decided here is decided in the transaction that writes it, so
two decisions at once are one.
"""

from __future__ import annotations

from mastio.exchange.errors import BadRequest, Denied
from mastio.exchange.records import Admin, Hold


def verify_pending(hold: Hold) -> None:
    """Raises `BadRequest` (conflict) when it was decided already, or nobody did in time."""
    if hold.status != "pending":
        raise BadRequest(f"The hold is {hold.status}, not pending.", code="conflict")


def verify_approval(hold: Hold, by: str, approver: Admin | None, requester: Admin | None) -> None:
    """May `by` approve the hold? `approver` and `requester` are the holders of tokens in force with these names.

    Raises `BadRequest` (conflict) for a hold that is not pending, or whose requester may not do it any more, and
    `Denied`: second_admin_required for the requester's own approval, role_required for who is no admin (any more).
    """
    verify_pending(hold)
    if hold.agent is None and by == hold.requested_by:
        raise Denied("This is your own request.", code="second_admin_required")
    if approver is None or approver.role != "admin":
        raise Denied("The role does not cover this any more.", code="role_required")
    if hold.agent is not None:
        return  # whether the agent may do it at all is looked at again when it does
    if requester is None or requester.role != "admin":
        raise BadRequest("Who asked for it is no admin any more.", code="conflict")
