"""Redaction policies, as an admin describes them. Which types there are, the plugin that finds them says.

The policies are in force all together or not at all, as in `policies`. A damaged one is shown without types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from mastio.control.context import Context, verify_whole
from mastio.control.endpoints import Endpoint, Endpoints
from mastio.control.models import Answer, Body, Name, Page, verify_glob
from mastio.control.paging import PagingQuery, answer_page
from mastio.errors import BadRequest
from mastio.store.base import Direction, RedactionRow, Strategy, Treatment, TypeRule

Glob = Annotated[str, StringConstraints(min_length=1, max_length=256), AfterValidator(verify_glob)]
Globs = Annotated[list[Glob], Field(max_length=256)]
TypeName = Annotated[str, StringConstraints(pattern=r"^(\*|[A-Z][A-Z0-9_]{0,63})$")]
Value = Annotated[str, StringConstraints(min_length=3, max_length=256)]
Values = Annotated[list[Value], Field(max_length=1000)]
Mode = Literal["enforce", "observe"]


class MatchBody(Body):
    """The scope of a policy; a member that is left out matches everything."""

    agents: Globs = Field(default_factory=list)
    models: Globs = Field(default_factory=list)
    kinds: Globs = Field(default_factory=list)
    direction: Direction = "both"


class TypeRuleBody(Body):
    action: Treatment
    strategy: Strategy = "tag"


Types = Annotated[Mapping[TypeName, TypeRuleBody], Field(min_length=1, max_length=256)]


class RedactionPut(Body):
    """`types` by their names, `*` for all others. `mode` observe changes nothing and says what it would have done.

    `always`: values that are found whatever they look like, as the type LISTED; `never`: values that are not meant.
    """

    name: Name | None = None
    match: MatchBody = MatchBody()
    types: Types
    restore: bool = True
    mode: Mode = "enforce"
    always: Values = Field(default_factory=list)
    never: Values = Field(default_factory=list)


class RedactionBody(RedactionPut):
    name: Name


class RedactionPatch(Body):
    """Members that are left out, or null, stay as they are."""

    match: MatchBody | None = None
    types: Types | None = None
    restore: bool | None = None
    mode: Mode | None = None
    always: Values | None = None
    never: Values | None = None


class MatchAnswer(Answer):
    agents: list[str]
    models: list[str]
    kinds: list[str]
    direction: Direction


class TypeRuleAnswer(Answer):
    action: Treatment
    strategy: Strategy


class RedactionAnswer(Answer):
    name: str
    match: MatchAnswer
    types: Mapping[str, TypeRuleAnswer]
    restore: bool
    mode: Mode
    always: list[str]
    never: list[str]


class RedactionRouter:
    """`/v1/admin/redaction`."""

    def __init__(self, context: Context) -> None:
        self._redaction = context.store.redaction
        self._verifiers = context.verifiers

    def endpoints(self) -> Endpoints:
        collection, item = "/v1/admin/redaction", "/v1/admin/redaction/{name}"
        return {
            ("GET", collection): Endpoint(self.list_redaction),
            ("POST", collection): Endpoint(self.create_redaction, status=201, second=True),
            ("GET", item): Endpoint(self.read_redaction),
            ("PUT", item): Endpoint(self.replace_redaction, second=True),
            ("PATCH", item): Endpoint(self.change_redaction, second=True),
            ("DELETE", item): Endpoint(self.delete_redaction, status=204, second=True),
        }

    async def list_redaction(self, paging: PagingQuery) -> Page[RedactionAnswer]:
        """In the order of their names."""
        page = await self._redaction.list(paging.limit, paging.after)
        return answer_page(page, lambda row: row.name, answer_redaction)

    async def create_redaction(self, body: RedactionBody) -> RedactionAnswer:
        """In force on every worker and replica within a second."""
        return self._changed(await self._redaction.create(self._verified(redaction_row(body.name, body))))

    async def read_redaction(self, name: str) -> RedactionAnswer:
        """One redaction policy."""
        return answer_redaction(await self._redaction.get(name))

    async def replace_redaction(self, name: str, body: RedactionPut) -> RedactionAnswer:
        """Everything anew."""
        if body.name is not None and body.name != name:
            raise BadRequest("name: it must be the one in the path.", code="invalid_body")
        return self._changed(await self._redaction.replace(self._verified(redaction_row(name, body))))

    async def change_redaction(self, name: str, body: RedactionPatch) -> RedactionAnswer:
        """Members that are left out, or null, stay as they are."""
        changed = await self._redaction.change(name, lambda row: self._verified(changed_redaction(row, body)))
        return self._changed(changed)

    async def delete_redaction(self, name: str) -> None:
        """What it redacted passes again within a second, unless another policy is for it too."""
        await self._redaction.delete(name)
        self._verifiers.verify_in_force("redaction")

    def _verified(self, row: RedactionRow) -> RedactionRow:
        self._verifiers.verify("redaction", row)
        return row

    def _changed(self, row: RedactionRow) -> RedactionAnswer:
        self._verifiers.verify_in_force("redaction")
        return answer_redaction(row)


def redaction_row(name: str, body: RedactionPut) -> RedactionRow:
    return RedactionRow(
        name, _rules(body.types), *_matched(body.match), body.restore, body.mode, tuple(body.always), tuple(body.never)
    )


def changed_redaction(row: RedactionRow, body: RedactionPatch) -> RedactionRow:
    verify_whole(row)
    if body.match is not None:
        agents, models, kinds, direction = _matched(body.match)
        row = replace(row, agents=agents, models=models, kinds=kinds, direction=direction)
    if body.types is not None:
        row = replace(row, types=_rules(body.types))
    return replace(
        row,
        restore=row.restore if body.restore is None else body.restore,
        mode=body.mode or row.mode,
        always=row.always if body.always is None else tuple(body.always),
        never=row.never if body.never is None else tuple(body.never),
    )


def _matched(match: MatchBody) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Direction]:
    return tuple(match.agents), tuple(match.models), tuple(match.kinds), match.direction


def _rules(types: Mapping[str, TypeRuleBody]) -> dict[str, TypeRule]:
    return {name: TypeRule(rule.action, rule.strategy) for name, rule in types.items()}


def answer_redaction(row: RedactionRow) -> RedactionAnswer:
    return RedactionAnswer(
        name=row.name,
        match=MatchAnswer(
            agents=list(row.agents), models=list(row.models), kinds=list(row.kinds), direction=row.direction
        ),
        types={name: TypeRuleAnswer(action=rule.action, strategy=rule.strategy) for name, rule in row.types.items()},
        restore=row.restore,
        mode=row.mode,
        always=list(row.always),
        never=list(row.never),
    )
