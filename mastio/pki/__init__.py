"""The appliance's own certificate authority: pure rules in `certificates.py`, the keys and files in `authority.py`."""
