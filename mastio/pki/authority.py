"""The appliance's certificate authority: its keys and certificates on disk, and what it signs with them.

Files in `ca/` (0700): `root.crt root.key intermediate.crt intermediate.key`, keys 0600, and those of later generations
(`ring.py`); `ca.crt`, the trust anchor that clients are given; `clients.pem`, every root and intermediate that is
trusted, against which the edge checks client certificates.
Made once, as a whole: the folder appears complete or not at all.
"""

from __future__ import annotations

import errno
import secrets
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from mastio.exchange.errors import ConfigurationError
from mastio.identity.rotation import in_force
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
from mastio.pki.public import IssuedLeaf, PublicAuthority, read_state
from mastio.pki.ring import Generation, encode_key, read_issuer
from mastio_primitives.files import sync_folder, write_private, write_public

DAY = 86_400.0
ROOT_SECONDS = 3652 * DAY
INTERMEDIATE_SECONDS = 730 * DAY
SERVER_SECONDS = 30 * DAY


class Authority(PublicAuthority):
    """Signs agents' leaves, the edge's certificate and the revocation list.

    Holds the keys of the intermediates in memory: the control plane and what prepares a data folder make one.
    """

    def __init__(self, data: Path, trust_domain: str, now: float) -> None:
        self._trust_domain = trust_domain
        super().__init__(data, now)

    def _take(self, now: float) -> None:
        state = read_state(self.folder, now)
        self._issuers = {one.id: read_issuer(self.folder, one) for one in in_force(state.ring.intermediates, now)}
        self._state = state

    @property
    def _issuer(self) -> Issuer:
        return self._issuers[self._state.intermediate.id]

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
        return cls(data, trust_domain, now)

    @classmethod
    def load(cls, data: Path, trust_domain: str, now: float) -> Authority:
        """Load the authority that exists already. Raises `ConfigurationError` when a file is missing or unfitting."""
        return cls(data, trust_domain, now)

    def issue_leaf(self, key: PublicKey, name: str, now: float, seconds: float) -> IssuedLeaf:
        """A leaf for the agent `name` with this key (`parse_csr` gives it), good for `seconds`."""
        leaf = build_agent_leaf(key, name, self._trust_domain, self._issuer, now, seconds)
        return IssuedLeaf(
            name=name,
            spiffe_id=spiffe_id(self._trust_domain, name),
            certificate=encode_pem(leaf),
            chain=encode_pem(self._issuer.certificate),
            thumbprint=thumbprint(encode_der(leaf)),
            serial=encode_serial(leaf.serial_number),
            issued_at=now,
            not_after=leaf.not_valid_after_utc.timestamp(),
            issuer=self._state.intermediate.id,
        )

    def issue_server(self, names: Sequence[str], now: float, seconds: float = SERVER_SECONDS) -> None:
        """Write `edge/server.crt` (leaf and chain) and `edge/server.key` (0600), with a new key.

        The newest intermediate signs it, even before it signs for agents: clients only need the root, and where they
        have the one before, the chain leads there. Each file appears whole. A crash between the two leaves a pair that
        does not fit, which `needs_renewal` sees.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        newest = self._newest()
        leaf = build_server_leaf(key.public_key(), names, self._issuers[newest.id], now, seconds)
        chain = [leaf, *self.ring.chain(newest, now)]
        self._edge.mkdir(parents=True, exist_ok=True)
        write_private(self._edge / "server.key", encode_key(key))
        write_public(self._edge / "server.crt", "".join(map(encode_pem, chain)).encode("ascii"))

    def needs_renewal(self, now: float, names: Sequence[str] = ()) -> bool:
        """True if the edge's certificate has less than a third of its life left, is absent, is not by the newest
        intermediate with its present chain, does not fit its key, or lacks one of `names`."""
        newest = self._newest()
        try:
            leaf, *chain = x509.load_pem_x509_certificates((self._edge / "server.crt").read_bytes())
            key = load_pem_private_key((self._edge / "server.key").read_bytes(), password=None)
            leaf.verify_directly_issued_by(newest.certificate)
        except (OSError, ValueError, TypeError, InvalidSignature):
            return True
        alternative = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        covered = {str(name.value) for name in alternative}
        start, end = leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()
        fits = key.public_key() == leaf.public_key() and tuple(chain) == self.ring.chain(newest, now)
        return not fits or not covered.issuperset(names) or end - now < (end - start) / 3

    def _newest(self) -> Generation:
        return next(one for one in reversed(self.ring.intermediates) if one.id in self._issuers)

    def publish(self) -> None:
        """Write what is derived from the ring: `ca.crt`, and `clients.pem` here and for the edge. Only what differs."""
        trusted = b"".join(
            x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM)
            for der in (*self.trust().roots, *self.trust().intermediates)
        )
        self._edge.mkdir(parents=True, exist_ok=True)
        for file, content in (
            (self.folder / "clients.pem", trusted),
            (self._edge / "clients.pem", trusted),
            (self.folder / "ca.crt", self.root_pem),
        ):
            if not file.exists() or file.read_bytes() != content:
                write_public(file, content)

    def crl(self, revoked: Iterable[Revoked], number: int, now: float, seconds: float = DAY) -> bytes:
        """The revocation lists, PEM, good for `seconds`: one of each intermediate that is trusted, the newest first.

        A list names the leaves of its own intermediate, and those of which it is not known who signed them.
        `number` grows whenever a list changes.
        """
        lines = list(revoked)
        lists = [
            build_crl([line for line in lines if line.issuer in (None, name)], issuer, number, now, seconds)
            for name, issuer in reversed(self._issuers.items())
        ]
        return b"".join(made.public_bytes(Encoding.PEM) for made in lists)


def _make(data: Path, trust_domain: str, now: float) -> None:
    """Make the folder `ca/` beside its place and move it there in one step, unless another process was faster."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = build_root(root_key, trust_domain, now, ROOT_SECONDS)
    intermediate = build_intermediate(key, trust_domain, Issuer(root, root_key), now, INTERMEDIATE_SECONDS)
    data.mkdir(parents=True, exist_ok=True)
    draft = data / f".ca-{secrets.token_hex(8)}"
    draft.mkdir(mode=0o700)
    try:
        write_private(draft / "root.key", encode_key(root_key))
        write_private(draft / "intermediate.key", encode_key(key))
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
