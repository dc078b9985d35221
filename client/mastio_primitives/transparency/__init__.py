"""A transparency log as pure functions: its tree and proofs, its signed notes (RFC 6962, C2SP).

Here because two stand on it who may not know each other: the plugin that keeps the log, and an agent that verifies
what it was told.
"""
