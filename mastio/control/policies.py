"""Cedar policies, as an admin writes them: judged when they are stored, in force everywhere within a second.

The policies are in force all together or not at all: one damaged row keeps every change out. A change that is stored
and not in force is answered 409 with the reason, so that no admin relies on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mastio.control.context import Context, verify_whole
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import Page, PolicyAnswer, PolicyBody, PolicyPatch, PolicyPut
from mastio.control.paging import PagingQuery, answer_page
from mastio.errors import BadRequest
from mastio.store.base import PolicyRow

DAMAGED = "The row of this policy in the database is damaged."


class PoliciesRouter:
    """`/v1/admin/policies`."""

    def __init__(self, context: Context) -> None:
        self._policies = context.store.policies
        self._verifiers = context.verifiers

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/policies", "/v1/admin/policies/{name}"
        return {
            ("GET", collection): Endpoint(self.list_policies),
            ("POST", collection): Endpoint(self.create_policy, status=201, second=True),
            ("GET", item): Endpoint(self.read_policy),
            ("PUT", item): Endpoint(self.replace_policy, second=True),
            ("PATCH", item): Endpoint(self.change_policy, second=True),
            ("DELETE", item): Endpoint(self.delete_policy, status=204, second=True),
        }

    async def list_policies(self, paging: PagingQuery) -> Page[PolicyAnswer]:
        """In the order of their names."""
        page = await self._policies.list(paging.limit, paging.after)
        return answer_page(page, lambda policy: policy.name, answer_policy)

    async def create_policy(self, body: PolicyBody) -> PolicyAnswer:
        """A source may hold several Cedar policies; a template is refused."""
        row = self._verified(PolicyRow(body.name, body.cedar, body.enabled, body.mode))
        return self._changed(await self._policies.create(row))

    async def read_policy(self, name: str) -> PolicyAnswer:
        """One policy."""
        return answer_policy(await self._policies.get(name))

    async def replace_policy(self, name: str, body: PolicyPut) -> PolicyAnswer:
        """Everything anew."""
        if body.name is not None and body.name != name:
            raise BadRequest("name: it must be the one in the path.", code="invalid_body")
        row = self._verified(PolicyRow(name, body.cedar, body.enabled, body.mode))
        return self._changed(await self._policies.replace(row))

    async def change_policy(self, name: str, body: PolicyPatch) -> PolicyAnswer:
        """Members that are left out, or null, stay as they are."""
        return self._changed(await self._policies.change(name, lambda row: self._verified(changed_policy(row, body))))

    async def delete_policy(self, name: str) -> None:
        """What it permitted is denied from the next request on."""
        await self._policies.delete(name)
        self._verifiers.verify_in_force("policies")

    def _verified(self, row: PolicyRow) -> PolicyRow:
        self._verifiers.verify_by_any("policies", row)
        return row

    def _changed(self, row: PolicyRow) -> PolicyAnswer:
        self._verifiers.verify_in_force("policies")
        return answer_policy(row)


def changed_policy(row: PolicyRow, body: PolicyPatch) -> PolicyRow:
    verify_whole(row)
    changes: dict[str, Any] = body.model_dump(exclude_none=True)
    return replace(row, **changes)


def answer_policy(row: PolicyRow) -> PolicyAnswer:
    """Of a damaged row `cedar` is a text that Cedar refuses, so that nobody writes it back."""
    cedar: object = row.cedar
    if cedar is None:
        cedar = DAMAGED
    elif not isinstance(cedar, str):
        cedar = repr(cedar)  # to be seen and repaired
    return PolicyAnswer(name=row.name, cedar=str(cedar), enabled=row.enabled, mode=row.mode)
