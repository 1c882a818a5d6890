"""Kueue's doubles in integers: what its shares compare as, on every machine alike.

Kueue divides a borrowed amount by the lendable one, and the quotient by the weight. Each step
rounds to 53 bits, half to even. So two shares that are equal as fractions may differ in the last
bit, and Kueue then prefers one of them.
"""

from __future__ import annotations

from typing import NamedTuple

_BITS = 53
_EXPONENT_BIAS = 2_048  # above the exponent of any quotient of amounts


class Double(NamedTuple):
    """A positive double: ``mantissa`` of 53 bits, times 2 to the power of ``exponent``."""

    mantissa: int
    exponent: int

    @property
    def rank(self) -> int:
        """Return an integer that orders doubles as their values do."""
        return (self.exponent + _EXPONENT_BIAS) << _BITS | self.mantissa

    def times(self, factor: int) -> Double:
        """Return the product with a small integer, rounded."""
        product = nearest_double(self.mantissa * factor, 1)
        return Double(product.mantissa, product.exponent + self.exponent)

    def divided_by(self, divisor: Double) -> Double:
        """Return the quotient, rounded."""
        quotient = nearest_double(self.mantissa, divisor.mantissa)
        exponent = quotient.exponent + self.exponent - divisor.exponent
        return Double(quotient.mantissa, exponent)


def nearest_double(numerator: int, denominator: int) -> Double:
    """Return the double that is nearest to a positive fraction."""
    exponent = numerator.bit_length() - denominator.bit_length() - _BITS
    mantissa, rest, unit = _divide_scaled(numerator, denominator, exponent)
    if mantissa >> _BITS:
        exponent += 1
        mantissa, rest, unit = _divide_scaled(numerator, denominator, exponent)
    if 2 * rest > unit or (2 * rest == unit and mantissa & 1):
        mantissa += 1
    if mantissa >> _BITS:
        mantissa, exponent = mantissa >> 1, exponent + 1
    return Double(mantissa, exponent)


def _divide_scaled(numerator: int, denominator: int, exponent: int) -> tuple[int, int, int]:
    """Return a fraction divided by a power of 2: whole part, rest, and what the rest is of."""
    numerator, denominator = numerator << max(0, -exponent), denominator << max(0, exponent)
    return *divmod(numerator, denominator), denominator
