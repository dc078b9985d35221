"""Dispatches `egress.http`: HTTP to the connections that an admin described, with a credential that no agent sees."""
