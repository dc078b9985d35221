"""Facts of a request that several findings make together."""

from __future__ import annotations

from mastio.exchange.inspection import Finding
from mastio.exchange.values import Action, Principal
from mastio_policy.facts import READ, Subject

FINDINGS = (Finding("injection.override", 80), Finding("injection.system", 30), Finding("pii.EMAIL_ADDRESS", 100, 2))
SUBJECT = Subject(Principal("alice", frozenset({"agent"})), Action("llm.chat", "Model", "m"), lambda: 0.0, FINDINGS)


def test_the_highest_score_of_a_detector_counts() -> None:
    assert READ["content.scores.injection"](SUBJECT) == 80
    assert READ["content.scores.jailbreak"](SUBJECT) == 0


def test_findings_are_counted_by_their_times() -> None:
    assert READ["content.counts.pii"](SUBJECT) == 2
    assert READ["content.found"](SUBJECT) == 4
