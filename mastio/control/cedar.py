"""Judges the Cedar source of a policy before it is stored: what is stored must load in every worker. Pure.

The Cedar library is a recursive program in the worker's own stack: deep nesting or an endless chain of operators ends
the process, not the parse. Such sources are refused by counting, before the library sees them. After that the source
goes the way that it will go when it is loaded: to Cedar's JSON form and back, which has a limit of its own.
"""

from __future__ import annotations

import re

import cedarpy
import orjson

MAX_CHARACTERS = 64 * 1024
MAX_DEPTH = 64
MAX_OPERATORS = 2000
"""In one policy. Measured: the library's stack ends beyond some 3,000 of the costliest in a row."""

_TOKEN = re.compile(r'//[^\n\r]*|"(?:\\.|[^"\\])*"|[()\[\]{};]|[|&+*.<>=!-]|\bif\b|\bthen\b|\belse\b', re.DOTALL)


class CedarError(ValueError):
    """Not a policy source that can be loaded. The text is for the admin."""


def verify_cedar(source: str) -> None:
    """Raises `CedarError`."""
    if len(source) > MAX_CHARACTERS or "\0" in source:
        raise CedarError(f"The source is longer than {MAX_CHARACTERS} characters, or has a NUL in it.")
    _verify_size(source)
    try:
        parsed = orjson.loads(cedarpy.policies_to_json_str(source))
        cedarpy.PolicySet.from_json_str(orjson.dumps(parsed).decode())
    except ValueError as error:
        raise CedarError("The source is not valid Cedar, or is nested too deeply.") from error
    if parsed["templates"]:
        raise CedarError("The source has a template, which nothing links.")
    if not parsed["staticPolicies"]:
        raise CedarError("The source has no policy in it.")


def _verify_size(source: str) -> None:
    depth = operators = 0
    for match in _TOKEN.finditer(source):
        sign = match.group()
        if sign in ("(", "[", "{"):
            depth += 1
            operators += 1
        elif sign in (")", "]", "}"):
            depth -= 1
        elif sign == ";":
            operators = 0
        elif not sign.startswith(('"', "//")):
            operators += 1
        if depth > MAX_DEPTH:
            raise CedarError(f"The source is nested deeper than {MAX_DEPTH} levels.")
        if operators > MAX_OPERATORS:
            raise CedarError(f"A policy has more than {MAX_OPERATORS} operators.")
