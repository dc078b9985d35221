"""Control-plane storage: what exists and what is allowed. No exchange on the data plane reads it; see `hot.py`."""
