"""A detector policy, as the hot copy has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DetectorAction = Literal["block", "flag", "off"]
DefinitionAction = Literal["observe", "block", "off"]


@dataclass(frozen=True, slots=True)
class ClassRule:
    """The treatment of a class of content. `threshold`: the score from which it is recorded. `block_threshold`: the
    score from which it is refused, if the action is `block`. None: the value of the settings.
    """

    action: DetectorAction
    threshold: int | None = None
    block_threshold: int | None = None


@dataclass(frozen=True, slots=True)
class AllowedTool:
    """A tool whose definition an admin has judged. `sha256` of the one definition that is meant; None: every one."""

    name: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class DetectorRow:
    """A policy for some agents, groups and models, in place of the settings. Globs; an empty tuple
    matches everything. `classes` by name; `definitions`: what is done about definitions of tools; `tools` that are
    allowed whatever their definitions look like. `is_damaged` as in `RedactionRow`."""

    name: str
    classes: Mapping[str, ClassRule] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    definitions: DefinitionAction | None = None
    tools: tuple[AllowedTool, ...] = ()
    is_damaged: bool = False
