"""Named admins, as an admin makes them: one token each, with a role and perhaps an end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mastio.control.context import Caller, Context
from mastio.control.ending import end_of
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import AdminAnswer, AdminBody, AdminPatch, NewAdminAnswer, Page, encode_time
from mastio.control.paging import PagingQuery, answer_page
from mastio.exchange import Principal
from mastio.store.admins import new_admin_token
from mastio.store.base import Admin


class AdminsRouter:
    """`/v1/admin/admins`. There is always one of role admin without an end (`AdminStore`)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._admins = context.store.admins

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/admins", "/v1/admin/admins/{name}"
        return {
            ("GET", collection): Endpoint(self.list_admins),
            ("POST", collection): Endpoint(self.add_admin, status=201, second=True, alone=self.is_lonely),
            ("GET", item): Endpoint(self.read_admin),
            ("PATCH", item): Endpoint(self.change_admin, second=True),
            ("DELETE", item): Endpoint(self.remove_admin, status=204, second=True),
            ("POST", item + "/rotate"): Endpoint(self.rotate_admin, second=True, alone=self.is_own),
        }

    async def is_lonely(self, caller: Principal, values: Mapping[str, Any]) -> bool:
        """Nobody is there who could approve: the second admin is added by the first, or there would never be one."""
        return await self._admins.count_active(self._context.now()) < 2

    async def is_own(self, caller: Principal, values: Mapping[str, Any]) -> bool:
        """One's own token: no other self comes of it. An approver would even get to see it, and be two."""
        return bool(values["name"] == caller.name)

    async def list_admins(self, paging: PagingQuery) -> Page[AdminAnswer]:
        """In the order of their names, expired ones too, without their tokens."""
        page = await self._admins.list(paging.limit, paging.after)
        return answer_page(page, lambda admin: admin.name, answer_admin)

    async def add_admin(self, body: AdminBody, caller: Caller) -> NewAdminAnswer:
        """`token` is shown this once. A name is given once and never again."""
        now, token = self._context.now(), new_admin_token()
        added = await self._admins.add(body.name, body.role, token, now, end_of(body, now), caller.name)
        return NewAdminAnswer(token=token, **answer_admin(added).model_dump())

    async def read_admin(self, name: str) -> AdminAnswer:
        """One admin, without the token."""
        return answer_admin(await self._admins.get(name))

    async def change_admin(self, name: str, body: AdminPatch) -> AdminAnswer:
        """Role and end. Members that are left out stay as they are; an `expires_at` that is null removes the end."""
        is_ended = bool(body.model_fields_set & {"ttl_seconds", "expires_at"})
        end = end_of(body, self._context.now())

        def edit(admin: Admin) -> Admin:
            return replace(admin, role=body.role or admin.role, expires_at=end if is_ended else admin.expires_at)

        return answer_admin(await self._admins.change(name, edit))

    async def rotate_admin(self, name: str) -> NewAdminAnswer:
        """A new token for the same name, shown this once; the old one is refused at once."""
        token = new_admin_token()
        rotated = await self._admins.rotate(name, token)
        return NewAdminAnswer(token=token, **answer_admin(rotated).model_dump())

    async def remove_admin(self, name: str) -> None:
        """The token is good for nothing any more, everywhere within a second. The name stays taken."""
        await self._admins.revoke(name)


def answer_admin(admin: Admin) -> AdminAnswer:
    return AdminAnswer(
        name=admin.name,
        role=admin.role,
        created_at=encode_time(admin.created_at),
        created_by=admin.created_by,
        expires_at=None if admin.expires_at is None else encode_time(admin.expires_at),
    )
