"""Who may decide about what was held."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mastio.exchange.errors import MastioError
from mastio.exchange.records import Admin, Hold, HoldStatus
from mastio.identity.approval import verify_approval, verify_pending

HOLD = Hold("hold_1", "e", "anna", "admin.policies", "DELETE", "/v1/admin/policies/p", b"", {}, 1.0, 2.0)
ANNA, BERTA = Admin("anna", "admin", "h1"), Admin("berta", "admin", "h2")


def test_another_admin_may() -> None:
    verify_approval(HOLD, "berta", BERTA, ANNA)
    verify_pending(HOLD)


@pytest.mark.parametrize("status", ["approved", "rejected", "expired", "failed"])
def test_only_what_is_pending(status: HoldStatus) -> None:
    hold = replace(HOLD, status=status)
    for call in (lambda: verify_pending(hold), lambda: verify_approval(hold, "berta", BERTA, ANNA)):
        with pytest.raises(MastioError, match=status) as caught:
            call()
        assert (caught.value.status, caught.value.code) == (409, "conflict")


@pytest.mark.parametrize(
    ("by", "approver", "requester", "code"),
    [
        ("anna", ANNA, ANNA, "second_admin_required"),
        ("berta", None, ANNA, "role_required"),
        ("berta", replace(BERTA, role="operator"), ANNA, "role_required"),
        ("berta", BERTA, None, "conflict"),
        ("berta", BERTA, replace(ANNA, role="auditor"), "conflict"),
    ],
    ids=["own", "gone", "demoted", "requester-gone", "requester-demoted"],
)
def test_nobody_else(by: str, approver: Admin | None, requester: Admin | None, code: str) -> None:
    with pytest.raises(MastioError) as caught:
        verify_approval(HOLD, by, approver, requester)
    assert caught.value.code == code
