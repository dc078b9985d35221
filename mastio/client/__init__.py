"""What an agent imports: its identity on disk, how an httpx client proves it, and how its certificate is renewed.

Nothing of the appliance's own.
"""

from mastio.client.auth import CertificateAuth, DPoPAuth, async_certificate_client, certificate_client
from mastio.client.identity import Identity
from mastio.client.renewal import renew

__all__ = ["CertificateAuth", "DPoPAuth", "Identity", "async_certificate_client", "certificate_client", "renew"]
