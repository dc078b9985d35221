"""Verification of a log from its bytes, wherever they are."""
