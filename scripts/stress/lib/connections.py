"""The connection `stress` while it is measured what calls to it cost: described and permitted as an admin does."""

from __future__ import annotations

import ssl
import time
from pathlib import Path

import httpx

NAME = "stress"
SECRET = "stress-secret-that-nobody-sees"
QUICK = "stress-quick"
"""Another one, with an upstream of its own."""

PERMIT = 'permit(principal, action == Action::"egress.http", resource == Connection::"{name}");'
SEEN_SECONDS = 1.5
"""A change is in force everywhere within a second."""


def describe_connection(base_url: str, ca_file: Path, data: Path, stub_url: str, name: str = NAME) -> None:
    """Raises `RuntimeError` when the appliance does not take it."""
    token = (data / "secrets" / "admin-token").read_text("ascii").strip()
    connection = {
        "base_url": stub_url,
        "allow_addresses": ["127.0.0.0/8", "::1"],
        "credential": {"kind": "bearer", "secret": SECRET},
    }
    with httpx.Client(
        base_url=base_url,
        verify=ssl.create_default_context(cafile=str(ca_file)),
        trust_env=False,
        headers={"Authorization": f"Bearer {token}"},
    ) as admin:
        put(admin, "connections", name, connection)
        put(admin, "policies", name, {"cedar": PERMIT.replace("{name}", name)})
    time.sleep(SEEN_SECONDS)


def put(admin: httpx.Client, collection: str, name: str, body: dict[str, object]) -> None:
    said = admin.put(f"/v1/admin/{collection}/{name}", json=body)
    if said.status_code == httpx.codes.NOT_FOUND:
        said = admin.post(f"/v1/admin/{collection}", json={"name": name, **body})
    if said.is_error:
        raise RuntimeError(f"{collection}: {said.text[:300]}")
