"""Readings of a text in which each value stands right after its label."""
