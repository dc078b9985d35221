"""Named admins, as an admin makes them: one token each, with a role and perhaps an end.

A token may be its holder's own, of which only the SHA-256 is sent: then nobody else ever sees it. Where another admin
approves the change, the token is either that or claimed later with a one-time code (`four_eyes`), which is good for
`claim_seconds` from the approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body

from mastio.control.admin.ending import end_of
from mastio.control.context import Caller, Claim, Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import AdminAnswer, AdminBody, AdminPatch, NewAdminAnswer, OwnToken, UnclaimedAdminAnswer
from mastio.control.paging import PagingQuery, answer_page
from mastio.exchange.presented_credentials import end_of_claim
from mastio.exchange.records import Admin
from mastio.exchange.values import Principal
from mastio.plugin.fields import Page, encode_time
from mastio.store.admins import is_unclaimed, new_admin_token

AnyAdmin = UnclaimedAdminAnswer | AdminAnswer
AnyNewAdmin = NewAdminAnswer | UnclaimedAdminAnswer | AdminAnswer
OwnTokenBody = Annotated[OwnToken | None, Body()]


class AdminsRouter:
    """`/v1/admin/admins`. There is always one of role admin without an end (`AdminStore`)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._admins = context.store.admins

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/admins", "/v1/admin/admins/{name}"
        return {
            ("GET", collection): Endpoint(self.list_admins),
            ("POST", collection): Endpoint(self.add_admin, status=201, second=True, claims=True, alone=self.is_lonely),
            ("GET", item): Endpoint(self.read_admin),
            ("PATCH", item): Endpoint(self.change_admin, second=True, find=self.find),
            ("DELETE", item): Endpoint(self.remove_admin, status=204, second=True, find=self.find),
            ("POST", item + "/rotate"): Endpoint(
                self.rotate_admin, second=True, claims=True, alone=self.is_own, find=self.find
            ),
        }

    async def is_lonely(self, caller: Principal, values: Mapping[str, Any]) -> bool:
        """Nobody is there who could approve: the second admin is added by the first, or there would never be one."""
        return await self._admins.count_active(self._context.now()) < 2

    async def is_own(self, caller: Principal, values: Mapping[str, Any]) -> bool:
        """One's own token: no other self comes of it. An approver would even get to see it, and be two."""
        return bool(values["name"] == caller.name)

    async def find(self, values: Mapping[str, Any]) -> Admin:
        """The stored admin. Raises `NotFound`."""
        return await self._admins.get(values["name"])

    async def list_admins(self, paging: PagingQuery) -> Page[AnyAdmin]:
        """In the order of their names, expired ones too, without their tokens."""
        page = await self._admins.list(paging.limit, paging.after)
        return answer_page(page, lambda admin: admin.name, answer_admin)

    async def add_admin(self, body: AdminBody, caller: Caller, claim: Claim) -> AnyNewAdmin:
        """`token` is shown this once; there is none where its holder made it or will claim it. A name is given once and
        never again."""
        now = self._context.now()
        token, hashed = self._make_token(body.token_sha256, claim)
        added = await self._admins.add_hashed(body.name, body.role, hashed, now, end_of(body, now), caller.name)
        return answer_new(added, token)

    def _make_token(self, own: str | None, claim: str | None) -> tuple[str | None, str]:
        """The token, if the appliance makes it, and how it is kept."""
        if own is not None:
            return None, self._admins.hash_own(own)
        if claim is not None:
            return None, self._admins.hash_claim(claim, self._context.now() + self._context.claim_seconds)
        token = new_admin_token()
        return token, self._admins.hash_token(token)

    async def read_admin(self, name: str) -> AnyAdmin:
        """One admin, without the token."""
        return answer_admin(await self._admins.get(name))

    async def change_admin(self, name: str, body: AdminPatch) -> AnyAdmin:
        """Role and end. Members that are left out stay as they are; an `expires_at` that is null removes the end."""
        is_ended = bool(body.model_fields_set & {"ttl_seconds", "expires_at"})
        end = end_of(body, self._context.now())

        def edit(admin: Admin) -> Admin:
            return replace(admin, role=body.role or admin.role, expires_at=end if is_ended else admin.expires_at)

        return answer_admin(await self._admins.change(name, edit))

    async def rotate_admin(self, name: str, caller: Caller, claim: Claim, body: OwnTokenBody = None) -> AnyNewAdmin:
        """A new token for the same name, as for a new admin; the old one, or a one-time code, is refused at once."""
        token, hashed = self._make_token(body.token_sha256 if body else None, claim)
        rotate = self._admins.claim if caller.credential.get("type") == "claim" else self._admins.rotate_hashed
        return answer_new(await rotate(name, hashed), token)

    async def remove_admin(self, name: str) -> None:
        """The token is good for nothing any more, everywhere within a second. The name stays taken."""
        await self._admins.revoke(name)


def answer_new(admin: Admin, token: str | None) -> AnyNewAdmin:
    answer = answer_admin(admin)
    return answer if token is None else NewAdminAnswer(token=token, **answer.model_dump())


def answer_admin(admin: Admin) -> AnyAdmin:
    said = _describe(admin)
    if is_unclaimed(admin):
        return UnclaimedAdminAnswer(**said.model_dump(), claim_expires_at=encode_time(end_of_claim(admin.token_hash)))
    return said


def _describe(admin: Admin) -> AdminAnswer:
    return AdminAnswer(
        name=admin.name,
        role=admin.role,
        created_at=encode_time(admin.created_at),
        created_by=admin.created_by,
        expires_at=None if admin.expires_at is None else encode_time(admin.expires_at),
    )
