"""The usage of each node by pods without a topology assignment, summed as they come and go.

Of a pod no more is kept than its node, what it requests, and for one that a topology placed its
workload and tolerations: for a node that is not ready, or has a taint, the observation also lists
the workloads whose pods there have all ended, and those whose pods run although it repels them.
Requests of pods with an annotation of placement are kept apart, for any user may set it; a change
of them alone is published with the next list. A terminated pod uses nothing. Nothing is published
before the first list is complete: a part of a sum would look like room. Any user who may create
pods chooses their fields, so that what is published of a node is bounded: processors, memory and
their like before what vendors name.

Source: behaviour.md 12.1, 12.6.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from sys import intern
from typing import NamedTuple, TypeAlias

import msgspec

from ingest.jobs.ownership import ResourceObservation
from tidegate.contracts.observations import ObjectGone
from tidegate.contracts.observed.nodes import NODE_PODS, NodePodsObserved
from tidegate.core.quota.requests import placement_requests
from tidegate.core.state.state import Objects
from tidegate.core.topology.fitting.matching import repels
from tidegate.kinds.observed import BoundPod
from tidegate.kinds.podsets import running_pod, toleration
from tidegate.model.podset import Toleration
from tidegate.model.topology import NodeSpec, Taint

Amounts: TypeAlias = tuple[tuple[str, int], ...]
Tolerations: TypeAlias = tuple[Toleration, ...]
RESOURCES_MAX, WORKLOADS_MAX, CLAIMS_MAX = 256, 1_000, 1_000
"""Limits per node: resources, ended workloads, running workloads, and claims of pods that name a
workload."""
KEY_MAX = 63 + 1 + 253
"""Characters of a workload's key: a pod that names a longer one is of no workload."""
_OVER = ("Succeeded", "Failed")
_NO_DEFAULTS = Objects()  # a pod's requests were filled in when it was created


class _Member(NamedTuple):
    """A pod: it uses something, or it is of a workload that a topology placed."""

    node: str
    amounts: Amounts
    workload: str  # "<namespace>/<name>", of one that a topology placed
    lives: bool  # it has neither ended nor is it about to
    tolerations: Tolerations = ()  # those without an end, of one that a topology placed


class _Ailing(NamedTuple):
    """A node that is not ready or has taints."""

    uid: str
    ready: bool
    taints: tuple[Taint, ...]

    def repels(self, members: Iterable[_Member]) -> bool:
        """Return whether a running pod does not tolerate its node's taints or failure."""
        living = (member.tolerations for member in members if member.lives)
        return any(
            not self.ready or any(repels(taint, tolerated) for taint in self.taints)
            for tolerated in living
        )


class _OnNode(msgspec.Struct):
    """The usage of nodes by pods."""

    usage: dict[str, int] = {}
    placed: dict[str, list[_Member]] = {}  # by the workload that they name
    reported: tuple[str, ...] = ()  # workloads whose pods' requests were published


class PodUsage:
    """The sums of all nodes; grows with the number of pods that count."""

    def __init__(self) -> None:
        self._members = dict[str, _Member]()  # by uid
        self._nodes = dict[str, _OnNode]()  # by name
        self._ailing = dict[str, _Ailing]()  # nodes by name
        self._published = set[str]()  # nodes
        self._seen = 0  # the version up to which the pods are known
        self._listed = False
        self._amounts = dict[Amounts, Amounts]()  # equal ones are kept once
        self._tolerations = dict[Tolerations, Tolerations]()  # the same

    def observe(self, pod: BoundPod) -> Iterator[ResourceObservation]:
        """Update a pod, and yield its node if the sums changed."""
        member = self._member(pod)
        self._seen = max(self._seen, pod.metadata.version)
        yield from self._put(pod.metadata.uid, member)

    def forget(self, uid: str, version: int) -> Iterator[ResourceObservation]:
        """Remove a deleted pod, and yield its node if the sums changed."""
        self._seen = max(self._seen, version)
        yield from self._put(uid, None)

    def listed(self, present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        """Forget the pods that a list no longer has, and yield every node as of that list."""
        self._seen = max(self._seen, version)
        for uid in [uid for uid in self._members if uid not in present]:
            self._change(self._members.pop(uid), -1)
        self._forget_unshared()
        self._listed = True
        for name in sorted(self._published | self._nodes.keys()):
            yield from self._sum_observations(name)

    def _forget_unshared(self) -> None:
        """Forget the amounts and tolerations of deleted pods: each new pod may have others."""
        members = self._members.values()
        self._amounts = {member.amounts: member.amounts for member in members}
        self._tolerations = {member.tolerations: member.tolerations for member in members}

    def present(self, _listed: Collection[str]) -> tuple[str, ...]:
        """Return the names of the published nodes: their uids here."""
        return tuple(sorted(self._published))

    def note_condition(self, name: str, uid: str, spec: NodeSpec) -> Iterator[ResourceObservation]:
        """Note whether a node is not ready or has a taint; yield it if its observation changes."""
        ailing = _Ailing(uid, bool(spec.ready), spec.taints)
        if (spec.taints or not spec.ready) and self._ailing.get(name) != ailing:
            self._ailing[name] = ailing
            yield from self._sum_observations(name)
        elif spec.ready and not spec.taints and name in self._ailing:
            self._recover(name)
            yield from self._sum_observations(name)

    def remove_nodes(self, gone: Callable[[str], bool]) -> Iterator[ResourceObservation]:
        """Remove deleted nodes by their uids; yield the nodes that this changes."""
        for name in [name for name, node in self._ailing.items() if gone(node.uid)]:
            self._recover(name)
            yield from self._sum_observations(name)

    def _recover(self, name: str) -> None:
        del self._ailing[name]
        node = self._nodes.get(name)
        if node is not None:
            node.placed = {key: members for key, members in node.placed.items() if members}
            self._drop_if_empty(name)

    def _put(self, uid: str, member: _Member | None) -> Iterator[ResourceObservation]:
        before = self._members.get(uid)
        if before == member:
            return
        for entry, sign in ((before, -1), (member, 1)):
            if entry is not None:
                self._change(entry, sign)
        if member is None:
            self._members.pop(uid, None)
        else:
            self._members[uid] = member
        both = (entry for entry in (before, member) if entry is not None)
        news = [entry.node for entry in both if self._is_news(entry, ends=entry is before)]
        for name in dict.fromkeys(news):
            yield from self._sum_observations(name)

    def _is_news(self, member: _Member, *, ends: bool) -> bool:
        """Return whether a pod's arrival or change makes news of its node."""
        node = self._nodes.get(member.node, _OnNode())
        reported = ends and member.workload in node.reported
        return not member.workload or member.node in self._ailing or reported

    def _change(self, member: _Member, sign: int) -> None:
        """Add a pod to its node (``sign`` 1), or take it off (-1)."""
        node = self._nodes.setdefault(member.node, _OnNode())
        if not member.workload:
            _add(node.usage, member.amounts, sign)
        else:
            placed = node.placed.setdefault(member.workload, [])
            if sign > 0:
                placed.append(member)
            else:
                placed.remove(member)
            if not placed and member.node not in self._ailing:
                del node.placed[member.workload]
        self._drop_if_empty(member.node)

    def _drop_if_empty(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is not None and not (node.usage or node.placed or node.reported):
            del self._nodes[name]

    def _sum_observations(self, name: str) -> Iterator[ResourceObservation]:
        """Yield a node's sum, or its removal."""
        if not self._listed:
            return
        node, ailing = self._nodes.get(name, _OnNode()), self._ailing.get(name)
        used = node.usage or any(map(_has_requests, node.placed.values()))
        if used or ailing is not None:
            self._published.add(name)
            yield NODE_PODS, self._observed(name, node, ailing)
        elif name in self._published:
            self._published.remove(name)
            node.reported = ()
            self._drop_if_empty(name)
            yield NODE_PODS, _removal_observation(name, self._seen)

    def _observed(self, name: str, node: _OnNode, ailing: _Ailing | None) -> NodePodsObserved:
        """Return a node's observation; with its pods' workloads only while it is unhealthy."""
        placed = () if ailing is None else node.placed.items()
        ended = (key for key, members in placed if not any(member.lives for member in members))
        living = (
            () if ailing is None else [key for key, members in placed if ailing.repels(members)]
        )
        usage, claimed = _claims(node)
        node.reported = tuple(claimed)
        return NodePodsObserved(
            name=name,
            uid=name,
            version=self._seen,
            session="",
            usage={key: usage[key] for key in sorted(_published_resources(usage))},
            ended=tuple(sorted(islice(ended, WORKLOADS_MAX))),
            living=None if ailing is None or len(living) > WORKLOADS_MAX else tuple(sorted(living)),
            claimed=claimed,
        )

    def _member(self, pod: BoundPod) -> _Member | None:
        over, node = pod.status.phase in _OVER, intern(pod.spec.node_name)
        if not node:
            return None
        workload = f"{pod.metadata.namespace}/{pod.metadata.annotations.workload}"
        placed = pod.metadata.annotations.is_placed_by_topology and len(workload) <= KEY_MAX
        if over and not placed:
            return None
        amounts = () if over else self._requested(pod)
        if not placed:
            return _Member(node, amounts, "", lives=True)
        lives = not over and not pod.metadata.is_deleting
        return _Member(node, amounts, intern(workload), lives, self._tolerated(pod))

    def _requested(self, pod: BoundPod) -> Amounts:
        requests = placement_requests(_NO_DEFAULTS, "", running_pod(pod.spec)) | {"pods": 1}
        amounts = tuple(
            (intern(name), requests[name]) for name in sorted(requests) if requests[name]
        )
        return self._amounts.setdefault(amounts, amounts)

    def _tolerated(self, pod: BoundPod) -> Tolerations:
        """Return what a pod puts up with for ever: Kubernetes lets all put up with some a while."""
        every = map(toleration, pod.spec.tolerations)
        for_ever = tuple(
            sorted((tolerated for tolerated in every if tolerated.seconds is None), key=repr)
        )
        return self._tolerations.setdefault(for_ever, for_ever)


def _add(total: dict[str, int], amounts: Amounts, sign: int) -> None:
    for resource, units in amounts:
        remaining = total.get(resource, 0) + sign * units
        total[resource] = remaining
        if not remaining:
            del total[resource]


def _has_requests(members: Iterable[_Member]) -> bool:
    """Return whether any pod has requests."""
    return any(member.amounts for member in members)


def _claims(node: _OnNode) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Return a node's usage, and the claims by workload; claims above the limit count as usage."""
    usage, claimed, capacity = dict(node.usage), dict[str, dict[str, int]](), CLAIMS_MAX
    for key in sorted(key for key, members in node.placed.items() if _has_requests(members)):
        amounts = dict[str, int]()
        for member in node.placed[key]:
            _add(amounts, member.amounts, 1)
        capacity -= len(amounts)
        if capacity < 0:
            _add(usage, tuple(amounts.items()), 1)
        else:
            claimed[key] = {name: amounts[name] for name in sorted(amounts)}
    return usage, claimed


def _published_resources(usage: Collection[str]) -> list[str]:
    """Return the published resources: those of Kubernetes itself first, by name."""
    return nsmallest(RESOURCES_MAX, usage, key=lambda name: ("/" in name, name))


def _removal_observation(name: str, version: int) -> ObjectGone:
    return ObjectGone(
        namespace="", name=name, uid=name, version=version, session="", resource=NODE_PODS
    )
