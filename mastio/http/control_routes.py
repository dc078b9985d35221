"""The control plane's rows of the route table. Static: the edge is rendered from them without opening a database.

Pure.
"""

from __future__ import annotations

from mastio.exchange.values import OPEN, Role, Route

OPERATOR: frozenset[Role] = frozenset({"operator"})
ADMIN: frozenset[Role] = frozenset({"admin"})
AGENT: frozenset[Role] = frozenset({"agent"})
PEM, PKCS7, PKCS10 = ("application/x-pem-file",), ("application/pkcs7-mime",), ("application/pkcs10",)


ROUTES: tuple[Route, ...] = (
    Route("/v1/enrollments", ("POST",), OPEN, "enrollment.request", "Ask for an identity"),
    Route("/v1/enrollments/{id}", ("GET",), OPEN, "enrollment.poll", "Pick up the decision", recorded="refusals"),
    Route(
        "/.well-known/est/cacerts",
        ("GET", "HEAD"),
        OPEN,
        "pki",
        "The CA certificates (RFC 7030 §4.1)",
        recorded="none",
        produces=PKCS7,
    ),
    Route(
        "/.well-known/est/simpleenroll",
        ("POST",),
        OPEN,
        "enrollment.request",
        "Enrol with a token (RFC 7030 §4.2)",
        produces=PKCS7,
        consumes=PKCS10,
    ),
    Route(
        "/.well-known/est/simplereenroll",
        ("POST",),
        AGENT,
        "agent.renew",
        "A new leaf (RFC 7030 §4.2.2)",
        produces=PKCS7,
        consumes=PKCS10,
        plane="control",  # the CA's keys are there
    ),
    Route("/v1/agents/self/renew", ("POST",), AGENT, "agent.renew", "A new leaf for a new request", plane="control"),
    Route("/v1/admin/enrollments", ("GET",), OPERATOR, "admin.enrollments", "List enrolment requests"),
    Route("/v1/admin/enrollments/{id}", ("GET",), OPERATOR, "admin.enrollments", "Read an enrolment request"),
    Route("/v1/admin/enrollments/{id}/approve", ("POST",), OPERATOR, "admin.enrollments", "Approve and issue"),
    Route("/v1/admin/enrollments/{id}/reject", ("POST",), OPERATOR, "admin.enrollments", "Reject"),
    Route("/v1/admin/enrollment-tokens", ("GET",), OPERATOR, "admin.enrollment-tokens", "List one-time tokens"),
    Route("/v1/admin/enrollment-tokens", ("POST",), OPERATOR, "admin.enrollment-tokens", "Make a one-time token"),
    Route(
        "/v1/admin/enrollment-tokens/{id}", ("DELETE",), OPERATOR, "admin.enrollment-tokens", "Remove a one-time token"
    ),
    Route("/v1/admin/agents", ("GET",), OPERATOR, "admin.agents", "List agents"),
    Route("/v1/admin/agents/{id}", ("GET",), OPERATOR, "admin.agents", "Read an agent"),
    Route("/v1/admin/agents/{id}", ("PATCH",), OPERATOR, "admin.agents", "Change an agent"),
    Route("/v1/admin/agents/*/revoke", ("POST",), ADMIN, "admin.agents", "Revoke all agents"),
    Route("/v1/admin/agents/{id}/revoke", ("POST",), OPERATOR, "admin.agents", "Revoke an agent"),
    Route("/v1/admin/agents/{id}/reactivate", ("POST",), OPERATOR, "admin.agents", "Reactivate an agent"),
    Route("/v1/admin/agents/{id}/api-keys", ("GET",), OPERATOR, "admin.api-keys", "List an agent's API keys"),
    Route("/v1/admin/agents/{id}/api-keys", ("POST",), OPERATOR, "admin.api-keys", "Make an API key"),
    Route("/v1/admin/agents/{id}/api-keys/{key}", ("GET",), OPERATOR, "admin.api-keys", "Read an API key's row"),
    Route("/v1/admin/agents/{id}/api-keys/{key}", ("DELETE",), OPERATOR, "admin.api-keys", "Remove an API key"),
    Route("/v1/admin/admins", ("GET",), ADMIN, "admin.admins", "List admins"),
    Route("/v1/admin/admins", ("POST",), ADMIN, "admin.admins", "Add an admin"),
    Route("/v1/admin/admins/{name}", ("GET",), ADMIN, "admin.admins", "Read an admin"),
    Route("/v1/admin/admins/{name}", ("PATCH",), ADMIN, "admin.admins", "Change an admin"),
    Route("/v1/admin/admins/{name}", ("DELETE",), ADMIN, "admin.admins", "Remove an admin"),
    Route("/v1/admin/admins/{name}/rotate", ("POST",), ADMIN, "admin.admins", "A new token for an admin"),
    Route("/v1/admin/holds", ("GET",), ADMIN, "admin.holds", "List what waits for approval"),
    Route("/v1/admin/holds/{id}", ("GET",), ADMIN, "admin.holds", "Read a hold"),
    Route("/v1/admin/holds/{id}/approve", ("POST",), ADMIN, "admin.holds", "Approve and carry out"),
    Route("/v1/admin/holds/{id}/reject", ("POST",), ADMIN, "admin.holds", "Reject"),
    Route("/v1/admin/keys", ("GET",), ADMIN, "admin.keys", "List keys"),
    Route("/v1/admin/keys", ("POST",), ADMIN, "admin.keys", "Rotate a key"),
    Route("/v1/admin/keys/{name}", ("GET",), ADMIN, "admin.keys", "Read the generations of a key"),
    Route(
        "/.well-known/oauth-authorization-server",
        ("GET", "HEAD"),
        OPEN,
        "discovery",
        "Authorization server metadata (RFC 8414)",
        recorded="none",
    ),
    Route(
        "/.well-known/oauth-protected-resource",
        ("GET", "HEAD"),
        OPEN,
        "discovery",
        "Protected resource metadata (RFC 9728)",
        recorded="none",
    ),
    Route(
        "/.well-known/oauth-protected-resource/{path...}",
        ("GET", "HEAD"),
        OPEN,
        "discovery",
        "Protected resource metadata of one path (RFC 9728 §3.1)",
        recorded="none",
    ),
    Route("/pki/ca.crt", ("GET", "HEAD"), OPEN, "pki", "The trust anchor", recorded="none", produces=PEM),
    Route("/pki/crl.pem", ("GET", "HEAD"), OPEN, "pki", "Revoked leaves", recorded="none", produces=PEM),
)
