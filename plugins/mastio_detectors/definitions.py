"""Definitions of tools: which tool a text belongs to, and what is done about one that looks like an attack. Pure.

A definition tells a model what to do, and so reads like an instruction; programs come with dozens of them. It is judged
by itself: what it looks like is recorded under labels of its own (`definition.…`), which no score of a policy counts,
and is refused only where an admin wants that and has not allowed the tool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from mastio.inspection import Finding
from mastio_detectors.judging import Judgement
from mastio_detectors.rulings import Ruling

LABEL = "definition."


class Tool(NamedTuple):
    """A tool that is offered, and the SHA-256 (hex) of its definition as JSON with sorted members."""

    name: str
    sha256: str


class Flagged(NamedTuple):
    """A text of a definition, and what it looks like."""

    text: str
    judgement: Judgement


def judge_definitions(
    flagged: Sequence[Flagged], offered: Iterable[tuple[str, Mapping[str, Any]]], ruling: Ruling
) -> tuple[list[Judgement], list[tuple[Tool | None, Flagged]]]:
    """What counts of them, and of which tools that is; None: of something else that defines, such as a format."""
    if ruling.definitions == "off" or not flagged:
        return [], []
    owners = find_owners({one.text for one in flagged}, offered)
    counted: list[tuple[Tool | None, Flagged]] = []
    for one in flagged:
        tools = owners.get(one.text)
        if tools is None:
            counted.append((None, one))
        else:  # the same text may stand in several
            counted += [(tool, one) for tool in tools if not ruling.allows(tool.name, tool.sha256)]
    return [_relabel(one.judgement, ruling) for _, one in counted], counted


def find_owners(texts: set[str], offered: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Tool]]:
    found: dict[str, list[Tool]] = {}
    for name, definition in offered:
        mine = texts.intersection(_texts_of(definition))
        if mine:
            tool = Tool(name, digest(definition))
            for text in mine:
                found.setdefault(text, []).append(tool)
    return found


def digest(definition: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(definition, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _texts_of(definition: Mapping[str, Any]) -> Iterator[str]:
    left: list[Any] = [definition]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += value
            left += value.values()
        elif isinstance(value, list):
            left += value


def _relabel(judgement: Judgement, ruling: Ruling) -> Judgement:
    findings = tuple(Finding(LABEL + one.label, one.confidence, one.times) for one in judgement.findings)
    return Judgement(findings, judgement.refused if ruling.definitions == "block" else None)
