"""Finds and replaces what must not leave: the engine of redaction."""
