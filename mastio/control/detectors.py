"""Detector policies, as an admin describes them: what is done for some agents, groups and models, and which tools are
allowed whatever their definitions look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from mastio.control.context import Context, verify_whole
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import Answer, Body, Digest, Name, Page, verify_glob
from mastio.control.paging import PagingQuery, answer_page
from mastio.errors import BadRequest
from mastio.store.base import AllowedTool, ClassRule, DefinitionAction, DetectorAction, DetectorRow

Glob = Annotated[str, StringConstraints(min_length=1, max_length=256), AfterValidator(verify_glob)]
Globs = Annotated[list[Glob], Field(max_length=256)]
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


class DetectorsRouter:
    """`/v1/admin/detectors`."""

    def __init__(self, context: Context) -> None:
        self._detectors = context.store.detectors
        self._verifiers = context.verifiers

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/detectors", "/v1/admin/detectors/{name}"
        return {
            ("GET", collection): Endpoint(self.list_detectors),
            ("POST", collection): Endpoint(self.create_detectors, status=201, second=True),
            ("GET", item): Endpoint(self.read_detectors),
            ("PUT", item): Endpoint(self.replace_detectors, second=True),
            ("PATCH", item): Endpoint(self.change_detectors, second=True),
            ("DELETE", item): Endpoint(self.delete_detectors, status=204, second=True),
        }

    async def list_detectors(self, paging: PagingQuery) -> Page[DetectorsAnswer]:
        """In the order of their names."""
        page = await self._detectors.list(paging.limit, paging.after)
        return answer_page(page, lambda row: row.name, answer_detectors)

    async def create_detectors(self, body: DetectorsBody) -> DetectorsAnswer:
        """In force on every worker and replica within a second."""
        return self._changed(await self._detectors.create(self._verified(detector_row(body.name, body))))

    async def read_detectors(self, name: str) -> DetectorsAnswer:
        """One detector policy."""
        return answer_detectors(await self._detectors.get(name))

    async def replace_detectors(self, name: str, body: DetectorsPut) -> DetectorsAnswer:
        """Everything anew."""
        if body.name is not None and body.name != name:
            raise BadRequest("name: it must be the one in the path.", code="invalid_body")
        return self._changed(await self._detectors.replace(self._verified(detector_row(name, body))))

    async def change_detectors(self, name: str, body: DetectorsPatch) -> DetectorsAnswer:
        """Members that are left out, or null, stay as they are."""
        changed = await self._detectors.change(name, lambda row: self._verified(changed_row(row, body)))
        return self._changed(changed)

    async def delete_detectors(self, name: str) -> None:
        """What the settings say holds again within a second, unless another policy is for it too."""
        await self._detectors.delete(name)
        self._verifiers.verify_in_force("detectors")

    def _verified(self, row: DetectorRow) -> DetectorRow:
        self._verifiers.verify("detectors", row)
        return row

    def _changed(self, row: DetectorRow) -> DetectorsAnswer:
        self._verifiers.verify_in_force("detectors")
        return answer_detectors(row)


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
