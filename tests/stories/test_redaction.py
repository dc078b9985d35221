"""Redaction through the edge: what leaves, what comes back, what the log says, and that nothing leaks in between."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance, open_appliance, read_files, wait_until
from support.dialect_samples import DIALECTS, Talk, events_of
from support.scripted_provider import Asked, Provider, Script, run_provider

CARD = "4012888888881881"
VALUES = {
    "CREDIT_CARD": CARD,
    "EMAIL_ADDRESS": "zoe.example@mail.example.org",
    "IBAN_CODE": "DE89370400440532013000",
    "US_SSN": "536-90-4399",
    "IP_ADDRESS": "203.0.113.77",
    "AWS_ACCESS_KEY": "AKIA" + "QYLPMN5HFZDEXMPL"[:16],
}
KINDS = {"openai": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "gemini"}
REDACTION = "/v1/admin/redaction"


ADDED = """
[redaction.patterns]
EMPLOYEE_NUMBER = ['EMP-\\d{6}']

[[redaction.dictionaries]]
type = "PROJECT"
terms = ["Nightingale"]
distance = 1
"""


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Appliance, Identity]]:
    with open_appliance(stub=None, more=ADDED) as (appliance, _):
        yield appliance, appliance.enroll("caller")


@dataclass
class Speaker:
    """Somebody who asks in one dialect, and what answers there."""

    talk: Talk
    client: httpx.Client
    provider: Provider
    appliance: Appliance

    def ask(self, text: str, stream: bool = False, **more: Any) -> httpx.Response:
        model = f"p-{self.talk.dialect}/m"
        body = {**self.talk.body(model, text, stream), **more}
        return self.client.post(self.talk.path(model, stream), json=body)

    def asked(self) -> str:
        return self.talk.asked(self.provider.last.document)


@pytest.fixture(scope="module", params=DIALECTS)
def speaker(request: pytest.FixtureRequest, world: tuple[Appliance, Identity]) -> Iterator[Speaker]:
    appliance, identity = world
    dialect = request.param
    with (
        run_provider(appliance, KINDS[dialect], f"p-{dialect}") as provider,
        appliance.by_certificate(identity) as client,
    ):
        yield Speaker(Talk(dialect), client, provider, appliance)


@pytest.fixture
def policy(world: tuple[Appliance, Identity]) -> Iterator[Callable[..., None]]:
    """Puts redaction policies in force, and takes them away."""
    appliance, _ = world
    names: list[str] = []

    def put(types: dict[str, Any], **more: Any) -> None:
        name = f"policy-{len(names)}"
        with appliance.admin() as admin:
            made = admin.post(REDACTION, json={"name": name, "types": types, **more})
            assert made.status_code == 201, made.text
        names.append(name)

    yield put
    with appliance.admin() as admin:
        for name in names:
            assert admin.delete(f"{REDACTION}/{name}").status_code == 204


def echoing(talk: Talk, cut: int | None = None, before: str = "You said: ") -> Callable[[Asked], Script]:
    """A provider that says again what it was told; `cut`: as a stream of pieces of that size."""

    def answer(asked: Asked) -> Script:
        text = before + talk.asked(asked.document)
        if cut is None:
            return talk.whole(text)
        return talk.stream([text[at : at + cut] for at in range(0, len(text), cut)])

    return answer


REDACT_ALL = {"*": {"action": "redact"}}


def test_values_stay_here_and_the_caller_reads_its_own(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy(REDACT_ALL)
    text = "Please remember: " + "; ".join(VALUES.values()) + "."
    speaker.provider.answer = echoing(speaker.talk)
    reply = speaker.ask(text)
    assert reply.status_code == 200, reply.text
    sent = speaker.asked()
    for kind, value in VALUES.items():
        assert value not in sent, kind
    assert speaker.talk.said(reply.content) == "You said: " + text
    intent = next(e for e in speaker.appliance.entries_of(reply.headers["x-request-id"]) if e["phase"] == "intent")
    labels = [finding["label"] for finding in intent["request"]["findings"]]
    assert len(labels) >= len(VALUES) and labels == sorted(labels)


@pytest.mark.parametrize("cut", [1, 3, 7, 40])
def test_streams_are_restored_however_they_are_cut(speaker: Speaker, policy: Callable[..., None], cut: int) -> None:
    policy(REDACT_ALL)
    speaker.provider.answer = echoing(speaker.talk, cut)
    text = "a " + " b ".join(VALUES.values()) + " c"
    reply = speaker.ask(text, stream=True)
    assert reply.status_code == 200, reply.text
    assert speaker.talk.said(reply.content) == "You said: " + text
    for value in VALUES.values():
        assert value not in speaker.asked()


def test_a_thousand_echoes_come_back_exactly(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy(REDACT_ALL)
    chance = random.Random(11)
    exact = 0
    for number in range(125):
        values = [f"person{chance.randrange(10**9)}@mail.example.org" for _ in range(2)]
        text = f"Call {number}: {values[0]} and {values[1]}, then {values[0]} again"
        stream = bool(number % 2)
        speaker.provider.answer = echoing(speaker.talk, chance.randrange(1, 30) if stream else None)
        said = speaker.talk.said(speaker.ask(text, stream).content)
        assert said == "You said: " + text
        assert not any(value in speaker.asked() for value in values)
        exact += 2
    assert exact == 250, "in each of four ways"


def test_replies_are_redacted_at_every_cut(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy(REDACT_ALL, match={"direction": "response"})
    shapes = {**VALUES, "wide": CARD.translate({ord(str(n)): chr(0xFF10 + n) for n in range(10)}),
              "joined": "\u200b".join(VALUES["IBAN_CODE"])}  # fmt: skip
    leaks, cuts = 0, 0
    for value in shapes.values():
        text = f"It is {value}, as you know."
        for at in range(len("It is "), len("It is ") + len(value) + 1):
            speaker.provider.answer = lambda asked, t=text, a=at: speaker.talk.stream([t[:a], t[a:]])  # type: ignore[misc]
            reply = speaker.ask("hello", stream=True)
            said = speaker.talk.said(reply.content)
            assert said.startswith("It is ") and said.endswith(", as you know."), said
            leaks += value in json.dumps(said, ensure_ascii=False) or value[4:] in said
            cuts += 1
    assert leaks == 0 and cuts > 150
    speaker.provider.answer = lambda asked: speaker.talk.whole(f"It is {CARD}.")
    assert CARD not in speaker.talk.said(speaker.ask("hello").content)


def test_what_blocks_is_refused_before_anything_leaves(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy({"CREDIT_CARD": {"action": "block"}, "*": {"action": "off"}})
    before = len(speaker.provider.asked)
    reply = speaker.ask(f"My card is {CARD}")
    assert reply.status_code == 422 and "blocked" in reply.text and CARD not in reply.text
    assert "CREDIT_CARD" in reply.text
    assert len(speaker.provider.asked) == before
    refusal = speaker.appliance.entries_of(reply.headers["x-request-id"])
    assert [entry["outcome"]["code"] for entry in refusal] == ["blocked"]
    assert [f["label"] for f in refusal[0]["request"]["findings"]] == ["financial.CREDIT_CARD"]
    speaker.provider.answer = echoing(speaker.talk)
    assert speaker.ask("My card is not here").status_code == 200


def test_a_blocked_reply_ends_with_the_dialects_error(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy({"CREDIT_CARD": {"action": "block"}})
    speaker.provider.answer = lambda asked: speaker.talk.whole(f"It is {CARD}.")
    reply = speaker.ask("hello")
    assert reply.status_code == 422 and CARD not in reply.text
    speaker.provider.answer = lambda asked: speaker.talk.stream(["It is ", CARD[:6], CARD[6:], " so."])
    reply = speaker.ask("hello", stream=True)
    assert reply.status_code in (200, 422), "as far as it had come by then"
    assert CARD[6:] not in reply.text and '"error"' in reply.text and "blocked" in reply.text
    outcome = next(e for e in speaker.appliance.entries_of(reply.headers["x-request-id"]) if e["phase"] == "outcome")
    assert outcome["outcome"]["code"] == "blocked"


def test_logprobs_do_not_tell_what_was_taken_out(
    world: tuple[Appliance, Identity], policy: Callable[..., None]
) -> None:
    policy(REDACT_ALL)
    appliance, identity = world
    pieces = [CARD[:4], CARD[4:8], CARD[8:12], CARD[12:]]
    logprobs = [{"content": [{"token": piece, "logprob": -0.1}]} for piece in pieces]
    whole = {"choices": [{"message": {"content": CARD}, "logprobs": {"content": [p["content"][0] for p in logprobs]}}]}
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": piece}, "logprobs": said}]}
        for piece, said in zip(pieces, logprobs, strict=True)
    ]
    with run_provider(appliance, "openai", "probs") as provider, appliance.by_certificate(identity) as client:
        body = {"model": "probs/m", "messages": []}
        provider.script = Script(pieces=[json.dumps(whole).encode()])
        assert CARD[4:8] not in client.post("/v1/chat/completions", json=body).text
        events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
        provider.script = Script(content_type="text/event-stream", pieces=[*events, b"data: [DONE]\n\n"])
        streamed = client.post("/v1/chat/completions", json={**body, "stream": True}).text
        assert "<CREDIT_CARD_" in streamed and not any(f'"{piece}"' in streamed for piece in pieces)


def test_what_is_no_json_is_looked_at_as_it_is(world: tuple[Appliance, Identity], policy: Callable[..., None]) -> None:
    policy(REDACT_ALL)
    appliance, identity = world
    with run_provider(appliance, "openai", "page") as provider, appliance.by_certificate(identity) as client:
        provider.script = Script(404, "text/html", pieces=[f"<p>No card {CARD} here</p>".encode()])
        reply = client.post("/v1/chat/completions", json={"model": "page/m", "messages": []})
        assert reply.status_code == 404 and reply.text.startswith("<p>No card <CREDIT_CARD_")


def test_flagging_changes_no_byte(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy({"*": {"action": "flag"}})
    for stream in (False, True):
        speaker.provider.answer = echoing(speaker.talk, 3 if stream else None)
        reply = speaker.ask(f"It is {CARD} .", stream)
        assert speaker.asked() == f"It is {CARD} ."
        assert reply.content == b"".join(speaker.provider.answer(speaker.provider.last).pieces)
        outcome = next(
            e for e in speaker.appliance.entries_of(reply.headers["x-request-id"]) if e["phase"] == "outcome"
        )
        assert "financial.CREDIT_CARD" in [f["label"] for f in outcome["response"]["findings"]]


def test_without_restore_tokens_stay(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy(REDACT_ALL, restore=False)
    speaker.provider.answer = echoing(speaker.talk)
    said = speaker.talk.said(speaker.ask(f"It is {CARD}.").content)
    assert re.fullmatch(r"You said: It is <CREDIT_CARD_[0-9a-f]+>\.", said), said


def test_the_same_value_has_the_same_token_in_every_call(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy(REDACT_ALL)
    speaker.provider.answer = echoing(speaker.talk)
    sent = set()
    for _ in range(3):
        speaker.ask(f"It is {CARD}.")
        sent.add(speaker.asked())
    assert len(sent) == 1


def test_policies_are_for_whom_they_name(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy(REDACT_ALL, match={"agents": ["somebody-else"]})
    speaker.provider.answer = echoing(speaker.talk)
    speaker.ask(f"It is {CARD}.")
    assert CARD in speaker.asked()


def test_nothing_of_it_is_kept_anywhere(world: tuple[Appliance, Identity], speaker: Speaker, policy: Any) -> None:
    policy(REDACT_ALL)
    speaker.provider.answer = echoing(speaker.talk, 5)
    canary = "canary8842@mail.example.org"
    assert canary in speaker.talk.said(speaker.ask(f"It is {canary}", stream=True).content)
    speaker.ask(f"It is {canary}")
    with world[0].admin() as admin:
        metrics = admin.get("/metrics").text
    assert canary not in metrics
    assert 'mastio_findings_total{direction="request",label="pii.EMAIL_ADDRESS"}' in metrics
    for path, content in read_files(world[0].data).items():
        assert canary.encode() not in content, path


# ---------------------------------------------------------------------------------------- the control plane


def test_a_policy_lives_and_what_nobody_finds_is_refused(world: tuple[Appliance, Identity]) -> None:
    body = {"name": "cards", "match": {"agents": ["a*"], "direction": "request"},
            "types": {"CREDIT_CARD": {"action": "redact", "strategy": "mask"}}, "restore": False}  # fmt: skip
    with world[0].admin() as admin:
        made = admin.post(REDACTION, json=body)
        assert made.status_code == 201
        assert made.json()["match"] == {"agents": ["a*"], "models": [], "kinds": [], "direction": "request"}
        assert admin.post(REDACTION, json=body).status_code == 409
        assert admin.get(f"{REDACTION}/cards").json() == made.json()
        changed = admin.patch(f"{REDACTION}/cards", json={"restore": True, "mode": "observe"}).json()
        assert changed == {**made.json(), "restore": True, "mode": "observe"}
        for wrong in (
            {"types": {"CREDIT_CRAD": {"action": "redact"}}},
            {"types": {"CREDIT_CARD": {"action": "hide"}}},
            {"types": {"CREDIT_CARD": {"action": "redact", "strategy": "rot13"}}},
            {"types": {}},
            {"types": {"*": {"action": "redact"}}, "agents": ["a"]},
            {"types": {"*": {"action": "redact"}}, "match": {"direction": "sideways"}},
        ):
            refused = admin.put(f"{REDACTION}/cards", json=wrong)
            assert refused.status_code == 422, wrong
        assert admin.get(f"{REDACTION}/cards").json() == changed
        assert [row["name"] for row in admin.get(REDACTION).json()["items"]] == ["cards"]
        assert admin.delete(f"{REDACTION}/cards").status_code == 204
        assert admin.get(f"{REDACTION}/cards").status_code == 404


def test_explain_says_what_would_be_done(world: tuple[Appliance, Identity], policy: Callable[..., None]) -> None:
    policy({"CREDIT_CARD": {"action": "redact", "strategy": "mask"}, "EMAIL_ADDRESS": {"action": "flag"}})
    text = f"Card {CARD}, mail {VALUES['EMAIL_ADDRESS']}."
    with world[0].admin() as admin:
        said = admin.post(f"{REDACTION}/*/explain", json={"text": text, "agent": "caller"}).json()
    found = {one["type"]: one for one in said["findings"]}
    assert text[found["CREDIT_CARD"]["start"] : found["CREDIT_CARD"]["end"]] == CARD
    assert (found["CREDIT_CARD"]["action"], found["CREDIT_CARD"]["policy"]) == ("redact", "policy-0")
    assert found["EMAIL_ADDRESS"]["action"] == "flag"
    assert CARD not in said["text"] and CARD[-4:] in said["text"] and VALUES["EMAIL_ADDRESS"] in said["text"]


def test_what_an_admin_adds_is_found_and_what_is_not_meant_is_not(
    world: tuple[Appliance, Identity], policy: Callable[..., None]
) -> None:
    policy(REDACT_ALL, always=["Quiet Harbour"], never=["Office@Mail.Example.org"])
    text = "EMP-123456 of Nightingole at quiet harbour writes to office@mail.example.org and zoe@mail.example.org"
    with world[0].admin() as admin:
        said = admin.post(f"{REDACTION}/*/explain", json={"text": text}).json()
    assert [one["type"] for one in said["findings"]] == ["EMPLOYEE_NUMBER", "PROJECT", "LISTED", "EMAIL_ADDRESS"]
    assert "office@mail.example.org" in said["text"] and "zoe@" not in said["text"]


def test_an_expression_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    appliance = Appliance(tmp_path / "data", more="[redaction.patterns]\nEMPLOYEE_NUMBER = ['(?<=a)b']\n")
    try:
        appliance.start_refused("EMPLOYEE_NUMBER")
    finally:
        appliance.stop()


def test_what_only_observes_says_what_it_would_have_done(speaker: Speaker, policy: Callable[..., None]) -> None:
    policy(REDACT_ALL, mode="observe")
    speaker.provider.answer = echoing(speaker.talk)
    reply = speaker.ask(f"It is {CARD}.")
    assert speaker.asked() == f"It is {CARD}."
    intent = speaker.appliance.entries_of(reply.headers["x-request-id"])[0]
    assert "observed.redact" in [finding["label"] for finding in intent["request"]["findings"]]


@pytest.mark.parametrize("strategy", ["tag", "hash", "encrypt", "fpe", "surrogate", "mask", "truncate"])
def test_each_strategy(speaker: Speaker, policy: Callable[..., None], strategy: str) -> None:
    policy({"*": {"action": "redact", "strategy": strategy}})
    speaker.provider.answer = echoing(speaker.talk, 4)
    said = speaker.talk.said(speaker.ask(f"It is {CARD}.", stream=True).content)
    assert CARD not in speaker.asked()
    assert (said == f"You said: It is {CARD}.") is (strategy not in ("mask", "truncate"))


def test_arguments_of_tools_stay_json_with_their_originals(
    world: tuple[Appliance, Identity], policy: Callable[..., None]
) -> None:
    """A number that became a tag is a string on its way, and the caller's own number when it comes back in one."""
    policy(REDACT_ALL)
    appliance, identity = world
    arguments = {"to": VALUES["EMAIL_ADDRESS"], "card": int(CARD), "note": f'"{VALUES["US_SSN"]}"\n'}
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": json.dumps(arguments)}}
    body = {
        "model": "tools/m",
        "messages": [
            {"role": "user", "content": "pay"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"paid": VALUES["IBAN_CODE"]})},
        ],
    }

    def answer(asked: Asked) -> Script:
        given = asked.document["messages"][1]["tool_calls"][0]["function"]["arguments"]
        chunks = [
            {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]}
            for piece in (given[at : at + 3] for at in range(0, len(given), 3))
        ]
        pieces = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
        return Script(content_type="text/event-stream", pieces=[*pieces, b"data: [DONE]\n\n"])

    with (
        run_provider(appliance, "openai", "tools") as provider,
        appliance.by_certificate(identity) as client,
    ):
        provider.answer = answer
        reply = client.post("/v1/chat/completions", json={**body, "stream": True})
        sent = provider.last.body.decode()
    for value in (VALUES["EMAIL_ADDRESS"], CARD, VALUES["US_SSN"], VALUES["IBAN_CODE"]):
        assert value not in sent
    json.loads(json.loads(sent)["messages"][1]["tool_calls"][0]["function"]["arguments"])
    said = "".join(
        part["function"]["arguments"]
        for event in events_of(reply.content)
        for part in event["choices"][0]["delta"].get("tool_calls", [])
    )
    assert json.loads(said) == {**arguments, "card": CARD}


def test_encrypted_tokens_are_reidentified_with_a_reason_that_is_recorded(
    world: tuple[Appliance, Identity], policy: Callable[..., None]
) -> None:
    appliance, identity = world
    policy({"*": {"action": "redact", "strategy": "encrypt"}}, restore=False)
    talk = Talk("openai")
    with (
        run_provider(appliance, "openai", "enc") as provider,
        appliance.by_certificate(identity) as client,
        appliance.admin() as admin,
    ):
        provider.answer = echoing(talk)
        said = talk.said(client.post(talk.path("enc/m", False), json=talk.body("enc/m", f"It is {CARD}.")).content)
        assert CARD not in said
        assert admin.post(f"{REDACTION}/*/reidentify", json={"text": said}).status_code == 422
        done = admin.post(f"{REDACTION}/*/reidentify", json={"text": said, "reason": "case 12"})
        assert done.json() == {"text": f"You said: It is {CARD}.", "found": 1}
        assert client.post(f"{REDACTION}/*/reidentify", json={"text": said, "reason": "x"}).status_code in (401, 403)
    entries = appliance.entries_of(done.headers["x-request-id"])
    assert entries[0]["request"]["reason"] == "case 12"
    assert CARD not in json.dumps(entries)


def test_it_is_all_there_without_a_policy_too(speaker: Speaker) -> None:
    """What no policy speaks of passes, and the log says what it was."""
    speaker.provider.answer = echoing(speaker.talk)
    reply = speaker.ask(f"It is {CARD}.")
    assert speaker.talk.said(reply.content) == f"You said: It is {CARD}."
    wait_until(lambda: len(speaker.appliance.entries_of(reply.headers["x-request-id"])) == 2, 5, "both entries")
    intent, outcome = speaker.appliance.entries_of(reply.headers["x-request-id"])
    assert "financial.CREDIT_CARD" in json.dumps(intent["request"]["findings"])
    assert "financial.CREDIT_CARD" in json.dumps(outcome["response"]["findings"])
