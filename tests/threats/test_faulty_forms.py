"""The same faults where something stands between provider and caller: Gemini's arrays, and translations."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub
from support.threats.faulty_provider import FAULTS, ODD_EVENTS, ArrayRight, ChatRight, Faulty, Right, says
from support.threats.faulty_scene import Scene, open_scene, verify_nothing_is_left, watch

FORMS = {"array": [True], "messages": [False, True]}
MAKE = {"array": ("gemini", ArrayRight), "messages": ("openai", ChatRight)}
CASES = [(name, stream) for name, streams in FORMS.items() for stream in streams]
WITHOUT_TYPE = "noType"
"""A whole answer, which is what a call for a stream must not get once it is to be read here."""


@pytest.fixture(scope="module")
def scene(appliance: Appliance, agent: Identity, stub: Stub) -> Iterator[Scene]:
    faulty = {name: Faulty(kind, make) for name, (kind, make) in MAKE.items()}
    with open_scene(appliance, agent, stub, faulty) as opened:
        yield opened


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


@pytest.mark.parametrize(("form", "stream"), CASES)
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault(scene: Scene, pool: ThreadPoolExecutor, name: str, form: str, stream: bool) -> None:
    fault, provider = FAULTS[name], scene.faulty[form]
    right: Right = provider.make(provider.kind, stream)
    provider.fault, provider.reads = fault.act, fault.reads
    reply = watch(scene, pool, form, stream, f"faulty-{form}" if fault.is_ended_by_time else "")
    expected = "upstream_error" if name == WITHOUT_TYPE and stream else fault.expected(stream)
    scene.verify(reply, expected, right)
    verify_nothing_is_left(scene, provider)
    provider.fault = None
    twin = scene.call(form, stream)
    assert twin.status_code == 200 and scene.outcome(twin) == {"status": "ok"}
    verify_nothing_is_left(scene, provider)


UNREADABLE = {"invalidJson", "invalidJsonMarked", "nul", "deep"}
"""No strict JSON. The others are JSON that has nothing of an answer in it, or no data at all."""


@pytest.mark.parametrize("name", ODD_EVENTS)
def test_odd_events_are_not_translated(scene: Scene, name: str) -> None:
    """What cannot be read ends the stream; what says nothing is left out, and its counts are not believed."""
    provider = scene.faulty["messages"]
    provider.fault = says(lambda right: (right.head() + right.first, 0.2, ODD_EVENTS[name] + right.end))
    reply = scene.call("messages", stream=True)
    assert reply.status_code == 200
    if name in UNREADABLE:
        scene.verify(reply, "late upstream_error", ChatRight("openai", stream=True))
    else:
        assert scene.outcome(reply) == {"status": "ok"} and reply.text.count("event: message_stop") == 1
        usage = scene.appliance.entries_of(reply.headers["x-request-id"])[1]["usage"]
        assert all(0 <= count < 2**53 for count in usage.values()), usage
        assert all(marker not in reply.text for marker in ('"a":', "1" + "0" * 30, "odd"))
    provider.fault = None
    assert scene.outcome(scene.call("messages", stream=True)) == {"status": "ok"}
