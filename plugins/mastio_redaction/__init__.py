"""Redaction: finds personal data and secrets in messages and replies, and takes out what policies say."""
