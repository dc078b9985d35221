"""The demonstration of `deploy.sh up --demo`: a provider, an agent, one proven call, and the proof checked.

It uses what anyone would: the admin API, `mastio enroll`, `DPoPAuth`, `mastio audit verify`. Running it again uses
what is there already.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from mastio.exchange.errors import ConfigurationError
from mastio_client.call import chat
from mastio_client.enroll import EnrollmentRequest, Refused, enroll, open_client, read_ca, send
from mastio_client.identity import Identity

AGENT = "demo"
PROVIDER = "stub"
MODEL = "stub/demo"
QUESTION = "Hello from a proven agent"


def main() -> int:
    parser = argparse.ArgumentParser(prog="mastio.bring_up.demo")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stub-port", type=int, default=0)
    parser.add_argument("--only", choices=("call", "verify"), help="one half, where edge and database are apart")
    args = parser.parse_args()
    try:
        if args.only != "verify":
            run(args.data, f"http://127.0.0.1:{args.stub_port}/v1", ["127.0.0.1/32"])
        return _verify(args.data) if args.only != "call" else 0
    except ConfigurationError as error:
        print(f"mastio: {error.message} {error.hint}".rstrip(), file=sys.stderr)
    except Refused as error:
        print(f"mastio: {error.message}", file=sys.stderr)
    except httpx.HTTPStatusError as error:
        print(f"mastio: the call was refused: {error.response.text}", file=sys.stderr)
    return 2


def run(data: Path, stub_url: str, allow_addresses: list[str]) -> None:
    """Make the call and print the reply and its receipt."""
    known = json.loads((data / "bootstrap.json").read_text("utf-8"))
    ca = read_ca(Path(known["ca_file"]))
    token = Path(known["admin_token_file"]).read_text("ascii").strip()
    with open_client(known["base_url"], ca, {"Authorization": f"Bearer {token}"}) as admin:
        _ensure_provider(admin, stub_url, allow_addresses)
        folder = _ensure_agent(admin, data, known["base_url"], ca)
    text, receipt = "", None
    for piece, response in chat(Identity.load(folder), MODEL, QUESTION, stream=False):
        text, receipt = text + piece, response.headers.get("mastio-receipt")
    print(f"agent   {AGENT} asked {MODEL}: {QUESTION}")
    print(f"reply   {text}")
    print(f"receipt {receipt}", flush=True)


def _ensure_provider(admin: httpx.Client, base_url: str, allow_addresses: list[str]) -> None:
    body = {
        "name": PROVIDER,
        "kind": "openai",
        "base_url": base_url,
        "allow_addresses": allow_addresses,
        "models": ["*"],
    }
    for provider in send(admin, "GET", "/v1/admin/providers", params={"limit": "500"})["items"]:
        if provider["name"] == PROVIDER:
            if provider["base_url"] != base_url:
                send(admin, "PUT", f"/v1/admin/providers/{PROVIDER}", json=body)
            return
    send(admin, "POST", "/v1/admin/providers", json=body)


def _ensure_agent(admin: httpx.Client, data: Path, base_url: str, ca: bytes) -> Path:
    """The demo agent's identity folder, enrolled anew when its certificate has ended."""
    folder = data / "demo-agent"
    if folder.exists():
        facts = json.loads((folder / "agent.json").read_text("utf-8"))
        ends = datetime.datetime.fromisoformat(facts["not_after"])
        if ends > datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5):
            return folder
        shutil.rmtree(folder)
    for agent in send(admin, "GET", "/v1/admin/agents", params={"limit": "500"})["items"]:
        if agent["name"] == AGENT and agent["status"] != "revoked":
            send(admin, "POST", f"/v1/admin/agents/{AGENT}/revoke", json={"reason": "the demonstration enrols it anew"})
    approver = threading.Thread(target=_approve, args=(admin,), daemon=True)
    approver.start()
    enroll(EnrollmentRequest(base_url, ca, AGENT, reason="demonstration", seconds=30.0), folder, lambda text: None)
    approver.join(5.0)
    return folder


def _approve(admin: httpx.Client) -> None:
    """Waits for the enrolment request and approves it, as an operator would."""
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        items: list[dict[str, Any]] = send(admin, "GET", "/v1/admin/enrollments", params={"status": "pending"})["items"]
        for item in items:
            if item["name"] == AGENT:
                send(admin, "POST", f"/v1/admin/enrollments/{item['id']}/approve", json={})
                return
        time.sleep(0.2)


def _verify(data: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "mastio", "audit", "verify", "--data", str(data), "--json"],
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode == 0:
        print(f"verified: {json.loads(done.stdout)['size']} entries, chain unbroken")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
