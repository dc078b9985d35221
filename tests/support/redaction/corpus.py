"""Labelled texts: values in prose of six languages, code, JSON, CSV and log lines, and texts that only look like it.

All of it follows from one seed. The values are those of `redaction_values`, the hard negatives were written by hand
(`negatives.txt`) or are chance of a form that is everywhere: hashes, identifiers, times, versions, orders.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from support.redaction.chance import number, pick
from support.redaction.people import LANGUAGES, address, person
from support.redaction.values import VALUES
from support.redaction.words import WORDS

SEED = 20_260_401
POSITIVE = 3_000
NEGATIVE = 1_200

Label = tuple[int, int, str]


class Labelled(NamedTuple):
    text: str
    labels: tuple[Label, ...]
    form: str


PROSE = {
    "en": ("Please note: {}. Thank you.", "As agreed in the call, {} is what we have on file for now.", "Hi team,\n\nfor the ticket: {}\n\nBest wishes", "The customer wrote that {} and asked for a refund.", "Could you check {}; and then close it?"),
    "de": ("Bitte prüfen Sie: {}. Vielen Dank.", "Wie besprochen liegt uns {} vor, mehr nicht.", "Hallo zusammen,\n\nzum Vorgang: {}\n\nViele Grüße", "Der Kunde schrieb, dass {} gilt."),
    "fr": ("Merci de vérifier: {}. Cordialement.", "Comme convenu, {} figure dans le dossier.", "Bonjour,\n\npour le ticket: {}\n\nBien à vous"),
    "es": ("Por favor, revise: {}. Gracias.", "Como acordamos, {} consta en el expediente.", "Hola,\n\npara el caso: {}\n\nUn saludo"),
    "it": ("Si prega di verificare: {}. Grazie.", "Come concordato, {} risulta agli atti.", "Salve,\n\nper la pratica: {}\n\nCordiali saluti"),
    "pt": ("Por favor, verifique: {}. Obrigado.", "Conforme combinado, {} consta do processo.", "Olá,\n\npara o caso: {}\n\nCumprimentos"),
}  # fmt: skip
LOGS = (
    "2026-04-01T10:22:33Z INFO web-1 request done: {} in 12 ms",
    "[worker 3] WARN could not parse {} (line 14)",
    "Apr  1 10:22:33 host app[123]: got {}",
)
CODE = (
    'value = "{}"  # from the form',
    "    assert parse('{}') is not None",
    "// TODO remove: {}\nconst x = 1;",
    "curl -s -d '{}' https://example.com/in",
    "VALUE={}\n",
)


@dataclass
class Builder:
    """A text in the making, with the labels of what was put in."""

    text: str = ""
    labels: list[Label] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.text += text

    def put(self, kind: str, before: str, value: str) -> None:
        self.text += before
        start = len(self.text)
        if kind == "AZURE_KEY":
            start += len("AccountKey=")
        self.text += value
        self.labels.append((start, len(self.text), kind))


def _value(kind: str, random: Random, language: str) -> tuple[str, str]:
    """The words before it, and a value."""
    if kind == "PERSON":
        return random.choice(("", "", "Mr. ", "Dr. ", "name: ")) if language == "en" else "", person(random, language)
    if kind == "STREET_ADDRESS":
        return "", address(random, language)
    return random.choice(WORDS.get(kind, ("", "ref ", "see "))), VALUES[kind](random)


def _carried(random: Random, kinds: list[str]) -> Labelled:
    form = random.choice(("prose", "prose", "prose", "code", "json", "csv", "log"))
    language = random.choice(LANGUAGES)
    made = Builder()
    if form == "json":
        return _json(random, kinds)
    if form == "csv":
        made.add("row,note,count\n")
        for row, kind in enumerate(kinds):
            made.add(f"{row + 1},")
            made.put(kind, *_value(kind, random, "en"))
            made.add(f",{random.randint(1, 99)}\n")
        return Labelled(made.text, tuple(made.labels), form)
    frame = random.choice({"prose": PROSE[language], "code": CODE, "log": LOGS}[form])
    before, after = frame.split("{}")
    made.add(before)
    for place, kind in enumerate(kinds if form == "prose" else kinds[:1]):
        made.add(random.choice((", ", "; ", " / ", "\n")) if place else "")
        made.put(kind, *_value(kind, random, language if form == "prose" else "en"))
    made.add(after)
    return Labelled(made.text, tuple(made.labels), f"prose {language}" if form == "prose" else form)


def _json(random: Random, kinds: list[str]) -> Labelled:
    """As JSON text, which agents paste: the words before a value are its member's name."""
    made = Builder("{\n")
    for place, kind in enumerate(kinds):
        before, value = _value(kind, random, "en")
        written = json.dumps(value, ensure_ascii=False)[1:-1]
        if written != value:  # a key has line ends, which are escapes here
            value = written
        name = before.strip(" :=.").removesuffix(" is").replace(" ", "_") or f"field_{place}"
        if name in ("Authorization:_Bearer", "authorization:_token"):
            made.put(kind, '  "authorization": "Bearer ', value)
        else:
            made.put(kind, f'  "{name}": "', value)
        made.add('",\n')
    made.add('  "count": 3\n}')
    return Labelled(made.text, tuple(made.labels), "json")


def _chance(random: Random) -> Iterator[str]:
    """Texts of everyday forms without a value."""
    hexed = "0123456789abcdef"
    while True:
        yield f"order {number(random, random.choice([6, 8, 10, 12]))} of {random.randint(1, 28)}.{random.randint(1, 12)}.2024 is on its way"
        yield f"sha256:{pick(random, hexed, 64)} {random.choice(['ok', 'stale'])}"
        yield f"{pick(random, hexed, 7)}..{pick(random, hexed, 40)} Merge branch 'fix-{random.randint(1, 999)}'"
        yield "-".join(pick(random, hexed, n) for n in (8, 4, 4, 4, 12)) + " done"
        yield f"v{random.randint(0, 9)}.{random.randint(0, 40)}.{random.randint(0, 9)} released, {random.randint(1, 400)} files changed"
        yield f"{random.randint(1_600_000_000, 1_800_000_000)}{random.randint(0, 999):03} {random.choice(['GET', 'POST'])} /api/v{random.randint(1, 3)}/items/{random.randint(1, 10**7)} {random.choice([200, 404, 500])}"
        yield f"Total: {random.randint(1, 999)},{random.randint(0, 999):03}.{random.randint(0, 99):02} EUR, {random.randint(1, 99)} items, {random.random():.6f}"
        yield f"at app.module.Class.method(File.java:{random.randint(1, 2000)}) [lib-{random.randint(1, 9)}.{random.randint(1, 20)}.jar]"
        yield "blob " + base64.b64encode(random.randbytes(random.randint(20, 90))).decode()
        yield f"<div class='c-{pick(random, hexed, 6)}' style='left:{random.randint(1, 900)}px'>{random.randint(1, 10**6)}</div>"
        yield f"tracking {pick(random, 'ABCDEFGHJKLMNPQRSTUVWXYZ', 2)}{number(random, 9)}{random.choice(['DE', 'GB'])} left the depot"
        yield f"W{number(random, 6)} x {random.randint(2, 12)} @ {random.randint(1, 90)}.{random.randint(10, 99)}, lot {number(random, 5)}-{random.randint(10, 99)}"


def corpus(seed: int = SEED) -> list[Labelled]:
    """All texts, the same each time."""
    random = Random(seed)
    kinds = sorted(VALUES)
    texts: list[Labelled] = []
    queue: list[str] = []
    while len(texts) < POSITIVE:
        count = random.choice((1, 1, 2, 3))
        while len(queue) < count:
            queue += random.sample(kinds, len(kinds))
        chosen, queue = queue[:count], queue[count:]
        texts.append(_carried(random, chosen))
    lines = (Path(__file__).parent / "negatives.txt").read_text("utf-8").splitlines()
    texts += [Labelled(line, (), "negative") for line in lines]
    chance = _chance(random)
    texts += [Labelled(next(chance), (), "negative") for _ in range(NEGATIVE - len(lines))]
    return texts


@dataclass
class Count:
    """How one type did."""

    values: int = 0
    found: int = 0
    right: int = 0
    wrong: int = 0

    @property
    def recall(self) -> float:
        return self.found / self.values if self.values else 1.0

    @property
    def precision(self) -> float:
        said = self.right + self.wrong
        return self.right / said if said else 1.0


def measure(texts: Iterable[Labelled], find: object) -> tuple[dict[str, Count], list[str]]:
    """Counts by type, and what went wrong. A value is found where a hit of its type covers all of it and at most three
    characters more; a hit is right where it covers such a value.
    """
    counts = {kind: Count() for kind in VALUES}
    wrong: list[str] = []
    for text, labels, form in texts:
        hits = [(span.start, span.end, span.type) for span in find(text)]  # type: ignore[operator]
        matched = set()
        for label in labels:
            start, end, kind = label
            counts[kind].values += 1
            match = next(
                (h for h in hits if h[2] == kind and h[0] <= start and h[1] >= end and h[1] - h[0] <= end - start + 3),
                None,
            )
            if match is None:
                wrong.append(f"missed {kind} in {form}: {text[start:end]!r} of {text!r}")
            else:
                counts[kind].found += 1
                matched.add(match)
        for hit in hits:
            count = counts.setdefault(hit[2], Count())
            if hit in matched:
                count.right += 1
            else:
                count.wrong += 1
                wrong.append(f"wrong {hit[2]} in {form}: {text[hit[0] : hit[1]]!r} of {text!r}")
    return counts, wrong


_SPACES = re.compile(r"\s+")


def table(counts: dict[str, Count], titles: dict[str, tuple[str, bool]], default: Set[str]) -> str:
    """Markdown. `titles`: class of each type, and whether its form gives it away. `default`: types redacted by default."""
    rows = ["| type | class | values | precision | recall |", "|---|---|--:|--:|--:|"]
    for kind in sorted(counts, key=lambda kind: (not titles[kind][1], titles[kind][0], kind)):
        count = counts[kind]
        rows.append(f"| `{kind}` | {titles[kind][0]} | {count.values} | {count.precision:.3f} | {count.recall:.3f} |")
    structured = {kind for kind in counts if titles[kind][1]}
    for name, chosen in (
        ("structured types and secrets", structured),
        ("names and addresses", counts.keys() - structured),
        ("types redacted by default", default),
    ):
        total = Count()
        for kind in chosen & counts.keys():
            count = counts[kind]
            total = Count(
                total.values + count.values,
                total.found + count.found,
                total.right + count.right,
                total.wrong + count.wrong,
            )
        rows.append(f"| **{name}** | | {total.values} | **{total.precision:.3f}** | **{total.recall:.3f}** |")
    return "\n".join(rows)
