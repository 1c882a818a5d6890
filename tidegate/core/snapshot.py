"""A draft as bytes and back: what folding gives, without what is derived from it.

Two drafts are equal if their bytes are. A draft that was read back decides as the one that was
written: everything that ``decide`` remembers across turns is folded, and what is derived (trees,
heaps, charges) is built again.
"""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec

from tidegate.core.charging import charged
from tidegate.core.draft import Draft, Workload
from tidegate.core.forest import HOLDING, forest
from tidegate.core.heads import place
from tidegate.core.rooms import Shape
from tidegate.errors import UndecodableError

VERSION = 5
"""Raised whenever the draft's fields change their meaning; older bytes are not read."""

_WORKLOAD_DERIVED = frozenset({"requests", "charges", "rank", "shape"})
_DRAFT_DERIVED = frozenset({"workloads", "forest", "heard"})


def _kept(struct: type, without: frozenset[str]) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(struct).items() if name not in without}


_WORKLOAD = _kept(Workload, _WORKLOAD_DERIVED)
_DRAFT = _kept(Draft, _DRAFT_DERIVED)
_KeptWorkload = msgspec.defstruct("KeptWorkload", list(_WORKLOAD.items()), array_like=True)
_KeptDraft = msgspec.defstruct("KeptDraft", list(_DRAFT.items()), array_like=True)


class _Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """What the bytes hold."""

    version: int
    draft: _KeptDraft  # type: ignore[valid-type]  # made from Draft's own fields above
    workloads: list[_KeptWorkload]  # type: ignore[valid-type]  # the same of Workload's
    trees: list[tuple[str, int, int]]  # by their first ClusterQueue: left_seq, outside_seq
    parked: dict[str, list[bytes]]  # Kueue's way: ClusterQueue to the shapes parked by events


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Snapshot)


def encode(draft: Draft) -> bytes:
    """Return a draft as bytes: equal drafts give equal ones."""
    trees = forest(draft)
    # A default is left out if it is the very object, so what was read once is written.
    return _encoder.encode(
        _decoder.decode(
            _encoder.encode(
                _Snapshot(
                    version=VERSION,
                    draft=_KeptDraft(**{name: getattr(draft, name) for name in _DRAFT}),
                    workloads=[
                        _KeptWorkload(**{name: getattr(one, name) for name in _WORKLOAD})
                        for one in draft.workloads.values()
                    ],
                    trees=[
                        (one.rooms[0].name, one.left_seq, one.outside_seq) for one in trees.trees
                    ],
                    parked=_parked(draft),
                )
            )
        )
    )


def decode(data: bytes) -> Draft:
    """Return the draft that bytes were made of, with everything derived built again.

    Raises:
        UndecodableError: they are no snapshot, or one of another version.
    """
    try:
        version = msgspec.msgpack.decode(data)[0]
        if version != VERSION:
            raise UndecodableError(f"A snapshot of version {version}: only {VERSION} is read.")
        found: Any = _decoder.decode(data)
    except (msgspec.DecodeError, TypeError, IndexError) as error:
        raise UndecodableError(str(error)) from error
    draft = Draft(**{name: getattr(found.draft, name) for name in _DRAFT})
    for one in found.workloads:
        workload = Workload(**{name: getattr(one, name) for name in _WORKLOAD})
        draft.workloads[workload.key] = workload
        if workload.phase in HOLDING:
            workload.charges = charged(workload, workload.assignment)
    _rebuild(draft, found)
    return draft


def _parked(draft: Draft) -> dict[str, list[bytes]]:
    if draft.policy.compatibility != "kueue":
        return {}
    found = {
        name: sorted(shape.key for shape in room.shapes.values() if shape.parked)
        for name, room in draft.forest.rooms.items()
    }
    return {name: keys for name, keys in found.items() if keys}


def _rebuild(draft: Draft, found: Any) -> None:  # noqa: ANN401 - its type is made from the draft's
    trees = forest(draft)
    for name, left_seq, outside_seq in found.trees:
        tree = trees.rooms[name].tree
        tree.left_seq, tree.outside_seq = left_seq, outside_seq
    for workload in draft.workloads.values():
        place(draft, workload)
        trees.agenda[workload.key] = None
    for name, keys in found.parked.items():
        room = trees.rooms[name]
        for key in keys:
            room.shapes.setdefault(key, Shape(key=key)).parked = True
