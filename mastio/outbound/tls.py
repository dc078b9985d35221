"""TLS settings for upstream connections: trusted CAs, pins, and our client certificate. For plugins.

Made when a connection is described, and used by the pools of `mastio.outbound.upstream`.

Three ways, all TLS 1.2 or newer: by the system's authorities, by authorities of its own, or by the one certificate
that is pinned. A pin alone replaces the checks of authority, host name and dates; together with authorities
both must hold. It is compared before any byte of a request is sent.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import ssl

_PIN = re.compile(r"([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}")


class TlsError(ValueError):
    """Authorities, pin or certificate cannot be used. The text says why, without any of their contents."""


def make_context(ca: str | None, pin: str | None, certificate: str | None) -> ssl.SSLContext:
    """`ca`: PEM of the authorities to trust; with neither it nor `pin`, the system's. `certificate`: PEM of the
    client's private key, its certificate and those between it and its root. Raises `TlsError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca is not None:
        _trust(context, ca)
    elif pin is None:
        context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the pin is what verifies: see the module's text
    if pin is not None:
        parse_pin(pin)
    if certificate is not None:
        _present(context, certificate)
    return context


def parse_pin(pin: str) -> bytes:
    """SHA-256 of a certificate's DER, from hexadecimal, as tools print it. Raises `TlsError`."""
    if not _PIN.fullmatch(pin):
        raise TlsError("The pin is not the SHA-256 of a certificate in hexadecimal.")
    return bytes.fromhex(pin.replace(":", ""))


def is_pinned(der: bytes | None, pin: bytes) -> bool:
    return der is not None and hmac.compare_digest(hashlib.sha256(der).digest(), pin)


def _trust(context: ssl.SSLContext, ca: str) -> None:
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # what the admin trusts need not be a root
    try:
        context.load_verify_locations(cadata=ca)
    except (ssl.SSLError, ValueError) as error:
        raise TlsError("The certificates of the authorities are not PEM.") from error
    if not context.cert_store_stats()["x509"]:
        raise TlsError("There is no certificate among the authorities.")


def _present(context: ssl.SSLContext, certificate: str) -> None:
    """The library reads keys from files only: this one is in memory, nameless, and gone at once."""
    file = os.memfd_create("certificate")
    try:
        with os.fdopen(os.dup(file), "wb") as stream:
            stream.write(certificate.encode("utf-8"))
        # An empty passphrase: otherwise an encrypted key would be asked about on a terminal.
        context.load_cert_chain(f"/proc/self/fd/{file}", password="")
    except (ssl.SSLError, ValueError) as error:
        raise TlsError("The client certificate is not PEM of a key without passphrase and its certificate.") from error
    finally:
        os.close(file)
