"""The collection `redaction`: what is done with values that are found in messages and replies. Which types there are,
the plugin's catalogue says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from mastio.plugin.collection import Collection, Serializer
from mastio.plugin.fields import Answer, Body, Globs, Mode, Name
from mastio.plugin.last_good import verify_whole
from mastio_redaction.redaction_policy import Direction, RedactionRow, Strategy, Treatment, TypeRule

TypeName = Annotated[str, StringConstraints(pattern=r"^(\*|[A-Z][A-Z0-9_]{0,63})$")]
Value = Annotated[str, StringConstraints(min_length=3, max_length=256)]
Values = Annotated[list[Value], Field(max_length=1000)]


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


class RedactionSerializer(Serializer[RedactionRow]):
    """The bodies of `/v1/admin/redaction`."""

    body, put, patch, answer = RedactionBody, RedactionPut, RedactionPatch, RedactionAnswer

    def make(self, name: str, body: RedactionPut) -> RedactionRow:
        return redaction_row(name, body)

    def change(self, present: RedactionRow, patch: RedactionPatch) -> RedactionRow:
        return changed_redaction(present, patch)

    async def show(self, rows: Sequence[RedactionRow]) -> list[Answer]:
        return [answer_redaction(row) for row in rows]


def _damaged(name: str, members: Mapping[str, Any]) -> RedactionRow:
    del members
    return RedactionRow(name, {}, is_damaged=True)


REDACTION = Collection(
    name="redaction",
    noun="redaction policy",
    nouns="redaction policies",
    row=RedactionRow,
    serializer=RedactionSerializer,
    damaged=_damaged,
    needs_second=True,
)


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
