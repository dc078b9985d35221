"""Whether what an admin wrote covers an action. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from mastio.exchange import Action


def covers_model(glob: str, action: Action) -> bool:
    """A glob is of `provider/model`, of an alias that the caller used, or without a slash of the model's own name.

    Capitals do not count: there are providers to whom they are the same, and a rule is no name's to get around.
    """
    names = [action.target] if action.alias is None else [action.target, action.alias]
    if "/" not in glob:
        names.append(action.target.partition("/")[2])
    return any(fnmatchcase(name.lower(), glob.lower()) for name in names)


def covers_name(globs: Iterable[str], name: str) -> bool:
    """No globs at all cover every name."""
    return not globs or any(fnmatchcase(name, glob) for glob in globs)
