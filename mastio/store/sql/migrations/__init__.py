"""Alembic's folder: `env.py` and one file for each change of the tables."""
