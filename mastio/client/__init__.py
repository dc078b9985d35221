"""The agent's library: its identity on disk, its proof by an httpx client, and the renewal of its certificate.

It imports no server code.
"""

from mastio.client.auth import CertificateAuth, DPoPAuth, async_certificate_client, certificate_client
from mastio.client.identity import Identity
from mastio.client.renewal import renew

__all__ = ["CertificateAuth", "DPoPAuth", "Identity", "async_certificate_client", "certificate_client", "renew"]
