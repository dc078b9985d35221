"""The parts that request and reply bodies of the control plane are made of. For plugins.

Unknown members of a body are refused, types are not converted, and a value is checked by the type that names it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from mastio.exchange.matching import MOST_STARS
from mastio.exchange.target import TargetError, parse_base_url, parse_networks
from mastio.pki.certificates import NAME_RULE, is_agent_name

T = TypeVar("T")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)


def encode_time(seconds: float) -> datetime:
    """RFC 3339 in UTC, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC)


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it must be one line without control characters")
    return text


def _base_url(url: str) -> str:
    try:
        parse_base_url(url)
    except TargetError as error:
        raise ValueError(str(error)) from error
    return url


def _networks(texts: list[str]) -> list[str]:
    try:
        parse_networks(texts)
    except TargetError as error:
        raise ValueError(str(error)) from error
    return texts


def _parse_time(value: Any) -> datetime:
    """RFC 3339, and nothing else that Python would take for a time."""
    try:
        if isinstance(value, str) and _TIME.fullmatch(value):
            return datetime.fromisoformat(value)
    except ValueError:
        pass  # its own words would repeat what was sent
    raise ValueError("it must be a time as RFC 3339 writes it, with its offset from UTC")


def _agent_name(name: str) -> str:
    if not is_agent_name(name):
        raise ValueError(f"it must be {NAME_RULE}")
    return name


def verify_glob(glob: str) -> str:
    if glob.count("*") > MOST_STARS:
        raise ValueError(f"it has more than {MOST_STARS} stars")
    return glob


AgentName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._-]{1,64}$"), AfterValidator(_agent_name)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
NameGlob = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._*?-]{1,64}$"), AfterValidator(verify_glob)]
Group = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
Line = Annotated[str, StringConstraints(max_length=500), AfterValidator(_one_line)]
ModelName = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(_one_line), AfterValidator(verify_glob)
]
Secret = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e\t\r\n]{1,8192}$")]
BaseUrl = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(_base_url)]
Networks = Annotated[list[str], Field(max_length=100), AfterValidator(_networks)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_one_line)]
KindGlob = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._*?!\[\]-]{1,64}$"), AfterValidator(verify_glob)]
PathGlob = Annotated[str, StringConstraints(pattern=r"^[/*?\[][\x21-\x7e]{0,499}$"), AfterValidator(verify_glob)]
Time = Annotated[datetime, BeforeValidator(_parse_time)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
Mode = Literal["enforce", "observe"]
SecretFile = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_one_line)]
Glob = Annotated[str, StringConstraints(min_length=1, max_length=256), AfterValidator(verify_glob)]
Globs = Annotated[list[Glob], Field(max_length=256)]


class Body(BaseModel):
    """The base class of request bodies."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(BaseModel):
    """The base class of response bodies."""

    model_config = ConfigDict(frozen=True)


class Page(Answer, Generic[T]):
    """One page of a list; `next_cursor` asks for the next, null: there is none."""

    items: list[T]
    next_cursor: str | None
