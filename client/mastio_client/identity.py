"""An agent's identity on disk, as the verb `enroll` writes it.

Files: `agent.key agent.crt chain.pem dpop.jwk agent.json ca.crt`; after a renewal some of them are links
(`mastio_client.folder`).
"""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from mastio_client.folder import find_pair
from mastio_client.proofs import PrivateKey, parse_private_jwk
from mastio_primitives.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Identity:
    """The agent's identity and its appliance's address. `dpop_key` signs proofs and client assertions."""

    folder: Path
    name: str
    base_url: str
    ca_file: Path
    dpop_key: PrivateKey

    @classmethod
    def load(cls, folder: Path) -> Identity:
        """Raises `ConfigurationError` when the folder is not an identity."""
        try:
            known = json.loads((folder / "agent.json").read_text("utf-8"))
            dpop_key = parse_private_jwk(json.loads((folder / "dpop.jwk").read_text("utf-8")))
            return cls(folder, known["name"], known["base_url"].rstrip("/"), folder / known["ca_file"], dpop_key)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"{folder} is not an agent's identity.", "Make one with the verb enroll."
            ) from error

    def tls(self, *, certificate: bool) -> ssl.SSLContext:
        """A context that trusts the appliance's authority and, if asked, shows the agent's certificate."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        if certificate:
            self.show_certificate(context)
        return context

    def show_certificate(self, context: ssl.SSLContext) -> None:
        """New connections of `context` show the certificate that is on disk now. Raises `ConfigurationError`."""
        try:
            try:
                pair = find_pair(self.folder)
                context.load_cert_chain(pair / "agent.crt", pair / "agent.key")
            except FileNotFoundError:  # renewed, and the old pair removed, just now
                pair = find_pair(self.folder)
                context.load_cert_chain(pair / "agent.crt", pair / "agent.key")
        except OSError as error:  # ssl.SSLError is one
            raise ConfigurationError(
                f"The certificate in {self.folder} cannot be used.", "Check agent.crt and agent.key, or enrol again."
            ) from error

    def leaf(self) -> x509.Certificate:
        """The certificate that is on disk now. Raises `ConfigurationError`."""
        try:
            return x509.load_pem_x509_certificate((self.folder / "agent.crt").read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"The certificate in {self.folder} cannot be read.", "Check agent.crt, or enrol again."
            ) from error
