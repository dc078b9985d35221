"""What may be asked of the log, and what not: paths, numbers and parameters, each with a twin that is served."""

from __future__ import annotations

import json

import httpx
import pytest

from mastio_client import Identity
from support.appliance import Appliance
from support.threats.judge import Answer, Judge, Refusal, refusal

LOG = "/v1/audit/log"
NOT_FOUND, INVALID = (404, "not_found"), (400, "bad_request")
HERE = f"{LOG}/tile/0/000.p/1"

BAD = {
    **{
        f"tile {path}": (f"{LOG}/tile/{path}", NOT_FOUND, HERE)
        for path in (
            *("0", "0/0", "0/0000", "00/000", "64/000", "-1/000", "x/000", "0/000.p/0", "0/000.p/256", "0/000.p/01"),
            *("0/x000/001", "0/001/002", "0/x01/002", "0/x001", "entries/x001", "0/000.p", "0/000.p/1/", "data/000"),
            *("0/999.p/1", "1/999", "8/000.p/1", "entries/999.p/1", "0/x999/x999/x999/x999/x999/999.p/1"),
            *("0/000.p/1%00", "0/000.p/%31", "entries/000.p/1%0a", "0/%30%30%30.p/1x", "entries", "checkpoint"),
        )
    },
    **{
        f"entries {query}": (f"/v1/audit/entries?{query}", INVALID, "/v1/audit/entries?from=0&limit=1")
        for query in (
            *("from=-1", "from=x", "from=", "from=1.0", "from=01", "from=1e3", "limit=0", "limit=1001"),
            *("limit=-1", "limit=", "from=1&from=2", "limit=1&limit=1", "seq=1", "from=1&more=1", "from"),
            *("from=9999999999999999999", "from=%00"),
            *("from=1%20", "from=%D9%A1", "from=1;limit=2", "limit=1%0a", "agent=A", "agent="),
            *("kind=llm%22", "kind=*x", "decision=maybe", "order=up", "since=yesterday", "since=1", "request_id=%25"),
            *("agent=a&agent=b", "since=9999-12-31T23:59:59-14:00", "since=0001-01-01T00:00:00%2B14:00"),
        )
    },
    **{
        f"proof {index}": (f"/v1/audit/proof/{index}", expected, "/v1/audit/proof/0")
        for index, expected in {
            "-1": INVALID, "x": INVALID, "01": INVALID, "1.0": INVALID, "0x1": INVALID, "9999999999999999999": INVALID,
            "%D9%A1": INVALID, "1%00": INVALID, "1%0a": INVALID, "999999999999": NOT_FOUND, "900000000": NOT_FOUND,
        }.items()
    },
    **{
        f"more {path}": (f"{path}?x=1", INVALID, path)
        for path in (f"{LOG}/checkpoint", f"{LOG}/vkey", HERE, "/v1/audit/proof/0", "/v1/audit/export")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_the_log_does_not_know_is_refused(appliance: Appliance, judge: Judge, name: str) -> None:
    path, (status, code), good = BAD[name]
    with appliance.admin() as admin:
        answer = ask(admin, path)
        if answer.header("x-request-id") is None:  # nginx takes some of them for no address at all
            judge.refused(answer, Refusal((400, 404), ("bad_request", "not_found"), ("edge",)), path)
        else:
            judge.refused(answer, Refusal((status,), (code,), ("app", "control")), path)
        judge.mark()
        twin = ask(admin, good)
    assert twin.status == 200 and twin.body
    judge.harmless()


def ask(client: httpx.Client, path: str) -> Answer:
    """The path as it is written here."""
    url = client.base_url.copy_with(raw_path=path.encode())
    return Answer.of(client.send(client.build_request("GET", url)))


@pytest.mark.parametrize("path", [f"{LOG}/tile/0/000.p/1", f"{LOG}/tile/entries/000.p/1", "/v1/audit/export"])
def test_an_agent_reads_no_others(appliance: Appliance, agent: Identity, judge: Judge, path: str) -> None:
    with appliance.by_certificate(agent) as client:
        judge.refused(Answer.of(client.get(path)), refusal(403, "role_required"), path)
    judge.mark()
    with appliance.admin() as admin:
        assert admin.get(path).status_code == 200
    judge.harmless()


def test_anothers_entry_is_not_there_for_an_agent(appliance: Appliance, agent: Identity, judge: Judge) -> None:
    """Entry 0 is the appliance's own start."""
    with appliance.by_certificate(agent) as client:
        judge.mark()
        answer = Answer.of(client.get("/v1/audit/proof/0"))
        assert (answer.status, answer.document["code"]) == (404, "not_found")
        assert [entry["phase"] for entry in judge.entries()] == ["intent", "outcome"]
        receipt = client.get("/v1/agents/self").headers["mastio-receipt"]
        assert client.get(f"/v1/audit/proof/{receipt}").status_code == 200
        lines = client.get("/v1/audit/entries?limit=1000").content.splitlines()
    assert {json.loads(line)["agent"] for line in lines} == {agent.name}


@pytest.mark.parametrize("path", [f"{LOG}/checkpoint", f"{LOG}/vkey", HERE, "/v1/audit/entries", "/v1/audit/proof/0"])
def test_a_stranger_reads_nothing(appliance: Appliance, judge: Judge, path: str) -> None:
    with appliance.client() as client:
        judge.refused(Answer.of(client.get(path)), refusal(401, "missing_credential"), path)
    judge.mark()
    with appliance.admin() as admin:
        assert admin.get(path).status_code == 200
    judge.harmless()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_the_log_cannot_be_written_to(appliance: Appliance, judge: Judge, method: str) -> None:
    for path in (f"{LOG}/checkpoint", HERE, "/v1/audit/entries", "/v1/audit/proof/0", "/v1/audit/export"):
        with appliance.admin() as admin:
            assert admin.request(method, path, content=b"{}").status_code == 405
    with appliance.admin() as admin:
        assert admin.get(HERE).status_code == 200
