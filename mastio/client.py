"""The agent's library under the name of the server: the public names of `mastio_client`, the same objects."""

from mastio_client import CertificateAuth, DPoPAuth, Identity, async_certificate_client, certificate_client, renew

__all__ = ["CertificateAuth", "DPoPAuth", "Identity", "async_certificate_client", "certificate_client", "renew"]
