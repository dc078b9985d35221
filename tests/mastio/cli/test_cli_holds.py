"""`mastio holds list` says in one line what would be done: a change of an admin, or a request of an agent."""

from __future__ import annotations

import argparse
import re
from typing import Any

import httpx
import pytest

from mastio.cli.holds import show_list

ROW = {"id": "hold_1", "status": "pending", "requested_by": "ann", "expires_at": "later", "decided_by": None}
CALL = {"agent": "bot", "action": "egress.http", "parameters": {"target": "pay/*"}}
SENT = {"method": "POST", "path": "/v1/payments", "headers": {"accept": "*"}, "target": "pay/*"}


@pytest.mark.parametrize(
    ("hold", "change"),
    [
        ({"action": "admin.create", "parameters": {"method": "POST", "path": "/v1/admin/admins"}},
         "POST /v1/admin/admins"),
        ({"action": "admin.create", "parameters": None}, "admin.create"),
        (CALL, "egress.http pay/*"),
        ({**CALL, "parameters": SENT}, "egress.http pay/* POST /v1/payments"),
        ({**CALL, "parameters": {**SENT, "query": "dry=1"}}, "egress.http pay/* POST /v1/payments?dry=1"),
        ({**CALL, "parameters": "odd"}, "egress.http"),
    ],
)  # fmt: skip
def test_what_would_be_done(hold: dict[str, Any], change: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(200, json={"items": [{**ROW, **hold}], "next_cursor": None})

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="https://m") as client:
        show_list(client, argparse.Namespace(status="pending", json=False))
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "STATUS", "REQUESTED_BY", "CHANGE", "EXPIRES_AT", "DECIDED_BY"]
    assert re.split(" {2,}", row) == ["hold_1", "pending", "ann", change, "later", "-"]
    assert asked[0].params["status"] == "pending"
