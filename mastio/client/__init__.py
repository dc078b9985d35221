"""What an agent imports: its identity on disk, proofs, and `DPoPAuth` for httpx. Nothing of the appliance's own."""

from mastio.client.auth import DPoPAuth
from mastio.client.identity import Identity

__all__ = ["DPoPAuth", "Identity"]
