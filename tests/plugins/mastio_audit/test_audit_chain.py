"""The rules of the log: canonical bytes, chaining, and what verification finds."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import orjson
import pytest
import rfc8785

from mastio.exchange.values import Entry, Phase
from mastio_audit.log import chain
from mastio_audit.log.chain import ChainError, Head, Row
from mastio_primitives.transparency.merkle import Tree

MakeEntry = Callable[..., Entry]
VECTORS = Path(os.environ.get("MASTIO_VECTORS", Path(__file__).parents[4] / "shared" / "vectors"))
NASTY = [
    "",
    "\x00",
    "\x1f\x7f\x80",
    "\u2028\u2029",
    '"\\/',
    "\b\f\n\r\t",
    "é",
    "e\u0301",
    "🦀",
    "\ufeff",
    "\ufffe",
    "\ud7ff",
]


def log_of(*steps: tuple[Phase, str]) -> tuple[list[Row], Head]:
    drafts = [chain.draft(Entry(id=name, phase=phase, kind="test", target=f"target {name}")) for phase, name in steps]
    made = chain.append(Head(), drafts, 1_700_000_000.5)
    return made.rows, made.head


def head_after(rows: Sequence[Row]) -> Head:
    """As it was when the log ended there."""
    tree, last = Tree(), bytes(32)
    for _, stored in rows:
        last = chain.leaf_hash(stored)
        tree.add(last)
    return Head(tree.size, last, tree.frontier)


def exchanges(number: int) -> tuple[list[Row], Head]:
    phases: tuple[Phase, ...] = ("intent", "outcome")
    return log_of(*((phase, f"x{n}") for n in range(number) for phase in phases))


def first_bad(rows: list[Row], head: Head | None) -> int | None:
    with pytest.raises(ChainError) as caught:
        chain.verify(rows, head)
    return caught.value.index


class TestEncoding:
    def test_an_entry_has_all_fields_in_canonical_order(self, entry: MakeEntry) -> None:
        intent = entry("intent", request={"bytes": 3, "digest": "ab"}, decision={"result": "allow", "rule": "r"})
        made = chain.append(Head(), [chain.draft(intent)], 1_700_000_000.25)
        [(seq, stored)], head = made.rows, made.head
        assert (seq, head.size) == (0, 1)
        assert stored == (
            b'{"agent":"demo","credential":null,"decision":{"result":"allow","rule":"r"},"id":"x-1","kind":"llm.chat",'
            b'"outcome":null,"phase":"intent","prev":"' + b"0" * 64 + b'","request":{"bytes":3,"digest":"ab"},'
            b'"response":null,"seq":0,"target":"Model::\\"stub/m\\"","time":"2023-11-14T22:13:20.250000Z","usage":null,'
            b'"v":1}'
        )
        assert head.last_hash == hashlib.sha256(b"\x00" + stored).digest()
        assert rfc8785.dumps(json.loads(stored)) == stored

    def test_every_phase_of_the_contract_can_be_recorded(self, entry: MakeEntry) -> None:
        for phase in get_args(Phase):
            rows = chain.append(Head(), [chain.draft(entry(phase))], 0).rows
            assert chain.parse(rows[0][1])["phase"] == phase

    @pytest.mark.parametrize("text", NASTY)
    def test_nasty_strings_are_encoded_as_by_the_oracle(self, text: str) -> None:
        assert chain.encode({"value": [text]}) == rfc8785.dumps({"value": [text]})

    def test_naughty_strings_make_the_round_trip_in_every_field(self) -> None:
        source = VECTORS / "blns" / "blns.json"
        if not source.is_file():
            pytest.skip(f"{source} is not there")
        for text in json.loads(source.read_text()):
            entry = Entry(
                id="x", phase="event", kind="k", target=text, agent=text, request={"a": text}, outcome={"b": [text]}
            )
            [(_, stored)] = chain.append(Head(), [chain.draft(entry)], 0).rows
            document = chain.parse(stored)
            assert stored == rfc8785.dumps(document)
            assert [document["target"], document["request"]["a"], document["outcome"]["b"][0]] == [text] * 3
            assert b"\n" not in stored and b"\r" not in stored

    def test_random_values_are_encoded_as_by_the_oracle(self) -> None:
        chance = random.Random(7)
        for _ in range(3000):
            value = random_value(chance, 4)
            assert chain.encode(value) == rfc8785.dumps(value)

    @pytest.mark.parametrize("number", [2**53 - 1, -(2**53) + 1, 0, -1])
    def test_the_largest_integers_are_kept(self, number: int) -> None:
        assert chain.encode({"n": number}) == rfc8785.dumps({"n": number})

    @pytest.mark.parametrize(
        "value",
        [
            *(1.5, 1.0, float("nan"), 2**53, -(2**53), "\ud800", "\udfff", {"é": 1}, {"\U0001f980": 1}, {1: 2}, b"x"),
            *({1}, UUID(int=1), object, {"a": {"b": [1.5]}}, type("Text", (str,), {})("x")),
        ],
        ids=ascii,
    )
    def test_what_has_no_canonical_form_here_is_refused(self, value: Any) -> None:
        with pytest.raises(ChainError):
            chain.encode({"value": value})

    def test_depth_is_bounded(self) -> None:
        value: Any = 1
        for _ in range(chain.MAX_DEPTH):
            value = [value]
        assert chain.encode(value)
        with pytest.raises(ChainError, match="levels"):
            chain.encode([value])

    def test_what_was_accepted_at_the_limits_also_verifies(self, entry: MakeEntry) -> None:
        deep: Any = 1
        for _ in range(chain.MAX_DEPTH - 2):
            deep = [deep]
        longest = "x" * (chain.MAX_ENTRY - 600)
        drafts = [
            chain.draft(entry("event", request={"deep": deep})),
            chain.draft(entry("event", outcome={"t": longest})),
        ]
        size = 2**53 - 3
        rows = chain.append(Head(size, frontier=(bytes(32),) * size.bit_count()), drafts, 0).rows
        assert [chain.parse(stored)["seq"] for _, stored in rows] == [2**53 - 3, 2**53 - 2]

    @pytest.mark.parametrize(
        "members",
        [
            {"request": {"t": "x" * 70_000}},
            {"usage": {"input": "12"}},
            {"usage": {"input": True}},
            {"usage": {"input": {}}},
        ],
        ids=lambda members: next(iter(members)),
    )
    def test_too_long_or_wrongly_typed_members_are_refused(self, entry: MakeEntry, members: dict[str, Any]) -> None:
        with pytest.raises(ChainError):
            chain.draft(entry("event", **members))

    def test_an_entry_needs_id_kind_and_phase(self) -> None:
        unknown: Any = "unknown"
        for wrong in (Entry("", "event", "k"), Entry("x", "event", ""), Entry("x", unknown, "k")):
            with pytest.raises(ChainError):
                chain.draft(wrong)

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1_700_000_000, "2023-11-14T22:13:20.000000Z"),
            (1.000001, "1970-01-01T00:00:01.000001Z"),
        ],
    )
    def test_time_has_six_decimals_and_z(self, seconds: float, text: str) -> None:
        assert chain.timestamp(seconds) == text.encode()


def random_value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(7 if depth else 5)
    if kind == 5:
        return [random_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 6:
        names = ["".join(chance.choices([chr(c) for c in range(32, 127)], k=chance.randrange(5))) for _ in range(4)]
        return {name: random_value(chance, depth - 1) for name in names}
    if kind == 4:
        points = [chance.choice([chance.randrange(0xD800), chance.randrange(0xE000, 0x110000)]) for _ in range(6)]
        return "".join(map(chr, points))
    return [None, True, False, chance.randrange(-(2**53) + 1, 2**53)][kind]


class TestVerification:
    def test_a_log_verifies_and_names_its_open_intents(self) -> None:
        rows, head = log_of(
            ("event", "e"), ("intent", "a"), ("intent", "b"), ("outcome", "a"), ("event", "e"), ("intent", "a")
        )
        assert chain.verify(rows, head).open == {"b": 2, "a": 5}
        assert chain.verify([], Head()).head == Head()

    def test_every_flipped_bit_is_found_at_its_entry(self) -> None:
        rows, head = exchanges(3)
        for index, (seq, stored) in enumerate(rows):
            for at in range(len(stored)):
                altered = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]
                assert first_bad([*rows[:index], (seq, altered), *rows[index + 1 :]], head) == index, (index, at)

    def test_a_rehashed_entry_is_found_by_the_one_after(self) -> None:
        rows, head = exchanges(4)
        other, _ = log_of(("intent", "x0"), ("outcome", "x0"), ("intent", "other"))
        assert first_bad([*rows[:2], other[2], *rows[3:]], head) == 2

    @pytest.mark.parametrize("index", range(8))
    def test_a_missing_row_is_found(self, index: int) -> None:
        rows, head = exchanges(4)
        assert first_bad(rows[:index] + rows[index + 1 :], head) == index

    @pytest.mark.parametrize("index", range(7))
    def test_swapped_bytes_and_swapped_rows_are_found(self, index: int) -> None:
        rows, head = exchanges(4)
        (first, one), (second, two) = rows[index : index + 2]
        assert first_bad([*rows[:index], (first, two), (second, one), *rows[index + 2 :]], head) == index
        assert first_bad([*rows[:index], (second, two), (first, one), *rows[index + 2 :]], head) == index

    @pytest.mark.parametrize("index", range(9))
    def test_an_inserted_entry_is_found_even_when_the_rest_is_renumbered(self, index: int) -> None:
        rows, head = exchanges(4)
        before = head_after(rows[:index])
        forged = chain.append(before, [chain.draft(Entry(id="forged", phase="event", kind="k"))], 0).rows
        renumbered = [(seq + 1, stored) for seq, stored in rows[index:]]
        assert first_bad([*rows[:index], *forged, *renumbered], head) == index

    def test_a_head_that_does_not_fit_is_found(self) -> None:
        rows, head = exchanges(2)
        assert first_bad(rows, Head(4, bytes(32))) == 3
        assert first_bad(rows, Head(5, head.last_hash)) == 4
        assert first_bad(rows, Head(2, head.last_hash)) == 2
        assert first_bad(rows, Head(-7, head.last_hash)) == 0
        assert first_bad(rows, None) == 3
        assert first_bad([], Head(0, b"\x01" * 32)) == 0

    @pytest.mark.parametrize(
        ("steps", "bad"),
        [
            ([("outcome", "a")], 0),
            ([("intent", "a"), ("intent", "a")], 1),
            ([("intent", "a"), ("outcome", "a"), ("outcome", "a")], 2),
            ([("intent", "a"), ("outcome", "b")], 1),
            ([("event", "a"), ("outcome", "a")], 1),
        ],
    )
    def test_every_outcome_has_its_own_intent_before_it(self, steps: list[tuple[Phase, str]], bad: int) -> None:
        assert first_bad(*log_of(*steps)) == bad

    @pytest.mark.parametrize(
        "change",
        [
            {"v": 2}, {"v": True}, {"seq": "0"}, {"seq": 0.0}, {"prev": None}, {"phase": "other"}, {"phase": []},
            {"time": "2023-11-14T22:13:20Z"}, {"time": "2023-11-14T22:13:20.2500000Z"}, {"time": 5}, {"id": ""},
            {"id": 7}, {"kind": None}, {"agent": 1}, {"target": {}}, {"request": []}, {"usage": {"a": "1"}},
            {"usage": {"a": 1.5}}, {"request": {"é": 1}}, {"request": {"n": 2**53}}, {"request": {"n": 0.5}},
            {"more": 1},
        ],
        ids=repr,
    )  # fmt: skip
    def test_a_document_that_is_no_entry_is_found(self, change: dict[str, Any]) -> None:
        rows, _ = log_of(("event", "e"))
        forged = orjson.dumps(json.loads(rows[0][1]) | change, option=orjson.OPT_SORT_KEYS)
        assert first_bad([(0, forged)], Head(1, chain.leaf_hash(forged))) == 0

    def test_a_field_that_is_left_out_is_found(self) -> None:
        rows, _ = log_of(("event", "e"))
        for name in chain.FIELDS:
            document = json.loads(rows[0][1])
            del document[name]
            forged = rfc8785.dumps(document)
            assert first_bad([(0, forged)], Head(1, chain.leaf_hash(forged))) == 0

    def test_bytes_that_say_the_same_in_another_form_are_found(self) -> None:
        [(_, stored)], _ = log_of(("event", "e"))
        forms = [
            stored + b" ",
            stored.replace(b":", b": ", 1),
            stored.replace(b'"v":1', b'"v":1.0'),
            b"\xef\xbb\xbf" + stored,
        ]
        forms += [
            stored.replace(b'"e"', b'"\\u0065"'),
            stored.replace(b'"v":1', b'"v":1,"v":1'),
            json.dumps(None).encode(),
        ]
        for form in forms:
            assert first_bad([(0, form)], Head(1, chain.leaf_hash(form))) == 0
        text: Any = stored.decode()
        assert first_bad([(0, text)], Head(1)) == 0

    def test_the_tail_verifies_from_anywhere(self) -> None:
        rows, head = exchanges(4)
        for start in range(8):
            chain.verify_tail(start, rows[start:], head)
        for start in range(8):
            with pytest.raises(ChainError):
                chain.verify_tail(start, rows[start:-1], head)
        with pytest.raises(ChainError) as caught:
            chain.verify_tail(3, [*rows[3:5], (5, rows[5][1].replace(b"x2", b"x9")), *rows[6:]], head)
        assert caught.value.index == 5

    def test_an_unknown_outcome_closes_the_intent(self, entry: MakeEntry) -> None:
        first = chain.append(Head(), [chain.draft(entry("intent", decision={"result": "allow"}))], 0)
        second = chain.append(first.head, [chain.unknown_outcome(first.rows[0][1])], 1)
        assert chain.verify([*first.rows, *second.rows], second.head).open == {}
        document = chain.parse(second.rows[0][1])
        assert document["outcome"] == {"status": "unknown"}
        assert [document[name] for name in ("id", "kind", "target", "agent")] == [
            "x-1",
            "llm.chat",
            'Model::"stub/m"',
            "demo",
        ]
        assert document["decision"] is None
