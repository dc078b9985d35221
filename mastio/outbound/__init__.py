"""The only way out: resolve a name, check its addresses, connect, send."""
