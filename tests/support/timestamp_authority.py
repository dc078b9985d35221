"""A time-stamping authority for tests: `openssl ts` behind HTTP(S), with a chain of its own."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

OPENSSL = shutil.which("openssl")
STAMPING = ExtendedKeyUsageOID.TIME_STAMPING
CONFIG = """
[tsa]
default_tsa = this
[this]
dir = {folder}
serial = $dir/serial
crypto_device = builtin
signer_cert = $dir/tsa.pem
certs = $dir/chain.pem
signer_key = $dir/tsa.key
signer_digest = {digest}
default_policy = 1.2.3.4.1
digests = {digests}
accuracy = secs:1
ess_cert_id_chain = no
ess_cert_id_alg = {ess}
"""
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def make_key(kind: str) -> Key:
    if kind == "rsa":
        return rsa.generate_private_key(65537, 2048)
    return ec.generate_private_key(ec.SECP256R1())


def issue(
    subject: str, key: Key, issuer: str, issuer_key: Key, *, ca: bool, usages: list[x509.ObjectIdentifier], **more: Any
) -> x509.Certificate:
    """`critical`: of the extended key usage. `days`: from when to when."""
    start, end = more.get("days", (-1, 30))
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=start))
        .not_valid_after(now + timedelta(days=end))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False),
            critical=True,
        )
    )
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=more.get("critical", True))
    return builder.sign(issuer_key, hashes.SHA256())


class Tsa:
    """Its files are in `folder`; `ca_file` is what an operator would name. Options change one thing that should be so.

    `change` gets each reply and may spoil it; `requests` are what came.
    """

    def __init__(
        self, folder: Path, *, kind: str = "ec", digest: str = "sha256", ess: str = "sha256", **more: Any
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.ca_file = folder / "root.pem"
        self.requests: list[bytes] = []
        self.change: Callable[[bytes], tuple[int, str, bytes]] = lambda r: (200, "application/timestamp-reply", r)
        root_key, middle_key, key = make_key(kind), make_key(kind), make_key(kind)
        root = issue("root", root_key, "root", root_key, ca=True, usages=[])
        middle_ca = more.pop("middle_ca", True)
        middle = issue(
            "middle", middle_key, "root", root_key, ca=middle_ca, usages=more.pop("middle_usages", [STAMPING])
        )
        more.setdefault("usages", [STAMPING])
        leaf = issue("tsa", key, "middle", middle_key, ca=False, **more)
        self._write("root.pem", root)
        self._write("chain.pem", middle)
        self._write("tsa.pem", leaf)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / "tsa.key").write_bytes(private)
        (folder / "serial").write_text("01\n")
        self.configure(digest, ess, "sha256, sha512")
        self._lock = threading.Lock()

    def _write(self, file: str, certificate: x509.Certificate) -> None:
        (self.folder / file).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    @property
    def trusted(self) -> list[x509.Certificate]:
        return x509.load_pem_x509_certificates(self.ca_file.read_bytes())

    def configure(self, digest: str, ess: str, digests: str) -> None:
        text = CONFIG.format(folder=self.folder, digest=digest, ess=ess, digests=digests)
        (self.folder / "tsa.cnf").write_text(text)

    def reply(self, request: bytes) -> bytes:
        assert OPENSSL is not None
        with self._lock:
            (self.folder / "query").write_bytes(request)
            command = [OPENSSL, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-out", "reply"]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr.decode()
            return (self.folder / "reply").read_bytes()

    def verify(self, content: Path, reply: Path) -> bool:
        """What `openssl ts -verify` says."""
        assert OPENSSL is not None
        command = [OPENSSL, "ts", "-verify", "-data", str(content), "-in", str(reply), "-CAfile", str(self.ca_file)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


class TsaServer:
    """Serves a `Tsa` at `/tsr`; with `tls` over HTTPS."""

    def __init__(self, tsa: Tsa, tls: ssl.SSLContext | None = None) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = self.rfile.read(int(self.headers["content-length"]))
                right = self.path == "/tsr" and self.headers["content-type"] == "application/timestamp-query"
                tsa.requests.append(request)
                status, kind, content = tsa.change(tsa.reply(request)) if right else (400, "text/plain", b"")
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://localhost:{self._server.server_port}/tsr"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> TsaServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
