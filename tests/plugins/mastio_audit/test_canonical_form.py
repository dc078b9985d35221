"""RFC 8785 by restriction: what an entry may hold comes out as the vectors of others say, the rest is refused."""

from __future__ import annotations

import json

import orjson
import pytest

from mastio_audit.log.chain import ChainError, encode
from support.vectors import vectors

INSIDE = ("arrays", "unicode")
OUTSIDE = {
    "values": "a value of type float has no place",
    "structures": "a value of type float has no place",
    "french": "names of members are ASCII",
    "weird": "names of members are ASCII",
}
"""Why a vector is outside of what an entry may hold: fractions and exponents, and names that are not ASCII."""


def test_every_vector_is_named_here() -> None:
    files = {path.stem for path in (vectors("jcs") / "testdata" / "input").glob("*.json")}
    assert files == {*INSIDE, *OUTSIDE}


@pytest.mark.parametrize("name", INSIDE)
def test_inside_the_restriction_the_bytes_are_those_of_the_vectors(name: str) -> None:
    folder = vectors("jcs") / "testdata"
    assert (
        encode(json.loads((folder / "input" / f"{name}.json").read_bytes()))
        == (folder / "output" / f"{name}.json").read_bytes().strip()
    )


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_of_it_nothing_is_encoded(name: str) -> None:
    document = json.loads((vectors("jcs") / "testdata" / "input" / f"{name}.json").read_bytes())
    with pytest.raises(ChainError, match=OUTSIDE[name]):
        encode(document)


def test_what_of_those_is_inside_comes_out_as_there() -> None:
    """`structures` has one fraction, which is a whole number; `values` and `weird` have strings worth keeping."""
    folder = vectors("jcs") / "testdata"
    structures = json.loads((folder / "input" / "structures.json").read_bytes())
    structures["1"]["\n"] = 56
    assert encode(structures) == (folder / "output" / "structures.json").read_bytes().strip()
    for name in ("values", "weird", "french"):
        source = json.loads((folder / "input" / f"{name}.json").read_bytes())
        expected = (folder / "output" / f"{name}.json").read_bytes()
        strings = [value for value in source.values() if isinstance(value, str)]
        assert strings
        for value in strings:
            assert encode(value) in expected
            assert orjson.loads(encode(value)) == value
