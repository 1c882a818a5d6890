"""Topology requests in a pod template's annotations, for the core and for a Workload.

Source: behaviour.md 12.2.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from tidegate.errors import UndecodableError
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES, error_text
from tidegate.kinds.kueue_api.workloads.workload import SliceConstraint
from tidegate.model.podset import PodSet, SliceLayer, TopologyRequest
from tidegate.model.texts import INT32_MAX, parse_whole

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
_LEVEL = re.compile(r"([-a-z0-9.]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_GROUP_SIZE, _LAYERS_MAX = 2, 3
_PLACEMENTS = (names.REQUIRED_TOPOLOGY, names.PREFERRED_TOPOLOGY)
_WRITTEN = {
    names.REQUIRED_TOPOLOGY: "required",
    names.PREFERRED_TOPOLOGY: "preferred",
    names.PODSET_GROUP: "podSetGroupName",
    names.SLICE_REQUIRED_TOPOLOGY: "podSetSliceRequiredTopology",
}
"""Annotation to the field of a Workload's topologyRequest."""


class PodIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The labels by which a kind's controller numbers the pods of a podset."""

    label: str
    group_label: str = ""  # which of several jobs a pod is of
    groups: int = 0  # how many jobs

    def written(self) -> dict[str, Any]:
        """Return it as fields of a Workload's topologyRequest."""
        if not self.group_label:
            return {"podIndexLabel": self.label}
        return {
            "podIndexLabel": self.label,
            "subGroupIndexLabel": self.group_label,
            "subGroupCount": self.groups,
        }


def is_true_annotation(annotations: Mapping[str, str], name: str) -> bool:
    """Return whether an annotation is true, as Go parses it; absent means false.

    Raises:
        UndecodableError: it is neither true nor false.
    """
    value = annotations.get(name, "false")
    if value not in (*_TRUE, *_FALSE):
        raise UndecodableError(f"annotation {name}: {value[:80]!r} is neither true nor false.")
    return value in _TRUE


def topology_request(annotations: Mapping[str, str]) -> TopologyRequest | None:
    """Return what a template's annotations ask of the topology; None if nothing.

    Raises:
        UndecodableError: the annotations contradict each other, or name what is not supported.
    """
    if not annotations:
        return None
    size = _slice_size(annotations)
    for name in (*_PLACEMENTS, names.SLICE_REQUIRED_TOPOLOGY):
        level = annotations.get(name)
        if level is not None and not _LEVEL.fullmatch(level):
            raise UndecodableError(f"annotation {name}: {level[:80]!r} is no node label.")
    _check_group(annotations)
    return valid_request(
        TopologyRequest(
            required=annotations.get(names.REQUIRED_TOPOLOGY, ""),
            preferred=annotations.get(names.PREFERRED_TOPOLOGY, ""),
            unconstrained=is_true_annotation(annotations, names.UNCONSTRAINED_TOPOLOGY),
            group=annotations.get(names.PODSET_GROUP, ""),
            slice_required=annotations.get(names.SLICE_REQUIRED_TOPOLOGY, ""),
            slice_size=size,
            layers=slice_layers(_constraints(annotations)),
        )
    )


def _check_group(annotations: Mapping[str, str]) -> None:
    """Check what names the group of a podset.

    Raises:
        UndecodableError: it is a number, or the podset asks for slices too.
    """
    group = annotations.get(names.PODSET_GROUP, "")
    if group.isascii() and group.isdecimal():
        raise UndecodableError(f"annotation {names.PODSET_GROUP}: {group[:80]!r} is a number.")
    for name in (names.SLICE_REQUIRED_TOPOLOGY, names.SLICE_SIZE):
        if group and name in annotations:
            raise UndecodableError(
                f"annotation {names.PODSET_GROUP}: a podset of a group has no {name}."
            )


def slice_layers(layers_written: Iterable[SliceConstraint]) -> tuple[SliceLayer, ...]:
    """Return layers of slices, the outermost first; each size is a multiple of the next.

    Raises:
        UndecodableError: one is not.
    """
    layers = tuple(
        SliceLayer(level=constraint.topology, size=constraint.size) for constraint in layers_written
    )
    levels = set[str]()
    for outer, inner in pairwise(layers):
        levels.add(outer.level)
        if outer.size % inner.size or inner.level in levels:
            raise UndecodableError(
                f"Slices of {outer.size} at {outer.level} do not consist of slices of "
                f"{inner.size} at {inner.level}."
            )
    return layers


def _constraints(annotations: Mapping[str, str]) -> tuple[SliceConstraint, ...]:
    """Read the annotation with several layers of slices.

    Raises:
        UndecodableError: it is no list of 1 to 3 layers.
    """
    text = annotations.get(names.SLICE_CONSTRAINTS)
    if text is None:
        return ()
    try:
        constraints = msgspec.json.decode(text, type=tuple[SliceConstraint, ...])
    except FAILURES as error:
        raise UndecodableError(
            f"annotation {names.SLICE_CONSTRAINTS}: {error_text(error)}"
        ) from error
    wrong = [
        constraint
        for constraint in constraints
        if constraint.size < 1 or not _LEVEL.fullmatch(constraint.topology)
    ]
    if wrong or not 1 <= len(constraints) <= _LAYERS_MAX:
        raise UndecodableError(
            f"annotation {names.SLICE_CONSTRAINTS} lists 1 to {_LAYERS_MAX} layers, each with a "
            "node label as topology and a positive size."
        )
    return constraints


def _slice_size(annotations: Mapping[str, str]) -> int:
    written = annotations.get(names.SLICE_SIZE)
    size = 0 if written is None else parse_whole(written, INT32_MAX)
    if size is None or (written is not None and not size):
        problem = f"annotation {names.SLICE_SIZE}: {str(written)[:80]!r} is not a positive number."
        raise UndecodableError(problem)
    return size


def valid_request(request: TopologyRequest) -> TopologyRequest | None:
    """Return a request that contradicts nothing; None if it asks for nothing.

    Raises:
        UndecodableError: it contradicts itself.
    """
    wishes = [bool(request.required), bool(request.preferred), request.unconstrained]
    if sum(wishes) > 1:
        raise UndecodableError("A podset asks for one of required, preferred, unconstrained.")
    if bool(request.slice_required) != bool(request.slice_size):
        raise UndecodableError("A podset's slices need both a required topology and a size.")
    if request.layers and (request.slice_required or request.group):
        raise UndecodableError(
            "A podset has one layer of slices, or several and then no group and no other slices."
        )
    if request.group and not (request.required or request.preferred):
        raise UndecodableError("A podset of a group asks for a required or a preferred topology.")
    nothing = TopologyRequest(index_label=request.index_label)
    return None if request == nothing else request


def check_slices(podsets: Iterable[PodSet], annotations: Mapping[str, str]) -> None:
    """Check that no podset has fewer pods than one of its slices.

    ``annotations`` are the job's: one that was started has as few as are left of it.

    Raises:
        UndecodableError: one has.
    """
    for podset in () if names.INJECTED in annotations else podsets:
        request = podset.topology or TopologyRequest()
        size = request.layers[0].size if request.layers else request.slice_size
        if size > podset.count:
            named = names.SLICE_CONSTRAINTS if request.layers else names.SLICE_SIZE
            raise UndecodableError(
                f"podset {podset.name}: {named} is {size}, which is more than its "
                f"{podset.count} pods."
            )


def check_groups(podsets: Iterable[PodSet]) -> None:
    """Check that each group is of two podsets that ask for the same placement, one of one pod.

    Raises:
        UndecodableError: one is not.
    """
    groups = defaultdict[str, list[PodSet]](list)
    for podset in podsets:
        if podset.topology is not None and podset.topology.group:
            groups[podset.topology.group].append(podset)
    for name, members in groups.items():
        requests = [member.topology or TopologyRequest() for member in members]
        if len(members) != _GROUP_SIZE or len({(a.required, a.preferred) for a in requests}) != 1:
            raise UndecodableError(
                f"annotation {names.PODSET_GROUP}: {name!r} must be named by two podsets that "
                f"have the same {' or '.join(_PLACEMENTS)}."
            )
        if all(member.count != 1 for member in members):
            counts = " and ".join(str(member.count) for member in members)
            raise UndecodableError(
                f"annotation {names.PODSET_GROUP}: one of the two podsets of {name!r} has one "
                f"pod; they have {counts}."
            )


def written_request(annotations: Mapping[str, str], index: PodIndex | None) -> dict[str, Any]:
    """Return the topologyRequest of a Workload's podset; empty if it asks for nothing."""
    fields: dict[str, Any] = {
        field: annotations[name] for name, field in _WRITTEN.items() if name in annotations
    }
    if names.UNCONSTRAINED_TOPOLOGY in annotations:
        fields["unconstrained"] = is_true_annotation(annotations, names.UNCONSTRAINED_TOPOLOGY)
    if names.SLICE_SIZE in annotations:
        fields["podSetSliceSize"] = _slice_size(annotations)
    if names.SLICE_CONSTRAINTS in annotations:
        constraints = msgspec.to_builtins(_constraints(annotations))
        fields["podsetSliceRequiredTopologyConstraints"] = constraints
    return fields | ({} if index is None else index.written())
