"""API keys at two workers: both see the end of one within a second, and nothing that the appliance writes holds one."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from support.appliance import NGINX, Appliance, Stub, open_appliance, wait_until
from support.threats.api_keys import ODD, WAYS, Keys
from support.threats.judge import CHAT, TOKEN, Answer, Judge, refusal


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Appliance, Stub]]:
    """An appliance with two workers."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with open_appliance(workers=2) as (appliance, stub):
        assert stub is not None
        yield appliance, stub


SPELLINGS = ["".join(letters) for letters in itertools.product(*((c, c.upper()) for c in "bear"))]
"""Schemes that mean the same; the edge sends each to a worker of its own choice."""

ENDS: dict[str, tuple[Callable[[Keys, str], None], str]] = {
    "removed": (lambda keys, identifier: keys.remove(identifier), "invalid_api_key"),
    "off": (lambda keys, identifier: keys.patch(api_keys="off"), "api_keys_off"),
    "suspended": (lambda keys, identifier: keys.patch(status="suspended"), "agent_inactive"),
    "revoked": (lambda keys, identifier: keys.patch(status="revoked"), "agent_inactive"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_key_is_seen_by_every_worker_within_a_second(
    two: tuple[Appliance, Stub], request: pytest.FixtureRequest, name: str
) -> None:
    appliance, stub = two
    keys = Keys(appliance, appliance.enroll(f"ended-{name}"))
    judge = Judge(appliance, stub, request.node.name)

    def ask_all() -> list[Answer]:
        return [keys.ask([("Authorization", f"{scheme}er {keys.key}")]) for scheme in SPELLINGS]

    wait_until(lambda: {answer.status for answer in ask_all()} == {200}, 5, "every worker knows the key")
    judge.mark()
    judge.served(keys.by(keys.key))
    end, code = ENDS[name]
    ended = time.monotonic()
    end(keys, keys.id)
    time.sleep(max(0.0, ended + 1 - time.monotonic()))
    judge.mark()
    answers = ask_all()
    assert {answer.document["error"]["code"] for answer in answers} == {code}
    assert judge.arrivals() == []
    judge.mark()
    judge.refused(keys.by(keys.key), refusal(401, code), CHAT)


# --- where a key may be found ---------------------------------------------------------------------------------------


def test_a_key_is_in_no_file_and_its_last_use_is_kept(two: tuple[Appliance, Stub]) -> None:
    """Used well and badly, through both workers; then everything that the appliance wrote is searched."""
    appliance, _ = two
    keys = Keys(appliance, appliance.enroll("canary"))
    before = time.time()
    wait_until(lambda: keys.by(keys.key).status == 200, 5, "the key is known")
    for way in WAYS.values():
        keys.ask(way(keys.key))
        keys.ask(way(keys.key), path="/v1/models", method="GET")
    for make, _ in ODD.values():
        keys.ask(make(keys))
    keys.ask([], params={"key": keys.key})
    keys.by(keys.key, path=TOKEN, data={"grant_type": "client_credentials"})
    keys.by(keys.key, path="/v1/nowhere", method="GET")
    with appliance.admin() as admin:
        metrics = admin.get("/metrics").text
        listed = admin.get(f"{keys.path}/api-keys").text
    assert "llm.chat" in metrics
    secret = keys.key.removeprefix("mastio_sk_")
    assert secret not in metrics and secret not in listed
    assert not [entry for entry in appliance.entries() if secret in json.dumps(entry)]
    appliance.stop()
    files = [file for file in appliance.data.parent.rglob("*") if file.is_file()]
    assert len(files) > 20 and not [file for file in files if secret.encode() in file.read_bytes()]
    own = [file.name for file in files if keys.id.encode() in file.read_bytes()]
    assert "control.sqlite" in own and any(name.startswith("audit.sqlite") for name in own)  # it finds what is there
    appliance.start()
    used = keys.row(keys.id)["last_used_at"]
    assert used is not None and before - 1 <= datetime.fromisoformat(used).timestamp() <= time.time()
