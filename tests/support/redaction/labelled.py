"""Measures how well the engine finds labelled values in whole messages: recall by type and by layout, and what is
wrong.

Each text goes through the reader of message bodies first, as in the appliance: JSON in a message is read as JSON.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

import support.redaction.further_documents  # noqa: F401 - adds its layouts
from mastio.http.strictjson import parse
from mastio.reading.document import Document
from mastio_redaction.engine import Engine
from support.redaction.documents import GROUPS, LAYOUTS, Labelled, build
from support.redaction.spellings import KINDS, TYPE_OF

SEED, SHARE = 11, 0.4
"""What the docs are measured on."""

NAMES = frozenset(["messages", "role", "content", "model"])


def texts(seed: int, share: float = 1.0) -> Iterator[Labelled]:
    """Every layout with this share of all kinds, three in a text."""
    for layout in LAYOUTS:
        random = Random(f"{seed} {layout}")
        language = layout.removeprefix("prose ") if layout.startswith("prose ") else "en"
        spoken = [kind for kind in sorted(KINDS) if language in KINDS[kind].words]
        chosen = random.sample(spoken, max(3, round(len(spoken) * share)))
        for start in range(0, len(chosen), 3):
            fields = [_field(kind, language, random) for kind in chosen[start : start + 3]]
            yield build(layout, fields, random)


def _field(name: str, language: str, random: Random) -> tuple[str, str, str, tuple[str, str]]:
    kind = KINDS[name]
    label = random.choice(kind.labels)
    word = kind.words[language] if language != "en" else random.choice((kind.words["en"], label))
    return name, label, word, (kind.make(random), kind.make(random))


def find(engine: Engine, text: str) -> list[tuple[str, str]]:
    """What is found in a message with this text, each with its type."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    passages = Document(body, parse(body), NAMES).passages
    found = engine.find_all([passage.text for passage in passages], names=[passage.name for passage in passages])
    return [
        (passage.text[span.start : span.end], span.type)
        for passage, spans in zip(passages, found, strict=True)
        for span in spans
    ]


@dataclass
class Tally:
    """How many values there are, how many were found, and how many as what they are."""

    values: int = 0
    found: int = 0
    named: int = 0

    def add(self, is_found: bool, is_named: bool) -> None:
        self.values += 1
        self.found += is_found
        self.named += is_named

    @property
    def recall(self) -> float:
        return self.found / self.values if self.values else 1.0


@dataclass
class Score:
    whole: Tally = field(default_factory=Tally)
    default: Tally = field(default_factory=Tally)
    """Of the types that a fresh appliance takes out: found as one of those."""
    kinds: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    layouts: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    hits: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return 1 - len(self.wrong) / self.hits if self.hits else 1.0


def measure(engine: Engine, labelled: Iterable[Labelled], default: Collection[str]) -> Score:
    score = Score()
    for text, values, layout in labelled:
        hits = find(engine, text)
        for value, name in values:
            kind = TYPE_OF.get(name, name)
            types = {hit[1] for hit in hits if value in hit[0]}
            is_named = not types.isdisjoint(KINDS[name].also | {kind})
            for tally in (score.whole, score.kinds[name], score.layouts[layout]):
                tally.add(bool(types), is_named)
            if kind in default:
                is_out = not types.isdisjoint(default)
                score.default.add(is_out, is_named)
            if not types:
                score.missed.append(f"{name} in {layout}: {value!r} of {text!r}")
        score.hits += len(hits)
        there = [value for value, _ in values]
        score.wrong += [f"{kind} in {layout}: {hit!r} of {text!r}" for hit, kind in hits if not _is_value(hit, there)]
    return score


def _is_value(hit: str, values: Iterable[str]) -> bool:
    overlaps: Callable[[str], bool] = lambda value: value in hit or hit in value  # noqa: E731
    return any(map(overlaps, values))


def table(score: Score) -> str:
    """Markdown."""
    rows = ["| documents | layouts | values | found | as what they are |", "|---|--:|--:|--:|--:|"]
    for name, layouts in GROUPS.items():
        total = Tally()
        for layout in layouts:
            tally = score.layouts[layout]
            total = Tally(total.values + tally.values, total.found + tally.found, total.named + tally.named)
        rows.append(_row(name, len(layouts), total))
    rows.append(_row("**all**", len(score.layouts), score.whole))
    rows.append(_row("**types redacted by default**", len(score.layouts), score.default))
    return "\n".join((*rows, f"| **precision** | | {score.hits} | **{score.precision:.3f}** | |"))


def _row(name: str, layouts: int, tally: Tally) -> str:
    return f"| {name} | {layouts} | {tally.values} | {tally.recall:.3f} | {tally.named / max(tally.values, 1):.3f} |"
