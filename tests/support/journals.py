"""Judges what a fault left behind by three journals, each kept by another party: client, provider, log."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ClientJournal:
    """What the callers saw: request ids that were answered 200, other statuses, calls that broke off."""

    answered: list[str] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    broken: int = 0


@dataclass(frozen=True)
class Verdict:
    """Counts that must all be zero, each with the ids concerned."""

    lost: list[str]
    duplicated: list[str]
    unexplained: list[str]
    still_open: list[str]

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.unexplained or self.still_open)


def judge(client: ClientJournal, arrivals: list[str], entries: list[dict[str, Any]]) -> Verdict:
    """Every answer has one closed pair whose outcome is ok; every arrival at the provider has an intent; an outcome
    that nobody wrote is `unknown`; nothing is there twice."""
    phases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in entries:
        if entry["kind"] == "llm.chat" and entry["phase"] in ("intent", "outcome"):
            phases[entry["id"]].append(entry)
    shapes = {name: [entry["phase"] for entry in found] for name, found in phases.items()}
    outcomes = {
        name: [e["outcome"]["status"] for e in found if e["phase"] == "outcome"] for name, found in phases.items()
    }
    lost = [name for name in client.answered if outcomes.get(name) != ["ok"]]
    duplicated = [name for name, shape in shapes.items() if shape.count("intent") > 1 or shape.count("outcome") > 1]
    duplicated += [name for name, count in Counter(arrivals).items() if count > 1]
    unexplained = [name for name in arrivals if "intent" not in shapes.get(name, [])]
    unexplained += [name for name, shape in shapes.items() if shape[0] != "intent"]
    still_open = [name for name, shape in shapes.items() if "outcome" not in shape]
    return Verdict(lost, duplicated, unexplained, still_open)
