"""A provider whose key cannot be had is not called: neither the prompt nor anything else goes up without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub, wait_until

PROVIDERS = "/v1/admin/providers"
BODY = {"max_tokens": 5, "messages": [{"role": "user", "content": "hello"}]}


def lose(file: Path, way: str) -> None:
    if way == "empty":
        file.write_text("")
        return
    file.unlink()
    if way == "folder":
        file.mkdir()


@pytest.mark.parametrize("way", ["gone", "empty", "folder"])
def test_a_key_that_is_lost_later(appliance: Appliance, agent: Identity, stub: Stub, way: str) -> None:
    name = f"lost-{way}"
    file = appliance.data / "secrets" / "providers" / name
    file.write_text("sk-of-a-file")
    made = {
        "name": name, "kind": "openai", "base_url": stub.url, "allow_addresses": ["127.0.0.1/32"],
        "api_key_file": str(file),
    }  # fmt: skip
    body = {**BODY, "model": f"{name}/m"}
    with appliance.admin() as admin, appliance.by_certificate(agent) as client:
        assert admin.post(PROVIDERS, json=made).json()["api_key_set"] is True
        assert client.post("/v1/chat/completions", json=body).status_code == 200
        lose(file, way)
        wait_until(lambda: not admin.get(f"{PROVIDERS}/{name}").json()["api_key_set"], 5, "it is said")
        wait_until(lambda: client.post("/v1/chat/completions", json=body).status_code == 502, 5, "it is not called")
        before = len(stub.arrivals())
        refused = client.post("/v1/chat/completions", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (502, "upstream_refused"), refused.text
        assert len(stub.arrivals()) == before
        # Control makes the trial, and looks at the files by itself.
        wait_until(lambda: not admin.post(f"{PROVIDERS}/{name}/test").json()["ok"], 5, "control knows it too")
        trial = admin.post(f"{PROVIDERS}/{name}/test").json()
        assert not trial["ok"] and "cannot be had" in trial["reason"], trial
        assert admin.delete(f"{PROVIDERS}/{name}").status_code == 204
