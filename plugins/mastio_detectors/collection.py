"""The collection `detectors`: what is done for some agents, groups and models instead of what the settings say, and
which tools are allowed whatever their definitions look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from mastio.plugin.collection import Collection, Serializer
from mastio.plugin.fields import Answer, Body, Digest, Globs, Name
from mastio.plugin.last_good import verify_whole
from mastio_detectors.detector_policy import AllowedTool, ClassRule, DefinitionAction, DetectorAction, DetectorRow

Score = Annotated[int, Field(ge=1, le=100)]
ClassName = Annotated[str, StringConstraints(pattern=r"^[a-z]{1,32}$")]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]


class DetectorMatch(Body):
    """The scope of a policy; a member that is left out matches everything. An agent by its name, or by a group's as
    `group:<name>`."""

    agents: Globs = Field(default_factory=list)
    models: Globs = Field(default_factory=list)
    kinds: Globs = Field(default_factory=list)


class ClassRuleBody(Body):
    """Thresholds that are left out, or null, are those of the settings."""

    action: DetectorAction
    threshold: Score | None = None
    block_threshold: Score | None = None


class ToolBody(Body):
    """`sha256` of the one definition that is meant; left out, or null: every definition of this name."""

    name: ToolName
    sha256: Digest | None = None


Classes = Annotated[Mapping[ClassName, ClassRuleBody], Field(max_length=32)]
Tools = Annotated[list[ToolBody], Field(max_length=1000)]


class DetectorsPut(Body):
    """`classes` by name. `definitions`: what is done about definitions of tools; null: as the settings say. `tools` are
    allowed whatever their definitions look like."""

    name: Name | None = None
    match: DetectorMatch = DetectorMatch()
    classes: Classes = Field(default_factory=dict)
    definitions: DefinitionAction | None = None
    tools: Tools = Field(default_factory=list)


class DetectorsBody(DetectorsPut):
    name: Name


class DetectorsPatch(Body):
    """Members that are left out, or null, stay as they are."""

    match: DetectorMatch | None = None
    classes: Classes | None = None
    definitions: DefinitionAction | None = None
    tools: Tools | None = None


class DetectorMatchAnswer(Answer):
    agents: list[str]
    models: list[str]
    kinds: list[str]


class ClassRuleAnswer(Answer):
    action: DetectorAction
    threshold: int | None
    block_threshold: int | None


class ToolAnswer(Answer):
    name: str
    sha256: str | None


class DetectorsAnswer(Answer):
    name: str
    match: DetectorMatchAnswer
    classes: Mapping[str, ClassRuleAnswer]
    definitions: DefinitionAction | None
    tools: list[ToolAnswer]


class DetectorSerializer(Serializer[DetectorRow]):
    """The bodies of `/v1/admin/detectors`."""

    body, put, patch, answer = DetectorsBody, DetectorsPut, DetectorsPatch, DetectorsAnswer

    def make(self, name: str, body: DetectorsPut) -> DetectorRow:
        return detector_row(name, body)

    def change(self, present: DetectorRow, patch: DetectorsPatch) -> DetectorRow:
        return changed_row(present, patch)

    async def show(self, rows: Sequence[DetectorRow]) -> list[Answer]:
        return [answer_detectors(row) for row in rows]


def _damaged(name: str, members: Mapping[str, Any]) -> DetectorRow:
    del members
    return DetectorRow(name, is_damaged=True)


DETECTORS = Collection(
    name="detectors",
    noun="detector policy",
    nouns="detector policies",
    row=DetectorRow,
    serializer=DetectorSerializer,
    damaged=_damaged,
    needs_second=True,
)


def detector_row(name: str, body: DetectorsPut) -> DetectorRow:
    match = body.match
    return DetectorRow(
        name, _rules(body.classes), tuple(match.agents), tuple(match.models), tuple(match.kinds), body.definitions,
        _tools(body.tools),
    )  # fmt: skip


def changed_row(row: DetectorRow, body: DetectorsPatch) -> DetectorRow:
    verify_whole(row)
    if body.match is not None:
        match = body.match
        row = replace(row, agents=tuple(match.agents), models=tuple(match.models), kinds=tuple(match.kinds))
    return replace(
        row,
        classes=row.classes if body.classes is None else _rules(body.classes),
        definitions=body.definitions or row.definitions,
        tools=row.tools if body.tools is None else _tools(body.tools),
    )


def _rules(classes: Mapping[str, ClassRuleBody]) -> dict[str, ClassRule]:
    return {name: ClassRule(rule.action, rule.threshold, rule.block_threshold) for name, rule in classes.items()}


def _tools(tools: list[ToolBody]) -> tuple[AllowedTool, ...]:
    return tuple(dict.fromkeys(AllowedTool(tool.name, tool.sha256) for tool in tools))


def answer_detectors(row: DetectorRow) -> DetectorsAnswer:
    return DetectorsAnswer(
        name=row.name,
        match=DetectorMatchAnswer(agents=list(row.agents), models=list(row.models), kinds=list(row.kinds)),
        classes={
            name: ClassRuleAnswer(action=one.action, threshold=one.threshold, block_threshold=one.block_threshold)
            for name, one in row.classes.items()
        },
        definitions=row.definitions,
        tools=[ToolAnswer(name=tool.name, sha256=tool.sha256) for tool in row.tools],
    )
