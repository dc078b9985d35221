"""Definitions of tools: which tool a text belongs to, and what is done about one that looks like an attack. Pure.

A definition tells a model what to do, and so reads like an instruction; programs come with dozens of them. It is judged
by itself: what it looks like is recorded under labels of its own (`definition.…`), which no score of a policy counts,
and is refused only where an admin wants that and has not allowed the tool.

Only a text that stands in a tool that the call offers is one of a definition. Whatever else calls itself so, such as a
member `tools` in the result of a tool, is a text like all others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import orjson

from mastio.exchange.inspection import Finding
from mastio_detectors.judgement import Judgement
from mastio_detectors.matched_policies import Ruling

LABEL = "definition."
MOST_SOUGHT = 20
"""Texts that are looked for within longer strings, which may be JSON themselves."""

MOST_SEARCHED = 512 * 1024
"""Characters of one tool's strings that they are looked for in."""


class Tool(NamedTuple):
    """A tool that is offered, and the SHA-256 (hex) of its definition as JSON with sorted members."""

    name: str
    sha256: str


class Flagged(NamedTuple):
    """A text that stands where definitions do, and what it looks like."""

    text: str
    judgement: Judgement


class Judged(NamedTuple):
    """The judgement of the tool definitions of a call."""

    judgements: list[Judgement]
    """Of each text once, with how often it stands there."""

    suspected: list[tuple[Tool, Flagged]]
    """The tools that are not allowed, each with a text of its definition."""

    is_tool: bool
    """Whether what refuses is a tool's definition."""


def judge_definitions(
    flagged: Sequence[Flagged], offered: Iterable[tuple[str, Mapping[str, Any]]], ruling: Ruling
) -> Judged:
    """The judgements that count. The cost is linear: each text is judged once, however many tools have it."""
    counts = Counter(one.text for one in flagged)
    owners = find_owners(counts.keys(), offered)
    judgements: list[Judgement] = []
    suspected: list[tuple[Tool, Flagged]] = []
    refusing: list[bool] = []
    for one in {one.text: one for one in flagged}.values():
        tools = owners.get(one.text)
        if tools is None:
            judgement = one.judgement
        elif ruling.definitions != "off" and is_strong(one.judgement, ruling):  # the text may stand in several tools
            strangers = [tool for tool in tools if not ruling.allows(tool.name, tool.sha256)]
            if not strangers:
                continue
            suspected += [(tool, one) for tool in strangers]
            judgement = _relabel(one.judgement, ruling)
        else:
            continue
        judgements.append(_count(judgement, counts[one.text]))
        if judgement.refused is not None:
            refusing.append(tools is not None)
    return Judged(judgements, suspected, bool(refusing) and refusing[0])


def _count(judgement: Judgement, times: int) -> Judgement:
    if times == 1:
        return judgement
    findings = tuple(Finding(one.label, one.confidence, one.times * times) for one in judgement.findings)
    return Judgement(findings, judgement.refused)


def is_strong(judgement: Judgement, ruling: Ruling) -> bool:
    """True if something in it reaches what would be refused in other texts: definitions are full of weak signs."""
    return any(reaches(one.label.partition(".")[0], one.confidence, ruling) for one in judgement.findings)


def reaches(kind: str, confidence: int, ruling: Ruling) -> bool:
    rule = ruling.rules.get(kind)  # the label of what could not be inspected has none
    return rule is None or confidence >= max(rule.threshold, rule.block_threshold)


def find_owners(texts: Set[str], offered: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Tool]]:
    found: dict[str, list[Tool]] = {}
    for name, definition in offered:
        strings = list(_texts_of(definition))
        mine = {text for text in strings if text in texts}
        if 0 < len(texts) - len(mine) <= MOST_SOUGHT and sum(map(len, strings)) <= MOST_SEARCHED:
            whole = "\0".join(strings)
            mine |= {text for text in texts - mine if text in whole}
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
    findings = tuple(
        Finding(LABEL + one.label, one.confidence, one.times)
        for one in judgement.findings
        if reaches(one.label.partition(".")[0], one.confidence, ruling)
    )
    return Judgement(findings, judgement.refused if ruling.definitions == "block" else None)
