"""The shim between an unmodified client and a real appliance."""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from mastio.cli.agent import shim as verb
from mastio.exchange.errors import ConfigurationError
from mastio_client import Identity
from support.appliance import Appliance, Stub, open_appliance, wait_until
from support.shim_process import Shim, open_shim

CHAT = "/v1/chat/completions"
BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def shim(agent: Identity) -> Iterator[Shim]:
    with open_shim(agent) as running:
        yield running


@pytest.mark.smoke
def test_an_unmodified_client_is_the_agent(shim: Shim, appliance: Appliance) -> None:
    with shim.client() as client:
        reply = client.post(CHAT, json=BODY)
        assert reply.status_code == 200, reply.text
        assert client.get("/v1/agents/self").json()["name"] == "agent-one"
    intent = appliance.entries_of(reply.headers["x-request-id"])[0]
    assert intent["agent"] == "agent-one" and set(intent["credential"]) == {"type", "jkt"}
    assert "dpop-nonce" not in reply.headers and int(reply.headers["mastio-receipt"]) == intent["seq"]


def test_what_is_not_http_gets_an_error_that_sdks_read(shim: Shim) -> None:
    with socket.create_connection(("127.0.0.1", shim.port), 10) as connected:
        connected.sendall(b"GARBAGE\r\n\r\n")
        with connected.makefile("rb") as reply:
            head, _, body = reply.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and b"content-type: application/json" in head
    assert json.loads(body)["error"]["code"] == "bad_request"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer sk-something"},
        {"Authorization": "DPoP x", "DPoP": "y"},
        {"x-api-key": "shim"},
        {"x-goog-api-key": "shim", "api-key": "shim", "Cookie": "a=b"},
        {"Authorization": "Bearer mastio_admin_nobody"},
    ],
)
def test_the_callers_own_credentials_do_not_count(shim: Shim, headers: dict[str, str]) -> None:
    with shim.client() as client:
        assert client.get("/v1/agents/self", headers=headers).json()["name"] == "agent-one"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_web_page_is_refused_before_anything_happens(
    shim: Shim, appliance: Appliance, headers: dict[str, str]
) -> None:
    with shim.client() as client:
        assert client.post(CHAT, json=BODY).status_code == 200
        before = len(appliance.entries())
        for method in ("GET", "POST", "OPTIONS"):
            reply = client.request(method, CHAT, headers=headers)
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "not_for_pages")
            assert "access-control-allow-origin" not in reply.headers
        assert len(appliance.entries()) == before


def test_other_addresses_are_refused_at_the_command_line(agent: Identity) -> None:
    command = [sys.executable, "-m", "mastio", "shim", "--identity", str(agent.folder), "--listen", "0.0.0.0:9480"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert (
        done.stderr.startswith("mastio: The shim listens on this machine's loopback only")
        and "\n" not in done.stderr[:-1]
    )


def test_a_port_that_is_taken(agent: Identity, shim: Shim) -> None:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    words = ["--identity", str(agent.folder), "--listen", f"127.0.0.1:{shim.port}"]
    with pytest.raises(ConfigurationError, match="cannot listen"):
        verb.run(parser.parse_args(words))


def test_what_it_says_can_be_copied(shim: Shim, agent: Identity) -> None:
    assert f"export OPENAI_BASE_URL={shim.url}/v1 OPENAI_API_KEY=" in shim.said
    assert f"export ANTHROPIC_BASE_URL={shim.url} " in shim.said
    assert f"export GOOGLE_GEMINI_BASE_URL={shim.url} " in shim.said
    assert agent.base_url in shim.said


# --- bytes -----------------------------------------------------------------------------------------------------------


class Recorder:
    """A plain appliance that grants any token and keeps the bytes of each call."""

    TOKEN = b'{"access_token":"t","token_type":"DPoP","expires_in":600}'

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.calls: list[bytes] = []
        self.reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            while True:
                data = b""
                while b"\r\n\r\n" not in data:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    data += piece
                head, _, body = data.partition(b"\r\n\r\n")
                length = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                while length and len(body) < length[0]:
                    body += connection.recv(65536)
                if head.startswith(b"POST /oauth/token"):
                    reply = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(self.TOKEN), self.TOKEN)
                elif head.startswith(b"GET /v1/agents/self"):
                    reply = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\ndpop-nonce: n1\r\n\r\n"
                else:
                    self.calls.append(data)
                    reply = self.reply
                connection.sendall(reply)
                if b"connection: close" in reply:
                    return

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    yield made
    made.close()


@pytest.fixture
def recorded(recorder: Recorder, agent: Identity, tmp_path: Path) -> Iterator[Shim]:
    """A shim before the recorder."""
    folder = tmp_path / "id"
    folder.mkdir()
    for file in agent.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    facts = json.loads((folder / "agent.json").read_text())
    (folder / "agent.json").write_text(json.dumps({**facts, "base_url": recorder.url}))
    with open_shim(Identity.load(folder)) as running:
        yield running


def talk(shim: Shim, request: bytes) -> bytes:
    """The bytes of one answer, over a connection that is closed afterwards."""
    with socket.create_connection(("127.0.0.1", shim.port)) as connection:
        connection.settimeout(10)
        connection.sendall(request.replace(b"HOST", b"127.0.0.1:%d" % shim.port))
        found = b""
        while piece := connection.recv(65536):
            found += piece
        return found


def test_path_query_and_headers_go_as_they_came(recorder: Recorder, recorded: Shim) -> None:
    talk(
        recorded,
        b"POST /v1/odd/%7Epath/a%2520b?q=a+b&&x=%C3%A9&k HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
        b"anthropic-beta: one,  two\r\nAnthropic-Beta: three\r\nx-bytes: \xe9\r\nUser-Agent: Tool/1 (x; y)\r\n"
        b"Accept-Encoding: gzip, br;q=0.5\r\nX-Api-Key: secret\r\nCookie: secret\r\nContent-Length: 4\r\n\r\nabcd",
    )
    (call,) = recorder.calls
    head, _, body = call.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/odd/%7Epath/a%2520b?q=a+b&&x=%C3%A9&k HTTP/1.1"
    assert lines[1] == b"host: " + recorder.url[7:].encode()
    assert lines[2] == b"authorization: DPoP t" and lines[3].startswith(b"dpop: ey")
    assert lines[4:] == [
        b"anthropic-beta: one,  two", b"anthropic-beta: three", b"x-bytes: \xe9", b"user-agent: Tool/1 (x; y)",
        b"accept-encoding: gzip, br;q=0.5", b"content-length: 4",
    ]  # fmt: skip
    assert body == b"abcd" and b"secret" not in call


def test_a_body_keeps_its_bytes_whatever_its_framing(recorder: Recorder, recorded: Shim) -> None:
    head = b"POST /x HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
    talk(recorded, head + b"Transfer-Encoding: chunked\r\n\r\n3\r\na\0b\r\n2;ext=1\r\n\r\n\r\n0\r\n\r\n")
    talk(recorded, head + b"Content-Length: 0\r\n\r\n")
    talk(recorded, b"GET /x HTTP/1.0\r\nHost: HOST\r\n\r\n")
    first, second, third = recorder.calls
    assert first.endswith(b"content-length: 5\r\n\r\na\0b\r\n")
    assert second.endswith(b"content-length: 0\r\n\r\n")
    assert b"content-length" not in third and b" HTTP/1.1\r\n" in third


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nX-A: 1\r\nX-A: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", b"2\r\nok\r\n0\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil the end", b"d\r\nuntil the end\r\n0\r\n\r\n"),
        (b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
def test_every_kind_of_reply(recorder: Recorder, recorded: Shim, reply: bytes, expected: bytes) -> None:
    recorder.reply = reply
    found = talk(recorded, b"GET /x HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
    head, _, body = found.partition(b"\r\n\r\n")
    assert body == expected
    assert head.lower().count(b"x-a:") == reply.lower().count(b"x-a:")


def test_a_reply_that_is_cut_off_is_not_made_whole(recorder: Recorder, recorded: Shim) -> None:
    head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
    with recorded.client() as client:
        for cut in (head + b"content-length: 10\r\n\r\nhalf", head + b"transfer-encoding: chunked\r\n\r\n9\r\nhalf"):
            recorder.reply = cut
            with pytest.raises(httpx.RemoteProtocolError):
                client.get("/x")
        recorder.reply = b"connection: close"  # no HTTP at all
        reply = client.get("/x")
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "appliance_unreachable")
        recorder.reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
        assert client.get("/x").text == "ok"


def test_head_has_no_body(recorder: Recorder, recorded: Shim) -> None:
    recorder.reply = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"
    with recorded.client() as client:
        for _ in range(3):
            reply = client.head("/x")
            assert (reply.status_code, reply.headers["content-length"], reply.content) == (200, "100", b"")


@pytest.mark.parametrize(
    "request_line",
    [b"GET http://127.0.0.1/x HTTP/1.1", b"OPTIONS * HTTP/1.1", b"CONNECT evil:443 HTTP/1.1", b"GET /\xe9 HTTP/1.1"],
)
def test_odd_request_lines_do_no_harm(recorder: Recorder, recorded: Shim, request_line: bytes) -> None:
    found = talk(recorded, request_line + b"\r\nHost: HOST\r\nConnection: close\r\n\r\n")
    assert found.split(b" ")[1] in (b"200", b"400") and b"Traceback" not in found
    assert all(call.startswith(b"GET /x HTTP/1.1\r\n") for call in recorder.calls)
    assert talk(recorded, b"GET /x HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200 ")


# --- both directions -------------------------------------------------------------------------------------------------


def test_pieces_of_a_stream_arrive_one_by_one(shim: Shim, appliance: Appliance, tmp_path: Path) -> None:
    slow = Stub(tmp_path, "--latency", "200ms", "--chunks", "4")
    appliance.add_provider(slow, "drip")
    try:
        with shim.client() as client:
            arrived = []
            body = {**BODY, "model": "drip/x", "stream": True}
            with client.stream("POST", CHAT, json=body) as reply:
                assert reply.headers["content-type"].startswith("text/event-stream")
                arrived = [time.monotonic() for piece in reply.iter_raw() if b"content" in piece]
        assert len(arrived) >= 4
        gaps = [later - earlier for earlier, later in pairwise(arrived)]
        assert sum(gap > 0.1 for gap in gaps) >= 3, gaps
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/drip").status_code == 204


@pytest.mark.parametrize("early", [True, False])
def test_a_hang_up_reaches_the_provider(shim: Shim, appliance: Appliance, tmp_path: Path, early: bool) -> None:
    """During a stream, and before the reply has begun."""
    name = f"gone-{early}".lower()
    slow = Stub(tmp_path, *(("--latency", "10s") if early else ("--latency", "300ms", "--chunks", "50")))
    appliance.add_provider(slow, name)
    body = {**BODY, "model": f"{name}/x", "stream": True}
    try:
        with shim.client() as client:
            if early:
                with pytest.raises(httpx.ReadTimeout):
                    client.post(CHAT, json=body, timeout=0.5)
            else:
                with client.stream("POST", CHAT, json=body) as reply:
                    next(reply.iter_bytes())
        wait_until(lambda: any(e.get("event") == "hangup" for e in slow.journal()), 5, "the provider saw the hang-up")
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete(f"/v1/admin/providers/{name}").status_code == 204


def test_connections_are_kept_on_both_sides(shim: Shim, appliance: Appliance) -> None:
    """One connection of the caller, and no new one to the edge for a hundred calls."""
    with shim.client() as client:
        client.get("/v1/agents/self")
        before = handshakes(appliance)
        ports = set()
        for _ in range(100):
            with client.stream("GET", "/v1/agents/self") as reply:
                ports.add(reply.extensions["network_stream"].get_extra_info("client_addr"))
                reply.read()
                assert reply.status_code == 200
        assert len(ports) == 1
        assert handshakes(appliance) == before


def handshakes(appliance: Appliance) -> int:
    """Connections to the edge's port that are open now, by their inodes' lines in the kernel's table."""
    wanted = f":{appliance.port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[2].endswith(wanted) and line.split()[3] == "01" for line in lines)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [1_000, 1_048_576, 1_048_577, 6_000_000])
def test_bodies_of_every_size_arrive_whole(shim: Shim, appliance: Appliance, size: int, chunked: bool) -> None:
    start, end = b'{"model":"stub/gpt-4o","messages":[{"role":"user","content":"', b'"}]}'
    raw = start + b"x" * (size - len(start) - len(end)) + end
    pieces = (raw[at : at + 50_000] for at in range(0, size, 50_000))
    with shim.client() as client:
        reply = client.post(CHAT, content=pieces if chunked else raw, headers={"content-type": "application/json"})
    assert reply.status_code == 200, reply.text
    assert appliance.entries_of(reply.headers["x-request-id"])[0]["request"]["bytes"] == size


def test_a_body_that_is_too_large_is_refused_by_the_appliance_in_its_words(shim: Shim) -> None:
    """The reply comes before the end of the body."""
    with shim.client() as client:
        reply = client.post(CHAT, content=b"x" * 40_000_000, headers={"content-type": "application/json"})
        assert reply.status_code == 413 and reply.json()["error"]["code"] == "payload_too_large"
        assert client.post(CHAT, json=BODY).status_code == 200


# --- tokens, nonces, faults ------------------------------------------------------------------------------------------


def test_a_hundred_at_once_over_four_workers() -> None:
    with open_appliance(workers=4) as (appliance, _), open_shim(appliance.enroll("crowd")) as shim:

        def call(number: int) -> tuple[int, str]:
            with shim.client() as client:
                reply = client.post(CHAT, json={**BODY, "user": str(number)})
                return reply.status_code, reply.text

        with ThreadPoolExecutor(100) as pool:
            replies = list(pool.map(call, range(100)))
        assert {status for status, _ in replies} == {200}, replies
        minted = [e for e in appliance.entries() if e["kind"] == "oauth.token" and e["phase"] == "outcome"]
        assert len(minted) == 1
        refused = [e for e in appliance.entries() if e["phase"] == "event" and e["kind"] == "llm.chat"]
        assert refused == []  # the newest nonce of the right worker was there before the first call


def test_restarts_and_ends_of_tokens_are_not_seen_by_the_caller() -> None:
    """Tokens of ten seconds, a worker that is killed (with all nonces it gave), an appliance that is down and back."""
    with (
        open_appliance(more="[token]\ntoken_seconds = 10\n") as (appliance, _),
        open_shim(appliance.enroll("steady")) as shim,
        shim.client() as client,
    ):
        assert client.post(CHAT, json=BODY).status_code == 200
        appliance.kill_worker()
        appliance.wait_ready()
        assert client.post(CHAT, json=BODY).status_code == 200
        until = time.monotonic() + 12
        while time.monotonic() < until:
            assert client.get("/v1/agents/self").status_code == 200
            time.sleep(0.05)
        assert len([e for e in appliance.entries() if e["kind"] == "oauth.token" and e["phase"] == "outcome"]) >= 3
        appliance.stop()
        down = client.post(CHAT, json=BODY)
        assert (down.status_code, down.json()["error"]["code"]) == (502, "appliance_unreachable")
        anthropic = client.post("/v1/messages", json=BODY)
        assert (anthropic.status_code, anthropic.json()["type"]) == (502, "error")
        time.sleep(10)  # meanwhile the token ends
        assert client.get("/v1/models").status_code == 502
        appliance.start()
        assert client.post(CHAT, json=BODY).status_code == 200


def test_a_revoked_agent_gets_a_401_in_its_dialect(appliance: Appliance) -> None:
    identity = appliance.enroll("shim-revoked")
    with open_shim(identity) as shim, shim.client() as client, appliance.admin() as admin:
        assert client.get("/v1/models").status_code == 200
        assert admin.post("/v1/admin/agents/shim-revoked/revoke", json={}).status_code == 200
        wait_until(lambda: client.get("/v1/models").status_code == 401, 2, "the agent is refused")
        assert client.get("/v1/models").json()["error"]["code"] == "agent_inactive"
        with open_shim(identity) as later, later.client() as second:  # no token to begin with
            reply = second.get("/v1/models")
            assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_client")
            assert "revoked" in reply.json()["error"]["message"]
            wait_until(lambda: "no access token" in later.said, 5, "the operator is told")


def test_sigterm_lets_streams_end(appliance: Appliance, agent: Identity, tmp_path: Path) -> None:
    slow = Stub(tmp_path, "--latency", "200ms", "--chunks", "6")
    appliance.add_provider(slow, "ending")
    try:
        with open_shim(agent) as shim, shim.client() as client:
            body = {**BODY, "model": "ending/x", "stream": True}
            with client.stream("POST", CHAT, json=body) as reply:
                pieces = reply.iter_bytes()
                first = next(pieces)
                shim.terminate()
                whole = first + b"".join(pieces)
            assert whole.endswith(b"data: [DONE]\n\n")
            assert shim.wait(10) == 0
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/ending").status_code == 204


def test_the_certificate_is_renewed_when_it_is_due() -> None:
    """A leaf of 18 seconds is due after 12; the shim looks when it starts."""
    with open_appliance(stub=None, more="[pki]\nleaf_hours = 0.005\n") as (appliance, _):
        identity = appliance.enroll("short-lived")
        before = (identity.folder / "agent.crt").read_bytes()
        time.sleep(13)
        with open_shim(identity) as shim:
            wait_until(lambda: "the certificate was renewed" in shim.said, 10, "the certificate is renewed")
            assert (identity.folder / "agent.crt").read_bytes() != before
            with shim.client() as client, appliance.by_certificate(identity) as direct:
                assert client.get("/v1/agents/self").status_code == 200
                assert direct.get("/v1/agents/self").status_code == 200
