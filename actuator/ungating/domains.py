"""Which of a podset's pods goes into which domain: by its rank, else whoever was made first.

Pure. What pods were told before counts by what they carry, so that nothing has to be remembered: a
domain has room for the pods that are assigned to it, less those that were let go into it and have
not ended. A pod on a node that is being deleted holds its room until it is gone.

Source: behaviour.md 12.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from actuator.ungating.gates import is_behind, runs, waits
from tidegate.jobs.pods.pod_state import is_finished
from tidegate.kinds import names
from tidegate.kinds.pods import Pod
from tidegate.model.numbers import whole
from tidegate.model.topology import TopologyDomain

Values: TypeAlias = tuple[str, ...]
"""A domain: a value for each level."""


class Numbering(msgspec.Struct, frozen=True, kw_only=True):
    """How the pods of a podset are numbered."""

    label: str = ""  # empty: they are not
    group_label: str = ""  # which of several jobs a pod is of
    group_size: int = 0  # pods of one of these
    offset: int = 0  # the number of the first pod, where no pod says it


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods of one podset go."""

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...]
    failed: tuple[str, ...] = ()  # nodes that take no pods
    numbering: Numbering = Numbering()

    def selector(self, values: Values) -> dict[str, str]:
        """Return the node selector of a domain."""
        return dict(zip(self.levels, values, strict=True))

    def domain_of(self, selector: Mapping[str, str]) -> Values:
        """Return the domain that a node selector names; of what names none, empty values."""
        return tuple(selector.get(level, "") for level in self.levels)


def choose(
    pods: Sequence[Pod], place: Place, sent: Mapping[str, Values], gate: str
) -> dict[str, Values]:
    """Return the domains of the pods that wait behind a gate, by their names.

    A pod that finds no room is left out. ``sent`` are the domains that pods were told of which
    nobody knows whether they heard: each keeps its own.
    """
    living = sorted((one for one in pods if not is_finished(one)), key=_age)
    waiting = [one for one in living if waits(one, gate)]
    room = {one.values: one.count for one in place.domains if one.values[-1] not in place.failed}
    for one in living:
        if runs(one, gate) and (one.spec.node_name or not one.metadata.deleting):
            _take(room, place.domain_of(one.spec.node_selector))
    found = dict[str, Values]()
    for one in waiting:
        values = sent.get(one.metadata.name, ())
        if room.get(values, 0) > 0:
            found[one.metadata.name] = values
            _take(room, values)
    slots = _slots([one for one in living if not one.metadata.deleting], place, found, gate)
    free = _free(room, place.domains)
    for one in waiting:
        if one.metadata.name not in found:
            values = next(free, ()) if slots is None else slots[one.metadata.name]
            if room.get(values, 0) > 0:
                found[one.metadata.name] = values
                room[values] -= 1
    return found


def rank(pod: Pod, numbering: Numbering) -> int | None:
    """Return the position of a pod among those of its podset; None: nobody says it."""
    labels = pod.metadata.labels
    index = whole(labels.get(numbering.label, "")) if numbering.label else None
    if index is None:
        return None
    told = pod.metadata.annotations.get(names.POD_INDEX_OFFSET)
    index -= numbering.offset if told is None else whole(told) or 0
    if not numbering.group_label:
        return index
    group = whole(labels.get(numbering.group_label, ""))
    return None if group is None else index + group * numbering.group_size


def _slots(
    pods: Sequence[Pod], place: Place, sent: Mapping[str, Values], gate: str
) -> dict[str, Values] | None:
    """Return the domain of each pod by its rank; None if their ranks do not fit what there is."""
    order = [one.values for one in place.domains for _ in range(one.count)]
    ranks = [rank(one, place.numbering) for one in pods]
    known = [one for one in ranks if one is not None and 0 <= one < len(order)]
    if len(known) < len(pods) or len(set(known)) < len(known):
        return None
    slots = {one.metadata.name: order[at] for one, at in zip(pods, known, strict=True)}
    for one in pods:
        own = place.domain_of(one.spec.node_selector)
        told = sent.get(one.metadata.name) if is_behind(one, gate) else own
        if told not in (None, slots[one.metadata.name]):
            return None
    return slots


def _free(room: Mapping[Values, int], domains: Sequence[TopologyDomain]) -> Iterator[Values]:
    """Yield the first domain that has room, again and again; what has none never has any again."""
    for one in domains:
        while room.get(one.values, 0) > 0:
            yield one.values


def _take(room: dict[Values, int], values: Values) -> None:
    if values in room:
        room[values] -= 1


def _age(pod: Pod) -> tuple[str, str]:
    """Return what pods are sorted by: one that is made later moves nobody."""
    return pod.metadata.creation_timestamp or "", pod.metadata.name
