"""Agents: what operators may do to them, and what an agent may ask for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Body, Query

from mastio.control.context import Caller, Context
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.enrollment.issuing import renew
from mastio.control.models import AgentAnswer, AgentPatch, CsrBody, Reason, Renewed, RevokedAnswer
from mastio.control.paging import PagingQuery, answer_page
from mastio.exchange.errors import Denied
from mastio.exchange.records import Agent, AgentStatus
from mastio.exchange.values import Principal
from mastio.plugin.fields import Page, encode_time
from mastio.store.agents import AgentChanges

ReasonBody = Annotated[Reason | None, Body()]


class AgentsRouter:
    """`/v1/admin/agents`, where `{id}` is the agent's name, and `/v1/agents/self/renew`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._agents = context.store.agents

    def endpoints(self) -> Endpoints:
        admin = "/v1/admin/agents"
        return {
            ("GET", admin): Endpoint(self.list_agents),
            ("GET", admin + "/{id}"): Endpoint(self.read_agent),
            ("PATCH", admin + "/{id}"): Endpoint(
                self.change_agent, second=True, alone=self.is_narrowing, find=self.find
            ),
            ("POST", admin + "/*/revoke"): Endpoint(self.revoke_all, second=True),
            ("POST", admin + "/{id}/revoke"): Endpoint(self.revoke),
            ("POST", admin + "/{id}/reactivate"): Endpoint(self.reactivate),
            ("POST", "/v1/agents/self/renew"): Endpoint(self.renew_self),
        }

    async def list_agents(
        self, paging: PagingQuery, status: Annotated[AgentStatus | None, Query()] = None
    ) -> Page[AgentAnswer]:
        """In the order of their names; `status` selects."""
        page = await self._agents.list(paging.limit, paging.after, status)
        return answer_page(page, lambda agent: agent.name, answer_agent)

    async def read_agent(self, id: str) -> AgentAnswer:
        """One agent."""
        return answer_agent(await self._agents.get(id))

    async def is_narrowing(self, caller: Principal, values: Mapping[str, Any]) -> bool:
        """True if no right of the agent depends on the change. Raises `Denied` for an operator if one does."""
        if not widens(values["body"]):
            return True
        verify_admin(caller)
        return False

    async def find(self, values: Mapping[str, Any]) -> Agent:
        """The enrolled agent. Raises `NotFound`."""
        return await self._agents.get(values["id"])

    async def change_agent(self, id: str, body: AgentPatch, caller: Caller) -> AgentAnswer:
        """Members that are left out stay as they are; a status is applied as revoke and reactivate do. Groups,
        attributes and API keys are for admins."""
        if widens(body):
            verify_admin(caller)
        changes = AgentChanges(
            status=body.status,
            groups=None if body.groups is None else frozenset(body.groups),
            attributes=body.attributes,
            api_keys=None if body.api_keys is None else body.api_keys in (True, "on"),
            reason=body.reason,
        )
        return answer_agent(await self._agents.update(id, changes, self._context.now()))

    async def revoke(self, id: str, body: ReasonBody = None) -> AgentAnswer:
        """Everywhere within a second: refused, streams cut, certificates on the revocation list."""
        return answer_agent(await self._agents.revoke(id, body.reason if body else None, self._context.now()))

    async def revoke_all(self, body: ReasonBody = None) -> RevokedAnswer:
        """Every agent that is not revoked yet, at once: no agent's name is `*`."""
        return RevokedAnswer(revoked=await self._agents.revoke_all(body.reason if body else None, self._context.now()))

    async def reactivate(self, id: str, body: ReasonBody = None) -> AgentAnswer:
        """Undoes a suspension or a revocation; the agent's current certificate is good again."""
        return answer_agent(await self._agents.reactivate(id, body.reason if body else None, self._context.now()))

    async def renew_self(self, body: CsrBody, caller: Caller) -> Renewed:
        """A new leaf for a new request. The old one stays good for the grace period at most."""
        renewed, leaf = await renew(self._context, caller, self._context.parse_csr(body.csr, caller.name))
        return Renewed(
            name=renewed.name,
            spiffe_id=renewed.spiffe_id,
            certificate=leaf.certificate,
            chain=leaf.chain,
            not_after=encode_time(renewed.not_after),
            previous_until=encode_time(renewed.previous_until),
        )


def widens(body: AgentPatch) -> bool:
    """True if the change may give the agent rights. Policies read groups and attributes, so removing some counts too.

    Turning API keys off only takes rights away.
    """
    return body.groups is not None or body.attributes is not None or body.api_keys in (True, "on")


def verify_admin(caller: Principal) -> None:
    """Raises `Denied` (role_required)."""
    if "admin" not in caller.roles:
        raise Denied("Only an admin changes an agent's groups, attributes and API keys.", code="role_required")


def answer_agent(agent: Agent) -> AgentAnswer:
    has_previous = agent.previous_cert_sha256 is not None
    return AgentAnswer(
        name=agent.name,
        spiffe_id=agent.spiffe_id,
        status=agent.status,
        status_reason=agent.status_reason,
        groups=sorted(agent.groups),
        attributes=agent.attributes,
        cert_sha256=agent.cert_sha256,
        not_after=encode_time(agent.not_after),
        previous_cert_sha256=agent.previous_cert_sha256,
        previous_until=encode_time(agent.previous_until) if has_previous else None,
        dpop_jkt=agent.dpop_jkt,
        api_keys=agent.api_keys,
        created_at=encode_time(agent.created_at),
    )
