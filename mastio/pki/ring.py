"""The generations of the authority's roots and intermediates, as the folder `ca/` holds them.

`ring.json` names the generations with their dates; beside it `<id>.crt` and `<id>.key` (0600) of each, and
`<id>.cross.crt`: a root's key signed by the root before it (RFC 4210 §4.4, "new with old"), by which a client that only
trusts the old root believes what is below the new one. A folder without `ring.json` was never rotated: its generations
are `root` and `intermediate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from mastio.exchange.errors import ConfigurationError
from mastio.identity.rotation import in_force
from mastio.pki.certificates import Issuer, encode_pem
from mastio_primitives.files import write_private, write_public

RING = "ring.json"


@dataclass(frozen=True, slots=True)
class Generation:
    """A root or an intermediate. `root` is the id of the root that signed an intermediate. Dates: `rotation.Dated`."""

    id: str
    certificate: x509.Certificate
    created_at: float
    active_from: float
    retire_at: float | None = None
    root: str | None = None
    cross: x509.Certificate | None = None


@dataclass(frozen=True, slots=True)
class AuthorityRing:
    """Every generation that is remembered, the oldest first."""

    roots: tuple[Generation, ...]
    intermediates: tuple[Generation, ...]

    def chain(self, issuer: Generation, now: float) -> tuple[x509.Certificate, ...]:
        """The certificates to send with a leaf of `issuer`: the issuer, and the cross certificates down to roots still
        trusted."""
        certificates = [issuer.certificate]
        trusted = in_force(self.roots, now)
        above = next((root for root in self.roots if root.id == issuer.root), self.roots[-1])
        for root in reversed(self.roots[: self.roots.index(above) + 1]):
            older = self.roots[: self.roots.index(root)]
            if root.cross is None or not set(older) & set(trusted):
                break
            certificates.append(root.cross)
        return tuple(certificates)

    def retire(self, now: float, retire_at: float, *, roots: bool) -> AuthorityRing:
        """With an end for every intermediate (and root) of today; what ended before is forgotten."""
        return AuthorityRing(
            _with_end(self.roots, now, retire_at) if roots else self.roots,
            _with_end(self.intermediates, now, retire_at),
        )


def _with_end(generations: tuple[Generation, ...], now: float, retire_at: float) -> tuple[Generation, ...]:
    return tuple(
        replace(one, retire_at=retire_at if one.retire_at is None else min(one.retire_at, retire_at))
        for one in in_force(generations, now)
    )


def signature_of(folder: Path) -> tuple[int, int] | None:
    """Changes whenever the ring was written; None before the first rotation. Raises `OSError`."""
    try:
        status = (folder / RING).stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ino


def read_ring(folder: Path) -> AuthorityRing:
    """Raises `ConfigurationError` when a file is missing or does not fit."""
    try:
        if not (folder / RING).exists():
            root, intermediate = _read_certificate(folder, "root"), _read_certificate(folder, "intermediate")
            ring = AuthorityRing((_first("root", root),), (_first("intermediate", intermediate, "root"),))
        else:
            known = orjson.loads((folder / RING).read_bytes())
            ring = AuthorityRing(
                tuple(_read(folder, entry) for entry in known["roots"]),
                tuple(_read(folder, entry) for entry in known["intermediates"]),
            )
        _verify(ring)
    except (OSError, ValueError, TypeError, KeyError, InvalidSignature) as error:
        raise ConfigurationError(
            "The certificate authority cannot be read.", f"Restore {folder} from a backup."
        ) from error
    return ring


def write_ring(folder: Path, ring: AuthorityRing) -> None:
    """The commit point of a rotation: the certificates and keys that it names must be there already."""
    known = {
        "roots": [_encode(one) for one in ring.roots],
        "intermediates": [_encode(one) for one in ring.intermediates],
    }
    write_private(folder / RING, orjson.dumps(known, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_issuer(folder: Path, one: Generation) -> Issuer:
    """The generation with its key. Raises `ConfigurationError`."""
    try:
        key = load_pem_private_key((folder / f"{one.id}.key").read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(
            "A key of the certificate authority cannot be read.", f"Restore {folder} from a backup."
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != one.certificate.public_key():
        raise ConfigurationError(
            "The certificate authority's key does not fit its certificate.", f"Restore {folder} from a backup."
        )
    return Issuer(one.certificate, key)


def write_generation(folder: Path, one: Generation, key: ec.EllipticCurvePrivateKey) -> None:
    """Its files, each whole. Nothing refers to them before the ring does."""
    write_private(folder / f"{one.id}.key", encode_key(key))
    write_public(folder / f"{one.id}.crt", encode_pem(one.certificate).encode("ascii"))
    if one.cross is not None:
        write_public(folder / f"{one.id}.cross.crt", encode_pem(one.cross).encode("ascii"))


def next_id(folder: Path, stem: str) -> str:
    """`intermediate-2` and so on: one that no file has, also not one of a rotation that a crash cut short."""
    number = 2
    while (folder / f"{stem}-{number}.key").exists() or (folder / f"{stem}-{number}.crt").exists():
        number += 1
    return f"{stem}-{number}"


def encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _encode(one: Generation) -> dict[str, object]:
    names = ("id", "created_at", "active_from", "retire_at", "root")
    return {name: value for name in names if (value := getattr(one, name)) is not None}


def _first(name: str, certificate: x509.Certificate, root: str | None = None) -> Generation:
    begun = certificate.not_valid_before_utc.timestamp()
    return Generation(name, certificate, begun, begun, root=root)


def _read(folder: Path, entry: Mapping[str, Any]) -> Generation:
    name = str(entry["id"])
    cross = folder / f"{name}.cross.crt"
    return Generation(
        name,
        _read_certificate(folder, name),
        float(entry["created_at"]),
        float(entry["active_from"]),
        None if entry.get("retire_at") is None else float(entry["retire_at"]),
        entry.get("root"),
        x509.load_pem_x509_certificate(cross.read_bytes()) if cross.exists() else None,
    )


def _read_certificate(folder: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())


def _verify(ring: AuthorityRing) -> None:
    """Every intermediate is by its root. Raises `ValueError` or `InvalidSignature`."""
    roots = {root.id: root.certificate for root in ring.roots}
    if not roots or not ring.intermediates:
        raise ValueError("a generation is missing")
    for one in ring.intermediates:
        above = roots.get(one.root or "")
        if above is not None:
            one.certificate.verify_directly_issued_by(above)
        elif one.retire_at is None:
            raise ValueError("the root of an intermediate is missing")
