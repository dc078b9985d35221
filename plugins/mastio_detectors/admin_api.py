"""The admin's trial of the detectors: their result for a text, with reasons. Changes and keeps nothing."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from mastio.exchange.errors import BadRequest
from mastio.exchange.inspection import Carrier
from mastio.exchange.records import Directory
from mastio.exchange.values import Action, Message, Principal, Recorded, Reply, RequestHead, Role, Route
from mastio.host import aside
from mastio.http.strictjson import Allowance, JsonError, parse_object
from mastio_detectors.analysis.engine import Suspicion
from mastio_detectors.definitions import reaches
from mastio_detectors.inspector import Inspector, cut
from mastio_detectors.judgement import Rule, refuses
from mastio_detectors.matched_policies import Ruling

EXPLAIN = "admin.detectors-explain"
ADMIN: frozenset[Role] = frozenset({"admin"})
LIMIT = 256 * 1024
MOST_WEIGHT = 1000
FEW_FINDINGS = 100
_JSON = ("application/json",)
JSON = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]

Text = Annotated[str, StringConstraints(min_length=1, max_length=50_000)]


class ExplainBody(BaseModel):
    """As if `agent` had sent it on this `model`, in what `carrier` says; without an agent, somebody of no group."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Text
    agent: str = ""
    kind: str = "llm.chat"
    model: str = "any/model"
    carrier: Carrier = "user"


ROUTES = (
    Route(
        "/v1/admin/detectors/*/explain", ("POST",), ADMIN, EXPLAIN, "What would be said of a text, and why",
        limit=LIMIT, produces=_JSON, consumes=_JSON, body=ExplainBody,
    ),
)  # fmt: skip


class DetectorsApi:
    """The read and dispatch hooks of the routes above."""

    def __init__(self, inspector: Inspector, directory: Directory) -> None:
        self._inspector = inspector
        self._directory = directory
        self.read = {EXPLAIN: self._read}
        self.dispatch = {EXPLAIN: self._explain}

    def _read(self, head: RequestHead, principal: Principal, body: bytes) -> tuple[Action, Message]:
        asked = read_body(head, body)
        if asked.agent and asked.agent not in self._directory.agents:
            raise BadRequest("agent: there is none of this name.", code="invalid_body")
        return Action(EXPLAIN, "Appliance", "self"), Message(body, plan=asked)

    async def _explain(self, recorded: Recorded) -> Reply:
        asked: ExplainBody = recorded.message.plan
        agent = self._directory.agents.get(asked.agent)
        roles: frozenset[Role] = frozenset({"agent"})
        principal = Principal("", roles) if agent is None else Principal(agent.name, roles, agent.groups)
        ruling = self._inspector.rulings.find(principal, Action(asked.kind, "Model", asked.model))
        found: list[Suspicion] = []
        for piece in cut(asked.text):
            found += await aside.run(False, self._inspector.suspect, piece, asked.carrier)
        said = await aside.run(len(found) < FEW_FINDINGS, explain_all, found, asked.carrier, ruling)
        return Reply(200, list(JSON), orjson.dumps(said))


def explain_all(found: list[Suspicion], carrier: str, ruling: Ruling) -> dict[str, Any]:
    """Each suspicion with its score, the thresholds that it is compared with, and what would be done."""
    defines = carrier == "definition"
    rows = []
    for one in sorted(found, key=lambda one: -one.confidence):
        rule = ruling.rules[one.kind]
        rows.append(
            {
                "label": f"definition.{one.category}" if defines else one.category,
                "confidence": one.confidence,
                "action": rule.action,
                "threshold": rule.threshold,
                "block_threshold": rule.block_threshold,
                "start": one.span[0],
                "end": one.span[1],
                "hidden": list(one.how),
                "does": _does(one, rule, ruling if defines else None),
            }
        )
    outcomes = [row["does"] for row in rows]
    verdict = next((name for name in ("refuse", "record") if name in outcomes), "pass")
    return {"verdict": verdict, "findings": rows, "definitions": ruling.definitions, "policies": list(ruling.policies)}


def _does(one: Suspicion, rule: Rule, defining: Ruling | None) -> str:
    if rule.action == "off" or one.confidence < rule.threshold or (defining and defining.definitions == "off"):
        return "pass"
    if defining is not None and not reaches(one.kind, one.confidence, defining):
        return "pass"
    may_refuse = defining is None or defining.definitions == "block"
    return "refuse" if may_refuse and refuses(one, rule) else "record"


def read_body(head: RequestHead, body: bytes) -> ExplainBody:
    """Raises `BadRequest`."""
    if (head.header(b"content-type") or b"").split(b";")[0].strip().lower() != b"application/json":
        raise BadRequest("The body must be application/json.", code="unsupported_media_type")
    try:
        return ExplainBody.model_validate(parse_object(body, Allowance(MOST_WEIGHT)))
    except JsonError as error:
        raise BadRequest(str(error), code="invalid_json") from error
    except ValidationError as error:
        where = ".".join(str(step) for step in error.errors()[0]["loc"]) or "body"
        raise BadRequest(f"{where[:64]}: {error.errors()[0]['msg']}.", code="invalid_body") from error
