"""What is signed, kept, and held against a log that is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mastio.exchange.errors import AuditError
from mastio.exchange.records import SigningKey
from mastio.exchange.values import Entry
from mastio_audit.log import chain
from mastio_audit.log.chain import ChainError, Head
from mastio_audit.log.keys import LogKeys, read_succession, successions
from mastio_audit.log.published import History, Publisher, sign_head
from mastio_audit.log.store import StoreError
from mastio_primitives.transparency import notes
from mastio_primitives.transparency.notes import Checkpoint, NoteError, Signer
from support.audit.memory_store import MemoryStore, make

NOW = 1_700_000_000.0
WEEK = 7 * 86_400.0


def generation(number: int, begin: float, end: float | None = None) -> SigningKey:
    return SigningKey(f"audit-{number}", "audit", bytes([number]) * 32, begin, begin, end)


def keys_of(*rows: SigningKey) -> LogKeys:
    directory: Any = SimpleNamespace(signing_keys=(SigningKey("t", "token", bytes(32), NOW, NOW), *rows))
    return LogKeys("test.example", directory)


ONE = generation(1, NOW - 100)
TWO = generation(2, NOW)


def log_of(size: int) -> MemoryStore:
    store = MemoryStore()
    made = chain.append(Head(), [chain.draft(make("event", f"{n}")) for n in range(size)], NOW)
    store.rows, store.head, store.tree_nodes, store.is_open = made.rows, made.head, list(made.nodes), True
    return store


class TestKeys:
    def test_while_one_replaces_another_both_sign_the_new_one_first(self) -> None:
        old = generation(1, NOW - 100, NOW + WEEK)
        keys = keys_of(old, TWO)
        first, second = (key.signer.verifier for key in keys.all())
        assert [signer.verifier for signer in keys.signers(NOW - 1)] == [first]
        assert [signer.verifier for signer in keys.signers(NOW)] == [second, first]
        assert [signer.verifier for signer in keys.signers(NOW + WEEK)] == [second]
        assert first.name == second.name == keys.origin == "test.example/audit"

    def test_a_key_is_of_this_use_alone(self) -> None:
        """The same secret under another purpose gives nothing that signs here."""
        assert keys_of(ONE).all()[0].signer.verifier != Signer("test.example/audit", ONE.secret).verifier

    def test_each_is_named_by_the_one_before(self) -> None:
        three = generation(3, NOW + 5)
        keys = keys_of(ONE, TWO, three)
        first, *later = [key.signer.verifier for key in keys.all()]
        trusted = [first]
        for after, note in successions(keys.all()):
            assert read_succession(note, trusted) == after
            trusted.append(after)
        assert trusted[1:] == later

    def test_nobody_else_names_a_successor(self) -> None:
        keys = keys_of(ONE, TWO)
        first, second = (key.signer for key in keys.all())
        [(_, note)] = successions(keys.all())
        stranger, elsewhere = Signer("test.example/audit", bytes(32)), Signer("other.example/audit", bytes(32))
        text = f"{first.verifier}\nis followed by\n{stranger.verifier}\n"
        by_stranger = f"{text}\n{stranger.sign(text.encode())}"
        to_another = f"{first.verifier}\nis followed by\n{elsewhere.verifier}\n"
        signed = f"{to_another}\n{first.sign(to_another.encode())}"
        checkpoint = notes.sign(Checkpoint("test.example/audit", 1, bytes(32)), [first]).decode()
        in_anothers_name = f"{second.verifier}\nis followed by\n{stranger.verifier}\n"
        borrowed = f"{in_anothers_name}\n{first.sign(in_anothers_name.encode())}"
        for bad in (
            by_stranger,
            signed,
            checkpoint,
            borrowed,
            note.replace("followed", "Followed"),
            "",
            "\ud800",
            "\n\n",
        ):
            with pytest.raises(NoteError):
                read_succession(bad, [first.verifier])


class TestHistory:
    def history(self, folder: Path, checkpoint: Checkpoint | None) -> History:
        history = History(folder)
        if checkpoint is not None:
            history.keep(notes.sign(checkpoint, [Signer("test.example/audit", bytes(32))]), ["a key"])
        return history

    @pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 700])
    async def test_a_log_that_went_on_is_opened(self, tmp_path: Path, size: int) -> None:
        part = log_of(size)
        signed = Checkpoint("test.example/audit", size, notes_root(part.head))
        await self.history(tmp_path, signed).verify(log_of(700))

    async def test_nothing_was_signed_yet(self, tmp_path: Path) -> None:
        await self.history(tmp_path, None).verify(log_of(3))

    async def test_a_shorter_log_is_refused(self, tmp_path: Path) -> None:
        signed = Checkpoint("test.example/audit", 5, notes_root(log_of(5).head))
        with pytest.raises(ChainError, match="size 5") as caught:
            await self.history(tmp_path, signed).verify(log_of(4))
        assert caught.value.index == 4

    async def test_another_log_is_refused(self, tmp_path: Path) -> None:
        signed = Checkpoint("test.example/audit", 5, bytes(32))
        with pytest.raises(ChainError, match="signed a checkpoint of size 5"):
            await self.history(tmp_path, signed).verify(log_of(9))

    @pytest.mark.parametrize("content", [b"", b"nonsense", b"a\n1\nb\n\n\xe2\x80\x94 a AAAAAAA=\n"])
    async def test_a_file_that_holds_no_checkpoint_is_no_permission(self, tmp_path: Path, content: bytes) -> None:
        history = self.history(tmp_path, Checkpoint("a", 1, bytes(32)))
        history.path.write_bytes(content)
        with pytest.raises(ChainError, match="holds none"):
            await history.verify(log_of(3))

    async def test_a_file_that_cannot_be_read_is_none_either(self, tmp_path: Path) -> None:
        history = History(tmp_path)
        history.path.mkdir(parents=True)
        with pytest.raises(StoreError):
            await history.verify(log_of(3))

    def test_keys_are_never_dropped(self, tmp_path: Path) -> None:
        history = History(tmp_path)
        for vkeys in (["a"], ["a", "b"], ["b", "c"]):
            history.keep(b"checkpoint", vkeys)
        assert (tmp_path / "log" / "vkey").read_text() == "a\nb\nc\n"


def notes_root(head: Head) -> bytes:
    return notes.parse_checkpoint(notes.parse_note(sign_head(head, keys_of(ONE), NOW)).text).root


class TestPublisher:
    async def test_what_fails_is_tried_again_and_the_new_key_is_named_once(self, tmp_path: Path) -> None:
        store, recorded, failures = log_of(3), list[Entry](), 2

        async def record(entry: Entry) -> int:
            nonlocal failures
            if failures:
                failures -= 1
                raise AuditError("The exchange cannot be recorded at present, so it is not carried out.")
            recorded.append(entry)
            return 0

        history, keys = History(tmp_path), keys_of(ONE, TWO)
        publisher = Publisher(store, keys, history, record, lambda: NOW, "incarnation")
        task = asyncio.create_task(publisher.run())
        await self.until(lambda: history.path.exists())
        task.cancel()
        await asyncio.wait((task,))
        assert [entry.kind for entry in recorded] == ["audit.key"] and failures == 0
        verifiers = [key.signer.verifier for key in keys.all()]
        assert notes.open_checkpoint(history.path.read_bytes(), verifiers[1:]).size == 3

    async def test_nothing_is_written_while_nothing_is_new(self, tmp_path: Path) -> None:
        written: list[Sequence[str]] = []
        history: Any = SimpleNamespace(keep=lambda checkpoint, vkeys: written.append(vkeys))
        store = log_of(3)
        publisher = Publisher(store, keys_of(ONE), history, self.unused, lambda: NOW, "incarnation")
        for _ in range(3):
            await publisher.publish()
        assert len(written) == 1
        grown = log_of(4)
        store.rows, store.head = grown.rows, grown.head
        await publisher.publish()
        assert len(written) == 2

    async def unused(self, entry: Entry) -> int:
        raise AssertionError(entry)

    async def until(self, condition: Any) -> None:
        for _ in range(300):
            if condition():
                return
            await asyncio.sleep(0.02)
        raise AssertionError("it did not happen")
