"""Local times in policies: of any IANA zone, right around each change to summer time; unknown zones are refused."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mastio.cedar import zones
from mastio.cedar.source import CedarError, verify_cedar
from mastio.cedar.zones import ZoneError, find_zone, read_local
from mastio.cli.policy import policy
from mastio.exchange.values import Action, Allow, Principal
from mastio_policy.collection import PolicyRow
from mastio_policy.plugin import Policies, Settings
from support.collections import Described

ALICE = Principal("alice", frozenset({"agent"}), version=1)
CHAT = Action("llm.chat", "Model", "stub/gpt")
OFFICE = (
    'context.time.zone["Europe/Rome"].weekday <= 5 && context.time.zone["Europe/Rome"].hour >= 9'
    ' && context.time.zone["Europe/Rome"].hour < 18'
)


class Directory(Described):
    def __init__(self, *rows: PolicyRow) -> None:
        self.policies = {row.name: row for row in rows}


def unix(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def permit(condition: str) -> str:
    return f"permit(principal, action, resource) when {{ {condition} }};"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def policies_of(condition: str, clock: Clock) -> Policies:
    made = Policies(Directory(PolicyRow("p", permit(condition))), Settings(), clock)  # type: ignore[arg-type]
    assert made.problem is None, made.problem
    return made


MOMENTS = {
    # UTC, local hour, minute and weekday
    ("Europe/Rome", "2026-03-29T00:59:59"): (1, 59, 7),  # summer time begins at 01:00 UTC: 02:00 is 03:00
    ("Europe/Rome", "2026-03-29T01:00:00"): (3, 0, 7),
    ("Europe/Rome", "2026-10-25T00:59:59"): (2, 59, 7),  # and ends: 03:00 is 02:00 again
    ("Europe/Rome", "2026-10-25T01:00:00"): (2, 0, 7),
    ("America/New_York", "2026-03-08T06:59:59"): (1, 59, 7),
    ("America/New_York", "2026-03-08T07:00:00"): (3, 0, 7),
    ("America/New_York", "2026-11-01T06:00:00"): (1, 0, 7),
    ("Asia/Kolkata", "2026-06-01T18:29:59"): (23, 59, 1),  # half an hour beside the others; Monday ends
    ("Asia/Kolkata", "2026-06-01T18:30:00"): (0, 0, 2),
    ("Pacific/Kiritimati", "2026-01-04T10:00:00"): (0, 0, 1),  # fourteen hours ahead: Monday already
    ("Australia/Lord_Howe", "2026-04-04T15:00:00"): (1, 30, 7),  # summer time of half an hour
    ("UTC", "1970-01-01T00:00:00"): (0, 0, 4),
}


@pytest.mark.parametrize(("zone", "moment"), MOMENTS)
def test_the_local_time_of_a_moment(zone: str, moment: str) -> None:
    found = tuple(read_local(find_zone(zone), member, unix(moment) + 0.9) for member in ("hour", "minute", "weekday"))
    assert found == MOMENTS[zone, moment]


@pytest.mark.parametrize(
    ("moment", "allowed"),
    [
        ("2026-03-27T07:59:59", False), ("2026-03-27T08:00:00", True),  # Friday, winter: UTC+1
        ("2026-03-27T16:59:59", True), ("2026-03-27T17:00:00", False),
        ("2026-03-28T10:00:00", False),  # Saturday
        ("2026-03-30T06:59:59", False), ("2026-03-30T07:00:00", True),  # Monday, summer: UTC+2
        ("2026-03-30T15:59:59", True), ("2026-03-30T16:00:00", False),
        ("2026-10-26T07:30:00", False), ("2026-10-26T08:00:00", True),  # winter again
    ],
)  # fmt: skip
async def test_office_hours_follow_summer_time(moment: str, allowed: bool) -> None:
    clock = Clock()
    policies = policies_of(OFFICE, clock)
    clock.now = unix(moment)
    assert isinstance(await policies.authorize(ALICE, CHAT), Allow) is allowed


async def test_remembered_decisions_follow_the_clock() -> None:
    """One set of policies over two days, every ten minutes: what is remembered is what would be decided."""
    clock = Clock()
    policies = policies_of(OFFICE, clock)
    allowed = []
    for step in range(288):
        clock.now = unix("2026-03-29T22:00:00") + 600 * step  # Monday 00:00 in Rome
        if isinstance(await policies.authorize(ALICE, CHAT), Allow):
            allowed.append(step)
    assert allowed == [*range(54, 108), *range(54 + 144, 108 + 144)]


async def test_several_zones_and_the_whole_record() -> None:
    clock = Clock()
    clock.now = unix("2026-06-01T12:00:00")
    both = 'context.time.zone["Europe/Rome"].hour == 14 && context.time.zone["Asia/Tokyo"].hour == 21'
    assert isinstance(await policies_of(both, clock).authorize(ALICE, CHAT), Allow)
    whole = 'context.time.zone["Asia/Tokyo"] == {hour: 21, minute: 0, weekday: 1}'
    assert isinstance(await policies_of(whole, clock).authorize(ALICE, CHAT), Allow)
    own = 'context.time.zone["Asia/Tokyo"].hour == principal.late'
    late = Principal("alice", frozenset({"agent"}), attributes={"late": 21}, version=1)
    assert isinstance(await policies_of(f"principal has late && {own}", clock).authorize(late, CHAT), Allow)


NO_ZONES = [
    "Europe/Rom", "europe/rome", "CEST2", "+02:00", "", "../../etc/passwd", "/etc/localtime", "right/Europe/Rome",
    "localtime", "Factory", "posixrules", "Europe", "Europe/Rome\\u{0}", "zone.tab",
]  # fmt: skip


@pytest.mark.parametrize("name", NO_ZONES)
def test_a_zone_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(CedarError, match="Line 1: "):
        verify_cedar(permit(f'context.time.zone["{name}"].hour < 6'))


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ('context.time.zone["Europe/Rome"].second == 0', "Line 1"),
        ('context.time.zone["Europe/Rome"].hour == "9"', "Line 1"),
        ('context.time.zone["Europe/Rome"] == 9', "Line 1"),
        ("context.time.zone.hour == 9", "no time zone hour"),
    ],
)
def test_what_a_zone_has_not_is_refused(condition: str, said: str) -> None:
    with pytest.raises(CedarError, match=said):
        verify_cedar(permit(condition))


def test_a_source_names_twenty_zones_at_most() -> None:
    names = sorted(name for name in zones._names() if name.startswith("Africa/"))[:21]
    hours = [f'context.time.zone["{name}"].hour == 1' for name in names]
    verify_cedar(permit(" || ".join(hours[:20])))
    with pytest.raises(CedarError, match="more than 20 time zones"):
        verify_cedar(permit(" || ".join(hours)))


async def test_a_zone_whose_data_are_gone_permits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored policy after the data went away: it is not in force, and neither is anything else."""
    monkeypatch.setattr("mastio.cedar.source._remembered", {})
    monkeypatch.setattr(zones, "_names", lambda: frozenset({"UTC"}))
    find_zone.cache_clear()
    row = PolicyRow("p", permit('context.time.zone["Europe/Rome"].hour >= 0'))
    made = Policies(Directory(row), Settings(), Clock())  # type: ignore[arg-type]
    assert made.problem is not None and "Europe/Rome" in made.problem
    assert not isinstance(await made.authorize(ALICE, CHAT), Allow)
    with pytest.raises(ZoneError):
        find_zone("Europe/Rome")


@pytest.mark.parametrize(
    ("context", "status"),
    [
        ({"time.unix": unix("2026-03-30T07:00:00")}, 0), ({"time.unix": unix("2026-03-30T06:59:00")}, 1),
        ({"time": {"zone": {"Europe/Rome": {"hour": 9, "weekday": 1}}}}, 0), ({}, 1),
    ],
)  # fmt: skip
def test_eval_knows_the_local_time(tmp_path: Path, context: dict[str, Any], status: int) -> None:
    file = tmp_path / "office.cedar"
    file.write_text(permit(OFFICE))
    parser = argparse.ArgumentParser()
    policy.add_arguments(parser)
    given = json.dumps({name: int(value) if name == "time.unix" else value for name, value in context.items()})
    words = [
        "eval",
        "--policies",
        str(file),
        "--agent",
        "a",
        "--group",
        "g",
        "--action",
        "llm.chat",
        "--context",
        given,
    ]
    assert policy.run(parser.parse_args(words)) == status
