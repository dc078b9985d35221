"""Enrols this machine as an agent: makes keys, sends a certificate request, writes the identity as one folder.

A private key never leaves the machine. The folder appears whole or not at all. An existing identity is never replaced.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import httpx
import orjson
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mastio_client.proofs import (
    KeyKind,
    PrivateKey,
    encode_pem_key,
    encode_private_jwk,
    key_sha256,
    make_csr,
    make_key,
    sign_enrollment,
)
from mastio_primitives.errors import ConfigurationError
from mastio_primitives.files import write_private
from mastio_primitives.jwk import encode_public_jwk

FILES = ("agent.key", "agent.crt", "chain.pem", "dpop.jwk", "agent.json", "ca.crt")
REQUEST_SECONDS = 30.0
_NAME = re.compile(r"[a-z0-9._-]{1,64}", re.ASCII)


class Refused(Exception):
    """The appliance refused a request. The text is one sentence and a hint, `code` is the appliance's error code.

    `retry_after`: seconds until the same request may be sent again; None if the appliance named none."""

    def __init__(self, message: str, code: str = "", retry_after: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class EnrollmentRequest:
    """The parameters of an enrolment. `ca` is the trust anchor (PEM); `seconds` is the longest wait for a decision, or
    for a free place under the rate limit.
    """

    base_url: str
    ca: bytes
    name: str
    token: str | None = None
    reason: str | None = None
    dpop_kind: KeyKind = "p256"
    seconds: float = 3600.0


def read_ca(path: Path) -> bytes:
    """The trust anchor in a file. Raises `ConfigurationError`."""
    try:
        raw = path.read_bytes()
        x509.load_pem_x509_certificate(raw)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"The CA file {path} cannot be read.", "Give the appliance's ca.crt.") from error
    return raw


def fetch_ca(base_url: str, sha256: str) -> bytes:
    """The appliance's own trust anchor, verified by its fingerprint. Raises `ConfigurationError`.

    No other request uses the unverified connection: an impostor can at most send a wrong certificate.
    """
    wanted = sha256.replace(":", "").lower()
    if not re.fullmatch(r"[0-9a-f]{64}", wanted):
        raise ConfigurationError("The CA fingerprint is not a SHA-256 in hex.", "It has 64 hex digits.")
    try:
        with httpx.Client(verify=False, trust_env=False, timeout=REQUEST_SECONDS) as client:  # noqa: S501
            reply = client.get(f"{base_url}/pki/ca.crt")
        certificate = x509.load_pem_x509_certificate(reply.content)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ConfigurationError("The appliance's CA cannot be fetched.", f"Check the URL {base_url}.") from error
    if hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest() != wanted:
        raise ConfigurationError(
            "The appliance's CA does not have that fingerprint.", "Ask for the right one, or look who answers there."
        )
    return certificate.public_bytes(Encoding.PEM)


def open_client(base_url: str, ca: bytes, headers: dict[str, str] | None = None) -> httpx.Client:
    """An HTTP client that trusts this CA alone. Raises `ConfigurationError`."""
    try:
        context = ssl.create_default_context(cadata=ca.decode("ascii"))
        return httpx.Client(
            base_url=base_url, verify=context, trust_env=False, timeout=REQUEST_SECONDS, headers=headers
        )
    except (ssl.SSLError, ValueError, httpx.InvalidURL) as error:
        raise ConfigurationError("The URL or the CA cannot be used.", "Check --url and --ca.") from error


def send(client: httpx.Client, method: str, path: str, **more: Any) -> Any:
    """The JSON of a good reply. Raises `Refused`, and `ConfigurationError` when the appliance cannot be reached."""
    try:
        reply = client.request(method, path, **more)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ConfigurationError(
            f"The appliance at {client.base_url} cannot be reached.", f"Check that it runs and the CA fits: {error}"
        ) from error
    if reply.is_success:
        return _document(reply)
    raise refusal(reply)


def refusal(reply: httpx.Response) -> Refused | ConfigurationError:
    """The exception for a reply that is not a success."""
    known = read_problem(reply)
    detail = known.get("detail") or known.get("error_description") or f"The appliance answered {reply.status_code}."
    if reply.status_code >= 500:
        return ConfigurationError(str(detail), str(known.get("hint") or ""))
    text = f"{detail} {known.get('hint') or ''}".strip()
    return Refused(text, str(known.get("code") or ""), _retry_after(reply) if reply.status_code == 429 else None)


def _retry_after(reply: httpx.Response) -> int | None:
    """Seconds (RFC 9110 §10.2.3), one at least. A date is not understood: the appliance sends none."""
    value = reply.headers.get("retry-after", "")
    return max(1, int(value)) if re.fullmatch(r"[0-9]{1,9}", value) else None


def read_problem(reply: httpx.Response) -> dict[str, Any]:
    """The members of an error reply, if it is one of the appliance's; otherwise an empty dict."""
    problem = _document(reply)
    return problem if isinstance(problem, dict) else {}


def _document(reply: httpx.Response) -> Any:
    try:
        return orjson.loads(reply.content)
    except orjson.JSONDecodeError:
        return None


class Turn:
    """Sends requests, and repeats one that the rate limit refuses (429), for up to `seconds` since the first."""

    def __init__(
        self,
        seconds: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._say = say
        self._clock = clock
        self._sleep = sleep
        self._deadline = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds, 0 at least."""
        return max(0.0, self._deadline - self._clock())

    def wait(self, seconds: float) -> None:
        self._sleep(min(seconds, self.left))

    def send(self, client: httpx.Client, method: str, path: str, **more: Any) -> Any:
        """As `send`. Raises `Refused` when the next attempt would come too late."""
        while True:
            try:
                return send(client, method, path, **more)
            except Refused as refusal:
                if refusal.retry_after is None or refusal.retry_after > self.left:
                    raise
                self._say(f"{refusal.message} Trying again in {refusal.retry_after} s.")
                self._sleep(refusal.retry_after)


def enroll(request: EnrollmentRequest, out: Path, say: Callable[[str], None]) -> dict[str, str]:
    """Enrol and write the identity folder `out`. Returns the contents of `agent.json`.

    Raises `Refused` when the appliance or an operator refuses, or no operator decides in time. Raises
    `ConfigurationError` when it cannot be done here. In both cases no file is left.
    """
    if not _NAME.fullmatch(request.name):
        raise ConfigurationError("The name is not one for an agent.", "Use 1 to 64 of a-z 0-9 . _ -")
    draft = _begin(out)
    try:
        key, dpop = make_key(), make_key(request.dpop_kind)
        with open_client(request.base_url, request.ca) as client:
            issued = _ask(client, request, key, dpop, say)
        facts = _write(draft, request, key, dpop, issued)
        _finish(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return facts


def _begin(out: Path) -> Path:
    """A folder beside `out`, made before the first request: no token is spent where the folder cannot be made."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} exists already.", "Choose another folder, or remove the identity in it first.")
    draft = out.parent / f".{out.name}-{secrets.token_hex(8)}"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir(mode=0o700)
    except OSError as error:
        raise ConfigurationError(f"{out} cannot be written.", "Choose a folder that can.") from error
    return draft


def _ask(
    client: httpx.Client, request: EnrollmentRequest, key: PrivateKey, dpop: PrivateKey, say: Callable[[str], None]
) -> Any:
    body = {"csr": make_csr(key, request.name), "name": request.name, "dpop_jwk": encode_public_jwk(dpop.public_key())}
    if request.reason is not None:
        body["reason"] = request.reason
    if request.token is not None:
        body["token"] = request.token
    turn = Turn(request.seconds, say)
    answer = turn.send(client, "POST", "/v1/enrollments", json=body)
    if answer["status"] != "pending":
        return answer
    identifier = answer["id"]
    say(f"waiting for an operator to approve {identifier} (key SHA-256 {key_sha256(key)})")
    while answer["status"] == "pending":
        if not turn.left:
            raise Refused("Nobody has decided in time. Ask an operator, then enrol again.", "pending")
        turn.wait(float(answer["poll_interval"]))
        proof = {"X-Enrollment-Proof": sign_enrollment(key, identifier)}
        answer = turn.send(client, "GET", f"/v1/enrollments/{identifier}", headers=proof)
    if answer["status"] != "issued":
        because = f": {answer['reason']}" if answer.get("reason") else ""
        raise Refused(f"The request was {answer['status']}{because}.", answer["status"])
    return answer


def _write(draft: Path, request: EnrollmentRequest, key: PrivateKey, dpop: PrivateKey, issued: Any) -> dict[str, str]:
    leaf = x509.load_pem_x509_certificate(issued["certificate"].encode("ascii"))
    if leaf.public_key() != key.public_key():
        raise ConfigurationError("The certificate is not for the key that was made here.", "Tell the operator.")
    facts = {
        "name": issued["name"],
        "spiffe_id": issued["spiffe_id"],
        "base_url": request.base_url,
        "ca_file": "ca.crt",
        "not_after": leaf.not_valid_after_utc.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    contents = {
        "agent.key": encode_pem_key(key),
        "agent.crt": issued["certificate"].encode("ascii"),
        "chain.pem": issued["chain"].encode("ascii"),
        "dpop.jwk": orjson.dumps(encode_private_jwk(dpop), option=orjson.OPT_APPEND_NEWLINE),
        "agent.json": orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
        "ca.crt": request.ca,
    }
    for name in FILES:
        write_private(draft / name, contents[name])
    return facts


def _finish(draft: Path, out: Path) -> None:
    try:
        if sys.platform == "win32" and out.exists():
            out.rmdir()  # it is empty; elsewhere renaming replaces it
        draft.rename(out)
    except OSError as error:
        raise ConfigurationError(f"{out} exists by now.", "Choose another folder.") from error
