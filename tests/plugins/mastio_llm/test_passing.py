"""Headers of a call that go to the provider, and headers of its reply that come back."""

from __future__ import annotations

from typing import Any

import pytest

from mastio.exchange.values import RequestHead, Route
from mastio_llm.header_policy import MOST, parse_header_names, passed_on, reply_headers, request_headers
from mastio_llm.provider import ProviderRow
from mastio_llm.routing.candidates import Choice

CHAT = Route("/v1/chat/completions", ("POST",), frozenset({"agent"}), "llm.chat", "")
CHOICE = Choice(ProviderRow("stub", "openai", "https://stub.test/v1"), "gpt-4o", False)
SECRET = b"sk-the-Appliances-own"


class Upstream:
    status = 200

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self.headers = list(headers)


def send(*headers: tuple[bytes, bytes], named: frozenset[bytes] = frozenset()) -> dict[str, str]:
    head = RequestHead("id-1", "POST", CHAT.path, b"", {}, list(headers), CHAT, None, "127.0.0.1")
    return dict(request_headers(head, CHOICE, named))


def receive(*headers: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    upstream: Any = Upstream(*headers)
    return dict(reply_headers(upstream, CHOICE, (SECRET,)))


@pytest.mark.parametrize(
    "name", [b"authorization", b"x-api-key", b"dpop", b"cookie", b"x-forwarded-for", b"x-edge-certificate", b"host"]
)
def test_no_header_of_the_caller_proves_anything_to_the_provider(name: bytes) -> None:
    assert name.decode() not in send((name, b"secret"))


def test_the_providers_own_headers_and_some_others_go_up() -> None:
    sent = send((b"openai-beta", b"x"), (b"user-agent", b"sdk"), (b"x-request-id", b"mine"))
    assert (sent["openai-beta"], sent["user-agent"], sent["x-request-id"]) == ("x", "sdk", "id-1")


ACCOUNT = ("openai-organization", "openai-project", "idempotency-key", "openai-anything")


@pytest.mark.parametrize("name", ACCOUNT)
def test_who_pays_is_not_the_callers_to_say_unless_settings_let_it_through(name: str) -> None:
    pair = (name.encode(), b"other")
    assert name not in send(pair)
    named = parse_header_names([name.title()])
    assert send(pair, named=named)[name] == "other"
    asked = RequestHead("id-1", "POST", CHAT.path, b"", {}, [pair], CHAT, None, "127.0.0.1")
    assert (passed_on(asked, CHOICE), passed_on(asked, CHOICE, named)) == ([], [b":".join(pair)])


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "cookie", "dpop", "content-type", "x-edge-secret", "é"])
def test_what_settings_cannot_let_through(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        parse_header_names([name])


def test_no_header_of_the_reply_repeats_the_key() -> None:
    got = receive((b"openai-organization", b"org"), (b"request-id", b"r-" + SECRET), (b"set-cookie", b"a=b"))
    assert got[b"openai-organization"] == b"org"
    assert b"request-id" not in got and b"set-cookie" not in got


@pytest.mark.parametrize("prefix", [b"openai-", b"x-ratelimit-"])
def test_no_name_of_a_header_repeats_the_key(prefix: bytes) -> None:
    """The client reads names in lower case."""
    got = receive((prefix + SECRET.lower(), b"1"), (prefix + b"remaining", b"17"))
    assert prefix + b"remaining" in got and prefix + SECRET.lower() not in got


def test_the_headers_of_a_reply_are_bounded() -> None:
    got = receive((b"openai-first", b"x" * (MOST - 12)), (b"openai-second", b"x"))
    assert b"openai-first" in got and b"openai-second" not in got
