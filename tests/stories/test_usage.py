"""What was used, as people ask for it: exact over two workers and a restart, for people and not for agents."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from mastio_audit.commands import usage
from support.appliance import Appliance, open_appliance, wait_until
from support.command_verbs import run

CHAT = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
USAGE = "/v1/admin/usage"


def ask(appliance: Appliance, **query: str) -> dict[str, Any]:
    with appliance.admin() as admin:
        reply = admin.get(USAGE, params=query)
        assert reply.status_code == 200, reply.text
        return dict(reply.json())


def metrics(appliance: Appliance) -> str:
    with appliance.admin() as admin:
        return admin.get("/metrics").text


def spend(appliance: Appliance, name: str, calls: int) -> list[httpx.Response]:
    with appliance.by_certificate(appliance.enroll(name)) as caller:
        replies = [caller.post("/v1/chat/completions", json={**CHAT, "stream": n % 2 == 1}) for n in range(calls)]
    assert {reply.status_code for reply in replies} == {200}
    return replies


def test_the_report_is_exactly_what_the_log_settled(capsys: pytest.CaptureFixture[str]) -> None:
    with open_appliance(workers=2) as (appliance, _):
        for n in range(4):
            spend(appliance, f"spender-{n}", 3)
        with appliance.by_certificate(appliance.enroll("nobody")) as caller:
            assert caller.post("/v1/chat/completions", json={**CHAT, "model": "absent/m"}).status_code == 404
            assert caller.get(USAGE).status_code == 403
        settled = [e for e in appliance.entries(0) if e["phase"] == "outcome" and e["kind"] == "llm.chat"]
        used = {
            name: sum(e["usage"][name] for e in settled) for name in ("input_tokens", "output_tokens", "cost_nano_usd")
        }
        report = ask(appliance, by="agent,model")
        assert [row["requests"] for row in report["rows"]] == [3, 3, 3, 3] and used["cost_nano_usd"] > 0
        assert {row["model"] for row in report["rows"]} == {"stub/gpt-4o"}
        assert {name: report["total"][name] for name in used} == used
        assert report["total"]["requests"] == len(settled) == 12 and report["complete"]
        appliance.stop()
        assert run(usage, "--data", str(appliance.data), "--by", "agent,model", "--json") == 0
        assert json.loads(capsys.readouterr().out)["rows"] == report["rows"], "while it is down"
        appliance.start()
        again = ask(appliance, by="agent,model")
        assert (again["rows"], again["total"]) == (report["rows"], report["total"])
        with appliance.admin() as admin:
            assert admin.patch("/v1/admin/agents/spender-0", json={"groups": ["red", "blue"]}).status_code == 200
        appliance.settle()
        by_group = {row["group"]: row["requests"] for row in ask(appliance, by="group")["rows"]}
        assert by_group == {"red": 3, "blue": 3, "": 9}
        appliance.mark()
        spend(appliance, "late", 2)
        late = sum(e["usage"]["output_tokens"] for e in appliance.entries() if e["usage"] and e["kind"] == "llm.chat")
        counted = f'mastio_llm_tokens_total{{direction="output",model="stub/*"}} {late:.1f}'
        shown = (counted, 'mastio_agent_cost_usd{rank="1"}')
        wait_until(lambda: all(one in metrics(appliance) for one in shown), 15, "the figures are those of the log")
        token, ca = appliance.data / "secrets" / "admin-token", appliance.data / "ca" / "ca.crt"
        assert run(usage, "--url", appliance.base_url, "--ca", str(ca), "--token-file", str(token), "--by", "day") == 0
        assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["total", "14"]
