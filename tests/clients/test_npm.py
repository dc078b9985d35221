"""OAuth and JOSE clients from npm, unmodified, against a real appliance; `scripts/test` installs them by the lock."""

from __future__ import annotations

import json
from typing import Any

from mastio_client import Identity
from support.node_scripts import FOLDER, run_lines


def run(script: str, identity: Identity) -> dict[str, Any]:
    """The one document that the script printed."""
    (printed,) = run_lines(script, identity)
    return printed


def test_oauth4webapi(agent: Identity) -> None:
    said = run("oauth4webapi.mjs", agent)
    assert set(said["methods"]) == {"tls_client_auth", "private_key_jwt"}
    assert said["types"] == ["dpop", "bearer"] and set(said["names"]) == {"agent-one"}
    by_proof, by_certificate = said["credentials"]
    assert set(by_proof) == {"type", "jkt"} and set(by_certificate) == {"type", "x5t#S256"}
    first, second = said["challenges"]
    assert 1 <= first <= 2 and second == 0  # the newest nonce is handed out with every answer
    assert said["refusals"] == [401, 401, 401]


def test_openid_client(agent: Identity) -> None:
    said = run("openid-client.mjs", agent)
    assert said["types"] == ["dpop", "bearer"] and set(said["names"]) == {"agent-one"}
    assert said["lives"] == [True, 600] and said["refused"] == [400, "invalid_scope"]


def test_jose_and_dpop(agent: Identity) -> None:
    said = run("jose.mjs", agent)
    assert said["challenge"] == [400, "use_dpop_nonce"] and said["without"] == [401, "use_dpop_nonce"]
    assert said["good"] == [200, "agent-one"] and said["subject"] == "agent-one"
    assert said["stranger"] == [401, "invalid_token"] and said["otherToken"] == [401, "invalid_dpop_proof"]
    assert said["bound"] is True and said["kid"] is True


def test_the_lock_names_no_place_and_every_digest() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    packages = {name: facts for name, facts in lock["packages"].items() if name}
    assert len(packages) == 55
    assert all("resolved" not in facts and facts["integrity"].startswith("sha512-") for facts in packages.values())
