"""Logs: whatever a caller writes into a field, it stays within its line and can be read back exactly.

Two logs: the audit log, whose entries are one line of canonical JSON each, and the edge's access log.
"""

from __future__ import annotations

import json
import re
import secrets
from urllib.parse import quote

import apsw
import pytest

from mastio_client import Identity
from mastio_client.proofs import make_csr, make_key
from support.appliance import Appliance
from support.threats.judge import (
    BODY,
    CHAT,
    RAW,
    TALLY,
    Answer,
    Judge,
    Refusal,
    chat,
    edge_lines,
    message,
    refusal,
    send_raw,
    spoken,
)
from support.vectors import vectors

NASTY = {
    "crlf": "a\r\nb",
    "lf": "a\nb",
    "cr": "a\rb",
    "escape": "\x1b[2J\x1b[31mred\x1b]0;title\x07",
    "line": "a\u2028b",
    "paragraph": "a\u2029b",
    "nextline": "a\u0085b",
    "bidi": "abc\u202edef\u2066ghi",
    "tab": "a\tb\x0bc\x0cd",
    "quote": '"}; "outcome":{"status":"ok"}; "x":"',
    "backslash": "\\n\\u000a\\",
    "delete": "a\x7f\x08b",
    "nul": "a\0b",
    "tags": "\U000e0041\ufeff\u200b",
    "entry": '{"seq":0}\n{"seq":1}',
}


TAG = re.compile(r"<[A-Z_]+_[0-9a-f]{8}>")


def is_kept(said: str, text: str) -> bool:
    """Whether an entry says the text exactly, but for tags in the place of values."""
    return re.fullmatch(".+".join(map(re.escape, TAG.split(said))), text, re.DOTALL) is not None


def stored(appliance: Appliance, request_id: str | None) -> list[bytes]:
    """The very bytes of an exchange's entries."""
    connection = apsw.Connection(str(appliance.data / "db" / "audit.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute("SELECT entry FROM entries ORDER BY seq DESC LIMIT 200")
        raw = [row[0] if isinstance(row[0], bytes) else row[0].encode() for row in rows]
    finally:
        connection.close()
    return [entry for entry in raw if json.loads(entry)["id"] == request_id]


def verify_one_line(appliance: Appliance, answer: Answer) -> None:
    """No control character is in the stored bytes: a line in an export is a line in a terminal."""
    entries = stored(appliance, answer.header("x-request-id"))
    assert entries
    assert not [byte for entry in entries for byte in entry if byte < 0x20]


# --- the audit log --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NASTY)
def test_a_models_name_is_recorded_exactly(appliance: Appliance, agent: Identity, judge: Judge, name: str) -> None:
    text = NASTY[name]
    answer = judge.served(chat(appliance, agent, json.dumps({**BODY, "model": f"stub/{text}"}).encode()))
    intent, outcome = judge.entries()
    assert (intent["target"], intent["request"]["model"], outcome["target"]) == (f"stub/{text}", text, f"stub/{text}")
    verify_one_line(appliance, answer)
    TALLY.refused.add(judge.case)


CAN_TRAVEL = {
    "escape": b"\x1b[2J",
    "line": "a\u2028b".encode(),
    "nextline": "a\u0085b".encode(),
    "bidi": "abc\u202edef".encode(),
    "tab": b"a\tb",
    "quote": NASTY["quote"].encode(),
    "backslash": NASTY["backslash"].encode(),
    "delete": b"a\x7fb",
    "latin": b"\xff\xfe\xe9",
    "long": b"a" * 4000,
    "empty": b"",
}
"""What a header's value can hold at all: the rest ends the header, or the request."""


@pytest.mark.parametrize("name", CAN_TRAVEL)
def test_a_callers_request_id_is_recorded_exactly(
    appliance: Appliance, agent: Identity, judge: Judge, name: str
) -> None:
    """As Latin-1, which is every byte; 128 of them at most. What cannot be a header's value is refused as a whole."""
    value = CAN_TRAVEL[name]
    answer = send_raw(appliance, with_request_id(value), agent)
    if answer is not None and answer.status == 400:
        judge.refused(answer, Refusal((400,), ("bad_request",), ("edge",)), spoken(answer))
    else:
        answer = judge.served(answer)
        said = judge.entries()[0]["request"].get("client_id", "").encode("latin-1")
        assert said == value[:128]
        assert judge.entries()[0]["id"] != value.decode("latin-1")
        assert json.loads(stored(appliance, answer.header("x-request-id"))[0])
        TALLY.refused.add(judge.case)
    judge.mark()
    judge.served(send_raw(appliance, with_request_id(b"plain-1"), agent))
    assert judge.entries()[0]["request"]["client_id"] == "plain-1"


def with_request_id(value: bytes) -> bytes:
    lines = [b"POST /v1/chat/completions HTTP/1.1", b"Host: localhost", b"Content-Type: application/json"]
    return message([*lines, b"Content-Length: %d" % len(RAW), b"X-Request-Id: " + value], RAW)


@pytest.mark.parametrize("name", NASTY)
def test_a_reason_is_one_line_or_refused(appliance: Appliance, judge: Judge, name: str) -> None:
    """What an operator is to read and decide upon cannot hide anything."""
    agent = f"log-{secrets.token_hex(4)}"
    body = {"csr": make_csr(make_key(), agent), "name": agent, "reason": NASTY[name]}
    with appliance.client() as client:
        answer = Answer.of(client.post("/v1/enrollments", json=body))
        if NASTY[name].isprintable():
            judge.served(answer, status=202, upstream=False)
            assert reason_of(appliance, answer.document["id"]) == NASTY[name]
            TALLY.refused.add(judge.case)
            return
        judge.refused(answer, refusal(422, "invalid_body", "control"), "/v1/enrollments")
        judge.mark()
        body["reason"] = "".join(letter for letter in NASTY[name] if letter.isprintable())
        good = judge.served(Answer.of(client.post("/v1/enrollments", json=body)), status=202, upstream=False)
    assert reason_of(appliance, good.document["id"]) == body["reason"]


def reason_of(appliance: Appliance, identifier: str) -> str:
    with appliance.admin() as admin:
        reason: str = admin.get(f"/v1/admin/enrollments/{identifier}").json()["reason"]
        return reason


# --- the edge's log -------------------------------------------------------------------------------------------------

PATHS = {name: quote(text, safe="") for name, text in NASTY.items()} | {
    "notutf8": "%ff%fe",
    "rawutf8": "\u2028\u202e",
    "query": "x?key=secret%0d%0a",
    "long": "a" * 3000,
}


HIDDEN = b'"path":"(not readable)"'


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_one_line_of_the_edges_log(appliance: Appliance, agent: Identity, judge: Judge, name: str) -> None:
    """As it came, not decoded, without its query; what is not ASCII is not shown."""
    marker = f"marked-{secrets.token_hex(6)}"
    plain = f"/v1/{marker}/{PATHS[name]}"
    readable = plain.isascii() and name != "nul"  # nginx reads no path that has a NUL in it
    before = (appliance.data / "logs" / "edge-access.log").read_bytes().count(HIDDEN)
    answer = send_raw(appliance, message([b"GET " + plain.encode() + b" HTTP/1.1", b"Host: localhost"]), agent)
    judge.refused(answer, Refusal((400, 404), ("bad_request", "not_found"), ("edge",)), spoken(answer))
    if readable:
        (line,) = edge_lines(appliance, f"/v1/{marker}/".encode())
        assert json.loads(line)["path"] == plain.partition("?")[0]
    else:
        line = edge_lines(appliance, HIDDEN, before + 1)[-1]
        assert json.loads(line)["path"] == "(not readable)"
    assert len(line.decode("utf-8").splitlines()) == 1 and line.isascii()
    judge.mark()
    judge.served(chat(appliance, agent))


def test_every_line_of_the_edges_log_is_json(appliance: Appliance, agent: Identity) -> None:
    """After all that was tried before this test, with a good call as the last."""
    marker = f"/v1/end-{secrets.token_hex(6)}"
    send_raw(appliance, message([b"GET " + marker.encode() + b" HTTP/1.1", b"Host: localhost"]), agent)
    edge_lines(appliance, marker.encode())
    lines = (appliance.data / "logs" / "edge-access.log").read_bytes().split(b"\n")[:-1]
    broken = [line for line in lines if not is_line(line)]
    assert broken == []
    assert not [line for line in lines for byte in line if byte < 0x20 or byte >= 0x7F]


def test_the_edges_log_has_the_method_that_was_sent(appliance: Appliance) -> None:
    """Also of a request that the edge answers by itself, with a page of its own."""
    path = f"/v1/admin/agents/{secrets.token_hex(8)}/revoke".encode()
    head = [b"POST " + path + b" HTTP/1.1", b"Host: localhost", b"Content-Length: 1000000000000"]
    refused = send_raw(appliance, message(head))
    assert refused is not None and refused.status == 413
    assert [json.loads(line)["method"] for line in edge_lines(appliance, path)] == ["POST"]


def is_line(line: bytes) -> bool:
    try:
        return set(json.loads(line)) >= {"time", "path", "status"}
    except ValueError:
        return False


# --- naughty strings ------------------------------------------------------------------------------------------------


CONTROL = re.compile("[\x00-\x1f\x7f]")


def naughty() -> list[str]:
    strings: list[str] = json.loads((vectors("blns") / "blns.json").read_text("utf-8"))
    assert len(strings) >= 500
    return strings


def test_naughty_strings_as_models(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    """Each is served and recorded exactly, or is too long or a list, and refused."""
    wrong = []
    with appliance.by_certificate(agent) as client:
        for text in filter(None, naughty()):
            judge.mark()
            reply = client.post(CHAT, json={**BODY, "model": f"stub/{text}"})
            entries = judge.entries()
            if reply.status_code == 200:
                good = len(entries) == 2 and all(is_kept(entry["target"], f"stub/{text}") for entry in entries)
            else:
                refused = (reply.status_code, reply.json()["error"]["code"])
                too_odd = len(text) + 5 > 256 or "," in text
                good = too_odd and refused in ((422, "invalid_body"), (404, "model_not_found"))
            if not good:
                wrong.append((text, reply.status_code))
            TALLY.refused.add(f"naughty-model-{text!r}")
            TALLY.served.add(f"naughty-model-{text!r}")
    assert wrong == []


def test_naughty_strings_as_messages(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    """All in one call: nothing of them is in the log."""
    body = {**BODY, "messages": [{"role": "user", "content": text} for text in naughty()]}
    raw = json.dumps(body).encode()
    answer = judge.served(chat(appliance, agent, raw))
    entries = b"".join(stored(appliance, answer.header("x-request-id")))
    assert judge.entries()[0]["request"]["bytes"] == len(raw)
    assert not [text for text in naughty() if len(text) > 16 and text.encode() in entries]


def test_naughty_strings_as_attributes(appliance: Appliance, other: Identity) -> None:
    """Kept exactly, and policies can still be judged for the agent that has them."""
    path = f"/v1/admin/agents/{other.name}"
    with appliance.admin() as admin:
        changed = admin.patch(path, json={"attributes": {"texts": naughty()}})
        assert changed.status_code == 200, changed.text
        assert admin.get(path).json()["attributes"]["texts"] == naughty()
        assert chat(appliance, other).status == 200
        assert admin.patch(path, json={"attributes": {}}).status_code == 200


def test_naughty_strings_as_reasons(appliance: Appliance) -> None:
    """Kept exactly, or refused because they are not one printable line."""
    wrong = []
    with appliance.client() as client:
        for text in naughty():
            agent = f"naughty-{secrets.token_hex(6)}"
            reply = client.post(
                "/v1/enrollments", json={"csr": make_csr(make_key(), agent), "name": agent, "reason": text}
            )
            if text.isprintable() and len(text) <= 500:
                good = reply.status_code == 202 and decided_reason(appliance, reply.json()["id"]) == text
            else:
                good = reply.status_code == 422
            if not good:
                wrong.append((text, reply.status_code, reply.text[:200]))
    assert wrong == []


def decided_reason(appliance: Appliance, identifier: str) -> str:
    """As the operator reads it, who then rejects the request, so that it does not wait for a decision."""
    with appliance.admin() as admin:
        rejected = admin.post(f"/v1/admin/enrollments/{identifier}/reject", json={"reason": "a test"})
        assert rejected.json()["decision_reason"] == "a test"
        reason: str = rejected.json()["reason"]
        return reason


def test_naughty_strings_as_request_ids(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    """Those that can be a header's value at all."""
    wrong = []
    texts = [
        text for text in naughty() if text == text.strip() and text and not any(c < " " or c == "\x7f" for c in text)
    ]
    with appliance.by_certificate(agent) as client:
        for text in texts:
            judge.mark()
            raw = text.encode()
            reply = client.post(CHAT, json=BODY, headers=[(b"x-request-id", raw)])
            recorded = [entry["request"]["client_id"] for entry in judge.entries() if entry["phase"] == "intent"]
            kept = len(recorded) == 1 and is_kept(recorded[0], raw[:128].decode("latin-1"))
            if reply.status_code != 200 or not kept:
                wrong.append((text, reply.status_code, recorded))
    assert wrong == []
