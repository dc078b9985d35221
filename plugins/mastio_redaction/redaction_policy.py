"""A redaction policy, as the hot copy has it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Direction = Literal["request", "response", "both"]
Treatment = Literal["redact", "block", "flag", "off"]
Strategy = Literal["tag", "mask", "truncate", "hash", "encrypt", "fpe", "surrogate"]


@dataclass(frozen=True, slots=True)
class TypeRule:
    """The treatment of values of a type. `strategy`: the form of their replacement where they are redacted."""

    action: Treatment
    strategy: Strategy = "tag"


@dataclass(frozen=True, slots=True)
class RedactionRow:
    """A redaction policy: the treatment of values found in messages and replies. Globs; an empty tuple matches
    everything.

    `types` by the name of the type, `*` for those not named. `restore`: the caller gets the original where the reply
    repeats what took its place. `always` are values that are found whatever they look like, `never` those that are not
    meant. An `observe` policy changes nothing: the entry says what it would have done. `is_damaged`: the row in the
    database cannot be read, and the rest of this value means nothing.
    """

    name: str
    types: Mapping[str, TypeRule]
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    direction: Direction = "both"
    restore: bool = True
    mode: Literal["enforce", "observe"] = "enforce"
    always: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    is_damaged: bool = False
