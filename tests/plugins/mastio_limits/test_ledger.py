"""A lease, step by step: what is free, before, while and after a claim is under way."""

from __future__ import annotations

from mastio.exchange.budgets import BudgetWindow, Claim, Grant
from mastio_limits.ledger import MOST, Lease

DAY = BudgetWindow(0, 86_400)


def lease_of(held: int) -> Lease:
    lease = Lease("l", "s", DAY)
    lease.draft(1000, (held,), pressed=True)
    lease.apply(Grant(held, 1000, 0))
    return lease


def test_a_new_lease_has_nothing_and_asks_for_what_is_needed() -> None:
    lease = Lease("l", "s", DAY)
    assert not lease.reserve(1) and lease.is_done and not lease.is_due
    assert lease.draft(6400, (30, 20), pressed=False) == Claim("l", "s", DAY, needs=(30, 20), spare=100)
    assert lease.draft(6400, (300,), pressed=False).spare == 200  # one part in 32 of the limit
    assert not lease.is_done and lease.is_due, "nobody knows whether the claim arrived"


def test_what_is_set_aside_used_and_given_back() -> None:
    lease = lease_of(100)
    assert lease.reserve(60) and lease.reserve(40) and not lease.reserve(1) and lease.free == 0
    lease.settle(60, 25)
    assert lease.free == 35 and lease.is_due
    assert lease.draft(1000, pressed=True) == Claim("l", "s", DAY, used=25, reserved=40, keep=40)
    lease.apply(Grant(40, 1000, 25))
    assert (lease.held, lease.free, lease.reported, lease.is_due) == (40, 0, 25, False)
    lease.settle(40, 0)
    lease.draft(1000, pressed=True)
    lease.apply(Grant(0, 1000, 25))
    assert lease.is_done


def test_while_a_claim_is_under_way_only_what_it_keeps_is_free() -> None:
    lease = lease_of(100)
    assert lease.reserve(10)
    claim = lease.draft(640, pressed=False)
    assert (claim.reserved, claim.keep, claim.spare) == (10, 30, 20)
    assert lease.reserve(20) and not lease.reserve(1)
    lease.settle(20, 15)
    assert lease.free == 5
    lease.apply(Grant(40, 640, 0))
    assert lease.free == 15 and lease.used - lease.reported == 15


def test_the_spare_goes_when_nothing_happens() -> None:
    lease = lease_of(100)
    assert lease.reserve(10)
    lease.settle(10, 0)
    assert [(lease.spare(10_000), lease.tick())[0] for _ in range(4)] == [20, 20, 20, 0]


def test_more_than_was_set_aside_leaves_less_than_nothing() -> None:
    lease = lease_of(100)
    assert lease.reserve(10)
    lease.settle(10, 500)
    assert lease.free == -400 and not lease.reserve(1) and lease.reserve(0)
    assert lease.draft(1000, pressed=False).keep == 0
    lease.settle(0, 10**40)
    assert lease.used == MOST
    lease.settle(0, -5)
    assert lease.used == MOST


def test_a_lease_is_of_one_window() -> None:
    assert [Lease("l", "s", DAY).covers(at) for at in (-0.1, 0, 86_399.9, 86_400)] == [False, True, True, False]
    assert Lease("l", "s", BudgetWindow(0, None)).covers(9e9)
