"""What the judge takes for an order that was not kept, and what it does not."""

from __future__ import annotations

import pytest

from tests.simulation.judging.verdict import OBJECTIONS, BrokenRuleError
from tests.simulation.judging.wire import Post

STREAM = 1
NAMES = ("a:1", "a:2", "a:3")


@pytest.fixture(autouse=True)
def _no_objections() -> None:
    OBJECTIONS.clear()


@pytest.fixture
def post() -> Post:
    """Return one with three messages that a session told and that were stored."""
    post = Post()
    for seq, name in enumerate(NAMES, 1):
        post.hand_over(name)
        post.store(name, STREAM, seq)
    return post


@pytest.mark.parametrize("others", [0, 1])
def test_what_a_server_took_back_is_stored_again_in_order(post: Post, others: int) -> None:
    post.hand_over("b:1")
    for seq in range(2, 2 + others):
        post.store("b:1", STREAM, seq)
    for seq, name in enumerate(NAMES[1:], 2 + others):
        post.store(name, STREAM, seq)


def test_what_precedes_what_stands_there_is_out_of_order(post: Post) -> None:
    with pytest.raises(BrokenRuleError, match="a:2 is stored behind"):
        post.store("a:2", STREAM, 4)
    OBJECTIONS.clear()


def test_what_was_taken_back_is_stored_out_of_order(post: Post) -> None:
    post.store("a:3", STREAM, 2)
    with pytest.raises(BrokenRuleError, match="a:2 is stored behind"):
        post.store("a:2", STREAM, 3)
    OBJECTIONS.clear()
