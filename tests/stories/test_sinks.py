"""The audit log goes outward from whole appliances, whatever becomes of the receivers and of the worker."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import ssl
from pathlib import Path

import asyncpg
import pytest
import trustme

from mastio_audit.log import chain
from mastio_audit.log.postgres import dsn
from mastio_client import Identity
from support.appliance import Appliance, open_appliance, wait_until
from support.ports import take_port
from support.postgresql import create_database
from support.syslog_receivers import TcpReceiver, read_message

WITHIN = 60.0
BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


def file_sink(path: Path, name: str = "copy") -> str:
    return f'[[audit.sinks]]\nname = "{name}"\nkind = "file"\npath = "{path}"\nfrom = "start"\n'


def syslog_sink(address: str, more: str = "", name: str = "siem") -> str:
    return f'[[audit.sinks]]\nname = "{name}"\nkind = "syslog"\naddress = "{address}"\nfrom = "start"\n{more}\n'


def call(appliance: Appliance, identity: Identity, times: int) -> None:
    with appliance.by_certificate(identity) as client:
        for _ in range(times):
            assert client.post("/v1/chat/completions", json=BODY).status_code == 200


def replace_worker(appliance: Appliance) -> None:
    before = appliance.pid("worker-0")
    appliance.kill_worker(0)
    wait_until(lambda: appliance.pid("worker-0") != before, WITHIN, "the worker is replaced")
    appliance.wait_ready()


def log_lines(appliance: Appliance) -> list[bytes]:
    return [json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() for entry in appliance.entries()]


def metrics(appliance: Appliance) -> dict[str, float]:
    with appliance.admin() as admin:
        text = admin.get("/metrics").text
    return {name: float(value) for name, value in re.findall(r"^(mastio_audit_sink\S+) (\S+)$", text, re.MULTILINE)}


def copy_shared(first: Appliance, second: Appliance) -> None:
    """What the appliances of one log share besides their database: authority and keys."""
    for folder in ("ca", "secrets"):
        shutil.copytree(first.data / folder, second.data / folder)


def entry_count(url: str) -> int:
    async def ask() -> int:
        connection = await asyncpg.connect(dsn(url))
        try:
            return int(await connection.fetchval("SELECT count(*) FROM audit_entries"))
        finally:
            await connection.close()

    return asyncio.run(ask())


def bodies(receiver: TcpReceiver) -> list[bytes]:
    return [read_message(raw).body for raw in receiver.messages()]


def without_repetition(lines: list[bytes]) -> list[bytes]:
    return list(dict.fromkeys(lines))


def test_the_file_is_the_log_byte_for_byte_also_after_kills(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with open_appliance(more=file_sink(path), workers=2) as (appliance, _):
        identity = appliance.enroll("caller")
        for _ in range(4):
            call(appliance, identity, 10)
            appliance.kill_worker(0)
            appliance.replace_control()
            appliance.wait_ready()
        path.rename(tmp_path / "log.jsonl.1")
        call(appliance, identity, 10)
        expected = log_lines(appliance)
        wait_until(
            lambda: path.exists() and path.read_bytes().endswith(expected[-1] + b"\n"), WITHIN, "the file is complete"
        )
        written = (tmp_path / "log.jsonl.1").read_bytes() + path.read_bytes()
        assert written.endswith(b"\n")
        assert without_repetition(written.split(b"\n")[:-1]) == log_lines(appliance)[: len(expected)]
        found = metrics(appliance)
        assert found['mastio_audit_sink_lag_entries{sink="copy"}'] < 30  # a look at the figures adds entries, too
        assert found['mastio_audit_sink_entries_total{sink="copy"}'] >= 40
        assert found['mastio_audit_sink_last_delivery_seconds{sink="copy"}'] > 1_700_000_000
        assert (appliance.data / "sinks" / "copy").read_text().strip().isdecimal()
        assert appliance.verify() == 0


def test_a_receiver_that_is_dead_and_comes_and_dies_loses_nothing() -> None:
    port = take_port()
    with open_appliance(more=syslog_sink(f"tcp://127.0.0.1:{port}")) as (appliance, _):
        identity = appliance.enroll("caller")
        call(appliance, identity, 20)
        failed = 'mastio_audit_sink_failures_total{sink="siem"}'
        wait_until(lambda: metrics(appliance)[failed] > 0, WITHIN, "the failure is counted")
        assert metrics(appliance)['mastio_audit_sink_lag_entries{sink="siem"}'] > 0
        assert appliance.is_ready()
        with TcpReceiver(port, break_after=[5, 3000, 100]) as dying:
            wait_until(lambda: not dying.break_after and dying.messages(), WITHIN, "it has died three times")
            call(appliance, identity, 5)
            expected = log_lines(appliance)
            wait_until(lambda: expected[-1] in bodies(dying), WITHIN, "everything has come")
            assert without_repetition(bodies(dying))[: len(expected)] == expected
            first = read_message(dying.messages()[0])
            assert (first.host, first.app, first.data["mastio@32473"]["index"]) == ("localhost", "mastio", "0")
            leaves = {chain.leaf_hash(line).hex() for line in expected}
            assert leaves <= {read_message(raw).data["mastio@32473"]["leaf"] for raw in dying.messages()}


def test_a_receiver_that_never_reads_holds_nobody_up() -> None:
    port = take_port()
    with open_appliance(more=syslog_sink(f"tcp://127.0.0.1:{port}")) as (appliance, _):
        identity = appliance.enroll("caller")
        with TcpReceiver(port, deaf=True) as deaf:
            wait_until(lambda: len(deaf.streams) > 0, WITHIN, "it is connected to")
            call(appliance, identity, 30)
            assert appliance.is_ready()
            before = len(appliance.entries())
            assert before >= 60
        with TcpReceiver(port) as receiver:
            expected = log_lines(appliance)
            wait_until(lambda: expected[-1] in bodies(receiver), WITHIN, "everything has come")
            assert without_repetition(bodies(receiver))[: len(expected)] == expected


def test_tls_to_the_named_authority_alone_and_udp_beside_it(tmp_path: Path) -> None:
    right, wrong = trustme.CA(), trustme.CA()
    right.cert_pem.write_to_path(tmp_path / "right.pem")
    wrong.cert_pem.write_to_path(tmp_path / "wrong.pem")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    right.issue_cert("localhost").configure_cert(server)
    with (
        TcpReceiver(tls=server) as trusted,
        TcpReceiver(tls=server) as doubted,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.bind(("127.0.0.1", 0))
        datagrams.settimeout(WITHIN)
        sinks = syslog_sink(f"tls://localhost:{trusted.port}", f'ca_file = "{tmp_path}/right.pem"')
        sinks += syslog_sink(f"tls://localhost:{doubted.port}", f'ca_file = "{tmp_path}/wrong.pem"', "doubted")
        sinks += syslog_sink(f"udp://127.0.0.1:{datagrams.getsockname()[1]}", name="datagrams")
        with open_appliance(more=sinks) as (appliance, _):
            call(appliance, appliance.enroll("caller"), 5)
            expected = log_lines(appliance)
            wait_until(lambda: expected[-1] in bodies(trusted), WITHIN, "everything has come over TLS")
            assert bodies(trusted)[: len(expected)] == expected
            assert [read_message(datagrams.recv(65536)).body for _ in expected] == expected
            assert metrics(appliance)['mastio_audit_sink_failures_total{sink="doubted"}'] > 0
            assert "certificate is not accepted" in appliance.log()
            assert doubted.messages() == []
            assert appliance.is_ready()


@pytest.mark.parametrize("form", ["cef", "ocsf"])
def test_the_way_back_from_a_siem_to_the_log(form: str) -> None:
    with TcpReceiver() as receiver:
        address = f"tcp://127.0.0.1:{receiver.port}"
        with open_appliance(more=syslog_sink(address, f'format = "{form}"')) as (appliance, _):
            call(appliance, appliance.enroll("caller"), 2)
            entries = appliance.entries()
            wait_until(lambda: len(receiver.messages()) >= len(entries), WITHIN, "everything has come")
            for raw, line in zip(receiver.messages(), log_lines(appliance), strict=False):
                message = read_message(raw)
                leaf = chain.leaf_hash(line).hex()
                assert message.data["mastio@32473"]["leaf"] == leaf
                if form == "cef":
                    assert message.body.startswith(b"CEF:0|Mastio|Mastio|") and f"cs1={leaf}".encode() in message.body
                else:
                    assert json.loads(message.body)["metadata"]["uid"] == leaf


def test_two_appliances_share_the_work_and_take_over(postgresql: str, tmp_path: Path) -> None:
    url = create_database(postgresql)
    with TcpReceiver() as receiver:
        sinks = syslog_sink(f"tcp://127.0.0.1:{receiver.port}")
        with open_appliance(database=url, more=sinks) as (first, stub):
            assert stub is not None
            second = Appliance(tmp_path / "second", database=url, more=sinks)
            copy_shared(first, second)
            try:
                second.start()
                identity = first.enroll("caller")
                call(first, identity, 10)
                call(second, identity, 10)
                size = entry_count(url)
                wait_until(lambda: len(receiver.messages()) >= size, WITHIN, "everything has come")
                messages = [read_message(raw) for raw in receiver.messages()]
                assert len({m.process for m in messages}) == 1
                assert [int(m.data["mastio@32473"]["index"]) for m in messages] == list(range(len(messages)))
                for name in ("supervisor", "control"):
                    os.kill(first.pid(name), signal.SIGKILL)
                call(second, identity, 10)
                size = entry_count(url)
                wait_until(lambda: len(set(receiver.messages())) >= size, WITHIN, "the other took over")
                messages = [read_message(raw) for raw in receiver.messages()]
                assert len({m.process for m in messages}) == 2
                indices = [int(m.data["mastio@32473"]["index"]) for m in messages]
                assert list(dict.fromkeys(indices)) == list(range(max(indices) + 1))
            finally:
                second.stop()
