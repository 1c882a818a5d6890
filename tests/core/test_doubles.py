"""Doubles in integers are those of the machine, which Kueue's are."""

from __future__ import annotations

from math import ldexp

from hypothesis import given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tidegate.core.quota.doubles import Double, nearest_double

AMOUNTS = st.integers(1, 2**63 - 1)
WEIGHTS = st.integers(1, 10**12)
ONE = 10**9


def share(borrowed: int, lendable: int, weight: int) -> Double:
    """Return what a share compares as; ``weight`` is in 1e-9."""
    ratio = nearest_double(borrowed, 1).times(1_000).divided_by(nearest_double(lendable, 1))
    return ratio.divided_by(nearest_double(weight, ONE))


def machine(borrowed: int, lendable: int, weight: int) -> float:
    """Return the same in the machine's doubles."""
    return float(borrowed) * 1000.0 / float(lendable) / (weight / ONE)


@drawn(500)
@given(AMOUNTS, AMOUNTS, WEIGHTS)
def test_a_share_is_the_double_of_the_machine(borrowed: int, lendable: int, weight: int) -> None:
    double = share(borrowed, lendable, weight)
    assert ldexp(double.mantissa, double.exponent) == machine(borrowed, lendable, weight)


@drawn(500)
@given(st.tuples(AMOUNTS, AMOUNTS, WEIGHTS), st.tuples(AMOUNTS, AMOUNTS, WEIGHTS))
def test_ranks_order_as_doubles_do(a: tuple[int, int, int], b: tuple[int, int, int]) -> None:
    assert (share(*a).rank < share(*b).rank) == (machine(*a) < machine(*b))
    assert (share(*a).rank == share(*b).rank) == (machine(*a) == machine(*b))
