"""Assigns a podset's pods to topology domains: by rank, else by creation time.

Pure. Earlier assignments are read from the pods themselves, so that nothing has to be remembered: a
domain has capacity for the pods that are assigned to it, less those that were ungated into it and
have not ended. A pod on a node that is being deleted keeps its place until it is gone.

Source: behaviour.md 12.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from actuator.ungating.pods import has_gate, is_gated, is_ungated
from tidegate.jobs.pods.pod_state import is_finished
from tidegate.kinds import names
from tidegate.kinds.pods import Pod
from tidegate.model.texts import parse_whole
from tidegate.model.topology import TopologyDomain

Values: TypeAlias = tuple[str, ...]
"""A domain: a value for each level."""


class Numbering(msgspec.Struct, frozen=True, kw_only=True):
    """How the pods of a podset are numbered."""

    label: str = ""  # empty: they are not
    group_label: str = ""  # which of several jobs a pod is of
    group_size: int = 0  # pods of one of these
    offset: int = 0  # the index of the first pod, where no pod has it


class PodSetPlacement(msgspec.Struct, frozen=True, kw_only=True):
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


def choose_domains(
    pods: Sequence[Pod], place: PodSetPlacement, ungated: Mapping[str, Values], gate: str
) -> dict[str, Values]:
    """Return the domains of the pods that wait behind a gate, by their names.

    A pod without a free place is left out. ``ungated`` are the domains in patches with unknown
    outcome: each pod keeps its own.
    """
    living = sorted((pod for pod in pods if not is_finished(pod)), key=_age)
    waiting = [pod for pod in living if is_gated(pod, gate)]
    capacity = {
        domain.values: domain.count
        for domain in place.domains
        if domain.values[-1] not in place.failed
    }
    for member in living:
        if is_ungated(member, gate) and (member.spec.node_name or not member.metadata.is_deleting):
            _use_slot(capacity, place.domain_of(member.spec.node_selector))
    chosen = dict[str, Values]()
    for member in waiting:
        values = ungated.get(member.metadata.name, ())
        if capacity.get(values, 0) > 0:
            chosen[member.metadata.name] = values
            _use_slot(capacity, values)
    slots = _domains_by_rank(
        [pod for pod in living if not pod.metadata.is_deleting], place, chosen, gate
    )
    free = _free_domains(capacity, place.domains)
    for member in waiting:
        if member.metadata.name not in chosen:
            values = next(free, ()) if slots is None else slots[member.metadata.name]
            if capacity.get(values, 0) > 0:
                chosen[member.metadata.name] = values
                capacity[values] -= 1
    return chosen


def rank(pod: Pod, numbering: Numbering) -> int | None:
    """Return the rank of a pod in its podset; None: no label has it."""
    labels = pod.metadata.labels
    index = parse_whole(labels.get(numbering.label, "")) if numbering.label else None
    if index is None:
        return None
    offset = pod.metadata.annotations.get(names.POD_INDEX_OFFSET)
    index -= numbering.offset if offset is None else parse_whole(offset) or 0
    if not numbering.group_label:
        return index
    group = parse_whole(labels.get(numbering.group_label, ""))
    return None if group is None else index + group * numbering.group_size


def _domains_by_rank(
    pods: Sequence[Pod], place: PodSetPlacement, ungated: Mapping[str, Values], gate: str
) -> dict[str, Values] | None:
    """Return the domain of each pod by its rank; None if their ranks do not fit what there is."""
    order = [domain.values for domain in place.domains for _ in range(domain.count)]
    ranks = [rank(pod, place.numbering) for pod in pods]
    valid = [
        each_rank for each_rank in ranks if each_rank is not None and 0 <= each_rank < len(order)
    ]
    if len(valid) < len(pods) or len(set(valid)) < len(valid):
        return None
    slots = {pod.metadata.name: order[at] for pod, at in zip(pods, valid, strict=True)}
    for member in pods:
        own = place.domain_of(member.spec.node_selector)
        values = ungated.get(member.metadata.name) if has_gate(member, gate) else own
        if values not in (None, slots[member.metadata.name]):
            return None
    return slots


def _free_domains(
    capacity: Mapping[Values, int], domains: Sequence[TopologyDomain]
) -> Iterator[Values]:
    """Yield the first domain with capacity, again and again; a full one never has any again."""
    for domain in domains:
        while capacity.get(domain.values, 0) > 0:
            yield domain.values


def _use_slot(capacity: dict[Values, int], values: Values) -> None:
    if values in capacity:
        capacity[values] -= 1


def _age(pod: Pod) -> tuple[str, str]:
    """Return the sort key of pods: a later pod moves no earlier one."""
    return pod.metadata.creation_timestamp or "", pod.metadata.name
