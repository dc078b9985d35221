"""Requests for an identity: undecided, decided by a human, or decided at once by a one-time token."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from mastio.exchange.errors import BadRequest, Denied
from mastio.exchange.records import Agent, Enrollment, EnrollmentStatus
from mastio.pki.csr import assertion_keys, load_public_key
from mastio.pki.public import IssuedLeaf
from mastio.store.agents import add_agent, add_certificate, forget_expired, get_agent, write_agent
from mastio.store.api_keys import revoke_all
from mastio.store.objects import ObjectStore
from mastio.store.rows import decode_enrollment, encode_enrollment
from mastio.store.sql.changes import Change, Page, read_page
from mastio.store.sql.engine import Database
from mastio.store.sql.tables import agents, enrollments
from mastio.store.tokens import consume_token

KEEP_SECONDS = 7 * 86_400.0
"""Seconds that a request is kept after the time in which it could be decided."""

Issue = Callable[[Enrollment], IssuedLeaf]
"""Signs the leaf. Called inside the transaction, once nothing can refuse any more."""


_GET = select(enrollments).where(enrollments.c.id == bindparam("this"))
_ADD = insert(enrollments)
_WRITE = update(enrollments).where(enrollments.c.id == bindparam("this"))
_UNDECIDED = enrollments.c.status == "pending"
_STATUS = select(agents.c.status).where(agents.c.name == bindparam("who"))
_HOLDERS = select(
    _STATUS.scalar_subquery().label("agent"),
    exists()
    .where(enrollments.c.name == bindparam("who"), _UNDECIDED, enrollments.c.expires_at > bindparam("at"))
    .label("pending"),
)
_COUNT_UNDECIDED = select(func.count()).where(_UNDECIDED)
_EXPIRE = (
    update(enrollments)
    .where(_UNDECIDED, enrollments.c.expires_at <= bindparam("at"))
    .values(status="expired", version=bindparam("new_version"))
)
_FORGET = delete(enrollments).where(enrollments.c.expires_at <= bindparam("long_ago"))


def new_enrollment_id() -> str:
    """192 random bits: knowing one is not guessing it."""
    return f"enr_{secrets.token_urlsafe(24)}"


class EnrollmentStore:
    """`store.enrollments`."""

    def __init__(self, database: Database, change: Change, objects: Sequence[ObjectStore[Any]]) -> None:
        self._database = database
        self._change = change
        self._inheriting = [store for store in objects if store.is_inheriting]

    async def request(self, enrollment: Enrollment, max_pending: int) -> Enrollment:
        """Keep a request until an operator decides, or it expires.

        Raises `BadRequest` (name_taken) when an active or suspended agent or another request has the name, `Denied`
        (rate_limited) when too many are undecided.
        """

        def work(connection: Connection, version: int) -> Enrollment:
            _close_expired(connection, version, enrollment.created_at)
            _verify_name(connection, enrollment, by_token=False)
            if connection.execute(_COUNT_UNDECIDED).scalar_one() >= max_pending:
                raise Denied(
                    "Too many requests wait for a decision.", code="rate_limited", headers=(("Retry-After", "60"),)
                )
            return _add(connection, version, enrollment)

        return await self._change(work)

    async def issue_with_token(self, enrollment: Enrollment, token_hash: str, issue: Issue) -> Enrollment:
        """Use the token once, and enrol. All or nothing: a request that is refused leaves the token as it was.

        Raises `Denied` (invalid_enrollment_token), or `BadRequest` (name_taken) for a name that is or was in use: to
        give a revoked name away again is for an operator to decide. An undecided request does not hold the name
        against a token: any stranger can make one.
        """

        def work(connection: Connection, version: int) -> Enrollment:
            consume_token(connection, version, token_hash, enrollment.name, enrollment.created_at)
            _verify_name(connection, enrollment, by_token=True)
            leaf = issue(enrollment)
            issued = _issued(enrollment, leaf, "token", None, enrollment.created_at)
            add_agent(connection, version, _agent(issued, leaf))
            add_certificate(connection, version, leaf)
            return _add(connection, version, issued)

        return await self._change(work, "agents")

    async def find(self, identifier: str, now: float) -> Enrollment | None:
        """The request, `expired` if nobody decided it in time."""
        return await self._database.read(lambda connection: _find(connection, identifier, now))

    async def get(self, identifier: str, now: float) -> Enrollment:
        """As `find`; raises `BadRequest` (not_found)."""
        return await self._database.read(lambda connection: _get(connection, identifier, now))

    async def list(
        self, limit: int, after: int, now: float, status: EnrollmentStatus | None = None
    ) -> Page[Enrollment]:
        """Requests, the oldest first, beginning behind the `place` given by `after`."""
        statement = select(enrollments).where(enrollments.c.place > after).order_by(enrollments.c.place)
        if status == "pending":
            statement = statement.where(_UNDECIDED, enrollments.c.expires_at > now)
        elif status == "expired":
            statement = statement.where(
                (enrollments.c.status == "expired") | (_UNDECIDED & (enrollments.c.expires_at <= now))
            )
        elif status is not None:
            statement = statement.where(enrollments.c.status == status)
        return await read_page(
            self._database, statement, limit, lambda row: decode_enrollment(row, now), enrollments.c.id
        )

    async def approve(self, identifier: str, by: str, reason: str | None, now: float, issue: Issue) -> Enrollment:
        """Issue at once; the certificate waits for pickup. Replaces a revoked agent of that name.

        Raises `BadRequest`: not_found, conflict when it is not pending any more, name_taken.
        """

        def work(connection: Connection, version: int) -> Enrollment:
            enrollment = _get_pending(connection, identifier, now)
            status = connection.execute(_STATUS, {"who": enrollment.name}).scalar_one_or_none()
            if status in ("active", "suspended"):
                raise BadRequest("An agent has this name.", code="name_taken")
            leaf = issue(enrollment)
            issued = _issued(enrollment, leaf, by, reason, now)
            agent = _agent(issued, leaf)
            if status is None:
                add_agent(connection, version, agent)
            else:
                before = get_agent(connection, enrollment.name)
                write_agent(connection, version, replace(agent, created_at=_later(agent.created_at, before.created_at)))
                revoke_all(connection, version, leaf.name)
                forget_expired(connection, enrollment.name, now)
                for store in self._inheriting:
                    store.hand_over(connection, version, enrollment.name)
            add_certificate(connection, version, leaf)
            _write(connection, version, issued)
            return issued

        return await self._change(work, "agents", "api_keys", *(store.name for store in self._inheriting))

    async def reject(self, identifier: str, by: str, reason: str | None, now: float) -> Enrollment:
        """Raises `BadRequest`: not_found, conflict when it is not pending any more."""

        def work(connection: Connection, version: int) -> Enrollment:
            enrollment = _get_pending(connection, identifier, now)
            rejected = replace(enrollment, status="rejected", decided_at=now, decided_by=by, decision_reason=reason)
            _write(connection, version, rejected)
            return rejected

        return await self._change(work)


def _later(created_at: float, before: float) -> float:
    """A creation time that is always later than `before`, to tell two holders of a name apart even if the clock steps
    back."""
    return max(created_at, before + 0.001)


def _find(connection: Connection, identifier: str, now: float) -> Enrollment | None:
    row = connection.execute(_GET, {"this": identifier}).one_or_none()
    return None if row is None else decode_enrollment(row, now)


def _get(connection: Connection, identifier: str, now: float) -> Enrollment:
    enrollment = _find(connection, identifier, now)
    if enrollment is None:
        raise BadRequest("There is no enrolment request with this id.", code="not_found")
    return enrollment


def _get_pending(connection: Connection, identifier: str, now: float) -> Enrollment:
    enrollment = _get(connection, identifier, now)
    if enrollment.status != "pending":
        raise BadRequest(f"The enrolment request is {enrollment.status}, not pending.", code="conflict")
    return enrollment


def _verify_name(connection: Connection, enrollment: Enrollment, *, by_token: bool) -> None:
    """Raises `BadRequest` (name_taken)."""
    row = connection.execute(_HOLDERS, {"who": enrollment.name, "at": enrollment.created_at}).one()
    if row.agent == "revoked" and by_token:
        raise BadRequest("The name was revoked; ask for it without a token, for an operator.", code="name_taken")
    if row.agent in ("active", "suspended"):
        raise BadRequest("An agent has this name.", code="name_taken")
    if row.pending and not by_token:
        raise BadRequest("Another request for this name waits for a decision.", code="name_taken")


def _close_expired(connection: Connection, version: int, now: float) -> None:
    """Give the names of expired requests free again, and drop what ended long ago."""
    connection.execute(_EXPIRE, {"at": now, "new_version": version})
    connection.execute(_FORGET, {"long_ago": now - KEEP_SECONDS})


def _add(connection: Connection, version: int, enrollment: Enrollment) -> Enrollment:
    added = replace(enrollment, place=version)
    try:
        connection.execute(_ADD, {"version": version, **encode_enrollment(added)})
    except IntegrityError as error:
        raise BadRequest("Another request for this name waits for a decision.", code="name_taken") from error
    return added


def _write(connection: Connection, version: int, enrollment: Enrollment) -> None:
    connection.execute(_WRITE, {"this": enrollment.id, "version": version, **encode_enrollment(enrollment)})


def _issued(enrollment: Enrollment, leaf: IssuedLeaf, by: str, reason: str | None, now: float) -> Enrollment:
    return replace(
        enrollment,
        status="issued",
        certificate=leaf.certificate,
        chain=leaf.chain,
        decided_at=now,
        decided_by=by,
        decision_reason=reason,
    )


def _agent(enrollment: Enrollment, leaf: IssuedLeaf) -> Agent:
    """A new identity: no groups, no attributes, nothing from whoever had the name before."""
    keys = assertion_keys(load_public_key(enrollment.public_key), enrollment.dpop_jwk)
    return Agent(
        name=leaf.name,
        spiffe_id=leaf.spiffe_id,
        status="active",
        groups=frozenset(),
        attributes={},
        cert_sha256=leaf.thumbprint,
        not_after=leaf.not_after,
        dpop_jkt=keys.dpop_jkt,
        public_jwks=keys.public_jwks,
        created_at=leaf.issued_at,
    )
