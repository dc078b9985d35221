"""The admin routes of redaction: a trial on a text, and the original of an encrypted token.

The first changes and keeps nothing. The second is for who has to know and can say why: the reason is in the log, before
anything is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from mastio.exchange.errors import BadRequest
from mastio.exchange.inspection import Passage
from mastio.exchange.records import Agent, Directory
from mastio.exchange.values import Action, Message, Principal, Recorded, Reply, RequestHead, Role, Route
from mastio.host import aside
from mastio.http.strictjson import Allowance, JsonError, parse_object
from mastio_redaction.engine import Span
from mastio_redaction.inspector import Inspector
from mastio_redaction.replacement.apply_policy import Treatment, put_in_place
from mastio_redaction.replacement.strategies import Keys, ReidentifyError, reidentify

PATH = "/v1/admin/redaction/*"
EXPLAIN, REIDENTIFY = "admin.redaction-explain", "admin.redaction-reidentify"
ADMIN: frozenset[Role] = frozenset({"admin"})
LIMIT = 256 * 1024
MOST_WEIGHT = 1000
FEW_FINDINGS, SHORT_TEXT = 100, 4096
_JSON = ("application/json",)
JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]

TOKEN = re.compile(r"<[A-Z][A-Z0-9_]{0,63}~[A-Za-z0-9_-]{40,}>")
"""One of the strategy `encrypt`, as it stands in a text."""

Text = Annotated[str, StringConstraints(max_length=100_000)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]


class TrialBody(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExplainBody(TrialBody):
    """As if `agent` had sent it in an action of this `kind` on this `model`; without an agent, somebody of no group."""

    text: Text
    agent: str = ""
    kind: str = "llm.chat"
    model: str = "any/model"
    direction: Literal["request", "response"] = "request"


class ReidentifyBody(TrialBody):
    """A text with encrypted tokens in it; or with the strategy `fpe` and its type, one format-preserving token."""

    text: Text
    reason: Reason
    strategy: Literal["encrypt", "fpe"] = "encrypt"
    type: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")] | None = None


ROUTES = (
    Route(
        f"{PATH}/explain", ("POST",), ADMIN, EXPLAIN, "What would be found in a text, and done with it", limit=LIMIT,
        produces=_JSON, consumes=_JSON, body=ExplainBody,
    ),
    Route(
        f"{PATH}/reidentify", ("POST",), ADMIN, REIDENTIFY, "What encrypted tokens stood for", limit=LIMIT,
        produces=_JSON, consumes=_JSON, body=ReidentifyBody,
    ),
)  # fmt: skip


class RedactionApi:
    """The read and dispatch hooks of the routes above."""

    def __init__(self, inspector: Inspector, directory: Directory, keys: Keys) -> None:
        self._inspector = inspector
        self._directory = directory
        self._keys = keys
        self.read = {EXPLAIN: self._read_explain, REIDENTIFY: self._read_reidentify}
        self.dispatch = {EXPLAIN: self._explain, REIDENTIFY: self._reidentify}

    def _read_explain(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        asked = read_body(head, body, ExplainBody)
        if asked.agent and asked.agent not in self._directory.agents:
            raise BadRequest("agent: there is none of this name.", code="invalid_body")
        return Action(EXPLAIN, "Appliance", "self"), Message(body, plan=asked)

    def _read_reidentify(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        asked = read_body(head, body, ReidentifyBody)
        return Action(REIDENTIFY, "Appliance", "self"), Message(body, details={"reason": asked.reason}, plan=asked)

    async def _explain(self, recorded: Recorded) -> Reply:
        asked: ExplainBody = recorded.message.plan
        inspector = self._inspector
        principal = principal_of(self._directory.agents.get(asked.agent))
        ruling = inspector.rulings.find(principal, Action(asked.kind, "Model", asked.model))
        side = ruling.request if asked.direction == "request" else ruling.response
        treatment = inspector.treat_by(side, principal, inspector.open_vault(principal))
        [found], complete = await inspector.finder.find_all([Passage(asked.text, "user")], side)
        said = await aside.run(len(found) < FEW_FINDINGS, describe, treatment, asked.text, found)
        return Reply(200, list(JSON), orjson.dumps({**said, "complete": complete}))

    async def _reidentify(self, recorded: Recorded) -> Reply:
        asked: ReidentifyBody = recorded.message.plan
        try:
            text, found = await aside.run(len(asked.text) < SHORT_TEXT, self._put_back, asked)
        except ReidentifyError as error:
            raise BadRequest(f"text: {error}", code="invalid_body") from error
        return Reply(200, list(JSON), orjson.dumps({"text": text, "found": found}), facts={"found": found})

    def _put_back(self, asked: ReidentifyBody) -> tuple[str, int]:
        """The text with the originals, and how many. Raises `ReidentifyError`."""
        if asked.strategy == "fpe":
            return reidentify(asked.text, self._keys, kind=asked.type or "", strategy="fpe"), 1
        return TOKEN.subn(lambda token: reidentify(token[0], self._keys), asked.text)


def describe(treatment: Treatment, text: str, found: Sequence[Span]) -> dict[str, Any]:
    """The findings, the treatment of each, and the resulting text."""
    treated = treatment.treat(text, found)
    is_blocked = any(one.rule.action == "block" for one in treated)
    return {
        "findings": [
            {
                "type": one.span.type, "start": one.span.start, "end": one.span.end,
                "confidence": round(one.span.score * 100), "hidden": list(one.span.how), "action": one.rule.action,
                "strategy": one.rule.strategy if one.rule.action == "redact" else None, "policy": one.rule.policy,
            }
            for one in treated
        ],
        "text": None if is_blocked else put_in_place(text, treated),
    }  # fmt: skip


def read_body(head: RequestHead, body: bytes, model: type[Any]) -> Any:
    """Raises `BadRequest`."""
    if (head.header(b"content-type") or b"").split(b";")[0].strip().lower() != b"application/json":
        raise BadRequest("The body must be application/json.", code="unsupported_media_type")
    try:
        return model.model_validate(parse_object(body, Allowance(MOST_WEIGHT)))
    except JsonError as error:
        raise BadRequest(str(error), code="invalid_json") from error
    except ValidationError as error:
        where = ".".join(str(step) for step in error.errors()[0]["loc"]) or "body"
        raise BadRequest(f"{where[:64]}: {error.errors()[0]['msg']}.", code="invalid_body") from error


def principal_of(agent: Agent | None) -> Principal:
    if agent is None:
        return Principal("", frozenset({"agent"}))
    return Principal(agent.name, frozenset({"agent"}), agent.groups, agent.attributes, version=agent.version)
