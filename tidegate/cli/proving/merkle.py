"""A Merkle tree over a ledger's turns, as RFC 6962 builds one, to prove what a checkpoint covers.

A leaf is the hash of the last row of a turn. The tree is kept as its peaks, the roots of the full
trees that its leaves make, the largest first: so it grows at the cost of what is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

_LEAF, _NODE = b"\x00", b"\x01"


class Tree:
    """The number of leaves, and their peaks."""

    def __init__(self, leaves: int = 0, peaks: Sequence[bytes] = ()) -> None:
        self.leaves, self._peaks = leaves, list(peaks)

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The roots of the full trees, the largest first."""
        return tuple(self._peaks)

    def add(self, turn_hash: bytes) -> None:
        """Add the hash of the last row of the next turn."""
        node, count = leaf_hash(turn_hash), self.leaves
        while count % 2:
            node = _node_hash(self._peaks.pop(), node)
            count //= 2
        self._peaks.append(node)
        self.leaves += 1


def root_hash(peaks: Sequence[bytes]) -> bytes:
    """Return the root over peaks, the largest first.

    Raises:
        ValueError: there are none.
    """
    if not peaks:
        raise ValueError("A tree without leaves has no root.")
    combined = peaks[-1]
    for peak in reversed(peaks[:-1]):
        combined = _node_hash(peak, combined)
    return combined


def audit_path(turn_hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return the audit path of a leaf, from below: with it the root follows from the leaf."""
    return list(_audit_path([leaf_hash(turn_hash) for turn_hash in turn_hashes], index))


def leaf_hash(turn_hash: bytes) -> bytes:
    """Return the leaf of a turn."""
    return sha256(_LEAF + turn_hash).digest()


def _audit_path(leaves: Sequence[bytes], index: int) -> Iterator[bytes]:
    if len(leaves) <= 1:
        return
    remaining = 1 << (len(leaves) - 1).bit_length() - 1
    if index < remaining:
        yield from _audit_path(leaves[:remaining], index)
        yield _root_hash(leaves[remaining:])
    else:
        yield from _audit_path(leaves[remaining:], index - remaining)
        yield _root_hash(leaves[:remaining])


def _root_hash(leaves: Sequence[bytes]) -> bytes:
    level = list(leaves)
    while len(level) > 1:
        paired = [_node_hash(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
        level = paired + level[len(level) - len(level) % 2 :]
    return level[0]


def _node_hash(left_hash: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left_hash + right).digest()
