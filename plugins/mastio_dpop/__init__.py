"""Authenticates DPoP proofs (RFC 9449): one `DPoP` header proves a key, once, for this request, on this host."""
