"""Renews an agent's certificate: makes a new key, sends a request with a proof, replaces key and certificate.

The old certificate stays good until it ends (48 hours at most), so a lost reply does no harm: the files
are unchanged, and the next renewal works. The trust anchor is refreshed over the connection that it verified.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path

import httpx
import orjson
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mastio_client.auth import DPoPAuth
from mastio_client.enroll import REQUEST_SECONDS, send
from mastio_client.folder import alone, find_pair, switch
from mastio_client.identity import Identity
from mastio_client.proofs import PrivateKey, encode_pem_key, make_csr, make_key
from mastio_primitives.errors import ConfigurationError
from mastio_primitives.files import write_private

RENEW_PATH = "/v1/agents/self/renew"


def is_due(starts: float, ends: float, now: float) -> bool:
    """True if a third or less of a certificate's life is left (Unix times)."""
    return ends - now <= (ends - starts) / 3


def due(identity: Identity, now: float) -> bool:
    """True if the certificate on disk should be renewed. Raises `ConfigurationError`."""
    leaf = identity.leaf()
    return is_due(leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp(), now)


def renew(identity: Identity) -> Identity:
    """A new key and certificate, in the same folder.

    Raises `Refused` when the appliance refuses, `ConfigurationError` when it cannot be reached or the folder cannot
    be written; then the identity on disk is as usable as before.
    """
    with _opened(identity) as client, _held(identity.folder):
        _renew(identity, client)
    return Identity.load(identity.folder)


def renew_if_due(identity: Identity, now: Callable[[], float] = time.time) -> bool:
    """As `renew`, unless more than a third of the certificate's life is left, or another process has renewed it."""
    if not due(identity, now()):
        return False
    with _opened(identity) as client, _held(identity.folder):
        if not due(identity, now()):
            return False
        _renew(identity, client)
    return True


def _renew(identity: Identity, client: httpx.Client) -> None:
    key = make_key()
    issued = send(client, "POST", RENEW_PATH, json={"csr": make_csr(key, identity.name)})
    contents = _contents(identity, key, issued)
    anchor = fetch_anchor(identity, client)
    switch(identity.folder, contents)
    if anchor is not None:
        write_private(identity.ca_file, anchor)


def _contents(identity: Identity, key: PrivateKey, issued: dict[str, str]) -> dict[str, bytes]:
    """The files of the renewed identity. Raises `ConfigurationError` when the certificate is not for our key."""
    leaf = x509.load_pem_x509_certificate(issued["certificate"].encode("ascii"))
    if leaf.public_key() != key.public_key():
        raise ConfigurationError("The certificate is not for the key that was made here.", "Tell the operator.")
    facts = json.loads((find_pair(identity.folder) / "agent.json").read_text("utf-8"))
    facts["not_after"] = leaf.not_valid_after_utc.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "agent.key": encode_pem_key(key),
        "agent.crt": issued["certificate"].encode("ascii"),
        "chain.pem": issued["chain"].encode("ascii"),
        "agent.json": orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
    }


def fetch_anchor(identity: Identity, client: httpx.Client) -> bytes | None:
    """The new content of `ca.crt`; None if it has that already, or the appliance shows none.

    When the appliance has a new anchor while its edge still shows a certificate under the old one, both are kept:
    the identity must be able to connect now and afterwards.
    """
    try:
        reply = client.get("/pki/ca.crt")
        shown = x509.load_pem_x509_certificates(reply.content) if reply.status_code == 200 else []
        held = x509.load_pem_x509_certificates(identity.ca_file.read_bytes())
    except (httpx.HTTPError, ValueError, OSError):
        return None
    if not shown or set(shown) == set(held):
        return None
    if _reaches(identity, shown):
        return _encode(shown)
    both = [*shown, *(old for old in held if old not in shown)]
    return None if set(both) == set(held) else _encode(both)


def _reaches(identity: Identity, anchors: list[x509.Certificate]) -> bool:
    """True if these anchors alone verify the appliance's present certificate."""
    context = ssl.create_default_context(cadata=_encode(anchors).decode("ascii"))
    try:
        with httpx.Client(verify=context, trust_env=False, timeout=REQUEST_SECONDS) as client:
            client.get(f"{identity.base_url}/health")
    except httpx.HTTPError:
        return False
    return True


def _encode(certificates: list[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def _opened(identity: Identity) -> httpx.Client:
    return httpx.Client(
        base_url=identity.base_url,
        auth=DPoPAuth(identity),
        verify=identity.tls(certificate=False),
        timeout=REQUEST_SECONDS,
        trust_env=False,
    )


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Holds the lock of the folder. Turns an error of the disk into `ConfigurationError`."""
    try:
        with alone(folder):
            yield
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written.", "Check its owner and the disk.") from error
