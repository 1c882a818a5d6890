"""Deadlines against the simplest model: a dict that is searched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tidegate.core.state import deadlines
from tidegate.core.state.state import State

keys = st.sampled_from(("ready/x", "ready/y", "retention/x", "retention/y"))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), keys, st.integers(0, 30)),
        st.tuples(st.just("due"), keys, st.just(0)),
        st.tuples(st.just("clear"), keys, st.just(0)),
        st.tuples(st.just("time"), st.just(""), st.integers(0, 10)),
    ),
    max_size=40,
)


@drawn(100)
@given(steps)
def test_each_key_is_due_once_its_last_deadline_has_come(steps: list[tuple[str, str, int]]) -> None:
    state, waiting, due = State(), dict[str, int](), dict[str, None]()
    for what, key, at_us in steps:
        if what == "time":
            state.now_us += at_us
            fired = sorted((at, key) for key, at in waiting.items() if at <= state.now_us)
            assert deadlines.fire(state) == [key for _, key in fired]
            due |= dict.fromkeys(key for _, key in fired)
            waiting = {key: at for key, at in waiting.items() if at > state.now_us}
        else:
            waiting.pop(key, None)
            due.pop(key, None)
        if what == "set":
            deadlines.set(state, key, at_us)
            waiting[key] = at_us
        elif what == "due":
            deadlines.set_due(state, key)
            due[key] = None
        elif what == "clear":
            deadlines.clear(state, key)
        assert list(state.deadlines.due) == list(due)
        assert deadlines.next_due(state) == min(waiting.values(), default=None)


def test_a_family_sees_its_own_names_only() -> None:
    state = State()
    for key in ("repair/team/x", "ready/team/x", "repairs/y"):
        deadlines.set_due(state, key)
    assert deadlines.due(state, "repair") == ["team/x"]


def test_a_deadline_that_moves_for_ever_takes_no_room() -> None:
    state = State()
    deadlines.set(state, "ready/first", 0)
    for at_us in range(10_000):
        deadlines.set(state, "ready/x", at_us)
    assert len(state.deadlines.heap) <= 2 * 2 + deadlines.OUTDATED_MAX
    assert deadlines.next_due(state) == 0
