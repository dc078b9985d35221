"""How each kind of credential gets into a request, and that nothing of the agent's takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from mastio.exchange.errors import BadRequest, DispatchError
from mastio_egress.connections.connection import ConnectionCredential, ConnectionRow
from mastio_egress.connections.credentials import Injection, Outgoing, open_injection

SECRET = "wJalr/EXAMPLE+key=="


@dataclass
class Reply:
    status: int
    body: bytes
    headers: tuple[()] = ()

    async def read(self, limit: int) -> bytes:
        return self.body


class Place:
    """Where tokens are given out: `t1`, `t2` …"""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, str], dict[str, str]]] = []

    def send(self, method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> Any:
        self.asked.append((dict(headers), dict(parse_qsl(body.decode()))))
        token = f"t{len(self.asked)}"

        @asynccontextmanager
        async def replying() -> AsyncIterator[Reply]:
            await asyncio.sleep(0.01)
            yield Reply(200, b'{"access_token": "%s", "expires_in": 3600}' % token.encode())

        return replying()


def inject(
    kind: Any, secret: str | None = SECRET, place: Place | None = None, base: str = "", **options: str
) -> Injection:
    row = ConnectionRow("api", base or "https://api.example/base", ConnectionCredential(kind, secret, options))
    services: Any = SimpleNamespace(upstreams=SimpleNamespace(open=lambda *_: place))
    return open_injection(services, row)


def asked(path: str = "/x", *headers: tuple[str, str], body: bytes | None = b"", method: str = "GET") -> Outgoing:
    return Outgoing(method, path, list(headers), body)


@pytest.mark.parametrize(
    ("kind", "options", "name", "value"),
    [
        ("bearer", {}, "authorization", f"Bearer {SECRET}"),
        ("header", {"header": "X-Api-Token"}, "x-api-token", SECRET),
        ("header", {"header": "x-auth", "prefix": "Token token="}, "x-auth", f"Token token={SECRET}"),
        ("basic", {"username": "robot"}, "authorization", "Basic cm9ib3Q6d0phbHIvRVhBTVBMRStrZXk9PQ=="),
    ],
)
async def test_headers(kind: str, options: dict[str, str], name: str, value: str) -> None:
    injection = inject(kind, **options)
    mine = [(name, "mine"), (name, "twice"), (name.replace("-", "_"), "mine"), ("accept", "*/*")]
    found = await injection.apply(asked("/x?y", *mine, body=None))
    assert found == asked("/x?y", ("accept", "*/*"), (name, value), body=None)
    assert SECRET.encode() in injection.secrets and not injection.needs_whole_body
    assert not injection.forget(found)


async def test_the_pair_of_basic_is_a_secret_too() -> None:
    assert b"cm9ib3Q6d0phbHIvRVhBTVBMRStrZXk9PQ==" in inject("basic", username="robot").secrets


@pytest.mark.parametrize(
    ("path", "after"),
    [("/x", "/x?key="), ("/x?", "/x?key="), ("/x?a=b", "/x?a=b&key="), ("/x?a&", "/x?a&key="),
     ("/x?keys=1&akey&a=key", "/x?keys=1&akey&a=key&key=")],
)  # fmt: skip
async def test_a_parameter(path: str, after: str) -> None:
    assert (await inject("query", parameter="key").apply(asked(path))).path == f"{after}wJalr%2FEXAMPLE%2Bkey%3D%3D"


@pytest.mark.parametrize(
    "query",
    ["key=1", "a=b&key=1", "key", "%6bey=1", "%6B%65%79", "KEY=1", "Key", "a;key=1", "key[]=1", "key[0]=1",
     "key%5B%5D=1", "+key=1", "key%00=1", "key+=1"],
)  # fmt: skip
async def test_an_agents_own_parameter_is_refused(query: str) -> None:
    with pytest.raises(BadRequest):
        await inject("query", parameter="key").apply(asked(f"/x?{query}"))


@pytest.mark.parametrize("query", ["api.key=1", "api_key=1", "api-key", "api%20key", "API+Key=1"])
async def test_names_that_some_upstreams_do_not_tell_apart(query: str) -> None:
    with pytest.raises(BadRequest):
        await inject("query", parameter="api_key").apply(asked(f"/x?{query}"))


@pytest.mark.parametrize("kind", ["bearer", "header", "query", "basic", "oauth", "sigv4", "certificate"])
async def test_nothing_is_sent_without_the_secret(kind: str) -> None:
    with pytest.raises(DispatchError) as caught:
        await inject(kind, None).apply(asked())
    assert caught.value.code == "upstream_refused"


@pytest.mark.parametrize("kind", ["certificate", None])
async def test_what_tls_shows_is_not_in_the_request(kind: str | None) -> None:
    request = asked("/x", ("accept", "*/*"))
    row = ConnectionRow("api", "https://api.example")
    nothing = open_injection(Any, row) if kind is None else inject(kind)  # type: ignore[arg-type]
    assert await nothing.apply(request) is request and not nothing.secrets


# --- tokens ----------------------------------------------------------------------------------------------------------

OAUTH = {"token_url": "https://login.example/token", "client_id": "a:b c"}


async def test_client_credentials_in_a_header() -> None:
    """RFC 6749 §2.3.1, §4.4: form-encoded, then basic."""
    place = Place()
    injection = inject("oauth", place=place, scope="a b", audience="c", **OAUTH)
    found = await injection.apply(asked("/x", ("authorization", "mine")))
    assert found.headers == [("authorization", "Bearer t1")]
    headers, form = place.asked[0]
    assert headers["authorization"] == "Basic YSUzQWIrYzp3SmFsciUyRkVYQU1QTEUlMkJrZXklM0QlM0Q="
    assert form == {"grant_type": "client_credentials", "scope": "a b", "audience": "c"}
    assert {b"t1", SECRET.encode()} <= set(injection.secrets)


async def test_client_credentials_in_the_body() -> None:
    place = Place()
    await inject("oauth", place=place, client_auth="body", **OAUTH).apply(asked())
    headers, form = place.asked[0]
    assert "authorization" not in headers
    assert form == {"grant_type": "client_credentials", "client_id": "a:b c", "client_secret": SECRET}


async def test_one_token_for_all_who_wait_and_one_new_one_for_all_who_were_refused() -> None:
    place = Place()
    injection = inject("oauth", place=place, **OAUTH)
    sent = await asyncio.gather(*(injection.apply(asked()) for _ in range(20)))
    assert len(place.asked) == 1
    renewed = []
    for request in sent:  # one after the other, some when the new token is there already
        assert injection.forget(request)
        renewed.append(await injection.apply(asked()))
    assert len(place.asked) == 2 and {dict(one.headers)["authorization"] for one in renewed} == {"Bearer t2"}


async def test_a_token_that_was_sent_is_a_secret_until_the_next_is() -> None:
    injection = inject("oauth", place=Place(), **OAUTH)
    sent = await injection.apply(asked())
    injection.forget(sent)
    assert b"t1" in injection.secrets
    await injection.apply(asked())
    assert b"t2" in injection.secrets


# --- signatures ------------------------------------------------------------------------------------------------------

AWS = {"access_key_id": "AKIDEXAMPLE", "region": "eu-south-1"}
OWN = ("authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token")


def sign(auth: Any, service: str, url: str, sent: Outgoing, body: bytes | str) -> str:
    """As Amazon's other library does."""
    headers = {name: value for name, value in sent.headers if name not in ("authorization", "accept-encoding")}
    request = AWSRequest(sent.method, url, headers=headers, data=body)
    request.context["timestamp"] = headers["x-amz-date"]
    if isinstance(body, str):
        request.context["payload_signing_enabled"] = False
        request.data = None
    signer = auth(Credentials("AKIDEXAMPLE", SECRET), service, "eu-south-1")
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signature: str = signer.signature(text, request)
    return signature


@pytest.mark.parametrize("path", ["/x", "/a%20b/c;d", "/x?b=2&a=1%2F2&a=1&c", "/%C3%A9/~u"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_signatures_are_amazons(method: str, path: str) -> None:
    injection = inject("sigv4", service="execute-api", base="https://api.example:8443/base", **AWS)
    assert injection.needs_whole_body
    mine = [(name, "mine") for name in OWN] + [("x-amz-target", "t"), ("content-type", "text/plain"), ("accept", "*/*")]
    sent = await injection.apply(asked(path, *mine, body=b"body", method=method))
    signature = sign(SigV4Auth, "execute-api", f"https://api.example:8443/base{path}", sent, b"body")
    assert dict(sent.headers)["authorization"].endswith(f"Signature={signature}")
    assert not [pair for pair in sent.headers if pair[1] == "mine"]
    assert len({name for name, _ in sent.headers}) == len(sent.headers)


@pytest.mark.parametrize("path", ["/x", "/a%20b/c%3Bd", "/x?b=2&a=1%2F2"])
async def test_s3_takes_bodies_as_they_arrive(path: str) -> None:
    injection = inject("sigv4", service="s3", base="https://bucket.example", **AWS)
    assert not injection.needs_whole_body
    sent = await injection.apply(asked(path, body=None, method="PUT"))
    assert dict(sent.headers)["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD" and sent.body is None
    signature = sign(S3SigV4Auth, "s3", f"https://bucket.example{path}", sent, "unsigned")
    assert dict(sent.headers)["authorization"].endswith(f"Signature={signature}")


async def test_without_tls_s3_signs_bodies_too() -> None:
    injection = inject("sigv4", service="s3", base="http://bucket.example", **AWS)
    assert injection.needs_whole_body
    sent = await injection.apply(asked(body=b"body", method="PUT"))
    assert len(dict(sent.headers)["x-amz-content-sha256"]) == 64
