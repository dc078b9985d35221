"""Authorizes every action of an agent with Cedar policies: parsed once, default deny, one forbid wins.

The policies come from the control plane's hot copy. An invalid set keeps the last good one in force and makes the
appliance not ready; without a good one from the start, everything is denied.

A decision depends on the principal, the action's kind and target and the policies alone, so it is remembered by
exactly these until any of them changes.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mastio.exchange import Action, Decision, Deny, Principal
from mastio.hooks import Hooks, Plugin, PluginSettings
from mastio.services import Services
from mastio.store.base import Directory, PolicyRow
from mastio_policy.rules import Rules, RulesError, encode_entities, evaluate, parse_rules

log = logging.getLogger("mastio.policy")

REMEMBER = 50_000


class Settings(PluginSettings):
    """No settings: policies are objects of the control plane."""


class Policies:
    """The rules in force in this worker, kept up with the directory."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._rows: Mapping[str, PolicyRow] = {}
        self._rules: Rules | None = None
        self._observed: Rules | None = None
        self._decisions: dict[tuple[str, int, str, str, str], Decision] = {}
        self.problem: str | None = None
        self.reload()

    def reload(self) -> None:
        """Take the directory's policies, unless they are the ones in force or are not valid."""
        rows = dict(self._directory.policies)
        if self._rules is not None and rows == self._rows:
            return
        active = [row for _, row in sorted(rows.items()) if row.enabled]
        try:
            rules = parse_rules((row.name, row.cedar) for row in active if row.mode == "enforce")
            observed = parse_rules((row.name, row.cedar) for row in active if row.mode == "observe")
        except RulesError as error:
            self.problem = str(error)
            log.error("policies not loaded, the last good ones stay in force: %s", error)
            return
        self._rows, self._rules, self.problem = rows, rules, None
        self._observed = observed if any(row.mode == "observe" for row in active) else None
        self._decisions.clear()

    async def authorize(self, principal: Principal, action: Action) -> Decision | None:
        if not principal.is_agent or action.target_type == "Token":
            return None  # people have roles; a token carries no more than its agent has
        name = (principal.name, principal.version, action.kind, action.target_type, action.target)
        decision = self._decisions.get(name)
        if decision is None:
            decision = self._decide(principal, action)
            if len(self._decisions) >= REMEMBER:
                self._decisions.clear()
            self._decisions[name] = decision
        return decision

    def _decide(self, principal: Principal, action: Action) -> Decision:
        if self._rules is None:
            return Deny("default", "No valid policies are loaded, so everything is denied.")
        try:
            entities = encode_entities(principal)
        except ValueError:
            return Deny("attributes", "The agent's attributes cannot be expressed in Cedar.")
        if self._observed is not None:
            would = evaluate(self._observed, principal, action, entities, {})
            log.info("observed policies would say %s to %s %s", would, action.kind, action.target)
        return evaluate(self._rules, principal, action, entities, {})

    async def ready(self) -> str | None:
        return f"policy: {self.problem}" if self.problem else None


@asynccontextmanager
async def setup(settings: Settings, services: Services) -> AsyncIterator[Hooks]:
    policies = Policies(services.directory)
    services.directory.on_change(policies.reload)
    yield Hooks(authorize=policies.authorize, ready=policies.ready)


plugin = Plugin(name="policy", settings=Settings, setup=setup)
