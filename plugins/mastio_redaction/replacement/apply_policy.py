"""The treatment of values found in texts: redaction, a list of findings, or a reason to refuse.

Pure but for the vault of the exchange, which remembers what took whose place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mastio.exchange.inspection import Finding
from mastio_redaction.engine import Span
from mastio_redaction.matched_policies import Rule, Side
from mastio_redaction.replacement.vault import Vault


class Treated(NamedTuple):
    """A value, what is done with it, and what takes its place, where something does."""

    span: Span
    rule: Rule
    replacement: str | None


@dataclass(slots=True)
class Outcome:
    """The result for some texts. `texts`: the changed ones, by their number. `blocked`: types."""

    texts: dict[int, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    blocked: set[str] = field(default_factory=set)


class Treatment:
    """The treatment of values by the rules of one direction. `labels`: of the findings of each type.

    `restored` has what is put back for the caller; a vault that `open_vault` makes has what is not. What stands for
    something in `known` is no value: a surrogate looks like one.
    """

    def __init__(
        self,
        side: Side,
        labels: Mapping[str, str],
        restored: Vault,
        open_vault: Callable[[], Vault],
        known: Vault | None = None,
    ) -> None:
        self._side = side
        self._labels = labels
        self._restored = restored
        self._open_vault = open_vault
        self._gone: Vault | None = None
        self._known = known

    def treat(self, text: str, spans: Iterable[Span]) -> list[Treated]:
        """In the order of the spans; without those that nobody wants to know of."""
        made = []
        rules, others, never = self._side.named, self._side.others, self._side.never
        for span in spans:
            start, end, kind, _, _ = span
            rule = rules.get(kind, others)
            action = rule.action
            if action == "off" or (never and text[start:end].casefold() in never):
                continue
            value = text[start:end]
            if self._known is not None and self._known.is_token(value):
                continue
            made.append(Treated(span, rule, self._replace(value, kind, rule) if action == "redact" else None))
        return made

    def _replace(self, value: str, kind: str, rule: Rule) -> str:
        vault = self._restored if rule.restore else self._gone
        if vault is None:
            vault = self._gone = self._open_vault()
        return vault.replace(rule.strategy, kind, value).token

    def treat_all(self, texts: Sequence[str], found: Sequence[Sequence[Span]]) -> Outcome:
        outcome = Outcome()
        findings, labels = outcome.findings, self._labels
        for number, (text, spans) in enumerate(zip(texts, found, strict=True)):
            pieces: list[str] = []
            done = 0
            for (start, end, kind, score, _), rule, replacement in self.treat(text, spans) if spans else ():
                findings.append(Finding(labels.get(kind) or _label(kind), round(score * 100)))
                if replacement is not None:
                    pieces += (text[done:start], replacement)
                    done = end
                elif rule.action == "block":
                    outcome.blocked.add(kind)
            if pieces:
                pieces.append(text[done:])
                new = "".join(pieces)
                if new != text:
                    outcome.texts[number] = new
        return outcome

    def find(self, treated: Iterable[Treated]) -> list[Finding]:
        labels = self._labels
        return [
            Finding(labels.get(one.span.type) or _label(one.span.type), round(one.span.score * 100)) for one in treated
        ]


def _label(kind: str) -> str:
    """Of a type that is in no class."""
    return f"custom.{kind}"


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
