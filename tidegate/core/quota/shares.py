"""Fair sharing: the dominant resource share of a node, its borrowing over the lendable amount.

A share is a fraction of integers, so two shares compare by cross-multiplication. Only reports round
shares; with ``compatibility: kueue`` two of them compare as Kueue's rounded ones do.

Source: behaviour.md 6.4; conformance/dominant-share.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal

import msgspec

from tidegate.core.quota.doubles import nearest_double
from tidegate.core.quota.tree import INFINITE, Node
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import WEIGHT_ONE

_DECIMAL = Context(prec=28)
_SCALE = 1_000  # Kueue counts shares in thousandths
_NOTHING: Mapping[FlavorResource, int] = {}
_RANK_BITS = 192  # distinguishes all fractions with denominators below 2**96
_BOUNDLESS = 1 << 512


class Share(msgspec.Struct, frozen=True, eq=False):
    """A weighted dominant resource share; ``<`` and its like compare, ``==`` does not."""

    over: int = 0  # borrowed amount of the dominant resource, times 1e9
    under: int = 1  # lendable amount of it, times the weight in 1e-9, at least 1
    boundless: bool = False  # it borrows with weight 0: greater than all bounded shares
    resource: str = ""  # the dominant resource; empty: it borrows nothing that could be lent
    borrowing: bool = False
    rank: int = 0  # less or equal if the share is less; equal shares have equal ranks
    as_double: bool = False  # the rank alone compares: it is the one of Kueue's double

    def __lt__(self, other: Share) -> bool:
        """Tell whether this share is less."""
        if self.rank != other.rank:
            return self.rank < other.rank
        if self.as_double:
            return False
        if self.boundless != other.boundless:
            return other.boundless
        return self.over * other.under < other.over * self.under

    def __le__(self, other: Share) -> bool:
        """Tell whether this share is not greater."""
        return not other < self

    def rounded(self) -> int:
        """Return the share in thousandths, rounded up, as Kueue reports it."""
        if self.boundless:
            return UNLIMITED
        return -(-self.over * _SCALE // self.under)

    def precise(self) -> str:
        """Return the share in thousandths as decimal text of up to 28 digits, or ``+Inf``."""
        if self.boundless:
            return "+Inf"
        decimal = _DECIMAL.divide(Decimal(self.over * _SCALE), Decimal(self.under))
        return format(decimal.normalize(_DECIMAL), "f")


ZERO = Share()
"""The least share: nothing is borrowed."""


def dominant_share(
    node: Node, extra: Mapping[FlavorResource, int] = _NOTHING, *, as_double: bool = False
) -> Share:
    """Return a node's share, with ``extra`` counted as if it were used; ZERO at a root.

    ``as_double``: it compares with others as Kueue's double of it does.
    """
    if node.parent is None:
        return ZERO
    borrowed: dict[str, int] = {}
    for fr, cell in node.cells.items():
        above = cell.usage - cell.subtree_quota
        if extra and fr in extra:
            above += extra[fr]
        if above > 0 and cell.defined:
            borrowed[fr.resource] = borrowed.get(fr.resource, 0) + above
    return _weighted_share(node, borrowed, as_double=as_double) if borrowed else ZERO


def counted_resources(node: Node) -> list[FlavorResource]:
    """Return the flavor-resources in a node's share: those with quota at or below the node."""
    return [fr for fr, cell in node.cells.items() if cell.defined]


def removable_usage(node: Node, fr: FlavorResource, least: Share) -> int:
    """Return by how much a node's usage of a flavor-resource may fall while its share is kept.

    The share must stay at least ``least``. At most what the node borrows of the flavor-resource;
    ``INFINITE`` if its usage does not matter for that.
    """
    if least.over == 0 or node.weight == 0:
        return INFINITE
    rest: dict[str, int] = {fr.resource: 0}
    for other, cell in node.cells.items():
        above = cell.usage - cell.subtree_quota
        if above > 0 and cell.defined and other != fr:
            rest[other.resource] = rest.get(other.resource, 0) + above
    if least <= _weighted_share(node, rest):
        return INFINITE
    lent = node.lendable.get(fr.resource, 0) * node.weight
    needed = -(-least.over * lent // (WEIGHT_ONE * least.under)) - rest[fr.resource]
    at = node.cells[fr]
    return max(0, at.usage - at.subtree_quota - needed)


def is_borrowing(node: Node) -> bool:
    """Tell whether a node uses more of any flavor-resource than the quota of its subtree."""
    return node.parent is not None and any(c.usage > c.subtree_quota for c in node.cells.values())


def _weighted_share(node: Node, borrowed: Mapping[str, int], *, as_double: bool = False) -> Share:
    resource, over, under = "", 0, 1
    for name, above in borrowed.items():
        lent = node.lendable.get(name, 0)
        more = above * under - over * lent
        if lent > 0 and (more > 0 or (more == 0 and name < resource)):  # ties: the first name
            resource, over, under = name, above, lent
    boundless = node.weight == 0 and over > 0
    weight = node.weight or WEIGHT_ONE
    rank = (
        _rank_of_double(over, under, weight) if as_double else _fraction_rank(over, under, weight)
    )
    over *= WEIGHT_ONE
    under *= weight
    return Share(
        over=over,
        under=under,
        boundless=boundless,
        resource=resource,
        borrowing=True,
        rank=(_BOUNDLESS if boundless else 0) + rank,
        as_double=as_double,
    )


def _fraction_rank(over: int, under: int, weight: int) -> int:
    return (over * WEIGHT_ONE << _RANK_BITS) // (under * weight)


def _rank_of_double(over: int, under: int, weight: int) -> int:
    """Return the rank of Kueue's share of a ratio, in thousandths and divided by the weight."""
    if not over:
        return 0
    ratio = nearest_double(over, 1).times(_SCALE).divided_by(nearest_double(under, 1))
    return ratio.divided_by(nearest_double(weight, WEIGHT_ONE)).rank
