"""Authenticates client certificates (mTLS). The edge verified possession of the key; here the chain is judged again."""
