"""What ends an exchange that has begun, and what does not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from mastio.exchange.records import Admin, Agent, ApiKey
from mastio.exchange.values import (
    AdminCredential,
    ApiKeyCredential,
    CertificateCredential,
    Credential,
    Restriction,
    TokenCredential,
)
from mastio.pipeline.active_exchanges import bind_again, find_end

BEGAN = 1000.0
AGENT = Agent("alice", "spiffe://t/agent/alice", "active", frozenset(), {}, "x5t", 9000.0, api_keys=True)
KEY = ApiKey("key_1", "alice", "k", "hash", 0.0, "op")
CERTIFICATE = CertificateCredential("alice", "x5t", "01", 9000.0)
TOKEN = TokenCredential("alice", "Bearer", "ath", None, "x5t", BEGAN + 1, 0.0)
ROOT = Admin("root", "auditor", "hash")
ADMIN = AdminCredential("root", "auditor", "hash")
API_KEY = ApiKeyCredential("alice", "key_1", Restriction(), "hash")


def directory(agent: Agent | None = AGENT, key: ApiKey | None = KEY, admin: Admin | None = ROOT) -> Any:
    return SimpleNamespace(
        agents={agent.name: agent} if agent else {},
        api_keys={key.key_hash: key} if key is not None else {},
        admins={admin.token_hash: admin} if admin is not None else {},
    )


@pytest.mark.parametrize("credentials", [(CERTIFICATE,), (CERTIFICATE, TOKEN), (API_KEY,), (API_KEY, CERTIFICATE)])
def test_an_active_agent_goes_on_also_when_its_token_expires_meanwhile(credentials: tuple[Credential, ...]) -> None:
    assert find_end(credentials, directory(), BEGAN) is None
    renewed = replace(AGENT, cert_sha256="new", previous_cert_sha256="x5t", previous_until=BEGAN + 60, version=2)
    assert find_end(credentials, directory(renewed), BEGAN) is None


@pytest.mark.parametrize("credentials", [(CERTIFICATE,), (CERTIFICATE, TOKEN), (API_KEY,), (API_KEY, CERTIFICATE)])
@pytest.mark.parametrize("status", ["revoked", "suspended"])
def test_who_is_not_active_does_not_go_on(credentials: tuple[Credential, ...], status: Any) -> None:
    error = find_end(credentials, directory(replace(AGENT, status=status)), BEGAN)
    assert error is not None and error.code == "agent_inactive"


def test_who_has_the_name_now_is_somebody_else() -> None:
    other = find_end((CERTIFICATE,), directory(replace(AGENT, cert_sha256="another")), BEGAN)
    assert other is not None and other.code == "invalid_certificate"
    gone = find_end((CERTIFICATE,), directory(None), BEGAN)
    assert gone is not None and gone.code == "agent_unknown"


def test_a_key_that_was_removed_or_turned_off_ends_what_it_began() -> None:
    removed = find_end((API_KEY,), directory(key=None), BEGAN)
    assert removed is not None and removed.code == "invalid_api_key"
    off = find_end((API_KEY,), directory(replace(AGENT, api_keys=False)), BEGAN)
    assert off is not None and off.code == "api_keys_off"


def test_an_admin_goes_on_in_the_role_that_it_began_with() -> None:
    assert find_end((ADMIN,), directory(), BEGAN) is None
    for changed in (None, replace(ROOT, revoked=True), replace(ROOT, role="operator"), replace(ROOT, token_hash="new")):
        error = find_end((ADMIN,), directory(admin=changed), BEGAN)
        assert error is not None and error.code == "invalid_admin_token"


def test_who_goes_on_is_who_it_is_by_now() -> None:
    changed = replace(AGENT, groups=frozenset({"trusted"}), version=2)
    principal = bind_again((CERTIFICATE,), directory(changed), BEGAN)
    assert (principal.name, principal.groups, principal.version) == ("alice", {"trusted"}, 2)
