"""Long messages are looked through in pieces: nothing is lost where they meet, and nobody waits for them."""

from __future__ import annotations

import asyncio

import pytest

from mastio.exchange.errors import Blocked, InspectionError
from mastio.exchange.inspection import Passage
from mastio.http.strictjson import parse
from mastio.reading.document import MAX_TEXTS, Document
from mastio_redaction.catalogue import CATALOGUE
from mastio_redaction.engine import Engine
from mastio_redaction.inspector import MARGIN, OVERLAP, PIECE, Finder
from mastio_redaction.matched_policies import Side
from support.cpu_cost import verify_linear

ENGINE = Engine(CATALOGUE)
CARD = "4012888888881881"
PLACES = (
    0,
    PIECE - 20,
    PIECE - 3,
    PIECE,
    PIECE + OVERLAP - MARGIN - 8,
    PIECE + OVERLAP - 9,
    PIECE + OVERLAP,
    2 * PIECE,
)


def padded(value: str, place: int) -> str:
    filler = "plain words and no more. "
    before = (filler * (place // len(filler) + 1))[: max(place - 1, 0)]
    return f"{before} {value} " + filler * (3 * PIECE // len(filler))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [CARD, "password: hunter2!Q", "zoe.example@mail.example.org"])
async def test_a_value_is_found_once_wherever_pieces_meet(place: int, value: str) -> None:
    text = padded(value, place)
    (whole,) = ENGINE.find_all([text])
    (found,), complete = await Finder(ENGINE, None).find_all([Passage(text, "user")], Side())
    assert complete and found == whole and len(found) == 1


@pytest.mark.parametrize("unit", ["<tr><td>bob</td><td>x</td></tr>", "<tr><td>", "my ssn is ", "a,b ", "1 2 3 4 "])
def test_a_long_text_on_one_line_costs_as_much_as_it_is_long(unit: str) -> None:
    head = "<table><tr><th>name</th><th>SSN</th></tr>"
    finder = Finder(ENGINE, None)

    def find(size: int) -> None:
        text = head + unit * (size // len(unit))
        assert sum(1 for _ in finder._find_pieces([Passage(text, "user")], Side(), [])) >= size // PIECE - 1

    verify_linear(lambda: find(40_000), lambda: find(400_000))


def test_a_long_name_counts_for_as_much_as_a_label_may_have() -> None:
    few, many = (["a"] * count for count in (100, 1_000))
    name = "x" * 100_000
    verify_linear(
        lambda: ENGINE.find_all(few, names=[name] * len(few)), lambda: ENGINE.find_all(many, names=[name] * len(many))
    )
    assert ENGINE.find(CARD, name=name) == ENGINE.find(CARD)


@pytest.mark.parametrize(
    ("head", "row"),
    [("tfn\n", "123456782\n"), ("name  tfn  city\n", "anna  123456782  Leeds\n"),
     ("INSERT INTO t (a, tfn) VALUES ", "(1, '123456782'), ")],
)  # fmt: skip
async def test_a_long_table_of_any_kind_keeps_its_head(head: str, row: str) -> None:
    (found,), _ = await Finder(ENGINE, None).find_all([Passage(head + row * 3_000, "user")], Side())
    assert len(found) == 3_000


@pytest.mark.parametrize("texts", [["words " * PIECE] * 2, ["x"] * 10_000], ids=["long", "many"])
async def test_others_get_their_turn_in_between(texts: list[str]) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await Finder(ENGINE, None).find_all([Passage(text, "user") for text in texts], Side())
    task.cancel()
    assert turns >= 8


async def test_what_takes_too_long_is_refused() -> None:
    clock = iter(range(0, 1000, 6))
    with pytest.raises(InspectionError):
        await Finder(ENGINE, None, clock=lambda: next(clock)).find_all([Passage("words " * PIECE, "user")], Side())


def test_more_texts_than_anybody_looks_into_are_refused() -> None:
    many = b"[" + b",".join([b'"x"'] * (MAX_TEXTS + 1)) + b"]"
    with pytest.raises(Blocked):
        Document(many, parse(many), frozenset())
    numbers = b'{"embedding":[' + b",".join([b"0.5"] * (2 * MAX_TEXTS)) + b'],"x":"y"}'
    document = Document(numbers, parse(numbers), frozenset({"embedding", "x"}))
    assert document.replace({0: "z"}) == numbers.replace(b'"y"', b'"z"')
