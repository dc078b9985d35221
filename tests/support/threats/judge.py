"""Bad requests, and what must become of them, judged by three parties: the caller, the audit log, the provider.

A refusal is good when the caller got the stated status and code in its own dialect and nothing about the machine,
when the log has what belongs to who refused (app: one event; control plane: a closed pair; edge: nothing), and when
nothing reached the provider. The twin, the same request made right, is sent after it on a connection of its own: a
server that refuses everything does not pass, and neither does one that the bad request broke.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import apsw
import httpx

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until

CHAT = "/v1/chat/completions"
SELF = "/v1/agents/self"
TOKEN = "/oauth/token"
EST_ENROLL = "/.well-known/est/simpleenroll"
BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
RAW = json.dumps(BODY).encode()

By = Literal["edge", "app", "control", "nobody"]
Data = bytes | Iterable[bytes]

LEAK = re.compile(
    r"Traceback|File \"|\.py\b|/(?:work|tmp|usr|home|var|etc|root|opt|run)/|site-packages|nginx/|openssl/"
    r"|uvicorn|pydantic|fastapi|starlette|httptools|orjson|sqlalchemy|Python/|\b\d+\.\d+\.\d+\b",
    re.IGNORECASE,
)
"""What no error may say: a stack trace, a path of the machine, the name or version of what it runs on."""


@dataclass(frozen=True)
class Answer:
    """What the caller saw. Header names in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @classmethod
    def of(cls, reply: httpx.Response) -> Answer:
        return cls(reply.status_code, [(n.lower(), v) for n, v in reply.headers.multi_items()], reply.content)


@dataclass(frozen=True)
class Refusal:
    """What must become of a bad request. `by`: who refuses; `nobody` is for what only the connection's end tells."""

    status: tuple[int, ...]
    code: tuple[str, ...] = ()
    by: tuple[By, ...] = ("app",)


def refusal(status: int, code: str, *by: By) -> Refusal:
    return Refusal((status,), (code,), by or ("app",))


@dataclass
class Tally:
    """Which negative cases ran, and for which of them a twin succeeded."""

    refused: set[str] = field(default_factory=set)
    served: set[str] = field(default_factory=set)


TALLY = Tally()


# --- sending --------------------------------------------------------------------------------------------------------


def connect(appliance: Appliance, identity: Identity | None = None, protocol: str = "http/1.1") -> ssl.SSLSocket:
    context = appliance.tls(identity)
    context.set_alpn_protocols([protocol])
    plain = socket.create_connection(("127.0.0.1", appliance.port), timeout=15)
    return context.wrap_socket(plain, server_hostname="localhost")


def send_raw(appliance: Appliance, data: Data, identity: Identity | None = None) -> Answer | None:
    """The answer to these very bytes, or None when the connection was cut without one."""
    with connect(appliance, identity) as tls:
        try:
            for piece in [data] if isinstance(data, bytes) else data:
                tls.sendall(piece)
        except (ConnectionError, ssl.SSLError):
            pass  # it has heard enough: the answer may be there all the same
        return read_answer(tls)


def read_answer(opened: socket.socket) -> Answer | None:
    """One answer; a second one on the same connection would be smuggled, and is an error."""
    reply = http.client.HTTPResponse(opened)
    try:
        reply.begin()
        body = reply.read()
        rest = reply.fp.read(1) if reply.fp is not None else b""
    except (ConnectionError, ssl.SSLError, http.client.HTTPException):
        return None
    assert not rest, "a second answer came on the connection"
    return Answer(reply.status, [(n.lower(), v) for n, v in reply.getheaders()], body)


def message(lines: Iterable[bytes], body: bytes = b"") -> bytes:
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


# --- judging --------------------------------------------------------------------------------------------------------


class Judge:
    """Judges the attempts of one test. `mark` is called before each attempt, by `__init__` for the first."""

    def __init__(self, appliance: Appliance, stub: Stub, case: str) -> None:
        self.appliance = appliance
        self.stub = stub
        self.case = case
        self.mark()

    def mark(self) -> None:
        self._seq = self._next_seq()
        self._read = self.stub.journal_file.stat().st_size if self.stub.journal_file.exists() else 0

    def refused(self, answer: Answer | None, expected: Refusal, path: str, logged: str | None = None) -> None:
        """The bad request was refused as it must be. `logged`: the code in the log where the dialect has another."""
        assert answer is not None, "the connection was cut without an answer"
        assert answer.status in expected.status, (answer.status, answer.body[:400])
        code = verify_error(answer, path)
        entries = self.entries()
        assert not expected.code or code in expected.code, (code, answer.body[:400])
        found = any(self._recorded_by(by, answer, entries, logged or code) for by in expected.by)
        assert found, (expected, code, entries)
        assert self.arrivals() == [], "it reached the provider"
        TALLY.refused.add(self.case)

    def cut(self) -> None:
        """The bad request got no answer at all, and nothing was carried out."""
        assert self.arrivals() == []
        assert [entry for entry in self.entries() if entry["phase"] == "outcome"] == []
        TALLY.refused.add(self.case)

    def served(self, answer: Answer | None, *, status: int = 200, upstream: bool = True) -> Answer:
        """The twin was carried out, once, and recorded."""
        assert answer is not None, "the connection was cut without an answer"
        assert answer.status == status, (answer.status, answer.body[:400])
        request_id = answer.header("x-request-id")
        mine = [entry for entry in self.entries() if entry["id"] == request_id]
        assert [entry["phase"] for entry in mine] == ["intent", "outcome"], mine
        assert mine[1]["outcome"] == {"status": "ok"}
        if upstream:
            assert self.arrivals() == [request_id]
        TALLY.served.add(self.case)
        return answer

    def harmless(self) -> None:
        """For a twin that has no reply to judge (its connection is what is tested) or no entry of its own."""
        TALLY.served.add(self.case)

    def entries(self) -> list[dict[str, Any]]:
        """The audit entries since the mark, without what is counted of refused strangers each second."""
        rows = self._query("SELECT entry FROM entries WHERE seq >= ? ORDER BY seq")
        return [entry for row in rows if (entry := json.loads(row[0])).get("kind") != "refusals"]

    def arrivals(self) -> list[str]:
        """What reached the provider since the mark."""
        if not self.stub.journal_file.exists():
            return []
        with self.stub.journal_file.open("rb") as journal:
            journal.seek(self._read)
            lines = [json.loads(line) for line in journal if line.endswith(b"\n")]
        return [line["request_id"] for line in lines if line.get("method") == "POST" and "event" not in line]

    def _recorded_by(self, by: By, answer: Answer, entries: list[dict[str, Any]], code: str) -> bool:
        request_id = answer.header("x-request-id")
        mine = [entry for entry in entries if entry["id"] == request_id]
        others = [entry for entry in entries if entry["id"] != request_id]
        if others:  # nothing that was hidden in the request may have been carried out
            return False
        if by == "edge":
            return request_id is None and not mine
        shape = [(entry["phase"], entry["outcome"]) for entry in mine]
        if by == "app":
            return shape == [("event", {"status": "refused", "code": code})]
        return shape == [("intent", None), ("outcome", {"status": "failed", "code": code})]

    def _next_seq(self) -> int:
        (row,) = self._query("SELECT coalesce(max(seq), -1) + 1 FROM entries WHERE seq >= ?", 0)
        seq: int = row[0]
        return seq

    def _query(self, sql: str, seq: int | None = None) -> list[Any]:
        connection = apsw.Connection(str(self.appliance.data / "db" / "audit.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return list(connection.execute(sql, (self._seq if seq is None else seq,)))
        finally:
            connection.close()


def spoken(answer: Answer | None) -> str:
    """A path in the dialect that was answered. What the edge could not read has no path, so it is nobody's dialect in
    particular; but one of them it must be, whole."""
    kind = answer.header("content-type") if answer else None
    return "/" if kind == "application/problem+json" else CHAT


def verify_error(answer: Answer, path: str) -> str:
    """The code that the error says, in the dialect of `path`, with nothing in it that a caller must not learn."""
    text = answer.body.decode("utf-8")
    assert not LEAK.search(text), text
    assert not any(LEAK.search(f"{name}: {value}") for name, value in answer.headers), answer.headers
    document = json.loads(text)
    kind = (answer.header("content-type") or "").split(";")[0]
    if path == TOKEN:
        assert document.keys() == {"error", "error_description"} and kind == "application/json", text
        code = document["error"]
    elif path.startswith(("/v1/messages", "/v1beta/", "/v1/models/")):
        keys = {"type", "message"} if path.startswith("/v1/messages") else {"code", "message", "status"}
        assert document["error"].keys() == keys and kind == "application/json", text
        code = re.findall(r"\((\w+)\)$", document["error"]["message"])[0]
    elif path in (CHAT, "/v1/models", "/v1/responses", "/v1/embeddings", "/v1/moderations"):
        assert document["error"].keys() == {"message", "type", "param", "code"} and kind == "application/json", text
        code = document["error"]["code"]
    else:
        assert kind == "application/problem+json", kind
        assert {"type", "title", "status", "detail", "code", "hint"} <= document.keys(), text
        assert document["status"] == answer.status, text
        code = document["code"]
    if answer.status == 401:
        wanted = 'Basic realm="Mastio EST"' if path == EST_ENROLL else "DPoP "
        assert (answer.header("www-authenticate") or "").startswith(wanted) or answer.header("x-request-id") is None
    assert answer.status not in (429, 503) or answer.header("retry-after"), answer.headers
    assert isinstance(code, str)
    return code


def chat(appliance: Appliance, identity: Identity, body: bytes = RAW, **headers: str) -> Answer:
    """A chat call by certificate on a connection of its own."""
    sent = {"content-type": "application/json", **headers}
    with appliance.by_certificate(identity) as client:
        return Answer.of(client.post(CHAT, content=body, headers=sent))


def edge_lines(appliance: Appliance, marker: bytes, count: int = 1) -> list[bytes]:
    """The lines of the edge's access log that have `marker`, once there are `count`: it writes once a second."""
    file = appliance.data / "logs" / "edge-access.log"

    def found() -> list[bytes]:
        return [line for line in file.read_bytes().split(b"\n") if marker in line]

    wait_until(lambda: len(found()) >= count, 5, f"{count} lines in the edge's log")
    return found()
