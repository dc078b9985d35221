"""Policies that come with the appliance: one file each, in force only where an admin installs them.

Each says by `@title` what it does and by `@maps` which clauses of which regulations and catalogues it helps to meet.
None of them permits anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mastio.cedar.source import read_cedar

CATALOGUES = ("EU AI Act", "GDPR", "NIST AI RMF", "OWASP LLM", "OWASP ASI", "ISO 42001", "PCI DSS")
"""OWASP LLM: Top 10 for LLM applications, 2025. OWASP ASI: Top 10 for agentic applications, 2026. PCI DSS: 4.0."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """One of them. `hold`: seconds that a human has, where it asks for one."""

    name: str
    title: str
    maps: tuple[str, ...]
    cedar: str
    hold: int | None


def read_shipped(folder: Path = Path(__file__).parent) -> tuple[Shipped, ...]:
    """All of them, by name."""
    found = []
    for file in sorted(folder.glob("*.cedar")):
        source = file.read_text("utf-8")
        (rule,) = read_cedar(source)
        maps = tuple(clause.strip() for clause in rule.annotations["maps"].split(";"))
        found.append(Shipped(file.stem, rule.annotations["title"], maps, source, rule.hold))
    return tuple(found)
