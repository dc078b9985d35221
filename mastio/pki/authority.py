"""The appliance's certificate authority: its keys and certificates on disk, and what it signs with them.

Files in `ca/` (0700): `root.crt root.key intermediate.crt intermediate.key`, keys 0600; `ca.crt`, the trust anchor
that clients are given; `clients.pem`, root and intermediate, against which the edge checks client certificates.
Made once, as a whole: the folder appears complete or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from mastio.errors import ConfigurationError
from mastio.pki.certificates import (
    Issuer,
    PublicKey,
    Revoked,
    build_agent_leaf,
    build_crl,
    build_intermediate,
    build_root,
    build_server_leaf,
    encode_der,
    encode_pem,
    encode_serial,
    spiffe_id,
    thumbprint,
)
from mastio.pki.files import sync_folder, write_private, write_public
from mastio.services import Trust

DAY = 86_400.0
ROOT_SECONDS = 3652 * DAY
INTERMEDIATE_SECONDS = 730 * DAY
SERVER_SECONDS = 30 * DAY


@dataclass(frozen=True, slots=True)
class IssuedLeaf:
    """An agent's new leaf. `chain` is the intermediate (PEM), without the root. Times are Unix seconds."""

    name: str
    spiffe_id: str
    certificate: str
    chain: str
    thumbprint: str
    serial: str
    issued_at: float
    not_after: float


class Authority:
    """Signs agents' leaves, the edge's certificate and the revocation list. Holds the intermediate's key in memory."""

    def __init__(self, data: Path, trust_domain: str, root: x509.Certificate, issuer: Issuer) -> None:
        self._edge = data / "edge"
        self._trust_domain = trust_domain
        self._root = root
        self._issuer = issuer
        self._chain = encode_pem(issuer.certificate)
        self._trust = Trust(encode_der(root), (encode_der(issuer.certificate),))

    @classmethod
    def ensure(cls, data: Path, trust_domain: str, now: float) -> Authority:
        """The authority of this data folder, made now if there is none. Raises `ConfigurationError`.

        Called by the supervisor at start. Two at once make one: the loser of the race loads the winner's.
        """
        if not (data / "ca" / "intermediate.crt").exists():
            try:
                _make(data, trust_domain, now)
            except OSError as error:
                raise ConfigurationError(
                    "The certificate authority cannot be written.", f"Make {data / 'ca'} writable, or remove it."
                ) from error
        return cls.load(data, trust_domain)

    @classmethod
    def load(cls, data: Path, trust_domain: str) -> Authority:
        """As made before: what each worker calls. Raises `ConfigurationError` when a file is missing or unfitting."""
        folder = data / "ca"
        try:
            root = x509.load_pem_x509_certificate((folder / "root.crt").read_bytes())
            intermediate = x509.load_pem_x509_certificate((folder / "intermediate.crt").read_bytes())
            key = load_pem_private_key((folder / "intermediate.key").read_bytes(), password=None)
            intermediate.verify_directly_issued_by(root)
        except (OSError, ValueError, TypeError, InvalidSignature) as error:
            raise ConfigurationError(
                "The certificate authority cannot be read.", f"Restore {folder} from a backup."
            ) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != intermediate.public_key():
            raise ConfigurationError(
                "The certificate authority's key does not fit its certificate.", f"Restore {folder} from a backup."
            )
        return cls(data, trust_domain, root, Issuer(intermediate, key))

    @property
    def root_pem(self) -> bytes:
        """`ca.crt` as clients are given it."""
        return self._root.public_bytes(Encoding.PEM)

    @property
    def root_sha256(self) -> str:
        """SHA-256 of the root's DER in lower-case hex: `bootstrap.json`'s `ca_sha256`, `enroll --ca-sha256`."""
        return hashlib.sha256(self._trust.root).hexdigest()

    @property
    def not_after(self) -> float:
        """When the intermediate ends: nothing that is issued outlives it. Unix seconds."""
        return self._issuer.certificate.not_valid_after_utc.timestamp()

    def trust(self) -> Trust:
        """For `Services.trust`."""
        return self._trust

    def issue_leaf(self, key: PublicKey, name: str, now: float, seconds: float) -> IssuedLeaf:
        """A leaf for the agent `name` with this key (`parse_csr` gives it), good for `seconds`."""
        leaf = build_agent_leaf(key, name, self._trust_domain, self._issuer, now, seconds)
        return IssuedLeaf(
            name=name,
            spiffe_id=spiffe_id(self._trust_domain, name),
            certificate=encode_pem(leaf),
            chain=self._chain,
            thumbprint=thumbprint(encode_der(leaf)),
            serial=encode_serial(leaf.serial_number),
            issued_at=now,
            not_after=leaf.not_valid_after_utc.timestamp(),
        )

    def issue_server(self, names: Sequence[str], now: float, seconds: float = SERVER_SECONDS) -> None:
        """Write `edge/server.crt` (leaf and intermediate) and `edge/server.key` (0600), with a new key.

        Each file appears whole. A crash between the two leaves a pair that does not fit, which `needs_renewal` sees.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = build_server_leaf(key.public_key(), names, self._issuer, now, seconds)
        self._edge.mkdir(parents=True, exist_ok=True)
        write_private(self._edge / "server.key", _encode_key(key))
        write_public(self._edge / "server.crt", (encode_pem(leaf) + self._chain).encode("ascii"))

    def needs_renewal(self, now: float, names: Sequence[str] = ()) -> bool:
        """Whether the edge's certificate has less than a third of its life left, is absent, is not by this authority,
        does not fit its key, or lacks one of `names`."""
        try:
            leaf = x509.load_pem_x509_certificate((self._edge / "server.crt").read_bytes())
            key = load_pem_private_key((self._edge / "server.key").read_bytes(), password=None)
            leaf.verify_directly_issued_by(self._issuer.certificate)
        except (OSError, ValueError, TypeError, InvalidSignature):
            return True
        alternative = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        covered = {str(name.value) for name in alternative}
        start, end = leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()
        return key.public_key() != leaf.public_key() or not covered.issuperset(names) or end - now < (end - start) / 3

    def crl(self, revoked: Iterable[Revoked], number: int, now: float, seconds: float = DAY) -> bytes:
        """The revocation list, PEM, good for `seconds`. `number` grows whenever the list changes."""
        return build_crl(revoked, self._issuer, number, now, seconds).public_bytes(Encoding.PEM)


def _make(data: Path, trust_domain: str, now: float) -> None:
    """Make the folder `ca/` beside its place and move it there in one step, unless another process was faster."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = build_root(root_key, trust_domain, now, ROOT_SECONDS)
    intermediate = build_intermediate(key, trust_domain, Issuer(root, root_key), now, INTERMEDIATE_SECONDS)
    data.mkdir(parents=True, exist_ok=True)
    draft = data / f".ca-{secrets.token_hex(8)}"
    draft.mkdir(mode=0o700)
    try:
        write_private(draft / "root.key", _encode_key(root_key))
        write_private(draft / "intermediate.key", _encode_key(key))
        root_pem, intermediate_pem = encode_pem(root).encode("ascii"), encode_pem(intermediate).encode("ascii")
        write_public(draft / "root.crt", root_pem)
        write_public(draft / "ca.crt", root_pem)
        write_public(draft / "intermediate.crt", intermediate_pem)
        write_public(draft / "clients.pem", root_pem + intermediate_pem)
        draft.rename(data / "ca")
        sync_folder(data)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
