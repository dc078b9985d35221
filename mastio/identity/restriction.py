"""The actions that a restricted credential may not do, whatever the policies permit. Pure: no lookups.

A restriction only takes away: an action within it still needs the authorizers' permission.
"""

from __future__ import annotations

from collections.abc import Iterable

from mastio.exchange.matching import matches
from mastio.exchange.values import Action, Deny, Restriction

RULE = "credential"

NEEDS_OWN_KEY = frozenset({"agent.renew", "oauth.token"})
"""Actions that issue a credential of the agent itself: a restricted caller must not gain more by them."""


def find_excess(restriction: Restriction | None, action: Action, path: str | None) -> Deny | None:
    """Why `action` at `path` is beyond the restriction; None when it is not. `path` None: no request, do not ask."""
    if restriction is None:
        return None
    if action.kind in NEEDS_OWN_KEY:
        return Deny(RULE, "This needs the agent's own certificate or key; a restricted credential is not enough.")
    if restriction.kinds and not _matches([action.kind], restriction.kinds):
        return Deny(RULE, f"The credential is not for the action {action.kind}.")
    if restriction.models and action.target_type == "Model" and not _covers_model(restriction.models, action):
        return Deny(RULE, "The credential is not for this model.")
    if restriction.paths and path is not None and not _matches([path], restriction.paths):
        return Deny(RULE, "The credential is not for this path.")
    return None


def _covers_model(globs: Iterable[str], action: Action) -> bool:
    """A glob is of `provider/model`, of the model on whichever provider, or of an alias that the caller used.

    What is compared is the target and what an admin has named so, never a name as the caller happened to spell it.
    """
    model = action.target.partition("/")[2]
    names = [action.target] if action.alias is None else [action.target, action.alias]
    return any(_matches(names, [glob]) or ("/" not in glob and matches(glob, model)) for glob in globs)


def _matches(names: Iterable[str], globs: Iterable[str]) -> bool:
    return any(matches(glob, name) for glob in globs for name in names)
