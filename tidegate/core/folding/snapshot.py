"""Snapshots: a state as bytes and back, without what is derived from it.

Two states are equal if their bytes are. A state that was read back takes the same decisions as the
one that was written: everything that ``decide`` remembers across turns is folded, and derived parts
(trees, heaps, charges) are built again.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, get_type_hints

import msgspec

from tidegate.contracts.codec import FAILURES
from tidegate.contracts.phases import HOLDING
from tidegate.core.multikueue.nomination import index_group
from tidegate.core.queueing.heads import enqueue
from tidegate.core.quota.charging import charges_of
from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import ClusterQueueState, Forest
from tidegate.core.state.interning import intern_node
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Shape
from tidegate.errors import UndecodableError

VERSION = 25
"""Raised whenever the state's fields change their meaning; older bytes are not read."""

_WORKLOAD_DERIVED = frozenset({"requests", "invalid", "charges", "rank", "shape"})
_STATE_DERIVED = frozenset({"workloads", "forest", "dedup", "groups_by_object"})


def _fields_without(struct: type, without: frozenset[str]) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(struct).items() if name not in without}


_WORKLOAD = _fields_without(Workload, _WORKLOAD_DERIVED)
_STATE = _fields_without(State, _STATE_DERIVED)
_KeptWorkload = msgspec.defstruct("KeptWorkload", list(_WORKLOAD.items()), array_like=True)
_KeptDraft = msgspec.defstruct("KeptDraft", list(_STATE.items()), array_like=True)


class _Version(msgspec.Struct, frozen=True, array_like=True):
    """The first field of a snapshot of any version; further fields are ignored."""

    version: int


class _Snapshot(_Version, frozen=True, array_like=True):
    """The content of a snapshot of this version."""

    state: _KeptDraft  # type: ignore[valid-type]  # made from State's own fields above
    workloads: list[_KeptWorkload]  # type: ignore[valid-type]  # the same of Workload's
    trees: list[tuple[str, int, int, int]]
    """By their first ClusterQueue: left_seq, outside_seq, moved_seq."""
    queues: list[tuple[str, int, int]]  # ClusterQueue to its outside_seq and moved_seq
    inadmissible: dict[str, list[bytes]]  # kueue mode: ClusterQueue to its parked shapes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Snapshot)
_version = msgspec.msgpack.Decoder(_Version)
_workload_fields = attrgetter(*_WORKLOAD)


def encode(state: State) -> bytes:
    """Return a state as bytes: equal states give equal bytes."""
    # msgspec omits a field only if it is the default object itself, so a decoded copy is encoded.
    return _encoder.encode(_read(write(state)))


def is_snapshot_of(data: bytes, state: State) -> bool:
    """Tell whether bytes, of ``write`` or of ``encode``, are a snapshot of a state."""
    try:
        return _encoder.encode(_read(data)) == encode(state)
    except UndecodableError:
        return False


def write(state: State) -> bytes:
    """Return a state as bytes for ``decode``, in half the time: equal states may differ there.

    Each workload is encoded by itself: copies of all at once would take as much as the state.
    """
    trees = forest(state)
    snapshot = _Snapshot(
        version=VERSION,
        state=_KeptDraft(**{name: getattr(state, name) for name in _STATE}),
        workloads=[
            msgspec.Raw(_encoder.encode(_KeptWorkload(*_workload_fields(each))))
            for each in state.workloads.values()
        ],
        trees=[
            (tree.cluster_queues[0].name, tree.left_seq, tree.outside_seq, tree.moved_seq)
            for tree in trees.trees
        ],
        queues=[(name, cq.outside_seq, cq.moved_seq) for name, cq in trees.cluster_queues.items()],
        inadmissible=_inadmissible_shapes(state),
    )
    return _encoder.encode(snapshot)


def decode(data: bytes) -> State:
    """Return the state of a snapshot, with all derived parts built again.

    Raises:
        UndecodableError: the bytes are no snapshot, one of another version, or one that names a
            ClusterQueue which its state lacks.
    """
    stored = _read(data)
    state = State(**{name: getattr(stored.state, name) for name in _STATE})
    state.objects.nodes = {
        name: intern_node(node_defined) for name, node_defined in state.objects.nodes.items()
    }
    for other in stored.workloads:
        workload = Workload(**dict(zip(_WORKLOAD, _workload_fields(other), strict=True)))
        state.workloads[workload.key] = workload
        if workload.phase in HOLDING:
            workload.charges = charges_of(workload, workload.assignment)
    _rebuild(state, stored)
    return state


def _read(data: bytes) -> Any:  # noqa: ANN401 - its type is made from the state's
    try:
        version = _version.decode(data).version
        if version != VERSION:
            raise UndecodableError(f"A snapshot of version {version}: only {VERSION} is read.")
        return _decoder.decode(data)
    except FAILURES as error:
        raise UndecodableError(str(error)) from error


def _inadmissible_shapes(state: State) -> dict[str, list[bytes]]:
    if not state.requeue.by_event:
        return {}
    keys_by_kind = {
        name: sorted(shape.key for shape in cq.shapes.values() if shape.inadmissible)
        for name, cq in state.forest.cluster_queues.items()
    }
    return {name: keys for name, keys in keys_by_kind.items() if keys}


def _rebuild(state: State, stored: Any) -> None:  # noqa: ANN401 - its type is made from the state's
    trees = forest(state)
    for name, left_seq, outside_seq, moved_seq in stored.trees:
        tree = _cluster_queue(trees, name).tree
        tree.left_seq, tree.outside_seq, tree.moved_seq = left_seq, outside_seq, moved_seq
    for name, outside_seq, moved_seq in stored.queues:
        cq = _cluster_queue(trees, name)
        cq.outside_seq, cq.moved_seq = outside_seq, moved_seq
    for workload in state.workloads.values():
        index_group(state, workload)
        enqueue(state, workload)
        trees.to_reconcile[workload.key] = None
    for name, keys in stored.inadmissible.items():
        cq = _cluster_queue(trees, name)
        for key in keys:
            cq.shapes.setdefault(key, Shape(key=key)).inadmissible = True


def _cluster_queue(trees: Forest, name: str) -> ClusterQueueState:
    cq = trees.cluster_queues.get(name)
    if cq is None:
        raise UndecodableError(f"A snapshot of ClusterQueue {name}, which its state lacks.")
    return cq
