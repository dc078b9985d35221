"""A policy that permits whatever a provider would do on a caller's behalf, for tests of what comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from support.appliance import Appliance

CEDAR = """
permit (principal, action, resource is Model) when {
  !context.tools.hosted.contains("") && !context.tools.mcp_hosts.contains("") && !context.urls.contains("") &&
  !context.files.contains("") && !context.stored.contains("")
};
"""


@contextmanager
def permit_provider_side(appliance: Appliance, cedar: str = CEDAR) -> Iterator[None]:
    """In force within it."""
    body = {"name": "provider-side", "cedar": cedar}
    with appliance.admin() as admin:
        made = admin.post("/v1/admin/policies", json=body)
        assert made.status_code == 201, made.text
        appliance.settle()
        try:
            yield
        finally:
            assert admin.delete("/v1/admin/policies/provider-side").status_code == 204
            appliance.settle()
