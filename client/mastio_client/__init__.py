"""The agent's library: its identity on disk, its proof by an httpx client, and the renewal of its certificate.

It imports no server code.
"""

from mastio_client.auth import CertificateAuth, DPoPAuth, async_certificate_client, certificate_client
from mastio_client.identity import Identity
from mastio_client.renewal import renew

__version__ = "0.1.0"

__all__ = ["CertificateAuth", "DPoPAuth", "Identity", "async_certificate_client", "certificate_client", "renew"]
