"""API keys of agents: what admins make for tools that can send a key and nothing else."""

from __future__ import annotations

from mastio.control.admin.agents import verify_admin
from mastio.control.admin.ending import end_of
from mastio.control.context import Caller, Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import ApiKeyAnswer, ApiKeyBody, NewApiKeyAnswer
from mastio.control.paging import PagingQuery, answer_page
from mastio.exchange.records import ApiKey
from mastio.exchange.values import Restriction
from mastio.plugin.fields import Page, encode_time
from mastio.store.api_keys import NewApiKey


class ApiKeysRouter:
    """`/v1/admin/agents/{id}/api-keys`, where `{id}` is the agent's name.

    Keys may be made while they are turned off for the agent; they are then refused when they are used.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._agents = context.store.agents
        self._keys = context.store.api_keys

    def endpoints(self) -> Endpoints:
        keys = "/v1/admin/agents/{id}/api-keys"
        return {
            ("GET", keys): Endpoint(self.list_keys),
            ("POST", keys): Endpoint(self.create_key, status=201),
            ("GET", keys + "/{key}"): Endpoint(self.read_key),
            ("DELETE", keys + "/{key}"): Endpoint(self.delete_key, status=204),
        }

    async def list_keys(self, id: str, paging: PagingQuery) -> Page[ApiKeyAnswer]:
        """The oldest first, expired ones too, without the keys themselves."""
        await self._agents.get(id)
        page = await self._keys.list(id, paging.limit, paging.after_number())
        return answer_page(page, lambda item: str(item.place), answer_api_key)

    async def create_key(self, id: str, body: ApiKeyBody, caller: Caller) -> NewApiKeyAnswer:
        """`key` is shown this once. For admins: who has a key is the agent."""
        await self._agents.get(id)
        verify_admin(caller)
        now = self._context.now()
        restriction = Restriction(tuple(body.kinds), tuple(body.models), tuple(body.paths))
        wish = NewApiKey(id, body.name, restriction, end_of(body, now))
        made, text = await self._keys.create(wish, caller.name, now)
        return NewApiKeyAnswer(key=text, **answer_api_key(made).model_dump())

    async def read_key(self, id: str, key: str) -> ApiKeyAnswer:
        """One key, without the key itself."""
        return answer_api_key(await self._keys.get(id, key))

    async def delete_key(self, id: str, key: str) -> None:
        """The key is good for nothing any more, everywhere within a second."""
        await self._keys.revoke(id, key)


def answer_api_key(key: ApiKey) -> ApiKeyAnswer:
    return ApiKeyAnswer(
        id=key.id,
        agent=key.agent,
        name=key.name,
        kinds=list(key.kinds),
        models=list(key.models),
        paths=list(key.paths),
        created_at=encode_time(key.created_at),
        created_by=key.created_by,
        expires_at=None if key.expires_at is None else encode_time(key.expires_at),
        last_used_at=None if key.last_used_at is None else encode_time(key.last_used_at),
    )
