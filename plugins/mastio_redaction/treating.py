"""What becomes of the values that were found in texts: taken out, put in order as findings, or a reason to refuse.

Pure but for the vault of the exchange, which remembers what took whose place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mastio.inspection import Finding
from mastio_redaction.engine import Span
from mastio_redaction.rulings import Rule, Side
from mastio_redaction.vault import Vault


class Treated(NamedTuple):
    """A value, what is done with it, and what takes its place, where something does."""

    span: Span
    rule: Rule
    replacement: str | None


@dataclass(slots=True)
class Outcome:
    """What was found in some texts. `texts`: those that are others now, by their number. `blocked`: types."""

    texts: dict[int, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    blocked: set[str] = field(default_factory=set)


class Treatment:
    """What one side of a ruling does with values. `classes`: of each type, for the labels of findings.

    `restored` has what is put back for the caller, `gone` what is not. What stands for something in `known` is no
    value: a surrogate looks like one.
    """

    def __init__(
        self, side: Side, classes: Mapping[str, str], restored: Vault, gone: Vault, known: Vault | None = None
    ) -> None:
        self._side = side
        self._classes = classes
        self._restored = restored
        self._gone = gone
        self._known = known

    def treat(self, text: str, spans: Iterable[Span]) -> list[Treated]:
        """In the order of the spans; without those that nobody wants to know of."""
        made = []
        for span in spans:
            rule = self._side.rule(span.type)
            value = text[span.start : span.end]
            if rule.action == "off" or value.casefold() in self._side.never:
                continue
            if self._known is not None and self._known.is_token(value):
                continue
            made.append(Treated(span, rule, self._replace(value, span, rule) if rule.action == "redact" else None))
        return made

    def _replace(self, value: str, span: Span, rule: Rule) -> str:
        vault = self._restored if rule.restore else self._gone
        return vault.replace(rule.strategy, span.type, value).token

    def treat_all(self, texts: Sequence[str], found: Sequence[Sequence[Span]]) -> Outcome:
        outcome = Outcome()
        for number, (text, spans) in enumerate(zip(texts, found, strict=True)):
            if not spans:
                continue
            treated = self.treat(text, spans)
            outcome.findings += self.find(treated)
            outcome.blocked.update(one.span.type for one in treated if one.rule.action == "block")
            new = put_in_place(text, treated)
            if new != text:
                outcome.texts[number] = new
        return outcome

    def find(self, treated: Iterable[Treated]) -> list[Finding]:
        return [
            Finding(f"{self._classes.get(one.span.type, 'custom')}.{one.span.type}", round(one.span.score * 100))
            for one in treated
        ]


def put_in_place(text: str, treated: Sequence[Treated]) -> str:
    """The text with every replacement where its value was."""
    pieces: list[str] = []
    end = 0
    for span, _, replacement in treated:
        if replacement is not None:
            pieces += (text[end : span.start], replacement)
            end = span.end
    return "".join((*pieces, text[end:]))


def describe_block(types: Iterable[str]) -> str:
    """For the caller: what kind of value it was, never the value."""
    return f"The content has what must not pass here: {', '.join(sorted(types))}."
