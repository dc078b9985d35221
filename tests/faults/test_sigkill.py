"""SIGKILL of a worker under load, again and again: nothing lost, nothing twice, nothing unexplained."""

import os
import random
import threading
import time

import httpx
import pytest

from faults.journals import ClientJournal, judge
from mastio.client import Identity
from world import Appliance, open_appliance, wait_until

BODY = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
CALLERS = 8
ROUNDS = int(os.environ.get("MASTIO_KILL_ROUNDS", "25"))
"""CI's share; the hundred rounds of a release are MASTIO_KILL_ROUNDS=100."""


def call_until(
    appliance: Appliance, identity: Identity, stop: threading.Event, journal: ClientJournal, *, stream: bool
) -> None:
    """One caller: calls without pause, by certificate, and notes what it saw."""
    with appliance.by_certificate(identity) as client:
        while not stop.is_set():
            try:
                reply = client.post("/v1/chat/completions", json={**BODY, "stream": stream})
            except httpx.HTTPError:
                journal.broken += 1
                continue
            complete = reply.status_code == 200 and (not stream or reply.text.rstrip().endswith("data: [DONE]"))
            if complete:
                journal.answered.append(reply.headers["x-request-id"])
            elif reply.status_code == 200:
                journal.broken += 1
            else:
                journal.refused[reply.status_code] += 1
                time.sleep(0.02)


@pytest.mark.slow
def test_sigkill_under_load() -> None:
    draw = random.Random(20_261_121)
    with open_appliance(stub=("--latency", "5ms")) as (appliance, stub):
        assert stub is not None
        identity = appliance.enroll("caller")
        stop = threading.Event()
        journals = [ClientJournal() for _ in range(CALLERS)]
        callers = [
            threading.Thread(
                target=call_until, args=(appliance, identity, stop, journal), kwargs={"stream": number % 3 == 0}
            )
            for number, journal in enumerate(journals)
        ]
        for caller in callers:
            caller.start()
        recoveries = []
        for _ in range(ROUNDS):
            time.sleep(draw.uniform(0.05, 0.4))
            answered = sum(len(journal.answered) for journal in journals)
            killed = time.monotonic()
            appliance.kill_worker()
            wait_until(
                lambda seen=answered: sum(len(j.answered) for j in journals) > seen + 20, 20, "calls succeed again"
            )
            recoveries.append(time.monotonic() - killed)
        stop.set()
        for caller in callers:
            caller.join(30)
        appliance.stop()
        appliance.start()  # closes what the last kill may have left
        client = ClientJournal([name for journal in journals for name in journal.answered])
        verdict = judge(client, stub.arrivals(), appliance.entries())
        unknown = sum(1 for e in appliance.entries() if e["phase"] == "outcome" and e["outcome"]["status"] == "unknown")
        print(
            f"\n{ROUNDS} kills: {len(client.answered)} answered, {sum(j.broken for j in journals)} broken off, "
            f"{sum(sum(j.refused.values()) for j in journals)} refused, {unknown} closed as unknown; "
            f"lost {len(verdict.lost)}, duplicated {len(verdict.duplicated)}, unexplained {len(verdict.unexplained)}; "
            f"slowest recovery {max(recoveries):.1f} s"
        )
        assert verdict.clean, verdict
        assert set().union(*(j.refused for j in journals)) <= {502, 503, 504}
        assert max(recoveries) < 10
        assert unknown > 0  # the rounds did cut exchanges
        assert appliance.verify() == 0
