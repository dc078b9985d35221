"""The rules by which an admin's pattern matches an action. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

from mastio.exchange.values import Action

MOST_STARS = 10
"""Stars in one glob. The time to find out that a name does not match grows with each of them."""

REMEMBER = 16_384


@lru_cache(maxsize=REMEMBER)
def _compile(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


def matches(glob: str, name: str) -> bool:
    """As `fnmatch.fnmatchcase`, which forgets a glob when it has seen a few hundred others."""
    return _compile(glob).match(name) is not None


def covers_model(glob: str, action: Action) -> bool:
    """A glob is of `provider/model`, of an alias that the caller used, or without a slash of the model's own name.

    Capitals do not count: there are providers to whom they are the same, and a rule is no name's to get around.
    """
    names = [action.target] if action.alias is None else [action.target, action.alias]
    if "/" not in glob:
        names.append(action.target.partition("/")[2])
    return any(matches(glob.lower(), name.lower()) for name in names)


def covers_name(globs: Iterable[str], name: str) -> bool:
    """No globs at all cover every name."""
    return not globs or any(matches(glob, name) for glob in globs)
