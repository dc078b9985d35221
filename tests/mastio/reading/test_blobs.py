"""Base64 within a text: what says no text is labelled with its kind and its signs, whole and in pieces."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import textwrap
from typing import Any

import orjson
import pytest

from mastio.exchange.inspection import Finding
from mastio.reading.blobs import LONG_BLOB, MOST_HELD, Sieve, find_blobs
from mastio.reading.document import Document
from mastio_llm.texts import LAYOUTS
from mastio_llm.texts.names import NAMES
from support.cpu_cost import verify_linear
from support.replacing_inspector import Replacing

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4).decode()
PDF = base64.b64encode(b"%PDF-1.7\n\xff\xfe" + bytes(range(256)) * 4).decode()
NOISE = base64.b64encode(random.Random(1).randbytes(600)).decode()
URL_SAFE = base64.urlsafe_b64encode(random.Random(2).randbytes(600)).decode().rstrip("=")
LETTER = base64.b64encode(("Grüße aus München. " * 40).encode()).decode()
WRAPPED = "\n".join(textwrap.wrap(PNG, 76))


def note(text: str) -> list[tuple[str, int]]:
    document = {"messages": [{"role": "user", "content": text}]}
    found = Document(orjson.dumps(document), document, NAMES).uninspected
    return [(one.kind, one.size) for one in found]


@pytest.mark.parametrize(
    ("blob", "kind"),
    [(PNG, "image"), (PDF, "file"), (NOISE, "binary"), (URL_SAFE, "binary"), (WRAPPED, "image"),
     (WRAPPED.replace("\n", "\r\n"), "image")],
)  # fmt: skip
@pytest.mark.parametrize(
    "frame", ["look: {} .", "![a](data:image/png;base64,{})", "a\n{}\nb", "({}", '"{}", 1', "x={};"]
)
def test_base64_in_a_text_is_labelled(frame: str, blob: str, kind: str) -> None:
    ((found, size),) = note(frame.format(blob))
    assert found == kind and len(blob) - 2 <= size <= len(blob) + 3
    nested = json.dumps({"a": json.dumps({"b": frame.format(blob)})})
    assert [one for one, _ in note(nested)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        f"look: {LETTER} .", "look: " + "deadbeef" * 99, "look: " + "a" * 9999, "look: " + NOISE[: LONG_BLOB - 1],
        "the quick brown fox jumps over the lazy dog. " * 99, "/usr/lib/python3/dist-packages/" * 3,
        "\n".join("Word" for _ in range(999)), "\n".join(f"sha512-{NOISE[:86]}==" for _ in range(9)),
    ],
)  # fmt: skip
def test_texts_are_not_labelled(text: str) -> None:
    assert note(text) == []


WORDS = (
    "Request",
    "Handler",
    "Of",
    "Some",
    "Very",
    "Long",
    "Gateway",
    "Cluster",
    "Factory",
    "Bean",
    "Value8",
    "Timeout",
)


def names(count: int, *between: str) -> str:
    chosen = random.Random(count)
    return "".join(chosen.choice(WORDS) + chosen.choice(between) for _ in range(count)).rstrip("".join(between))


def token(size: int) -> str:
    parts = (b'{"alg":"RS256","typ":"JWT"}', b'{"sub":"anna","iat":1516239022}', random.Random(3).randbytes(size))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def in_pem(size: int, content: bytes) -> str:
    lines = "\n".join(textwrap.wrap(base64.b64encode(content).decode(), 64))
    assert len(content) == size
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"


def certificate(size: int) -> str:
    return in_pem(size, b"\x30\x82" + (size - 4).to_bytes(2) + random.Random(4).randbytes(size - 4))


@pytest.mark.parametrize(
    "text",
    [
        *(names(count, *between) for count in (70, 99, 250) for between in (("",), ("/",), ("_", ""), ("-", "/", ""))),
        "\n".join(f"/home/anna/projects/{names(2, '')}/src/main/java/com/example/{names(3, '')}Impl" for _ in range(8)),
        "\n".join(f"test_SomeVeryLong{names(5, '')}In{names(5, '_', '')}Of" for _ in range(8)),
        "https://localhost/" + names(60, "/", "-"),
        "\n".join(f"/var/lib/docker/overlay2/{n * 7**80 % 16**64:064x}/Users" for n in range(1, 9)),
        token(256), f"Authorization: Bearer {token(512)}\nnext", *map(certificate, (700, 720, 768, 1001)),
    ],
)  # fmt: skip
def test_names_paths_certificates_and_tokens_are_not_labelled(text: str) -> None:
    assert note(f"look: {text} .") == []
    assert note(text) == []


@pytest.mark.parametrize(
    "text",
    [
        *(f"/home/anna/{names(9, '/')}/{blob}/{names(9, '/')}" for blob in (NOISE, URL_SAFE, PNG)),
        *(base64.b64encode(random.Random(n).randbytes(192)).decode() + " " for n in range(99)),
        token(1000), "alg." + token(300).rpartition(".")[2], in_pem(900, random.Random(4).randbytes(900)),
        certificate(20_000),
        base64.b64encode("Grüße aus München. ".encode("utf-16") * 9).decode() + ".",
        base64.b64encode("Grüße aus München. ".encode("latin-1") * 20).decode() + ".",
        base64.b64encode(b"\xff" + b"The quick brown fox jumps over the lazy dog. " * 9).decode() + ".",
        base64.b64encode(b"\x7fELF\x02\x01\x01" + bytes(300) + b"\xff\xfe").decode() + ".",
    ],
)  # fmt: skip
def test_what_looks_like_names_or_tokens_in_part_is_labelled(text: str) -> None:
    assert len(note(f"look: {text}")) == 1


def test_what_is_labelled_already_is_labelled_once() -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    document = {"messages": [{"role": "user", "content": [part]}]}
    (found,) = Document(orjson.dumps(document), document, NAMES).uninspected
    assert found.times == 1
    assert note(PNG) == [("image", len(PNG))]


@pytest.mark.parametrize("size", [1, 3, 7, 60, 61, 255, 4096, 10_000])
def test_pieces_are_labelled_as_the_whole_is(size: int) -> None:
    text = f"It is {PNG} and, wrapped,\n{WRAPPED}\nand {NOISE}" + " words" * 3000 + f" {PDF}"
    sieve, found = Sieve(), list[tuple[str, int]]()
    for at in range(0, len(text), size):
        found += sieve.feed(text[at : at + size], False)
    found += sieve.feed("", True)
    assert found == [(kind, end - start) for start, end, kind in find_blobs(text)]
    assert [kind for kind, _ in found] == ["image", "image", "binary", "file"]


def test_what_hardly_ends_is_labelled_once_and_not_kept() -> None:
    sieve, piece = Sieve(), PNG.rstrip("=") * 2
    for _ in range(200):
        assert sieve.feed(piece, False) == []
        assert sum(map(len, sieve._held)) < 4 * MOST_HELD
    assert sieve.feed(f"ABC. And {NOISE} ", False) == [("image", 200 * len(piece) + 3)]
    assert sieve.feed("", True) == [("binary", len(NOISE))]


@pytest.mark.parametrize("unit", ["a", "a ", "A1" * 31 + " ", "A1b" * 21 + "\n", "Ab1+" * 64 + ".", "\n"])
def test_the_cost_is_linear(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    verify_linear(lambda: list(find_blobs(text[: len(text) // 10])), lambda: list(find_blobs(text)))


def rewrite(path: str, events: list[Any]) -> list[Finding]:
    async def go() -> list[Finding]:
        rewriter = LAYOUTS[path]["events"].stream([Replacing("never", "never")])  # type: ignore[list-item]
        for event in events:
            _ = [piece async for piece in rewriter.feed(b"data: " + orjson.dumps(event) + b"\n\n", last=False)]
        await rewriter.end()
        return [one for one in rewriter.findings() if one.label == "uninspected"]

    return asyncio.run(go())


@pytest.mark.parametrize("size", [5, 333, 100_000])
def test_base64_in_a_streamed_text_is_labelled(size: int) -> None:
    def made(text: str) -> list[Any]:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        return [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]

    (found,) = rewrite("/v1/chat/completions", made(f"here it is: {PNG} - done"))
    assert (found.kind, found.times, found.size) == ("image", 1, len(PNG))
    assert rewrite("/v1/chat/completions", made("nothing but words, " * 400)) == []
