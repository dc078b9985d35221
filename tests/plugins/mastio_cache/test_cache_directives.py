"""What a caller's `Cache-Control` means, by RFC 9111."""

from __future__ import annotations

import pytest

from mastio.exchange.values import AnswerInputs
from mastio_cache.directives import LONGEST, Course, Wishes, choose, forbids_keeping, read_wishes

ONE = AnswerInputs((b"x",), has_one_answer=True)
MANY = AnswerInputs((b"x",), has_one_answer=False)
NEITHER = Course(look=False, keep=False)


@pytest.mark.parametrize(
    ("values", "wishes"),
    [
        ([], Wishes()),
        ([b""], Wishes()),
        ([b" , ,"], Wishes()),
        ([b"no-store"], Wishes(no_store=True)),
        ([b"No-Store , NO-CACHE"], Wishes(no_store=True, no_cache=True)),
        ([b"no-cache", b"only-if-cached"], Wishes(no_cache=True, only_if_cached=True)),
        ([b"max-age=60"], Wishes(max_age=60)),
        ([b'max-age="60"'], Wishes(max_age=60)),
        ([b"max-age=60, max-age=5"], Wishes(max_age=5)),
        ([b"max-age=00000000000000060"], Wishes(max_age=60)),
        ([b"max-age=99999999999999999999"], Wishes(max_age=LONGEST)),
        *[
            ([b"max-age" + wrong], Wishes(max_age=0))
            for wrong in (b"", b"=", b"=-1", b"=1.5", b"=x", b"=1e9", b"=\xb2")
        ],
        ([b"max-stale=9, min-fresh=9, no-transform, private, x-no-store, no-storexx"], Wishes()),
    ],
)
def test_directives_are_read(values: list[bytes], wishes: Wishes) -> None:
    assert read_wishes(values) == wishes


@pytest.mark.parametrize(
    ("answers", "question", "wishes", "course"),
    [
        ("deterministic", ONE, Wishes(), Course(look=True, keep=True)),
        ("deterministic", MANY, Wishes(), NEITHER),
        ("deterministic", None, Wishes(), NEITHER),
        ("all", MANY, Wishes(), Course(look=True, keep=True)),
        ("all", None, Wishes(max_age=9), NEITHER),
        ("off", ONE, Wishes(max_age=9), NEITHER),
        ("deterministic", MANY, Wishes(max_age=9), Course(look=True, keep=True, max_age=9)),
        ("deterministic", ONE, Wishes(max_age=9), Course(look=True, keep=True, max_age=9)),
        ("deterministic", ONE, Wishes(no_store=True, max_age=9), NEITHER),
        ("all", ONE, Wishes(no_store=True), NEITHER),
        ("deterministic", ONE, Wishes(no_cache=True), Course(look=False, keep=True)),
        ("deterministic", ONE, Wishes(max_age=0), Course(look=False, keep=True, max_age=0)),
        ("deterministic", MANY, Wishes(no_cache=True), NEITHER),
        ("deterministic", MANY, Wishes(max_age=0), Course(look=False, keep=False, max_age=0)),
        ("deterministic", MANY, Wishes(no_cache=True, max_age=9), Course(look=False, keep=True, max_age=9)),
        ("deterministic", MANY, Wishes(only_if_cached=True), Course(look=True, keep=False, only=True)),
        ("off", ONE, Wishes(only_if_cached=True), Course(look=False, keep=False, only=True)),
        ("deterministic", None, Wishes(only_if_cached=True), Course(look=False, keep=False, only=True)),
    ],
)
def test_what_is_done(answers: str, question: AnswerInputs | None, wishes: Wishes, course: Course) -> None:
    chosen = choose(answers, question, wishes)  # type: ignore[arg-type]
    assert chosen == course
    assert chosen.is_bypass == (not course.look and not course.keep and not course.only)


def test_a_reply_may_forbid_to_be_kept() -> None:
    assert forbids_keeping([b"private", b"max-age=0, No-Store"])
    assert not forbids_keeping([b"private, max-age=0"])
