"""Every kind of body of an inspected connection, grown: looking for its texts costs as much as it is long, or a bound
comes before the work. CPU times of a body and of one ten times as long are compared."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from mastio.exchange.errors import BadRequest, Blocked, MastioError
from mastio.exchange.values import RequestHead
from mastio.reading.document import MAX_TEXTS
from mastio_egress.calls import _read_json
from mastio_egress.connections.connection import ConnectionRow
from mastio_egress.plugin import ROUTES
from mastio_egress.texts import MOST_LINES, MOST_PAIRS, open_layout
from support.cpu_cost import verify_linear

NDJSON, FORM, JSON = "application/x-ndjson", "application/x-www-form-urlencoded", "application/json"

GROWING: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "lines": (NDJSON, lambda n: b'{"a":"b"}\n' * n),
    "empty lines": (NDJSON, lambda n: b'{"a":"b"}' + b"\n" * n + b"{}"),
    "empty objects in lines": (NDJSON, lambda n: b"{}\n" * n),
    "pairs": (FORM, lambda n: b"&".join([b"a=b"] * n)),
    "names": (FORM, lambda n: b"&".join([b"a"] * n)),
    "values": (JSON, lambda n: orjson.dumps(["x"] * n)),
    "objects": (JSON, lambda n: orjson.dumps([{"a": "b"}] * n)),
    "empty objects": (JSON, lambda n: orjson.dumps([{}] * n)),
    "members": (JSON, lambda n: orjson.dumps({f"m{k}": 1 for k in range(n)})),
    "documents in texts": (JSON, lambda n: orjson.dumps(['{"a": "b"}'] * n)),
    "documents in a text": (JSON, lambda n: orjson.dumps([orjson.dumps([{"a": "b"}] * n).decode()])),
    "escapes": (JSON, lambda n: b'["' + b'\\"' * 100 * n + b'"]'),
    "backslashes": (JSON, lambda n: b'["' + b"\\\\\\\\" * 100 * n + b'"]'),
    "words": ("text/plain", lambda n: b"a word, " * 10 * n),
    "no JSON": ("text/plain", lambda n: b'{"a": NaN, ' * n),
}


def head(content_type: str) -> RequestHead:
    params = {"connection": "api", "path": ""}
    return RequestHead("id", "POST", "/", b"", params, [(b"content-type", content_type.encode())], ROUTES[0], None, "")


def look(content_type: str, raw: bytes, *, change: bool = False) -> int:
    """How many texts were found, and put back where they are to change."""
    asked = head(content_type)
    row = ConnectionRow("api", "https://api.example", inspect_request=True)
    texts = open_layout(row, asked).request(raw, _read_json(asked, raw))
    found = len(texts.passages)
    if change:
        texts.replace(dict.fromkeys(range(found), "other"))
    return found


@pytest.mark.parametrize("name", GROWING)
def test_a_body_ten_times_as_long_costs_about_ten_times_as_much(name: str) -> None:
    content_type, make = GROWING[name]
    small, large = make(300), make(3000)

    def work(raw: bytes) -> None:
        try:
            look(content_type, raw, change=True)
        except Blocked:
            return  # the URL before it, or a text that two names became: it was looked at all the same

    verify_linear(lambda: work(small), lambda: work(large))


@pytest.mark.parametrize(
    ("content_type", "raw"),
    [
        (NDJSON, b"{}\n" * 350_000),
        (NDJSON, b"{}\n" * MOST_LINES),
        (NDJSON, b'{"a":1}\n' + b"\n" * MOST_LINES + b"{}"),
        (NDJSON, (b"[" + b"{}," * 150_000 + b"{}]\n") * 2),
        (FORM, b"a&" * 1_500_000),
        (FORM, b"a=b&" * MOST_PAIRS),
        (JSON, b"[" + b"{}," * 3_000_000 + b"{}]"),
        ("text/plain", b"[" + b"{}," * 3_000_000 + b"{}]"),
        ("text/plain", b"\xef\xbb\xbf{" + b'"a":1,' * 1_000_000 + b'"b":1}'),
        (JSON, orjson.dumps({f"m{n}": 1 for n in range(200_000)})),
        (JSON, b"[" + b"1," * 1_100_000 + b"1]"),
    ],
)  # fmt: skip
def test_more_than_is_taken_apart_is_refused(content_type: str, raw: bytes) -> None:
    with pytest.raises(BadRequest) as refusal:
        look(content_type, raw)
    assert (refusal.value.code, refusal.value.status) == ("too_many_parts", 413)


@pytest.mark.parametrize(
    "raw",
    [
        orjson.dumps(["[" + "{}," * 250_000 + "{}]"]),
        orjson.dumps(["[" + "{}," * 1000 + "{}]"] * 250),
        orjson.dumps(["x"] * (MAX_TEXTS + 1)),
    ],
    ids=["one document", "many documents", "texts"],
)
def test_more_in_texts_than_is_looked_into_is_blocked(raw: bytes) -> None:
    with pytest.raises(Blocked):
        look(JSON, raw)


@pytest.mark.parametrize(
    ("content_type", "raw", "found"),
    [
        (NDJSON, b'{"a":"b"}\n' * 10_000, 20_000),
        (FORM, b"&".join([b"a=b"] * 5000), 10_000),
        (JSON, orjson.dumps([{"id": n, "name": "x"} for n in range(20_000)]), 60_000),
        ("text/plain", b"x, y: {z}\n" * 500_000, 1),
        (JSON, orjson.dumps({"code": "a[0] = {b: 1};\n" * 300_000}), 2),
    ],
)
def test_long_bodies_are_looked_into(content_type: str, raw: bytes, found: int) -> None:
    assert look(content_type, raw) == found


def test_what_is_refused_is_a_fault_of_the_caller() -> None:
    with pytest.raises(MastioError) as refusal:
        look(FORM, b"a&" * MOST_PAIRS)
    assert 400 <= refusal.value.status < 500
