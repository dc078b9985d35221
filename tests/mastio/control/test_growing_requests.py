"""Every body and query of the control plane, grown to what its route takes: no callback of the event loop takes longer
than the bound, whatever the bytes, and memory stays. Times are processor time of the thread of the loop."""

from __future__ import annotations

import base64
import datetime
import json
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from mastio.control.inprocess import call_application
from mastio.exchange.errors import MastioError
from mastio.exchange.values import Principal
from support.collections import ROUTES
from support.control_plane import ADMIN, STRANGER, World, agent, make_csr, make_key, open_world
from support.databases import create_migrated_file
from support.loop_holds import MOST_HOLD, worst_hold

MOST_MEMORY = 64 * 1024 * 1024
JSON, PKCS10 = b"application/json", b"application/pkcs10"
TYPES = {"types": {"*": {"action": "off"}}}
OPEN = {"base_url": "https://api.example"}
STATUSES = {200, 201, 202, 204, 400, 401, 403, 404, 409, 413, 422}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growing")


@pytest.fixture(scope="module")
def url(folder: Path) -> str:
    return create_migrated_file(folder)


@asynccontextmanager
async def opened(folder: Path, url: str) -> AsyncIterator[World]:
    async with open_world(folder, url) as world:
        yield world


class Case(NamedTuple):
    """A request whose document grows with n. `make` may give bytes."""

    method: str
    path: str
    make: Callable[[int], Any]
    principal: Principal = ADMIN
    content_type: bytes = JSON


def named(**members: Any) -> dict[str, Any]:
    return {"name": "grown", **members}


def connection(**members: Any) -> dict[str, Any]:
    return named(**OPEN, **members)


def provider(**members: Any) -> dict[str, Any]:
    return named(**OPEN, kind="openai", **members)


def texts(n: int) -> list[str]:
    return [f"x{k}" for k in range(n)]


def members(n: int, value: Any = 1, prefix: str = "a") -> dict[str, Any]:
    return {f"{prefix}{k}": value for k in range(n)}


def key_of(members: dict[str, Any]) -> dict[str, Any]:
    return {"csr": make_csr(KEY), "name": "grown", "dpop_jwk": members}


KEY = make_key()
LIMITS = {(method, route.path): route.limit for route in ROUTES for method in route.methods}
BODIES = [(method, path) for method, path in LIMITS if method in ("POST", "PUT", "PATCH") and "est" not in path]


def collection(name: str, make: Callable[[int], Any], method: str = "POST") -> Case:
    return Case(method, f"/v1/admin/{name}", make)


ENROLL = "/v1/enrollments"
P256 = {"kty": "EC", "crv": "P-256"}
AGENT, KEYS = "agents/half", "agents/half/api-keys"
CASES: dict[str, Case] = {
    **{f"unknown members, {method} {path}": Case(method, path, members) for method, path in BODIES},
    **{f"objects, {method} {path}": Case(method, path, lambda n: {"name": [{}] * n}) for method, path in BODIES},
    **{f"a list, {method} {path}": Case(method, path, lambda n: [1] * n) for method, path in BODIES},
    **{f"depth, {method} {path}": Case(method, path, lambda n: b"[" * n + b"]" * n) for method, path in BODIES},
    "token name": collection("enrollment-tokens", lambda n: {"name": "*a" * n}),
    "groups": collection(AGENT, lambda n: {"groups": texts(n)}, "PATCH"),
    "wrong groups": collection(AGENT, lambda n: {"groups": [1] * n}, "PATCH"),
    "attributes": collection(AGENT, lambda n: {"attributes": members(n)}, "PATCH"),
    "attribute list": collection(AGENT, lambda n: {"attributes": {"a": ["x"] * n}}, "PATCH"),
    "attribute objects": collection(AGENT, lambda n: {"attributes": {"a": [{"x": 1}] * n}}, "PATCH"),
    "attribute numbers": collection(AGENT, lambda n: {"attributes": {"a": [2**63] * n}}, "PATCH"),
    "key kinds": collection(KEYS, lambda n: {"kinds": ["a*" * 20] * n}),
    "key paths": collection(KEYS, lambda n: {"paths": ["/" + "*a" * 200] * n}),
    "key models": collection(KEYS, lambda n: {"models": ["*" * 200] * n}),
    "models": collection("providers", lambda n: provider(models=texts(n))),
    "wrong models": collection("providers", lambda n: provider(models=[1] * n)),
    "stars": collection("providers", lambda n: provider(models=["*a" * 100] * n)),
    "aliases": collection("providers", lambda n: provider(aliases=members(n, "m"))),
    "wrong aliases": collection("providers", lambda n: provider(aliases=members(n))),
    "provider addresses": collection("providers", lambda n: provider(allow_addresses=["10.0.0.0/8"] * n)),
    "base URL": collection("providers", lambda n: {**provider(), "base_url": "https://api.example/" + "a/" * n}),
    "paths": collection("connections", lambda n: connection(paths=[f"/p{k}/**" for k in range(n)])),
    "wrong paths": collection("connections", lambda n: connection(paths=["a b"] * n)),
    "methods": collection("connections", lambda n: connection(methods=[f"M{k}" for k in range(n)])),
    "request headers": collection("connections", lambda n: connection(request_headers=[f"x-{k}" for k in range(n)])),
    "kept headers": collection("connections", lambda n: connection(keep_headers=["x"] * n)),
    "redirect hosts": collection("connections", lambda n: connection(redirect_hosts=[f"h{k}.de" for k in range(n)])),
    "addresses": collection("connections", lambda n: connection(allow_addresses=[f"10.0.0.{k % 9}" for k in range(n)])),
    "wrong addresses": collection("connections", lambda n: connection(allow_addresses=["1" * 40] * n)),
    "credential": collection("connections", lambda n: connection(credential=members(n, "x"))),
    "authorities": collection("connections", lambda n: connection(ca=CERTIFICATE * n)),
    "inspect": collection("connections", lambda n: connection(inspect=members(n, True))),
    "limit_usd": collection("budgets", lambda n: named(limit_usd="9" * n, period="day")),
    "a long number": collection("budgets", lambda n: b'{"name":"g","period":"day","limit_usd":' + b"9" * n + b"}"),
    "a long count": collection("budgets", lambda n: b'{"name":"g","period":"day","limit_tokens":' + b"9" * n + b"}"),
    "budget model": collection("budgets", lambda n: named(limit_requests=1, period="day", model="*a" * n)),
    "types": collection("redaction", lambda n: named(types={f"T_{k}": {"action": "off"} for k in range(n)})),
    "wrong types": collection("redaction", lambda n: named(types={f"T_{k}": {"a": 1} for k in range(n)})),
    "always": collection("redaction", lambda n: named(**TYPES, always=texts(n))),
    "never": collection("redaction", lambda n: named(**TYPES, never=["x" * 256] * n)),
    "match": collection("redaction", lambda n: named(**TYPES, match={"agents": ["*a" * 100] * n, "models": texts(n)})),
    "detector classes": collection("detectors", lambda n: named(classes=members(n, {"action": "block"}))),
    "wrong classes": collection("detectors", lambda n: named(classes=members(n, {}))),
    "tools": collection("detectors", lambda n: named(tools=[{"name": f"t{k}"} for k in range(n)])),
    "wrong tools": collection("detectors", lambda n: named(tools=[{"a": 1}] * n)),
    "detector match": collection("detectors", lambda n: named(match={"kinds": ["*"] * n})),
    "reason": collection("holds/h/approve", lambda n: {"reason": "x" * n}),
    "admin digest": collection("admins", lambda n: named(role="admin", token_sha256="a" * n)),
    "admin end": collection("admins", lambda n: named(role="admin", expires_at="2" * n)),
    "names": Case("POST", ENROLL, lambda n: {"csr": "x", "name": "a" * n}, STRANGER),
    "keys of an enrolment": Case("POST", ENROLL, lambda n: key_of(members(n, "x")), STRANGER),
    "key_ops": Case("POST", ENROLL, lambda n: key_of({**P256, "key_ops": ["x"] * n}), STRANGER),
    "long x": Case("POST", ENROLL, lambda n: key_of({**P256, "x": "A" * n, "y": "A"}), STRANGER),
    "token": Case("POST", ENROLL, lambda n: {"csr": "x", "name": "a", "token": "t" * n}, STRANGER),
}  # fmt: skip


def make_certificate() -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    now = datetime.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder(name, name, KEY.public_key(), 1, now, now + datetime.timedelta(days=3650))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


CERTIFICATE = make_certificate()


def many_names(n: int) -> str:
    return make_csr(KEY, x509.SubjectAlternativeName([x509.DNSName(f"a{k}") for k in range(n)]))


def many_extensions(n: int) -> str:
    """Extensions that nobody knows."""
    unknown = [x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.3.6.1.4.1.9.{k}"), b"\x05\x00") for k in range(n)]
    return make_csr(KEY, *unknown)


def many_attributes(n: int) -> str:
    """A subject of many parts."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"a{k}") for k in range(n)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(KEY, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


def with_a_tail(n: int) -> str:
    """A request with this many bytes behind it."""
    request = x509.load_pem_x509_csr(make_csr(KEY).encode()).public_bytes(serialization.Encoding.DER)
    return (
        "-----BEGIN CERTIFICATE REQUEST-----\n"
        + base64.encodebytes(request + b"\0" * n).decode()
        + "-----END CERTIFICATE REQUEST-----"
    )


REQUESTS: dict[str, Callable[[int], str]] = {
    "alternative names": many_names,
    "extensions": many_extensions,
    "parts of the subject": many_attributes,
    "more behind the request": with_a_tail,
    "letters": lambda n: "A" * n,
    "lines": lambda n: "\n" * n + make_csr(KEY),
}


def encode(made: Any) -> bytes:
    return made if isinstance(made, bytes) else orjson.dumps(made)


def grow(make: Callable[[int], Any], most: int) -> Iterator[bytes]:
    """Bodies that grow by tens, one right below the bound of their weight, and the longest that the route takes."""
    for size in (8, 80, 800, 3000):
        body = encode(make(size))
        if len(body) <= most:
            yield body
    while size < 10**6 and len(encode(make(4 * size))) <= most:
        size *= 4
    yield encode(make(size))


async def ask(world: World, case: Case, path: str, body: bytes, query: bytes = b"") -> tuple[float, int]:
    """The longest hold of the loop, and the status."""
    statuses = []

    async def once() -> None:
        state = {"principal": case.principal, "request_id": "r"}
        headers = [(b"content-type", case.content_type), (b"authorization", b"Basic " + base64.b64encode(b"a:t"))]
        try:
            reply = await call_application(world.app, case.method, path, headers, body, state, query=query)
            statuses.append(reply.status)
        except MastioError as error:
            statuses.append(error.status)

    return await worst_hold(once), statuses[-1]


def limit_of(case: Case) -> int:
    """What the route takes; the route with the most literal segments is the one of a path."""
    found = [
        limit for (method, path), limit in LIMITS.items()
        if method == case.method and len(path.split("/")) == len(case.path.split("/"))
        and all(a == b or a.startswith("{") for a, b in zip(path.split("/"), case.path.split("/"), strict=True))
    ]  # fmt: skip
    return found[0]


async def test_no_body_holds_the_loop(folder: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One test for all: a world takes a second to open."""
    seen: list[tuple[float, str, int]] = []
    async with opened(folder, url) as world:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for name, case in CASES.items():
            path = case.path.replace("{id}", "x").replace("{name}", "x").replace("{key}", "x")
            for body in grow(case.make, limit_of(case)):
                hold, status = await ask(world, case, path, body)
                seen.append((hold, name, status))
                assert status in STATUSES, (name, status)
        most_memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    with capsys.disabled():
        for hold, name, status in sorted(seen, reverse=True)[:5]:
            print(f"\n{name}: {status}, the loop was held for {hold * 1e3:.1f} ms", end="")
    assert max(seen)[0] < MOST_HOLD, max(seen)
    assert most_memory < MOST_MEMORY


@pytest.mark.parametrize("name", REQUESTS)
async def test_no_certificate_request_holds_the_loop(folder: Path, url: str, name: str) -> None:
    """Over REST, EST, and for a new leaf."""
    make = REQUESTS[name]
    async with opened(folder, url) as world:
        for n in (10, 100, 700):
            pem = make(n)
            lines = [line for line in pem.splitlines() if "-----" not in line]
            der = "".join(lines).encode()
            for case, body in (
                (Case("POST", "/v1/enrollments", make, STRANGER), encode({"csr": pem, "name": "grown"})),
                (Case("POST", "/v1/agents/self/renew", make, agent("half")), encode({"csr": pem})),
                (Case("POST", "/.well-known/est/simpleenroll", make, STRANGER, PKCS10), der),
                (Case("POST", "/.well-known/est/simplereenroll", make, agent("half"), PKCS10), der),
            ):
                hold, status = await ask(world, case, case.path, body)
                assert status in STATUSES, (name, case.path, status)
                assert hold < MOST_HOLD, (name, case.path, n, hold)


QUERIES = [
    b"limit=" + b"9" * 7000,
    b"limit=" + b"1" * 4000 + b".0",
    b"cursor=" + b"A" * 7000,
    b"status=" + b"x" * 7000,
    b"&".join([b"limit=1"] * 900),
    b"&".join([b"a%d=1" % k for k in range(900)]),
    b"&" * 7000,
    b"limit=%31" * 700,
]


async def test_no_query_of_a_list_holds_the_loop(folder: Path, url: str) -> None:
    lists = [
        route.path for route in ROUTES if "GET" in route.methods and "{" not in route.path and "admin" in route.path
    ]
    async with opened(folder, url) as world:
        for path in lists:
            for query in QUERIES:
                hold, status = await ask(world, Case("GET", path, members), path, b"", query)
                assert status in STATUSES and hold < MOST_HOLD, (path, query[:20], status, hold)


async def test_legitimate_long_bodies_are_taken(folder: Path, url: str) -> None:
    """The twin: the longest lists that the models take weigh less than the bound."""
    longest = {
        "providers": provider(models=texts(200), aliases=members(200, "m"), allow_addresses=["10.0.0.0/8"] * 100),
        "connections": connection(
            paths=[f"/p{k}/**" for k in range(200)], request_headers=[f"x-{k}" for k in range(50)]
        ),
    }  # fmt: skip
    async with opened(folder, url) as world:
        for name, document in longest.items():
            reply = await world.call("POST", f"/v1/admin/{name}", {**document, "name": "longest"})
            assert reply.status_code == 201, reply.text
        over = await world.call("POST", "/v1/admin/detectors", named(tools=[{"a": 1}] * 5000))
        assert (over.status_code, over.json()["code"]) == (413, "too_many_parts")
        assert json.loads(over.text)
