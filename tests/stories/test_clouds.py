"""Providers behind a cloud's own credentials: Azure by Entra, Vertex by a service account, Bedrock by signature."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote

import anthropic
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mastio_client import Identity
from mastio_client import httpx2 as newer
from support.appliance import Appliance, wait_until
from support.aws_frames import chunk
from support.scripted_provider import Asked, Provider, Script, run_provider

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "hi"}]
GOOD = Script(pieces=[b'{"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}'])
GEMINI = Script(pieces=[b'{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}'])
MESSAGE = {
    "id": "m", "type": "message", "role": "assistant", "model": "claude",
    "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}  # fmt: skip
STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "häl\nlo"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3}},
]
FRAMES = [chunk(event) for event in STREAM]
AMAZON = "application/vnd.amazon.eventstream"


@pytest.fixture
def tokens(appliance: Appliance) -> Iterator[Provider]:
    """Where tokens are given out: `t1`, `t2` …, good for an hour."""
    with run_provider(appliance, "openai", "tokens") as place:
        place.next = [Script(pieces=[b'{"access_token":"t%d","expires_in":3600}' % n]) for n in range(1, 9)]
        yield place


# --- Azure ----------------------------------------------------------------------------------------------------------


def entra(tokens: Provider) -> str:
    secret = {"tenant_id": "t-1", "client_id": "c-1", "client_secret": "s3cret+/=", "authority": tokens.url("login")}
    return json.dumps(secret)


def test_azure_by_an_entra_application(appliance: Appliance, agent: Identity, tokens: Provider) -> None:
    with (
        run_provider(appliance, "azure", "entra", api_key=entra(tokens)) as azure,
        appliance.by_certificate(agent) as client,
    ):
        azure.script = GOOD

        def ask() -> int:
            return client.post(CHAT, json={"model": "entra/gpt", "messages": HELLO}).status_code

        assert [ask(), ask()] == [200, 200]
        assert [asked.header("authorization") for asked in azure.asked] == ["Bearer t1", "Bearer t1"]
        assert azure.last.header("api-key") is None
        (fetched,) = tokens.asked
        assert fetched.path == "/login/t-1/oauth2/v2.0/token"
        assert parse_qs(fetched.body.decode()) == {
            "grant_type": ["client_credentials"],
            "client_id": ["c-1"],
            "client_secret": ["s3cret+/="],
            "scope": ["https://cognitiveservices.azure.com/.default"],
        }
        azure.next = [Script(401)]  # revoked before its time: a new one, and the caller notices nothing
        assert ask() == 200 and azure.last.header("authorization") == "Bearer t2"
        azure.script = Script(401)
        reply = client.post(CHAT, json={"model": "entra/gpt", "messages": HELLO})
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_refused")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (Script(400, pieces=[b'{"error":"invalid_client","error_description":"s3cret+/="}']), "upstream_refused"),
        (Script(pieces=[b'{"access_token":"a\\r\\nb","expires_in":3600}']), "upstream_refused"),
        (Script(pieces=[b"<html>"]), "upstream_refused"),
        (Script(500), "upstream_error"),
    ],
)
def test_no_token_no_call(appliance: Appliance, agent: Identity, tokens: Provider, script: Script, code: str) -> None:
    with (
        run_provider(appliance, "azure", "entra", api_key=entra(tokens)) as azure,
        appliance.by_certificate(agent) as client,
    ):
        tokens.next = [script] * 2
        reply = client.post(CHAT, json={"model": "entra/gpt", "messages": HELLO})
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, code)
        assert not azure.asked and "s3cret" not in reply.text
        tokens.next, azure.script = [Script(pieces=[b'{"access_token":"t1","expires_in":3600}'])], GOOD
        assert client.post(CHAT, json={"model": "entra/gpt", "messages": HELLO}).status_code == 200


# --- Vertex ---------------------------------------------------------------------------------------------------------


def test_vertex_by_a_service_account(appliance: Appliance, agent: Identity, tokens: Provider) -> None:
    key = rsa.generate_private_key(65537, 2048)
    account = {
        "type": "service_account", "project_id": "p", "private_key_id": "k-1", "client_email": "a@p.example",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "token_uri": tokens.url("token"), "universe_domain": "googleapis.com",
    }  # fmt: skip
    path = "v1/projects/p/locations/l/publishers/google"
    with (
        run_provider(appliance, "vertex", "vertex", api_key=json.dumps(account, indent=2), version=path) as vertex,
        appliance.by_certificate(agent) as client,
    ):
        vertex.script = GEMINI
        at = "/v1beta/models/vertex/gemini-2.5-flash:generateContent"
        reply = client.post(at, json={"contents": [{"parts": [{"text": "hi"}]}]})
        assert (reply.status_code, reply.content) == (200, GEMINI.pieces[0])
    assert vertex.last.path == f"/{path}/models/gemini-2.5-flash:generateContent"
    assert vertex.last.header("authorization") == "Bearer t1" and vertex.last.header("x-goog-api-key") is None
    form = parse_qs(tokens.last.body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    signed, _, signature = form["assertion"][0].rpartition(".")
    key.public_key().verify(decode(signature), signed.encode(), padding.PKCS1v15(), SHA256())
    header, claims = (json.loads(decode(part)) for part in signed.split("."))
    assert header == {"alg": "RS256", "typ": "JWT", "kid": "k-1"}
    assert (claims["iss"], claims["aud"], claims["exp"] - claims["iat"]) == ("a@p.example", tokens.url("token"), 3600)


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


# --- Bedrock --------------------------------------------------------------------------------------------------------

AWS = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalr/EXAMPLE", "region": "eu-central-1"}
CLAUDE = "anthropic.claude-haiku-4-5-20251001-v1:0"
ASK: dict[str, Any] = {"model": f"aws/{CLAUDE}", "max_tokens": 9, "messages": HELLO}


@pytest.fixture
def bedrock(appliance: Appliance) -> Iterator[Provider]:
    with run_provider(appliance, "bedrock", "aws", api_key=json.dumps(AWS), version="") as provider:
        yield provider


@pytest.fixture
def client(agent: Identity) -> Iterator[anthropic.Anthropic]:
    """Anthropic's SDK, unmodified."""
    with newer.certificate_client(agent) as transport:
        yield anthropic.Anthropic(
            base_url=agent.base_url,
            api_key="certificate",
            http_client=transport,
            default_headers={"anthropic-beta": "b-1"},
            max_retries=0,
        )


def verify_signature(asked: Asked, url: str) -> None:
    """As Amazon's own library would have signed it."""
    request = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=asked.body)
    request.headers["Accept"] = asked.header("accept")
    request.headers["X-Amz-Date"] = request.context["timestamp"] = asked.header("x-amz-date")
    signer = SigV4Auth(Credentials("AKIDEXAMPLE", "wJalr/EXAMPLE"), "bedrock", "eu-central-1")
    text = signer.string_to_sign(request, signer.canonical_request(request))
    said = asked.header("authorization") or ""
    assert said.endswith(f"Signature={signer.signature(text, request)}"), said


def test_bedrock_by_signature(bedrock: Provider, client: anthropic.Anthropic) -> None:
    bedrock.script = Script(pieces=[json.dumps(MESSAGE).encode()])
    raw = client.messages.with_raw_response.create(**ASK)
    assert raw.parse().content[0].text == "Hello." and raw.headers["x-cost-usd"] == "0.000023000"
    assert unquote(bedrock.last.path) == f"/model/{CLAUDE}/invoke"
    assert bedrock.last.document == {
        "anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": HELLO, "anthropic_beta": ["b-1"],
    }  # fmt: skip
    verify_signature(bedrock.last, f"http://127.0.0.1:{bedrock.server_port}{bedrock.last.path}")
    other = Asked(bedrock.last.path, bedrock.last.headers, bedrock.last.body + b" ")
    with pytest.raises(AssertionError):
        verify_signature(other, f"http://127.0.0.1:{bedrock.server_port}{bedrock.last.path}")


def test_bedrock_streams(bedrock: Provider, client: anthropic.Anthropic) -> None:
    bedrock.script = Script(content_type=AMAZON, pieces=FRAMES)
    with client.messages.stream(**ASK) as stream:
        assert stream.get_final_text() == "häl\nlo"
        assert stream.get_final_message().usage.output_tokens == 4
    assert unquote(bedrock.last.path) == f"/model/{CLAUDE}/invoke-with-response-stream"
    bedrock.script = Script(content_type=AMAZON, pieces=[FRAMES[0], FRAMES[1][:-1] + b"x"])
    with pytest.raises(anthropic.APIStatusError), client.messages.stream(**ASK) as stream:
        stream.get_final_text()


def test_bedrock_says_no(bedrock: Provider, client: anthropic.Anthropic) -> None:
    bedrock.script = Script(429, pieces=[b'{"message":"Too many requests."}'])
    with pytest.raises(anthropic.RateLimitError, match="Too many requests"):
        client.messages.create(**ASK)
    bedrock.script = Script(403, pieces=[b'{"message":"The security token is invalid: wJalr/EXAMPLE"}'])
    with pytest.raises(anthropic.InternalServerError) as refused:
        client.messages.create(**ASK)
    assert "refused the appliance" in str(refused.value) and "wJalr" not in str(refused.value)


def test_bedrock_in_the_words_of_openai(appliance: Appliance, agent: Identity, bedrock: Provider) -> None:
    bedrock.script = Script(content_type=AMAZON, pieces=FRAMES)
    with appliance.by_certificate(agent) as client:
        reply = client.post(CHAT, json={"model": f"aws/{CLAUDE}", "messages": HELLO, "stream": True})
        assert reply.status_code == 200 and "häl" in reply.text and "[DONE]" in reply.text
        count = client.post("/v1/messages/count_tokens", json=ASK)
        assert (count.status_code, count.json()["error"]["type"]) == (400, "invalid_request_error")


def test_bedrock_by_an_api_key(appliance: Appliance, agent: Identity) -> None:
    with (
        run_provider(appliance, "bedrock", "aws", version="") as provider,
        appliance.by_certificate(agent) as client,
    ):
        provider.script = Script(pieces=[json.dumps(MESSAGE).encode()])
        assert client.post("/v1/messages", json=ASK).status_code == 200
        assert provider.last.header("authorization") == "Bearer sk-the-provider-own-key"


def test_a_file_that_is_not_of_its_kind_is_told_when_called(appliance: Appliance, agent: Identity) -> None:
    """A file may change after it was named: its provider is then not usable, and the others are."""
    folder = appliance.data / "secrets" / "providers"
    folder.mkdir(exist_ok=True)
    (folder / "google").write_text("not a service account")
    more = {"api_key": None, "api_key_file": str(folder / "google")}
    with (
        run_provider(appliance, "vertex", "odd", **more),
        run_provider(appliance, "openai", "even") as even,
        appliance.by_certificate(agent) as client,
    ):
        even.script = GOOD
        at = "/v1beta/models/odd/gemini:generateContent"
        wait_until(lambda: client.post(at, json={"contents": []}).status_code == 502, 5, "the provider is not usable")
        assert client.post(CHAT, json={"model": "even/gpt", "messages": HELLO}).status_code == 200
