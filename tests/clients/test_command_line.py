"""Keys and requests made by openssl, calls made by curl: nothing of ours on the agent's machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from mastio_client import Identity
from support.appliance import Appliance, Stub
from support.shim_process import open_shim

pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("openssl") is None, reason="curl or openssl is not installed"
)

KEYS = {
    "p256": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    "p384": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"),
    "ed25519": ("-newkey", "ed25519"),
}


def openssl(folder: Path, *words: str) -> None:
    done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def curl(folder: Path, *words: str) -> tuple[int, Any]:
    """Status and JSON body."""
    command = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "20", "-w", "\n%{http_code}", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    body, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(body)


@pytest.mark.parametrize("kind", KEYS)
def test_from_openssl_to_a_call(appliance: Appliance, stub: Stub, tmp_path: Path, kind: str) -> None:
    name = f"openssl-{kind}"
    (tmp_path / "ca.crt").write_bytes((appliance.data / "ca" / "ca.crt").read_bytes())
    openssl(
        tmp_path, "req", "-new", *KEYS[kind], "-nodes", "-keyout", "agent.key", "-out", "agent.csr", "-subj",
        f"/CN={name}",
    )  # fmt: skip
    request = {
        "csr": (tmp_path / "agent.csr").read_text(),
        "name": name,
        "token": appliance.enrollment_token(name),
    }
    (tmp_path / "request.json").write_text(json.dumps(request))
    json_body = ("-H", "Content-Type: application/json", "--data", "@request.json")
    status, issued = curl(tmp_path, "--cacert", "ca.crt", *json_body, f"{appliance.base_url}/v1/enrollments")
    assert (status, issued["status"]) == (201, "issued")
    (tmp_path / "agent.crt").write_text(issued["certificate"])
    (tmp_path / "chain.pem").write_text(issued["chain"])
    openssl(tmp_path, "verify", "-CAfile", "ca.crt", "-untrusted", "chain.pem", "-purpose", "sslclient", "agent.crt")

    mine = ("--cacert", "ca.crt", "--cert", "agent.crt", "--key", "agent.key")
    status, self = curl(tmp_path, *mine, f"{appliance.base_url}/v1/agents/self")
    assert (status, self["name"], self["credential"]["type"]) == (200, name, "certificate")
    status, models = curl(tmp_path, *mine, f"{appliance.base_url}/v1/models")
    assert status == 200 and "stub/gpt-4o" in {model["id"] for model in models["data"]}
    chat = {"model": "stub/gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    (tmp_path / "request.json").write_text(json.dumps(chat))
    status, reply = curl(tmp_path, *mine, *json_body, f"{appliance.base_url}/v1/chat/completions")
    assert status == 200 and reply["choices"][0]["message"]["content"]

    openssl(tmp_path, "req", "-new", *KEYS[kind], "-nodes", "-keyout", "next.key", "-out", "agent.csr", "-subj", "/")
    (tmp_path / "request.json").write_text(json.dumps({"csr": (tmp_path / "agent.csr").read_text()}))
    status, renewed = curl(tmp_path, *mine, *json_body, f"{appliance.base_url}/v1/agents/self/renew")
    assert status == 200
    (tmp_path / "next.crt").write_text(renewed["certificate"])
    renewed_files = ("--cacert", "ca.crt", "--cert", "next.crt", "--key", "next.key")
    assert curl(tmp_path, *renewed_files, f"{appliance.base_url}/v1/agents/self")[1]["name"] == name


def test_without_the_certificate_there_is_no_answer(appliance: Appliance, agent: Identity) -> None:
    status, refused = curl(agent.folder, "--cacert", "ca.crt", f"{appliance.base_url}/v1/models")
    assert (status, refused["error"]["code"]) == (401, "missing_credential")


def test_curl_through_the_shim_sees_each_piece_as_it_comes(
    appliance: Appliance, agent: Identity, tmp_path: Path
) -> None:
    slow = Stub(tmp_path, "--latency", "200ms", "--chunks", "4")
    appliance.add_provider(slow, "curled")
    body = {"model": "curled/x", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    try:
        with open_shim(agent) as shim:
            command = ["curl", "-sN", "--noproxy", "*", "-H", "Content-Type: application/json", "--data",
                       json.dumps(body), f"{shim.url}/v1/chat/completions"]  # fmt: skip
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert process.stdout is not None
            first = process.stdout.readline()
            begun = time.monotonic()
            rest = process.stdout.read()
            ended = time.monotonic()
            process.stdout.close()
            assert process.wait(10) == 0
    finally:
        slow.stop()
        with appliance.admin() as admin:
            assert admin.delete("/v1/admin/providers/curled").status_code == 204
    assert first.startswith(b"data: {") and rest.rstrip().endswith(b"data: [DONE]")
    assert ended - begun > 0.5  # three of four pieces came after the first byte, 200 ms apart
