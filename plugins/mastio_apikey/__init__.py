"""Authenticates API keys (`mastio_sk_…`), for stock tools that can send a key and nothing else."""
