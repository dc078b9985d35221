"""Secrets at rest: key files, sealed columns, files that the operator laid down."""
