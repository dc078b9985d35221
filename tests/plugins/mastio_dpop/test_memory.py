"""A proof works once on a host, whichever of its workers gets it, and in whatever order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pytest

from mastio.host.host_memory import Busy, HostMemory, make_host_memory
from mastio_dpop.memory import BUCKET, Full, Memory


def workers(count: int, limit: int = 100) -> list[Memory]:
    """Workers of one host, in one process."""
    descriptor = make_host_memory()
    found = [Memory(HostMemory(os.dup(descriptor)), limit) for _ in range(count)]
    for memory in found:
        memory.advance(1000.0)
    return found


def test_once_per_key_and_jti() -> None:
    memory = Memory(HostMemory(make_host_memory()))
    memory.advance(1000.0)
    assert memory.use("key", "a")
    assert not memory.use("key", "a")
    assert memory.use("other", "a")
    memory.advance(1000.0 + BUCKET)
    assert not memory.use("key", "a")


def test_a_jti_is_kept_as_long_as_its_nonce() -> None:
    memory = Memory(HostMemory(make_host_memory()))
    memory.advance(1000.0)
    nonce = memory.nonce
    memory.use("key", "a")
    memory.advance(1000.0 + BUCKET)
    assert nonce in memory.nonces
    memory.advance(1000.0 + 2 * BUCKET)
    assert nonce not in memory.nonces
    assert memory.use("key", "a")


def test_another_host_has_other_nonces() -> None:
    one, two = Memory(HostMemory(make_host_memory())), Memory(HostMemory(make_host_memory()))
    one.advance(1000.0)
    two.advance(1000.0)
    assert not set(one.nonces) & set(two.nonces)


def test_a_clock_that_goes_back_opens_nothing_again() -> None:
    memory = Memory(HostMemory(make_host_memory()))
    memory.advance(1000.0)
    memory.use("key", "a")
    memory.advance(100.0)
    assert not memory.use("key", "a")
    memory.advance(10_000.0)
    assert memory.nonces[0] == memory.nonce


def test_a_full_memory_refuses() -> None:
    memory = Memory(HostMemory(make_host_memory()), limit=2)
    memory.advance(0.0)
    assert memory.use("k", "1")
    assert memory.use("k", "2")
    with pytest.raises(Full):
        memory.use("k", "3")


def test_workers_of_a_host_have_the_same_nonces() -> None:
    one, two = workers(2)
    assert one.nonce == two.nonce and one.nonces == two.nonces


def test_once_on_a_host() -> None:
    one, two = workers(2)
    assert one.use("key", "a") and not two.use("key", "a")
    assert two.use("key", "b") and not one.use("key", "b")
    assert one.use("key", "c") and not two.use("key", "c")


@pytest.mark.parametrize("late", [0, 1])
def test_a_worker_may_be_late_in_the_next_bucket(late: int) -> None:
    """One has moved on when the other still marks proofs of the bucket before."""
    one, two = workers(2)
    one.advance(1000.0 + BUCKET)
    assert two.use("key", "a") and not one.use("key", "a")
    assert one.use("key", "b")
    two.advance(1000.0 + (1 + late) * BUCKET)
    assert not two.use("key", "b")
    assert two.use("key", "a") == bool(late)


def test_a_worker_that_stood_still_takes_no_proof_of_a_bucket_that_is_over() -> None:
    one, two = workers(2)
    assert one.use("key", "a")
    one.advance(1000.0 + 2 * BUCKET)
    assert one.use("key", "b")
    assert not two.use("key", "a"), "what was seen then is forgotten"
    two.advance(1000.0 + 2 * BUCKET)
    assert two.use("key", "c")


def test_a_worker_that_is_replaced_forgets_nothing() -> None:
    descriptor = make_host_memory()
    killed = Memory(HostMemory(os.dup(descriptor)))
    killed.advance(1000.0)
    assert killed.use("key", "a")
    new = Memory(HostMemory(os.dup(descriptor)))
    new.advance(1000.0)
    assert new.nonce == killed.nonce and not new.use("key", "a") and new.use("key", "b")


def test_the_limit_is_the_hosts() -> None:
    one, two = workers(2, limit=2)
    assert one.use("key", "a") and two.use("key", "b")
    for memory in (one, two):
        with pytest.raises(Full):
            memory.use("key", "c")


PROOFS = 1000


def use_all(memory: Memory, order: Iterable[int]) -> bytes:
    """For each proof, whether it was its first use."""
    used = bytearray(PROOFS)
    for name in order:
        while True:
            try:
                used[name] = memory.use("key", str(name))
                break
            except Busy:  # the process whose turn it is does not run, since the machine has other work
                continue
    return bytes(used)


@pytest.fixture
def contenders() -> Iterator[list[bytes]]:
    """What each of four processes may use of the same proofs, each in an order of its own."""
    descriptor, gate = make_host_memory(), os.pipe()
    found = []
    for factor in (7, 11, 13, 17):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.close(gate[1])
                memory = Memory(HostMemory(descriptor))
                memory.advance(1000.0)
                os.read(gate[0], 1)  # until all are there
                os.write(writing, use_all(memory, (place * factor % PROOFS for place in range(PROOFS))))
            finally:
                os._exit(0)
        os.close(writing)
        found.append(reading)
    os.close(gate[1])
    yield [os.read(reading, 2 * PROOFS) for reading in found]
    for _ in found:
        os.wait()


def test_processes_that_race_use_each_proof_once(contenders: list[bytes]) -> None:
    assert [sum(used) for used in zip(*contenders, strict=True)] == [1] * PROOFS


def test_a_process_that_stands_still_in_its_turn_stops_nobody_for_long() -> None:
    descriptor = make_host_memory()
    memory = Memory(HostMemory(os.dup(descriptor)))
    memory.advance(1000.0)
    begun, end = os.pipe(), os.pipe()
    if (child := os.fork()) == 0:
        with HostMemory(descriptor):
            os.write(begun[1], b"x")
            os.close(end[1])
            os.read(end[0], 1)
        os._exit(0)
    os.read(begun[0], 1)
    with pytest.raises(Busy):
        memory.use("key", "a")
    os.close(end[1])
    os.waitpid(child, 0)
    assert memory.use("key", "a")
