"""When a worker cluster is tried again. Source: multikueue.md 1.1 and case 66."""

from __future__ import annotations

from dispatcher.workers.fleet import Attempts, delay_s, with_attempts


def test_waits_double_up_to_the_seventh_failure() -> None:
    assert [delay_s(n) for n in range(1, 10)] == [5, 10, 20, 40, 80, 160, 320, 320, 320]


def test_nothing_is_tried_inside_the_window_but_other_credentials_are() -> None:
    once = Attempts().after_failure(b"a", 100.0)
    assert (once.failures, once.next_s) == (1, 105.0)
    assert not once.may_try(b"a", 104.9)
    assert once.may_try(b"a", 105.0)
    assert once.may_try(b"b", 101.0)


def test_other_credentials_count_from_the_first_again() -> None:
    thrice = Attempts().after_failure(b"a", 0.0).after_failure(b"a", 5.0).after_failure(b"a", 15.0)
    assert thrice.failures == 3
    assert thrice.after_failure(b"b", 20.0).failures == 1


def test_the_condition_says_when_it_is_tried_again() -> None:
    assert with_attempts("broken", 0, "never") == "broken"
    text = with_attempts("broken", 2, "2026-01-01T00:00:10Z")
    assert text == "broken; connection attempts: 2, next connection attempt: 2026-01-01T00:00:10Z"
