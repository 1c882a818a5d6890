"""Pod groups: pods kept by their group, and published as one job under the pods' resource.

Until the first list is complete nothing is published: half a group looks like one that lost pods.

A pod that runs stays in its group whatever its labels become: its group is charged for it. Gated
pods that disagree with those that run are no part of the group. If those that run disagree, the
group is published as one that must not run, and so is a pod that its group's stop would not find.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

import msgspec

from ingest.definitions import identity, refusal_of
from ingest.jobs.job_index import JobIndex
from ingest.jobs.ownership import ResourceObservation
from ingest.jobs.scope import QueuedJob
from ingest.pods.departed_pods import LEFT, must_not_run
from tidegate.contracts.observations import JobObserved, ObjectGone, Observed
from tidegate.errors import TidegateError, UndecodableError
from tidegate.jobs.pods import pod_group, pod_state
from tidegate.jobs.pods.group_state import incomplete_text, unreadable_group
from tidegate.jobs.pods.grouping import creation_order, group_name, group_naming
from tidegate.kinds.decode import error_text
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod
from tidegate.model.texts import is_name
from tidegate.service.logs import get_log

_log = get_log("groups")
Key: TypeAlias = tuple[str, str]
"""Namespace and name of a group."""
INCOMPLETE_US = 10_000_000
"""For how long a group may lack pods before one of them is refused: controllers take their time."""


class PodGroups:
    """Every managed pod group; grows with the number of pods."""

    def __init__(self, index: JobIndex, now_us: Callable[[], int]) -> None:
        self._index, self._now_us = index, now_us
        self._pods = dict[Key, dict[str, Pod]]()  # by uid
        self._of = dict[str, Key]()  # a pod's uid to its group
        self._left = set[str]()  # uids of pods that run and name their group no longer
        self._published = dict[Key, JobObserved]()  # the last observations
        self._whole = set[Key]()  # it was queued once
        self._changed = dict[Key, int]()  # since they were observed: at which version
        self._incomplete = dict[Key, int]()  # never queued: since when it has lacked pods
        self._refused = set[Key]()  # those of which a pod was refused for that
        self._listed = False

    def is_member(self, member: Pod) -> bool:
        """Return whether a pod belongs to a group that is managed."""
        meta = member.metadata
        return bool(group_name(meta)) and self._index.has_queue(pod_group.KIND, meta)

    def has_active(self, member: Pod) -> bool:
        """Return whether a pod was taken that may run: it counts here until it does not."""
        return member.metadata.uid in self._of and pod_state.is_active(member)

    def present(self) -> Iterator[str]:
        """Yield the uids of the groups that there are."""
        yield from (observation.uid for observation in self._published.values())

    def add(self, member: Pod) -> Iterator[ResourceObservation]:
        """Remember a pod for ``changed_groups``; yield a removal if it moved to another group."""
        meta = member.metadata
        key = (meta.namespace, group_name(meta))
        former_key = self._of.get(meta.uid, key)
        if self.has_active(member) and self._names_another(member, former_key):
            self._left.add(meta.uid)
        if meta.uid in self._left:
            key = former_key
        elif former_key != key:
            yield from self.forget(meta.uid, meta.version)
        self._pods.setdefault(key, {})[meta.uid] = member
        self._of[meta.uid] = key
        self._changed[key] = meta.version

    def _names_another(self, member: Pod, key: Key) -> bool:
        before = self._pods[key][member.metadata.uid].metadata
        return group_naming(before) != group_naming(member.metadata)

    def forget(self, uid: str, version: int) -> Iterator[ResourceObservation]:
        """Forget a deleted pod; yield its group's removal with the last one."""
        key = self._of.pop(uid, None)
        if key is None:
            return
        del self._pods[key][uid]
        self._left.discard(uid)
        self._changed[key] = version
        if self._pods[key]:
            return
        del self._pods[key], self._changed[key]
        self._whole.discard(key)
        self._forget_incomplete(key)
        yield from self._removal(key, version)

    def listed(self, present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        """Forget the pods that a list no longer has, and yield every group as of that list."""
        self._listed = True
        for uid in [uid for uid in self._of if uid not in present]:
            yield from self.forget(uid, version)
        self._changed = dict.fromkeys(self._pods, version)
        yield from self.changed_groups()

    def changed_groups(self) -> Iterator[ResourceObservation]:
        """Yield the groups that changed, once for all events: each costs O(pods)."""
        changed, self._changed = self._changed, {}
        for key, version in changed.items() if self._listed else ():
            yield from self._observed(key, version)

    def expired(self) -> Iterator[Pod]:
        """Yield a pod of each group that has lacked pods for long, to be added once more.

        Groups change while a caller publishes one of them.
        """
        before_us = self._now_us() - INCOMPLETE_US
        late = [key for key, since_us in self._incomplete.items() if since_us <= before_us]
        for key in late:
            if key in self._incomplete and key not in self._refused:
                yield next(iter(self._pods[key].values()))

    def _observed(self, key: Key, version: int) -> Iterator[ResourceObservation]:
        pods = list(self._pods[key].values())
        newest = max(version, *(member.metadata.version for member in pods))
        try:
            yield from self._observe_group(key, pods, newest)
        except Exception as error:  # noqa: BLE001 - of one group: the others go on
            if not isinstance(error, TidegateError):
                _log.exception("not observed", resource=pod_group.KIND.resource, group=key)
            started = [member for member in pods if not pod_state.is_gated(member)]
            if 0 < len(started) < len(pods):
                yield from self._by_started(key, started, newest, error_text(error))
            elif started or key in self._published:
                yield from self._unreadable(key, pods, newest, error_text(error))
            for gated in filter(pod_state.is_gated, pods):
                resource, about = pod_group.KIND.resource, Observed(**identity(gated.metadata))
                yield resource, refusal_of(resource, about, error_text(error))

    def _by_started(
        self, key: Key, started: Sequence[Pod], version: int, why: str
    ) -> Iterator[ResourceObservation]:
        """Yield a group by those of its pods that run; if they disagree, as one that must not."""
        try:
            yield from self._observe_group(key, started, version)
        except Exception:  # noqa: BLE001 - it was logged for all of the pods
            yield from self._unreadable(key, started, version, why)

    def _observe_group(
        self, key: Key, pods: Sequence[Pod], version: int
    ) -> Iterator[ResourceObservation]:
        if not self._left.isdisjoint(self._pods[key]):
            raise UndecodableError(LEFT)
        observation = pod_group.observe_group(pods, version, was_whole=key in self._whole)
        yield from self._replaced(key, observation)
        if observation.queue:
            self._whole.add(key)
        meta = _meta(pods[0].metadata, observation)
        asking = QueuedJob(kind=pod_group.KIND, meta=meta, alone=observation)
        yield from self._index.put_group_job(asking, workload="/".join(key))
        if observation.podsets:
            self._forget_incomplete(key)
        else:
            yield from self._refuse_incomplete(key, pods)

    def _refuse_incomplete(self, key: Key, pods: Sequence[Pod]) -> Iterator[ResourceObservation]:
        """Yield once, of the newest pod, that a group lacks pods and has for long."""
        why = incomplete_text(pods)
        if not why or not self._index.namespaces.manages(key[0]):
            return
        now_us = self._now_us()
        since_us = self._incomplete.setdefault(key, now_us)
        if now_us - since_us < INCOMPLETE_US or key in self._refused:
            return
        self._refused.add(key)
        newest = Observed(**identity(max(pods, key=creation_order).metadata))
        yield pod_group.KIND.resource, refusal_of(pod_group.KIND.resource, newest, why)

    def _forget_incomplete(self, key: Key) -> None:
        self._incomplete.pop(key, None)
        self._refused.discard(key)

    def _unreadable(
        self, key: Key, pods: Sequence[Pod], version: int, why: str
    ) -> Iterator[ResourceObservation]:
        """Yield that a group must not run; nor may a pod that is not found by the group's name."""
        if not self._index.namespaces.manages(key[0]):
            return
        resource, named = pod_group.KIND.resource, is_name(key[1])
        if named:
            group = unreadable_group(pod_group.KIND, key, pods, version, why)
            yield from self._replaced(key, group)
            yield resource, refusal_of(resource, group, why, group)
        for member in pods:
            if member.metadata.uid in self._left or not named:
                yield must_not_run(member, why)

    def _replaced(self, key: Key, observation: JobObserved) -> Iterator[ResourceObservation]:
        """Note what is published of a group; yield the removal of another of its name."""
        before = self._published.get(key)
        if before is not None and before.uid != observation.uid:
            yield from self._removal(key, observation.version)
        self._published[key] = observation

    def _removal(self, key: Key, version: int) -> Iterator[ResourceObservation]:
        observation = self._published.pop(key, None)
        if observation is None:
            return
        resource = pod_group.KIND.resource
        yield (
            resource,
            ObjectGone(
                namespace=observation.namespace,
                name=observation.name,
                uid=observation.uid,
                version=version,
                session="",
                resource=resource,
            ),
        )
        yield from self._index.remove_group_job(observation.uid, workload="/".join(key))


def _meta(first: ObjectMeta, observation: JobObserved) -> ObjectMeta:
    """Return a group's metadata: one of its pods', under its own name and uid."""
    return msgspec.structs.replace(
        first, name=observation.name, uid=observation.uid, resource_version=str(observation.version)
    )
