"""What pods that no topology placed use of each node, added up as they come and go.

Of a pod no more is kept than its node, what it requests, and for one that a topology placed its
workload and tolerations: of a node that is not ready, or has a taint, is told too whose pods there
have all ended, and whose go on though it repels them. What pods request that say that they were
placed is told apart, for anybody may say so; but it alone is no news before the next list.
A terminated pod uses nothing. Nothing is told before the first list is complete: a part of a sum
would look like room. Whoever may make pods may write into them what they like, so that what is
told of a node is bounded: processors, memory and their like before what vendors name.

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
from tidegate.kinds.podsets import running_pod, toleration
from tidegate.kinds.seen import BoundPod
from tidegate.model.podset import Toleration
from tidegate.model.topology import NodeSpec, Taint

Amounts: TypeAlias = tuple[tuple[str, int], ...]
Tolerations: TypeAlias = tuple[Toleration, ...]
RESOURCES_MAX, WORKLOADS_MAX, CLAIMS_MAX = 256, 1_000, 1_000
"""How many resources, workloads that have ended, ones that have not, and amounts that pods use who
name a workload, are told of a node."""
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
        """Tell whether a pod lives that what is wrong with its node should keep off."""
        living = (one.tolerations for one in members if one.lives)
        return any(
            not self.ready or any(repels(taint, one) for taint in self.taints) for one in living
        )


class _OnNode(msgspec.Struct):
    """What there is to tell of a node's pods."""

    usage: dict[str, int] = {}
    placed: dict[str, list[_Member]] = {}  # by the workload that they name
    told: tuple[str, ...] = ()  # workloads whose pods' requests were told


class PodUsage:
    """The sums of all nodes; as large as there are pods that count."""

    def __init__(self) -> None:
        self._members = dict[str, _Member]()  # by uid
        self._nodes = dict[str, _OnNode]()  # by name
        self._ailing = dict[str, _Ailing]()  # nodes by name
        self._told = set[str]()  # nodes
        self._seen = 0  # the version up to which the pods are known
        self._listed = False
        self._amounts = dict[Amounts, Amounts]()  # equal ones are kept once
        self._tolerations = dict[Tolerations, Tolerations]()  # the same

    def observe(self, pod: BoundPod) -> Iterator[ResourceObservation]:
        """Take a pod as it is now and yield its node, if that is not as it was."""
        member = self._member(pod)
        self._seen = max(self._seen, pod.metadata.version)
        yield from self._put(pod.metadata.uid, member)

    def forget(self, uid: str, version: int) -> Iterator[ResourceObservation]:
        """Take in that a pod is gone, and yield its node, if that is not as it was."""
        self._seen = max(self._seen, version)
        yield from self._put(uid, None)

    def listed(self, present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        """Forget the pods that a list no longer has, and yield every node as of that list."""
        self._seen = max(self._seen, version)
        for uid in [uid for uid in self._members if uid not in present]:
            self._change(self._members.pop(uid), -1)
        self._listed = True
        for name in sorted(self._told | self._nodes.keys()):
            yield from self._telling(name)

    def present(self, _listed: Collection[str]) -> tuple[str, ...]:
        """Return the names of the nodes that are told of: their uids here."""
        return tuple(sorted(self._told))

    def ail(self, name: str, uid: str, spec: NodeSpec) -> Iterator[ResourceObservation]:
        """Learn whether a node is not ready or has a taint; yield it if that changes it."""
        ailing = _Ailing(uid, bool(spec.ready), spec.taints)
        if (spec.taints or not spec.ready) and self._ailing.get(name) != ailing:
            self._ailing[name] = ailing
            yield from self._telling(name)
        elif spec.ready and not spec.taints and name in self._ailing:
            self._recover(name)
            yield from self._telling(name)

    def without(self, gone: Callable[[str], bool]) -> Iterator[ResourceObservation]:
        """Take in that nodes are gone, told by their uids; yield those that this changes."""
        for name in [name for name, one in self._ailing.items() if gone(one.uid)]:
            self._recover(name)
            yield from self._telling(name)

    def _recover(self, name: str) -> None:
        del self._ailing[name]
        found = self._nodes.get(name)
        if found is not None:
            found.placed = {key: one for key, one in found.placed.items() if one}
            self._tidy(name)

    def _put(self, uid: str, member: _Member | None) -> Iterator[ResourceObservation]:
        known = self._members.get(uid)
        if known == member:
            return
        for one, sign in ((known, -1), (member, 1)):
            if one is not None:
                self._change(one, sign)
        if member is None:
            self._members.pop(uid, None)
        else:
            self._members[uid] = member
        both = (one for one in (known, member) if one is not None)
        news = [one.node for one in both if self._is_news(one, ends=one is known)]
        for name in dict.fromkeys(news):
            yield from self._telling(name)

    def _is_news(self, member: _Member, *, ends: bool) -> bool:
        """Tell whether a node is to be told because a pod came, or is not there as it was."""
        found = self._nodes.get(member.node, _OnNode())
        told = ends and member.workload in found.told
        return not member.workload or member.node in self._ailing or told

    def _change(self, member: _Member, sign: int) -> None:
        """Add a pod to its node (``sign`` 1), or take it off (-1)."""
        found = self._nodes.setdefault(member.node, _OnNode())
        if not member.workload:
            _add(found.usage, member.amounts, sign)
        else:
            placed = found.placed.setdefault(member.workload, [])
            if sign > 0:
                placed.append(member)
            else:
                placed.remove(member)
            if not placed and member.node not in self._ailing:
                del found.placed[member.workload]
        self._tidy(member.node)

    def _tidy(self, name: str) -> None:
        found = self._nodes.get(name)
        if found is not None and not (found.usage or found.placed or found.told):
            del self._nodes[name]

    def _telling(self, name: str) -> Iterator[ResourceObservation]:
        """Yield a node's sum, or that there is none any more."""
        if not self._listed:
            return
        found, ailing = self._nodes.get(name, _OnNode()), self._ailing.get(name)
        used = found.usage or any(map(_lasts, found.placed.values()))
        if used or ailing is not None:
            self._told.add(name)
            yield NODE_PODS, self._observed(name, found, ailing)
        elif name in self._told:
            self._told.remove(name)
            found.told = ()
            self._tidy(name)
            yield NODE_PODS, _gone(name, self._seen)

    def _observed(self, name: str, found: _OnNode, ailing: _Ailing | None) -> NodePodsObserved:
        """Return what is told of a node; whose pods are on it only while something is wrong."""
        placed = () if ailing is None else found.placed.items()
        ended = (key for key, members in placed if not any(one.lives for one in members))
        living = () if ailing is None else [key for key, one in placed if ailing.repels(one)]
        usage, claimed = _claims(found)
        found.told = tuple(claimed)
        return NodePodsObserved(
            name=name,
            uid=name,
            version=self._seen,
            session="",
            usage={key: usage[key] for key in sorted(_first(usage))},
            ended=tuple(sorted(islice(ended, WORKLOADS_MAX))),
            living=None if ailing is None or len(living) > WORKLOADS_MAX else tuple(sorted(living)),
            claimed=claimed,
        )

    def _member(self, pod: BoundPod) -> _Member | None:
        over, node = pod.status.phase in _OVER, intern(pod.spec.node_name)
        if not node:
            return None
        workload = f"{pod.metadata.namespace}/{pod.metadata.annotations.workload}"
        placed = pod.metadata.annotations.placed and len(workload) <= KEY_MAX
        if over and not placed:
            return None
        amounts = () if over else self._requested(pod)
        if not placed:
            return _Member(node, amounts, "", lives=True)
        lives = not over and not pod.metadata.deleting
        return _Member(node, amounts, intern(workload), lives, self._tolerated(pod))

    def _requested(self, pod: BoundPod) -> Amounts:
        asked = placement_requests(_NO_DEFAULTS, "", running_pod(pod.spec)) | {"pods": 1}
        amounts = tuple((intern(name), asked[name]) for name in sorted(asked) if asked[name])
        return self._amounts.setdefault(amounts, amounts)

    def _tolerated(self, pod: BoundPod) -> Tolerations:
        """Return what a pod puts up with for ever: Kubernetes lets all put up with some a while."""
        every = map(toleration, pod.spec.tolerations)
        found = tuple(sorted((one for one in every if one.seconds is None), key=repr))
        return self._tolerations.setdefault(found, found)


def _add(total: dict[str, int], amounts: Amounts, sign: int) -> None:
    for resource, units in amounts:
        left = total.get(resource, 0) + sign * units
        total[resource] = left
        if not left:
            del total[resource]


def _lasts(members: Iterable[_Member]) -> bool:
    """Tell whether some pods use something."""
    return any(one.amounts for one in members)


def _claims(found: _OnNode) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Return what is used of a node, and by whom who names a workload; too many count as used."""
    usage, claimed, room = dict(found.usage), dict[str, dict[str, int]](), CLAIMS_MAX
    for key in sorted(key for key, members in found.placed.items() if _lasts(members)):
        amounts = dict[str, int]()
        for one in found.placed[key]:
            _add(amounts, one.amounts, 1)
        room -= len(amounts)
        if room < 0:
            _add(usage, tuple(amounts.items()), 1)
        else:
            claimed[key] = {name: amounts[name] for name in sorted(amounts)}
    return usage, claimed


def _first(usage: Collection[str]) -> list[str]:
    """Return the resources that are told of: those of Kubernetes itself first, by name."""
    return nsmallest(RESOURCES_MAX, usage, key=lambda name: ("/" in name, name))


def _gone(name: str, version: int) -> ObjectGone:
    return ObjectGone(
        namespace="", name=name, uid=name, version=version, session="", resource=NODE_PODS
    )
