"""Authenticates API keys (`mastio_sk_…`), for stock tools that can send a key and nothing else.

A key is a bearer secret, the weakest credential there is here. So it is off for an agent until an operator turns it on
(`mastio.identity.principal`), may be bounded (`mastio.identity.restriction`), and never gets a stronger one. It is
found by its keyed hash in memory: 256 random bits need no slow hash.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mastio.exchange.errors import AuthenticationError
from mastio.exchange.presented_credentials import hash_secret, parse_presented
from mastio.exchange.values import ApiKeyCredential, Credential, RequestHead, Restriction
from mastio.plugin.hooks import Hooks, Plugin, PluginSettings
from mastio.plugin.services import Services
from mastio_apikey.uses import Uses


class Settings(PluginSettings):
    """No settings: keys are objects of the control plane."""


class Authenticator:
    """The authenticate hook of one worker."""

    def __init__(self, services: Services, uses: Uses) -> None:
        self._services = services
        self._uses = uses
        self._hash_key = services.keys.key("api-keys")

    def authenticate(self, head: RequestHead) -> Credential | None:
        presented = parse_presented(head.headers)
        if presented is None or presented.kind != "api_key":
            return None
        if presented.scheme != "Bearer":
            raise AuthenticationError("An API key is sent as Bearer.", code="invalid_api_key")
        key = self._services.directory.api_keys.get(hash_secret(self._hash_key, presented.value))
        now = self._services.now()
        if key is None or (key.expires_at is not None and now >= key.expires_at):
            raise AuthenticationError("The API key is not in force.", code="invalid_api_key")
        self._uses.note(key.id, now)
        return ApiKeyCredential(
            key.agent, key.id, Restriction(key.kinds, key.models, key.paths), key.key_hash, key.created_at
        )


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    uses, ending = Uses(services.note_api_key_uses), asyncio.Event()
    keeping = asyncio.create_task(uses.keep(ending))
    try:
        yield Hooks(authenticate=Authenticator(services, uses).authenticate)
    finally:
        ending.set()
        await keeping


plugin = Plugin(name="apikey", settings=Settings, setup=setup)
