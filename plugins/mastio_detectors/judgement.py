"""From suspicions to what is done: thresholds, findings, and what a caller is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from mastio.exchange.inspection import Finding, merge
from mastio_detectors.analysis.engine import Suspicion


class Rule(Protocol):
    """The rule for one class: its action and thresholds."""

    @property
    def action(self) -> str: ...
    @property
    def threshold(self) -> int: ...
    @property
    def block_threshold(self) -> int: ...


class Judgement(NamedTuple):
    """`findings`: what reached its threshold. `refused`: the one to refuse for, if any."""

    findings: tuple[Finding, ...]
    refused: str | None


NOTHING = Judgement((), None)


def judge(suspicions: Sequence[Suspicion], rules: Mapping[str, Rule]) -> Judgement:
    """A class is found where its strongest category reaches the threshold; the others are told where they do too."""
    found = [s for s in suspicions if rules[s.kind].action != "off" and s.confidence >= rules[s.kind].threshold]
    if not found:
        return NOTHING
    refused = [s for s in found if refuses(s, rules[s.kind])]
    label = max(refused, key=lambda s: s.confidence).category if refused else None
    return Judgement(merge(Finding(s.category, s.confidence) for s in found), label)


def refuses(suspicion: Suspicion, rule: Rule) -> bool:
    """True if it is refused and not only recorded: that takes more."""
    return rule.action == "block" and suspicion.confidence >= max(rule.threshold, rule.block_threshold)


def add(judgements: Iterable[Judgement]) -> Judgement:
    """Of all texts of a message."""
    judgements = [judgement for judgement in judgements if judgement.findings]
    if not judgements:
        return NOTHING
    refused = next((judgement.refused for judgement in judgements if judgement.refused is not None), None)
    return Judgement(merge(finding for judgement in judgements for finding in judgement.findings), refused)


def explain(label: str) -> str:
    """For the caller. Says what, not where: whoever tries to get past is not helped."""
    return f"The content was refused, because it reads like {_NAMES[label.partition('.')[0]]} ({label})."


def explain_definition(label: str) -> str:
    """As `explain`, with what helps: an admin can allow a tool."""
    said = _NAMES[label.partition(".")[0]]
    return f"The definition of a tool was refused, because it reads like {said} ({label}); an admin can allow the tool."


_NAMES = {
    "injection": "an attempt to give the model other instructions",
    "jailbreak": "an attempt to make the model leave its limits",
    "threat": "a threat",
    "identity": "a claim to an authority that was not proven",
    "confidential": "confidential information",
    "exfiltration": "an attempt to get data out",
    "bias": "hate or discrimination",
}
