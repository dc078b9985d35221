"""What witnesses are told and say: the words of C2SP, each answer, and nothing believed that is not signed."""

from __future__ import annotations

import base64

import pytest

from mastio_audit.anchors.cosignatures import Answer, Cosigned, Fork, Remembers, find_cosignature, find_cosigners, judge
from mastio_audit.anchors.target import AnchorError
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import Checkpoint, NoteError, Signer
from support.witness_server import WitnessServer

SIZE = "text/x.tlog.size"
EXAMPLE = """\
old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAY\
Q8=
"""
"""The specification's example, with two hashes instead of four."""


def test_a_request_is_written_as_the_specification_shows() -> None:
    head, _, checkpoint = EXAMPLE.encode().partition(b"\n\n")
    proof = [base64.b64decode(line) for line in head.split(b"\n")[1:]]
    assert notes.write_extension(20852014, proof, checkpoint) == EXAMPLE.encode()
    assert notes.write_extension(0, [], checkpoint) == b"old 0\n\n" + checkpoint


@pytest.mark.parametrize(
    ("status", "kind", "body", "old", "answer"),
    [
        (200, "text/plain", b"x", 5, Cosigned(b"x")),
        (409, SIZE, b"7\n", 5, Remembers(7)),
        (409, f"{SIZE}; charset=utf-8", b"0\n", 5, Remembers(0)),
        (409, SIZE, b"99\n", 5, Remembers(99)),
        (409, SIZE, b"9\n", 9, Fork(9)),
        (409, "text/plain", b"roots differ", 9, Fork(9)),
        (422, "text/plain", b"", 5, Fork(5)),
    ],
)
def test_what_each_answer_says(status: int, kind: str, body: bytes, old: int, answer: Answer) -> None:
    """To a checkpoint of 9 entries."""
    assert judge(status, kind, body, old, 9) == answer


@pytest.mark.parametrize(
    ("status", "kind", "body", "old"),
    [
        (409, "text/plain", b"7\n", 5), (409, SIZE, b"7", 5), (409, SIZE, b"07\n", 5), (409, SIZE, b"-1\n", 5),
        (409, SIZE, b"5\n", 5), (409, SIZE, b"", 5), (422, "", b"", 0), (404, "", b"", 5), (403, "", b"", 5),
        (400, "", b"", 5), (500, "", b"", 5), (302, "", b"", 5), (204, "", b"", 5), (429, "", b"", 9),
    ],
)  # fmt: skip
def test_what_is_a_failure_is_no_alarm(status: int, kind: str, body: bytes, old: int) -> None:
    with pytest.raises(AnchorError):
        judge(status, kind, body, old, 9)


LOG = Signer("test.example/audit", bytes(32))
NOTE = notes.sign(Checkpoint(LOG.verifier.name, 9, bytes(32)), [LOG])
TEXT = notes.parse_note(NOTE).text


def test_a_cosignature_counts_for_the_text_and_key_that_it_is_of() -> None:
    one, other = WitnessServer(), WitnessServer("witness.example/w2")
    first, second = (notes.parse_vkey(each.vkey, notes.COSIGNATURE) for each in (one, other))
    line, foreign = one._cosign(TEXT), other._cosign(TEXT)
    at = one.clock()
    for answer in (line, foreign + line, line + foreign):
        found, when = find_cosignature(TEXT, answer, first, at)
        assert found == line and abs(when - at) < 5
    assert find_cosigners(NOTE + line + foreign, [first, second], at) == {first.name, second.name}
    assert find_cosigners(NOTE + line, [first, second], at) == {first.name}
    assert str(first) == one.vkey
    raw = base64.b64decode(line.split(b" ")[2])
    wrong = {
        "another text": one._cosign(TEXT.replace(b"9", b"8")),
        "another's": foreign,
        "nothing": b"",
        "another time": one.line(raw[:11] + bytes([raw[11] ^ 1]) + raw[12:]),
        "a bit": one.line(raw[:-1] + bytes([raw[-1] ^ 1])),
        "short": one.line(raw[:-1]),
        "long": one.line(raw + b"\0"),
        "a text of its own": TEXT.replace(b"9", b"8") + b"\n" + one._cosign(TEXT.replace(b"9", b"8")),
        "no line": line[:-1],
        "words": b"thank you\n",
        "a huge time": one.line(raw[:4] + b"\xff" * 8 + raw[12:]),
    }
    for name, answer in wrong.items():
        with pytest.raises(NoteError):
            pytest.fail(f"{name} was taken: {find_cosignature(TEXT, answer, first, at)}")
    with pytest.raises(NoteError, match="future"):
        find_cosignature(TEXT, line, first, at - 1000)
    for each in (one, other):
        each._server.server_close()


def test_a_key_of_another_type_is_no_witness() -> None:
    server = WitnessServer()
    server._server.server_close()
    with pytest.raises(NoteError):
        notes.parse_vkey(server.vkey)
    with pytest.raises(NoteError):
        notes.parse_vkey(str(LOG.verifier), notes.COSIGNATURE)
