"""The certificates of the appliance's authority, without its keys: what the data plane needs to know whom to trust."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from mastio.exchange.errors import ConfigurationError
from mastio.identity.rotation import current, in_force, next_change
from mastio.identity.trust import Trust
from mastio.pki.certificates import encode_der
from mastio.pki.ring import AuthorityRing, Generation, read_ring, signature_of


@dataclass(frozen=True, slots=True)
class IssuedLeaf:
    """An agent's new leaf. `chain` is the intermediate (PEM), without the root. Times are Unix seconds.

    `issuer` is the id of the intermediate's generation.
    """

    name: str
    spiffe_id: str
    certificate: str
    chain: str
    thumbprint: str
    serial: str
    issued_at: float
    not_after: float
    issuer: str


@dataclass(frozen=True, slots=True)
class RingState:
    """The ring as it was read, and who of it is in force. It holds from `since` until `until`, Unix seconds."""

    signature: tuple[int, int] | None
    ring: AuthorityRing
    root: Generation
    intermediate: Generation
    trust: Trust
    since: float
    until: float


def read_state(folder: Path, now: float) -> RingState:
    """Raises `ConfigurationError`, and `OSError` when the folder cannot be looked at."""
    signature = signature_of(folder)
    ring = read_ring(folder)
    try:
        root, intermediate = current(ring.roots, now), current(ring.intermediates, now)
    except LookupError as error:
        raise ConfigurationError(
            "Every generation of the certificate authority has ended.", "Restore ca/ from a backup."
        ) from error
    return RingState(
        signature=signature,
        ring=ring,
        root=root,
        intermediate=intermediate,
        trust=Trust(
            tuple(encode_der(one.certificate) for one in in_force(ring.roots, now)),
            tuple(encode_der(one.certificate) for one in in_force(ring.intermediates, now)),
        ),
        since=now,
        until=min(next_change(all_, now) for all_ in (ring.roots, ring.intermediates)),
    )


class PublicAuthority:
    """Reads certificates alone, never a key. `refresh` takes over what a rotation, by whichever process, wrote."""

    def __init__(self, data: Path, now: float) -> None:
        self.folder = data / "ca"
        self._edge = data / "edge"
        self._take(now)

    def refresh(self, now: float) -> bool:
        """Take over another state of the ring; True if there was one. Cheap otherwise: call it several times a second.

        Raises `ConfigurationError` and stays as it was when the files cannot be read.
        """
        try:
            changed = signature_of(self.folder) != self._state.signature
        except OSError as error:
            raise ConfigurationError(
                "The certificate authority cannot be read.", f"Restore {self.folder} from a backup."
            ) from error
        if not changed and self._state.since <= now < self._state.until:
            return False
        self._take(now)
        return True

    def _take(self, now: float) -> None:
        self._state = read_state(self.folder, now)

    @property
    def ring(self) -> AuthorityRing:
        """Every generation, with its dates."""
        return self._state.ring

    @property
    def root_pem(self) -> bytes:
        """`ca.crt` as clients are given it."""
        return self._state.root.certificate.public_bytes(Encoding.PEM)

    @property
    def root_sha256(self) -> str:
        """SHA-256 of the root's DER in lower-case hex: `bootstrap.json`'s `ca_sha256`, `enroll --ca-sha256`."""
        return hashlib.sha256(encode_der(self._state.root.certificate)).hexdigest()

    @property
    def not_after(self) -> float:
        """The end of the intermediate certificate, Unix seconds: nothing that it issues outlives it."""
        return self._state.intermediate.certificate.not_valid_after_utc.timestamp()

    def trust(self) -> Trust:
        """For `Services.trust`."""
        return self._state.trust

    def server_certificate(self) -> x509.Certificate | None:
        """The edge's, if there is one that can be read."""
        try:
            return x509.load_pem_x509_certificate((self._edge / "server.crt").read_bytes())
        except (OSError, ValueError):
            return None
