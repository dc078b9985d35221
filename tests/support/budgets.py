"""Budgets of a running appliance, made and read over REST."""

from __future__ import annotations

from typing import Any

from support.appliance import Appliance

BUDGETS = "/v1/admin/budgets"


def make(appliance: Appliance, **budgets: dict[str, Any]) -> None:
    with appliance.admin() as admin:
        for name, members in budgets.items():
            made = admin.post(BUDGETS, json={"name": name, **members})
            assert made.status_code == 201, made.text
    appliance.settle()


def read(appliance: Appliance, name: str) -> dict[str, Any]:
    with appliance.admin() as admin:
        found: dict[str, Any] = admin.get(f"{BUDGETS}/{name}").json()
        return found
