"""What a sink is sent, format by format: readable by a strict reader, and nothing an entry holds can forge a field."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.chain import Head
from mastio_audit.sinks import cef, ocsf, rfc5424
from mastio_audit.sinks.rfc5424 import Origin
from mastio_audit.sinks.view import UNREADABLE, View, view
from support.syslog_receivers import read_message, split_frames

ORIGIN = Origin("mastio.example", "0123456789abcdef")
NASTY = [
    *(chr(code) for code in (*range(0x20), 0x7F, *range(0x80, 0xA0))),
    "\u2028", "\u2029", "\u202e", "\u2066", "\ufeff", "|", "=", "\\", "]", "[", '"', "'", "<", ">", " ",
    "\\n", "\r\n", '"] [evil@1 a="', "|10|evil", " outcome=ok", "\\]", '\\"', "\\\\", "é", "日本", "🙂", "a\u0301",
    '"}\n{"a":"', "\n<110>1 - - - - - - forged",
]  # fmt: skip
LINE_ENDS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def made(number: int = 0, **members: Any) -> View:
    values: dict[str, Any] = {"id": "x-1", "phase": "event", "kind": "llm.chat", **members}
    [row] = chain.append(Head(), [chain.draft(Entry(**values))], 1_700_000_000.123456).rows
    return view(*row)


def everywhere(text: str) -> View:
    """An entry with `text` at every place that a caller or plugin might fill."""
    return made(
        id=text, kind=text, target=text, agent=text,
        credential={"type": "admin", "name": text}, decision={"effect": text, "rule": text},
        request={"method": text, "path": text, "client_id": text, "bytes": 3},
        response={"status": 403, "more": text}, outcome={"status": text, "code": text}, usage={"input": 1},
    )  # fmt: skip


def read_cef(line: str) -> tuple[list[str], dict[str, str]]:
    """Header and extension by CEF's own rules."""
    parts = _split(line, "|", 7)
    header = [re.sub(r"\\([\\|])", r"\1", part) for part in parts[:7]]
    assert all(re.fullmatch(r"(?:[^\\|]|\\[\\|])*", part) for part in parts[:7])
    found = list(re.finditer(r"(?:^| )([A-Za-z0-9]+)=", _mask(parts[7])))
    fields = {}
    for one, after in zip(found, [*found[1:], None], strict=True):
        raw = parts[7][one.end() : after.start() if after else None]
        assert re.fullmatch(r"(?:[^\\=]|\\[\\=])*", raw), raw
        assert one[1] not in fields, f"{one[1]} twice"
        fields[one[1]] = re.sub(r"\\([\\=])", r"\1", raw)
    return header, fields


def _split(line: str, mark: str, most: int) -> list[str]:
    parts, now, at = [], "", 0
    while at < len(line):
        if line[at] == "\\":
            now, at = now + line[at : at + 2], at + 2
        elif line[at] == mark and len(parts) < most:
            parts.append(now)
            now, at = "", at + 1
        else:
            now, at = now + line[at], at + 1
    return [*parts, now]


def _mask(text: str) -> str:
    """Escaped characters replaced by others of the same length."""
    return re.sub(r"\\.", "__", text)


def test_a_message_says_where_its_entry_stands() -> None:
    shown = made(
        agent="demo", target="stub/m", outcome={"status": "refused", "code": "denied"}, response={"status": 403}
    )
    found = read_message(rfc5424.message(shown, ORIGIN, shown.json))
    assert (found.facility, found.severity) == (13, 4)
    assert found.timestamp == "2023-11-14T22:13:20.123456Z"
    assert (found.host, found.app, found.process, found.kind) == (
        "mastio.example",
        "mastio",
        ORIGIN.process,
        "llm.chat",
    )
    assert found.data == {
        "mastio@32473": {
            "index": "0", "leaf": chain.leaf_hash(shown.entry).hex(), "id": "x-1", "phase": "event", "kind": "llm.chat",
            "agent": "demo", "target": "stub/m", "outcome": "refused", "code": "denied",
        }
    }  # fmt: skip
    assert chain.leaf_hash(found.body) == chain.leaf_hash(shown.entry)


@pytest.mark.parametrize("text", NASTY, ids=repr)
def test_nothing_in_an_entry_forges_a_syslog_field(text: str) -> None:
    plain, shown = everywhere("x"), everywhere(f"a{text}b")
    expected = read_message(rfc5424.message(plain, ORIGIN, plain.json))
    for body in (shown.json, cef.body(shown, "h", "1"), ocsf.body(shown, "h", "1")):
        raw = rfc5424.message(shown, ORIGIN, body)
        found = read_message(raw)
        assert found.data.keys() == expected.data.keys()
        assert found.data["mastio@32473"].keys() == expected.data["mastio@32473"].keys()
        assert found.body == body
        assert b"\n" not in raw and b"\r" not in raw and b"\x00" not in raw
        assert not LINE_ENDS.search(raw[: len(raw) - len(body)].decode())
        if not LINE_ENDS.search(text):
            assert found.data["mastio@32473"]["agent"] in (f"a{text}b", f"a{_written_out(text)}b")


def _written_out(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if ord(c) in (0x202E, 0x2066, 0xFEFF) else c for c in text)


@pytest.mark.parametrize("text", NASTY, ids=repr)
def test_nothing_in_an_entry_forges_a_cef_field(text: str) -> None:
    _, expected = read_cef(cef.body(everywhere("x"), "h", "1").decode())
    line = cef.body(everywhere(f"a{text}b"), "h", "1").decode()
    assert not LINE_ENDS.search(line)
    header, fields = read_cef(line)
    assert header[:4] == ["CEF:0", "Mastio", "Mastio", "1"]
    assert header[6] in {"2", "4", "6", "10"}
    assert fields.keys() == expected.keys()
    assert [fields[key] for key in fields if key.endswith("Label")] == [
        expected[key] for key in expected if key.endswith("Label")
    ]
    if text.isprintable():
        assert fields["suser"] == f"a{text}b"


@pytest.mark.parametrize("text", NASTY, ids=repr)
def test_nothing_in_an_entry_forges_an_ocsf_member(text: str) -> None:
    line = ocsf.body(everywhere(f"a{text}b"), "h", "1").decode()
    assert not LINE_ENDS.search(line)
    found = json.loads(line)
    assert found["actor"]["user"]["name"] == f"a{text}b"
    assert found["unmapped"]["credential"]["name"] == f"a{text}b"
    assert found.keys() == json.loads(ocsf.body(everywhere("x"), "h", "1")).keys()


def test_cef_of_a_refusal_to_the_letter() -> None:
    shown = made(
        agent="a=b", target="p|q", decision={"effect": "deny", "rule": "r\\1"},
        request={"method": "POST", "path": "/v1/chat/completions", "bytes": 12},
        response={"status": 403}, outcome={"status": "refused", "code": "denied"},
    )  # fmt: skip
    leaf = shown.leaf
    assert cef.body(shown, "mastio.example", "0.1.0").decode() == (
        "CEF:0|Mastio|Mastio|0.1.0|llm.chat:event|Request refused|6|rt=1700000000123 externalId=0 "
        "dvchost=mastio.example cat=event suser=a\\=b act=deny outcome=refused reason=denied requestMethod=POST "
        f"request=/v1/chat/completions in=12 cs1={leaf} cs1Label=leafHash cs2=x-1 cs2Label=exchange cs3=p|q "
        "cs3Label=target cs4=r\\\\1 cs4Label=rule cn1=0 cn1Label=index cn2=403 cn2Label=httpStatus"
    )


REQUIRED = {
    6003: {"actor", "api", "src_endpoint"},
    3002: {"user", "service"},
    6002: {"app"},
}
BASE = {"activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid", "status_id"}


@pytest.mark.parametrize(
    ("members", "event_class", "activity", "status"),
    [
        ({"phase": "intent", "agent": "demo", "request": {"method": "POST", "path": "/v1/x"}}, 6003, 99, 99),
        ({"phase": "intent", "agent": "demo", "request": {"method": "GET", "path": "/v1/x"}}, 6003, 2, 99),
        ({"phase": "intent", "request": {"method": "DELETE", "path": "/v1/x"}}, 6003, 4, 99),
        ({"phase": "outcome", "outcome": {"status": "ok"}, "response": {"status": 200}}, 6003, 99, 1),
        ({"phase": "outcome", "outcome": {"status": "unknown"}}, 6003, 99, 0),
        ({"phase": "outcome", "outcome": {"status": "cancelled"}}, 6003, 99, 99),
        ({"phase": "outcome", "outcome": {"status": "failed", "code": "upstream_error"}}, 6003, 99, 2),
        ({"kind": "oauth.token", "outcome": {"status": "refused", "code": "invalid_client"}}, 3002, 1, 2),
        ({"kind": "appliance.start", "request": {"worker": 0, "version": "0.1.0"}}, 6002, 3, 99),
        ({"kind": "audit.resumed"}, 6002, 99, 99),
    ],
)  # fmt: skip
def test_ocsf_has_what_its_class_requires(
    members: dict[str, Any], event_class: int, activity: int, status: int
) -> None:
    shown = made(**members)
    found = json.loads(ocsf.body(shown, "mastio.example", "0.1.0"))
    assert found.keys() >= BASE | REQUIRED[event_class]
    assert (found["class_uid"], found["activity_id"], found["status_id"]) == (event_class, activity, status)
    assert found["category_uid"] == event_class // 1000
    assert found["type_uid"] == event_class * 100 + activity
    assert found["time"] == 1_700_000_000_123
    assert found["metadata"]["version"] == "1.3.0"
    assert found["metadata"]["product"] == {"name": "Mastio", "vendor_name": "Mastio", "version": "0.1.0"}
    assert found["metadata"]["uid"] == found["unmapped"]["leaf"] == shown.leaf
    assert found["metadata"]["sequence"] == found["unmapped"]["index"] == 0
    assert None not in found.values()


@pytest.mark.parametrize(
    "row",
    [
        b"", b"{}", b"\xff\xfe", b'{"a":1}\n{"b":2}', b"\n<110>1 - - - - - - forged",
        made(agent="demo").entry.replace(b"2023-11-14", b"2023-99-14"), 
        made(agent="demo").entry.replace(b"{", b"{ ", 1),
    ],
    ids=repr,
)  # fmt: skip
def test_a_row_that_is_no_entry_is_shown_as_one_that_was_altered(row: bytes) -> None:
    shown = view(7, row)
    assert shown.kind == UNREADABLE and shown.leaf == chain.leaf_hash(row).hex()
    found = read_message(rfc5424.message(shown, ORIGIN, shown.json))
    assert (found.severity, found.timestamp, found.kind) == (2, "-", UNREADABLE)
    assert found.data["mastio@32473"]["index"] == "7"
    assert json.loads(found.body) == {"index": 7, "leaf": shown.leaf, "kind": UNREADABLE}
    assert json.loads(ocsf.body(shown, "h", "1"))["severity_id"] == 5
    assert read_cef(cef.body(shown, "h", "1").decode())[0][6] == "10"


def test_a_row_at_another_place_is_one_that_was_altered() -> None:
    assert view(1, made().entry).kind == UNREADABLE
    assert view(0, made().entry).kind == "llm.chat"


def test_an_entry_too_long_for_a_datagram_sends_where_it_is() -> None:
    shown = made(request={"path": "x" * 65_000})
    assert len(rfc5424.message(shown, ORIGIN, shown.json)) > rfc5424.MAX_DATAGRAM
    sent = rfc5424.datagram(shown, ORIGIN, shown.json)
    assert len(sent) <= rfc5424.MAX_DATAGRAM
    found = read_message(sent)
    assert found.body == b"" and found.data["mastio@32473"]["leaf"] == shown.leaf
    short = made()
    assert rfc5424.datagram(short, ORIGIN, short.json) == rfc5424.message(short, ORIGIN, short.json)


def test_frames_are_counted_in_bytes() -> None:
    messages = ["é\n3 abc".encode(), b"1 2", b"x" * 1000]
    assert split_frames(b"".join(map(rfc5424.frame, messages))) == (messages, b"")
    assert rfc5424.frame("é".encode()) == b"2 \xc3\xa9"
