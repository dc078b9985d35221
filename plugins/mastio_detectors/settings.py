"""The plugin's settings: what is done about each class, the operator's own patterns, time limits."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from mastio.plugin.hooks import PluginSettings
from mastio_detectors.analysis.lexicon import LexiconError, compile_patterns
from mastio_detectors.analysis.signals import CLASSES

Kind = Literal["injection", "jailbreak", "threat", "identity", "confidential", "exfiltration", "bias"]


class Rule(PluginSettings):
    """`action`: `block` refuses, `flag` records, `off` does not look. `threshold`: from which score on something is
    recorded, 1 to 100; `block_threshold`: from which on it is refused too, where that is the action."""

    action: Literal["block", "flag", "off"] = "flag"
    threshold: int = Field(default=60, ge=1, le=100)
    block_threshold: int = Field(default=65, ge=1, le=100)


class Blocking(Rule):
    """A class that is refused unless the operator says otherwise."""

    action: Literal["block", "flag", "off"] = "block"


class Pattern(PluginSettings):
    """A pattern of the operator's: a regular expression as Hyperscan knows them, on folded text in lower case."""

    kind: Kind = Field(alias="class")
    category: str = Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")
    pattern: str = Field(min_length=3, max_length=1000)
    weight: int = Field(default=70, ge=1, le=100)

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            compiled = re.compile(value.encode(), re.DOTALL)
        except re.error as error:
            raise ValueError(f"it is no regular expression: {error}") from error
        if compiled.search(b"") is not None:
            raise ValueError("it is found in the empty text")
        try:
            compile_patterns([value.encode()])
        except LexiconError as error:
            raise ValueError("it is more than can be looked for in one pass") from error
        if value != value.lower() and "\\" not in value:
            raise ValueError("the text that is searched is in lower case")
        return value


class Settings(PluginSettings):
    """A table for each class: `action` (`block`, `flag`, `off`) and `threshold`, `block_threshold` (1 to
    100). `definitions`: what is done about definitions of tools that look like an attack, `observe` (record), `block`
    or `off`. `patterns`: the operator's own, each with `class`, `category`, `pattern` and `weight`. `deadline_seconds`:
    time of the processor for all texts of one message. `when_broken`: what happens to a message that cannot be
    inspected, `refuse`, or `allow` with a label in the log."""

    injection: Blocking = Blocking()
    exfiltration: Blocking = Blocking()
    jailbreak: Rule = Rule()
    threat: Rule = Rule()
    identity: Rule = Rule()
    confidential: Rule = Rule()
    bias: Rule = Rule()
    definitions: Literal["observe", "block", "off"] = "observe"
    patterns: tuple[Pattern, ...] = Field(default=(), max_length=500)
    deadline_seconds: float = Field(default=2.0, gt=0, le=60)
    when_broken: Literal["refuse", "allow"] = "refuse"

    def rules(self) -> dict[str, Rule]:
        return {kind: getattr(self, kind) for kind in CLASSES}
