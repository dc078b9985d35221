"""The operator's view: probes, the caller's own identity, what expires."""
