"""Mastio: a security appliance for AI agents. Start reading at `mastio.pipeline.order`."""

__version__ = "0.1.0"
