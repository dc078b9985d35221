"""Carrying a log to a sink: order, repetition, place, and what receivers and files may do meanwhile."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from mastio.exchange.errors import ConfigurationError
from mastio_audit.log.chain import Row
from mastio_audit.log.store import Build, StoreError
from mastio_audit.plugin import AuditSettings, plugin
from mastio_audit.sinks.cursor import Cursor, FileCursor
from mastio_audit.sinks.file import FileSink
from mastio_audit.sinks.forwarder import Forwarder, Pace
from mastio_audit.sinks.metrics import SinkMetrics
from mastio_audit.sinks.postgres import TableCursor
from mastio_audit.sinks.sink import Sink, SinkError
from mastio_primitives.transparency.merkle import leaf_hash
from tests.plugins.mastio_audit.test_audit_plugin import services_for

if TYPE_CHECKING:
    from tests.plugins.mastio_audit.conftest import Place

QUICK = Pace(look=0.01, breath=0.0, first=0.01, most=0.02)
MakeBatch = Callable[..., Build]


class Receiver:
    """Keeps what arrives. `faults`: what happens to the next batches: it does not arrive, or its answer is lost."""

    def __init__(self, *faults: str) -> None:
        self.faults = list(faults)
        self.batches: list[list[Row]] = []

    @property
    def rows(self) -> list[Row]:
        return [row for batch in self.batches for row in batch]

    async def deliver(self, rows: Sequence[Row]) -> None:
        fault = self.faults.pop(0) if self.faults else "none"
        if fault != "lost":
            half = list(rows)[: len(rows) // 2]
            self.batches.append(half if fault == "half" else list(rows))
        if fault == "defect":
            raise ZeroDivisionError
        if fault != "none":
            raise SinkError("it failed")

    async def close(self) -> None:
        pass


async def until(condition: Callable[[], bool], what: str) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not: {what}")


async def fill(place: Place, batch: MakeBatch, start: int, count: int, *, size: int = 100) -> None:
    store = place.store()
    await store.open()
    for first in range(start, start + count, size):
        names = range(first, min(first + size, start + count))
        await store.append(batch(*[("event", f"x-{number}") for number in names]))
    await store.close()


def cursor_of(place: Place, name: str = "siem") -> Cursor:
    return FileCursor(place.data / "sinks" / name) if place.kind == "sqlite" else TableCursor(place.url, name)


async def position(place: Place) -> int | None:
    cursor = cursor_of(place)
    await cursor.open()
    try:
        return await cursor.read()
    finally:
        await cursor.close()


async def until_confirmed(place: Place, size: int) -> None:
    """Until the cursor stands at `size`: the sink has the entries a moment earlier."""
    for _ in range(500):
        if await position(place) == size:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"the cursor stands at {await position(place)}")


@asynccontextmanager
async def carrying(place: Place, sink: Sink, *, from_start: bool = True) -> AsyncIterator[Forwarder]:
    courier = Forwarder(
        "siem", sink, cursor_of(place), place.reader(), SinkMetrics(), lambda: 5.0, from_start=from_start, pace=QUICK
    )
    await courier.start()
    try:
        yield courier
    finally:
        await courier.stop()


async def stored(place: Place) -> list[Row]:
    reader = place.reader()
    await reader.open()
    rows = list(await reader.read(0, 10_000))
    await reader.close()
    return rows


async def test_everything_comes_in_order_and_once(place: Place, batch: MakeBatch) -> None:
    await fill(place, batch, 0, 1203)
    sink = Receiver()
    async with carrying(place, sink):
        await until(lambda: len(sink.rows) == 1203, "the log is delivered")
        await fill(place, batch, 1203, 7)
        await until_confirmed(place, 1210)
    assert sink.rows == await stored(place)
    assert max(map(len, sink.batches)) <= 500


async def test_a_new_sink_begins_at_the_end(place: Place, batch: MakeBatch) -> None:
    await fill(place, batch, 0, 5)
    sink = Receiver()
    async with carrying(place, sink, from_start=False):
        await fill(place, batch, 5, 2)
        await until(lambda: len(sink.rows) == 2, "the new entries are delivered")
    assert [index for index, _ in sink.rows] == [5, 6]


async def test_where_it_was_it_goes_on(place: Place, batch: MakeBatch) -> None:
    await fill(place, batch, 0, 5)
    first, second = Receiver(), Receiver()
    async with carrying(place, first):
        await until_confirmed(place, 5)
    await fill(place, batch, 5, 5)
    async with carrying(place, second, from_start=False):
        await until(lambda: len(second.rows) == 5, "the rest is delivered")
    assert [index for index, _ in second.rows] == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("fault", ["lost", "half", "answer", "defect"])
async def test_a_failure_repeats_a_batch_and_skips_nothing(sqlite_place: Place, batch: MakeBatch, fault: str) -> None:
    await fill(sqlite_place, batch, 0, 620)
    sink = Receiver(fault, "none", fault, fault)
    async with carrying(sqlite_place, sink):
        await until(lambda: {index for index, _ in sink.rows} == set(range(620)), "the log is delivered")
        await until(lambda: not sink.faults, "every fault happened")
        await until(lambda: sink.rows[-1][0] == 619, "the end was delivered last")
    confirmed = 0
    for rows in sink.batches:
        assert not rows or rows[0][0] <= confirmed, "a batch begins behind a gap"
        assert [index for index, _ in rows] == list(range(rows[0][0], rows[0][0] + len(rows))) if rows else True
        confirmed = max(confirmed, rows[-1][0] + 1 if rows else 0)


async def test_a_dead_sink_is_asked_again_and_again_with_less_and_less(sqlite_place: Place, batch: MakeBatch) -> None:
    await fill(sqlite_place, batch, 0, 500)
    sink = Receiver(*["answer"] * 6)
    async with carrying(sqlite_place, sink):
        await until(lambda: not sink.faults, "every fault happened")
        assert [len(rows) for rows in sink.batches][:6] == [500, 125, 31, 7, 1, 1]
        await until(lambda: sink.rows[-1][0] == 499, "all is delivered")


async def test_a_log_that_went_back_is_delivered_from_where_it_ends(sqlite_place: Place, batch: MakeBatch) -> None:
    await fill(sqlite_place, batch, 0, 3)
    await FileCursor(sqlite_place.data / "sinks" / "siem").move(10)
    sink = Receiver()
    async with carrying(sqlite_place, sink):
        path = sqlite_place.data / "sinks" / "siem"
        await until(lambda: path.read_text() == "3\n", "the cursor follows the log")
        await fill(sqlite_place, batch, 3, 2)
        await until(lambda: len(sink.rows) == 2, "new entries are delivered")
    assert [index for index, _ in sink.rows] == [3, 4]


async def test_a_hole_in_the_log_stops_nothing(sqlite_place: Place, batch: MakeBatch) -> None:
    await fill(sqlite_place, batch, 0, 9)
    sqlite_place.tamper("DELETE FROM entries WHERE seq = $1", 4)
    sink = Receiver()
    async with carrying(sqlite_place, sink):
        await until(lambda: len(sink.rows) == 8, "the others are delivered")


async def archive_beginning(place: Place, batch: MakeBatch) -> None:
    """The first 256 of 300 entries are not here any more; 301 are said to be there."""
    await fill(place, batch, 0, 300)
    store = place.store()
    await store.open()
    hashes = b"".join(leaf_hash(entry) for _, entry in await store.read(0, 256))
    await store.forget(0, [hashes], batch(("event", "archived")))
    await store.close()


async def test_a_new_sink_of_an_archived_log_begins_with_what_is_here(
    place: Place, batch: MakeBatch, caplog: pytest.LogCaptureFixture
) -> None:
    await archive_beginning(place, batch)
    sink = Receiver()
    async with carrying(place, sink):
        await until(lambda: len(sink.rows) == 45, "what is here is delivered")
        await until_confirmed(place, 301)
    assert sink.rows[0][0] == 256
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert said == ["the audit sink siem gets no entries before 256: they are archived"]


async def test_a_hole_in_an_archived_log_is_told(
    sqlite_place: Place, batch: MakeBatch, caplog: pytest.LogCaptureFixture
) -> None:
    await archive_beginning(sqlite_place, batch)
    sqlite_place.tamper("DELETE FROM entries WHERE seq = $1", 270)
    sink = Receiver()
    async with carrying(sqlite_place, sink):
        await until(lambda: len(sink.rows) == 44, "the others are delivered")
    assert "lacks entries after index 256" in caplog.text


# --- the cursor ------------------------------------------------------------------------------------------------------


async def test_a_cursor_keeps_its_first_place(place: Place) -> None:
    cursor = cursor_of(place)
    assert await cursor.open()
    assert await cursor.read() is None
    await cursor.place(3)
    await cursor.place(9)
    assert await cursor.read() == 3
    await cursor.move(4)
    await cursor.close()
    assert await position(place) == 4


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "9" * 30, "é", "1\n2"])
async def test_a_cursor_that_is_no_number_is_not_guessed(tmp_path: Path, text: str) -> None:
    (tmp_path / "siem").write_text(text, "utf-8")
    with pytest.raises((ConfigurationError, StoreError)):
        await FileCursor(tmp_path / "siem").read()
    (tmp_path / "siem").write_text("17\n")
    assert await FileCursor(tmp_path / "siem").read() == 17


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
async def test_only_one_session_delivers_and_the_next_takes_over(place: Place) -> None:
    url = place.url
    first, second, other = TableCursor(url, "siem"), TableCursor(url, "siem"), TableCursor(url, "other")
    assert await first.open() and not await second.open() and await other.open()
    await first.place(1)
    await first.move(2)
    assert await second.read() == 2
    await second.open()
    terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    other_tool = TableCursor(url, "tool")
    await other_tool.open()
    await other_tool._ask(f"{terminate} AND pid <> pg_backend_pid()")
    for _ in range(100):
        if await second.open():
            break
        await asyncio.sleep(0.05)
    else:
        raise AssertionError("nobody took over")
    await second.move(3)
    with pytest.raises(StoreError):
        await first.move(99)
    with pytest.raises(StoreError):
        await first.read()
    assert await second.read() == 3
    assert not await first.open()
    for cursor in (first, second, other, other_tool):
        await cursor.close()


# --- the file --------------------------------------------------------------------------------------------------------


async def test_the_file_is_the_log(place: Place, batch: MakeBatch) -> None:
    await fill(place, batch, 0, 130)
    path = place.data / "log.jsonl"
    async with carrying(place, FileSink(path)):
        await until(lambda: path.exists() and path.read_bytes().count(b"\n") == 130, "the log is in the file")
    assert path.read_bytes() == b"".join(entry + b"\n" for _, entry in await stored(place))
    assert path.stat().st_mode & 0o777 == 0o600


async def test_the_file_may_be_renamed(tmp_path: Path) -> None:
    path, sink = tmp_path / "log", FileSink(tmp_path / "log")
    await sink.deliver([(0, b"{0}")])
    path.rename(tmp_path / "log.1")
    await sink.deliver([(1, b"{1}")])
    path.unlink()
    path.touch(mode=0o640)
    await sink.deliver([(2, b"{2}")])
    assert (tmp_path / "log.1").read_bytes() == b"{0}\n"
    assert path.read_bytes() == b"{2}\n" and path.stat().st_mode & 0o777 == 0o640
    await sink.close()


async def test_half_a_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"a":0}\n{"a":1}\n{"a":')
    sink = FileSink(path)
    await sink.deliver([(2, b'{"a":2}')])
    assert path.read_bytes() == b'{"a":0}\n{"a":1}\n{"a":2}\n'
    await sink.close()


async def test_bytes_that_are_no_entry_make_no_lines(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "log")
    await sink.deliver([(0, b'{}\n{"seq":1}'), (1, b"{}")])
    lines = (tmp_path / "log").read_bytes().splitlines()
    assert len(lines) == 2 and b"audit.unreadable" in lines[0]
    await sink.close()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_other_content(path: Path) -> None:
    path.write_bytes(b"x" * 100_000)


@pytest.mark.parametrize("make", [make_pipe, make_folder, make_other_content, lambda path: path.parent.rmdir()])
async def test_what_is_not_a_file_of_lines_is_refused_until_it_is(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "folder" / "log"
    path.parent.mkdir()
    make(path)
    sink = FileSink(path)
    with pytest.raises(SinkError):
        await asyncio.wait_for(sink.deliver([(0, b"{}")]), 5)
    if path.is_dir():
        path.rmdir()
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    await sink.deliver([(0, b"{}")])
    assert path.read_bytes() == b"{}\n"
    await sink.close()


# --- the settings ----------------------------------------------------------------------------------------------------

FILE = {"name": "f", "kind": "file", "path": "/var/log/x"}
SYSLOG = {"name": "s", "kind": "syslog", "address": "tls://siem.example:6514"}


@pytest.mark.parametrize(
    ("tables", "word"),
    [
        ([{**FILE, "name": "Upper"}], "name"),
        ([{**FILE, "name": ""}], "name"),
        ([{**FILE, "name": "x" * 33}], "name"),
        ([{**FILE, "name": "../x"}], "name"),
        ([{**FILE, "kind": "kafka"}], "kind"),
        ([{**FILE, "path": "relative"}], "whole path"),
        ([{**FILE, "path": "/var/log/.."}], "whole path"),
        ([{**FILE, "format": "cef"}], "format"),
        ([{**FILE, "from": "middle"}], "from"),
        ([{**FILE, "begin": "start"}], "begin"),
        ([FILE, {**FILE, "path": "/b"}], "a name of its own"),
        ([FILE, {**FILE, "name": "g"}], "a file of its own"),
        ([{**SYSLOG, "address": "siem.example:514"}], "udp://HOST:PORT"),
        ([{**SYSLOG, "address": "http://siem.example:514"}], "udp://HOST:PORT"),
        ([{**SYSLOG, "address": "tcp://siem.example"}], "udp://HOST:PORT"),
        ([{**SYSLOG, "address": "tcp://siem.example:0"}], "udp://HOST:PORT"),
        ([{**SYSLOG, "address": "tcp://siem.example:70000"}], "udp://HOST:PORT"),
        ([{**SYSLOG, "address": "tcp://user@siem.example:1"}], "udp://HOST:PORT"),
        ([{**SYSLOG, "format": "xml"}], "format"),
        ([{**SYSLOG, "address": "tcp://a:1", "ca_file": "/x"}], "need an address with tls"),
        ([{**SYSLOG, "cert_file": "/x"}], "belong together"),
    ],
)
def test_settings_that_are_refused(tables: list[dict[str, Any]], word: str) -> None:
    AuditSettings.model_validate({"sinks": [FILE, {**SYSLOG, "from": "start"}]})
    with pytest.raises(ValidationError, match=word):
        AuditSettings.model_validate({"sinks": tables})


def test_an_address_is_taken_apart() -> None:
    [one] = AuditSettings.model_validate({"sinks": [{**SYSLOG, "address": "tls://[2001:db8::1]:6514"}]}).sinks
    assert one.kind == "syslog" and (one.transport, one.host, one.port) == ("tls", "2001:db8::1", 6514)


@pytest.mark.parametrize("folder", ["", "db", "secrets", "sinks"])
async def test_a_file_in_the_data_folder_is_refused(sqlite_place: Place, folder: str) -> None:
    settings = AuditSettings.model_validate({"sinks": [{**FILE, "path": str(sqlite_place.data / folder / "log")}]})
    with pytest.raises(ConfigurationError, match="data folder"):
        async with plugin.setup(settings, services_for(sqlite_place)):
            pass


async def test_a_ca_file_that_is_none_is_refused_at_start(sqlite_place: Place) -> None:
    (sqlite_place.data / "ca.pem").write_text("no certificate")
    services = services_for(sqlite_place, public_url="https://mastio.example:9443")
    for name in ("ca.pem", "missing.pem"):
        settings = AuditSettings.model_validate({"sinks": [{**SYSLOG, "ca_file": str(sqlite_place.data / name)}]})
        with pytest.raises(ConfigurationError, match="ca_file"):
            async with plugin.setup(settings, services):
                pass


async def test_control_alone_delivers(sqlite_place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    settings = AuditSettings.model_validate({"sinks": [{**FILE, "path": str(folder / "log"), "from": "start"}]})
    async with plugin.setup(settings, services_for(sqlite_place, slot=1, workers=2, plane="data")):
        await asyncio.sleep(0.3)
        assert not (folder / "log").exists()
        async with plugin.setup(settings, services_for(sqlite_place, workers=2)):
            await until(lambda: (folder / "log").exists(), "control delivers")
