"""The collection `policies`: Cedar policies, judged when they are stored, in force everywhere within a second.

The policies are in force all together or not at all: one damaged row keeps every change out. A change that is stored
and not in force is answered 409 with the reason, so that no admin relies on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, StringConstraints

from mastio.cedar.source import MAX_CHARACTERS, verify_cedar, warm
from mastio.host import aside
from mastio.http.strictjson import JsonError, parse
from mastio.plugin.collection import Collection, Serializer
from mastio.plugin.fields import Answer, Body, Mode, Name
from mastio.plugin.last_good import verify_whole

DAMAGED = "The row of this policy in the database is damaged."

SHORT_POLICY = 500
"""Characters."""


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A named Cedar source. `observe` policies are evaluated and noted, and decide nothing.

    Of a damaged row, `cedar` is no text or `mode` another word: that is kept, to be seen and repaired."""

    name: str
    cedar: str
    enabled: bool = True
    mode: Literal["enforce", "observe"] = "enforce"
    is_damaged: bool = False


def _cedar(source: str) -> str:
    verify_cedar(source)
    return source


Cedar = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARACTERS), AfterValidator(_cedar)]


class PolicyPut(Body):
    name: Name | None = None
    cedar: Cedar
    enabled: bool = True
    mode: Mode = "enforce"


class PolicyBody(PolicyPut):
    name: Name


class PolicyPatch(Body):
    """Members that are left out, or null, stay as they are."""

    cedar: Cedar | None = None
    enabled: bool | None = None
    mode: Mode | None = None


class PolicyAnswer(Answer):
    """A damaged row has an unknown `mode`: it is shown, so that it can be found and repaired."""

    name: str
    cedar: str
    enabled: bool
    mode: Mode | str


class PolicySerializer(Serializer[PolicyRow]):
    """The bodies of `/v1/admin/policies`. A source may hold several Cedar policies; a template is refused."""

    body, put, patch, answer = PolicyBody, PolicyPut, PolicyPatch, PolicyAnswer

    def make(self, name: str, body: PolicyPut) -> PolicyRow:
        return PolicyRow(name, body.cedar, body.enabled, body.mode)

    def change(self, present: PolicyRow, patch: PolicyPatch) -> PolicyRow:
        return changed_policy(present, patch)

    async def show(self, rows: Sequence[PolicyRow]) -> list[Answer]:
        return [answer_policy(row) for row in rows]


def _damaged(name: str, members: Mapping[str, Any]) -> PolicyRow:
    """A damaged policy with its readable members, so that an admin can see and repair it."""
    mode: Any = members.get("mode", "enforce")
    return PolicyRow(name, members.get("cedar"), members.get("enabled") is not False, mode, is_damaged=True)  # type: ignore[arg-type]


async def judge_body(body: bytes) -> None:
    """Judge the policy in a body, if there is one, outside the event loop. The application judges it again, which takes
    no time then."""
    try:
        document = parse(body) if body else None
    except JsonError:
        document = None  # the application says what is wrong
    source = document.get("cedar") if isinstance(document, dict) else None
    if isinstance(source, str):
        await aside.run(len(source) < SHORT_POLICY, warm, source)


STARTER = PolicyRow(
    name="starter",
    cedar="""\
// Every active agent may use the configured providers,
permit (
  principal is Agent,
  action in [
    Action::"llm.chat",
    Action::"llm.responses",
    Action::"llm.embeddings",
    Action::"llm.moderations",
    Action::"llm.models",
    Action::"llm.count_tokens"
  ],
  resource
);

// see and renew its own identity, and verify what was recorded of it. Everything else is denied
// until a policy permits it.
permit (
  principal is Agent,
  action in [
    Action::"agent.self",
    Action::"agent.renew",
    Action::"audit.checkpoint",
    Action::"audit.entries",
    Action::"audit.proof"
  ],
  resource == Appliance::"self"
);
""",
)


POLICIES = Collection(
    name="policies",
    noun="policy",
    nouns="policies",
    row=PolicyRow,
    serializer=PolicySerializer,
    damaged=_damaged,
    needs_second=True,
    judge=judge_body,
    first=lambda _: [(STARTER, "")],
)


def changed_policy(row: PolicyRow, body: PolicyPatch) -> PolicyRow:
    verify_whole(row)
    changes: dict[str, Any] = body.model_dump(exclude_none=True)
    return replace(row, **changes)


def answer_policy(row: PolicyRow) -> PolicyAnswer:
    """The answer for a row. The `cedar` of a damaged row is a text that Cedar refuses, so that it cannot be written
    back."""
    cedar: object = row.cedar
    if cedar is None:
        cedar = DAMAGED
    elif not isinstance(cedar, str):
        cedar = repr(cedar)  # to be seen and repaired
    return PolicyAnswer(name=row.name, cedar=str(cedar), enabled=row.enabled, mode=row.mode)
