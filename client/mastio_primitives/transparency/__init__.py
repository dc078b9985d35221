"""A transparency log: its tree and proofs, its signed notes (RFC 6962, C2SP), the arguments of verbs that verify it.

`merkle` and `notes` are pure. The plugin that keeps the log and the agent that verifies an entry both stand on them.
"""
