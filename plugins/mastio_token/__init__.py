"""Authenticates access tokens of ours, admin tokens and client assertions; mints tokens."""
