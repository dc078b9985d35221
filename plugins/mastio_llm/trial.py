"""`POST /v1/admin/providers/{name}/test`: whether a provider can be called, step by step, for the admin.

The last step is one authenticated request that costs nothing: the list of models. Bedrock's runtime has no such list,
so it is asked for its asynchronous calls. The exchange has an intent and an outcome in the log like any other, since
the appliance sends something. Neither the key nor anything that the provider answered is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from mastio.exchange.errors import BadRequest, DispatchError
from mastio.exchange.target import parse_base_url
from mastio.exchange.values import Action, Message, Principal, Recorded, Reply, RequestHead
from mastio.http.strictjson import JsonError, parse_object
from mastio.plugin.services import Services
from mastio_llm.credentials import Headers
from mastio_llm.dialects import LISTINGS, SPEAKERS
from mastio_llm.provider import ProviderRow
from mastio_llm.routing.registry import OpenProvider, ProviderRegistry

KIND = "admin.providers-test"
WITHIN = 30.0
"""Seconds for the request, whatever the provider's timeouts are."""

MAX_LIST = 4 * 1024 * 1024
ASYNC_CALLS = "/async-invoke"
LISTLESS = frozenset({"bedrock", "vertex"})
"""Kinds whose API has no list of models: no reply about one says that the address is wrong."""

LIST_MEMBERS: Mapping[str, str] = {"openai": "data", "anthropic": "data", "gemini": "models"}
"""By dialect, the member of the reply that has the models."""

HINTS: Mapping[str, str] = {
    "describe": "Give the member that is named anew: mastio providers set NAME …",
    "resolve": "Check the host in base_url, and the name servers: [upstream] resolvers.",
    "address": "Allow the address, if it is meant: mastio providers set NAME --allow-address CIDR.",
    "connect": "Check host and port in base_url, and the firewall between.",
    "tls": "Check the host in base_url, and that the provider's authority is trusted by this system.",
    "credential": "Check the key: mastio providers set NAME --api-key-from FILE.",
    "request": "Check the version segment of base_url: see docs/llm.md.",
}


@dataclass(slots=True)
class Trial:
    """The result of a test: the steps that passed, and the failed one with its reason and a hint (None: no step
    failed)."""

    passed: list[str] = field(default_factory=list)
    failed: str | None = None
    reason: str = ""
    hint: str = ""
    status: int | None = None
    models: int | None = None

    def fail(self, step: str, reason: str, hint: str | None = None) -> Trial:
        self.failed, self.reason, self.hint = step, reason, HINTS[step] if hint is None else hint
        return self

    def describe(self, name: str) -> dict[str, Any]:
        steps = [{"step": step, "ok": True} for step in self.passed]
        if self.failed is not None:
            steps.append({"step": self.failed, "ok": False})
        return {
            "name": name, "ok": self.failed is None, "steps": steps, "reason": self.reason or None,
            "hint": self.hint or None, "status": self.status, "models": self.models,
        }  # fmt: skip


class Testing:
    """The read and dispatch hooks of the route."""

    def __init__(self, services: Services, registry: ProviderRegistry) -> None:
        self._services = services
        self._registry = registry

    def read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        """Raises `BadRequest` for a provider that there is not."""
        name = head.params["name"]
        if name not in self._registry.providers:
            raise BadRequest("There is no provider of this name.", code="not_found")
        return Action(KIND, "Appliance", "self"), Message(b"", plan=name, details={"provider": name})

    async def dispatch(self, recorded: Recorded) -> Reply:
        """200, whatever came of it."""
        name: str = recorded.message.plan
        trial = await self._try(name)
        facts: dict[str, Any] = {"step": trial.failed or "passed"}
        if trial.status is not None:
            facts["upstream_status"] = trial.status
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        return Reply(200, headers, orjson.dumps(trial.describe(name)), facts=facts)

    async def _try(self, name: str) -> Trial:
        trial, opened = Trial(), self._registry.find(name)
        if opened is None:
            return trial.fail("describe", self._registry.broken.get(name, "The description cannot be used."))
        row = opened.row
        obstacle = await self._services.upstreams.examine(row.base_url, row.allow_addresses)
        steps = ["resolve", "address", "connect"] + ["tls"] * (parse_base_url(row.base_url).scheme == "https")
        if obstacle is not None:
            trial.passed = steps[: steps.index(obstacle.step)]
            return trial.fail(obstacle.step, obstacle.reason)
        trial.passed = steps
        try:
            async with asyncio.timeout(WITHIN):
                return await self._ask(opened, trial)
        except TimeoutError:
            return trial.fail("request", "The provider did not answer in time.", "Try again later.")

    async def _ask(self, opened: OpenProvider, trial: Trial) -> Trial:
        row = opened.row
        if row.has_lost_key:
            return trial.fail("credential", "The key cannot be had: it does not open, or its file cannot be read.")
        speaker = SPEAKERS[row.kind]
        address = ASYNC_CALLS if row.kind == "bedrock" else LISTINGS[speaker.dialect].address
        headers: Headers = [("accept", "application/json"), ("accept-encoding", "identity"), *speaker.defaults]
        try:
            headers += await opened.credential.headers("GET", address, headers, b"")
        except DispatchError as error:
            return trial.fail("credential", error.message)
        trial.passed.append("credential")
        try:
            async with opened.pool.send("GET", address, headers, b"") as upstream:
                trial.status = upstream.status
                body = await upstream.read(MAX_LIST)
                return judge(trial, row, dict(upstream.headers), body)
        except DispatchError as error:
            return trial.fail("request", error.message)


def judge(trial: Trial, row: ProviderRow, headers: Mapping[bytes, bytes], body: bytes) -> Trial:
    """The verdict of a reply on key and address. `trial.status` is its status."""
    status, speaker = trial.status or 0, SPEAKERS[row.kind]
    may_not_list = row.kind == "bedrock" and headers.get(b"x-amzn-errortype", b"").startswith(b"AccessDenied")
    if (status in (401, 403) and not may_not_list) or (status >= 400 and speaker.refuses_key(body)):
        what = "the key" if row.api_key else "a request without a key"
        return trial.fail("request", f"The provider refused {what} (status {status}).", HINTS["credential"])
    if status in (200, 403) or (status in (404, 405) and row.kind in LISTLESS):
        if status == 200 and row.kind != "bedrock":
            try:
                document = parse_object(body)
            except JsonError:
                document = {}
            if LIST_MEMBERS[speaker.dialect] not in document:
                return trial.fail("request", "What is at base_url does not answer like a provider of this kind.")
            trial.models = len(LISTINGS[speaker.dialect].read(document))
        trial.passed.append("request")
        return trial
    if status == 429 or status >= 500:
        return trial.fail("request", f"The provider is there, but failed (status {status}).", "Try again later.")
    if 300 <= status < 400:
        return trial.fail(
            "request", f"The provider sends its callers elsewhere (status {status}); that is not followed."
        )
    return trial.fail("request", f"There is no list of models below base_url (status {status}).")
