"""Pod groups: pods kept by their group, and published as one job under the pods' resource.

Until the first list is complete nothing is published: half a group looks like one that lost pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

import msgspec

from ingest.jobs.asking import Asking
from ingest.jobs.job_index import JobIndex
from ingest.jobs.ownership import ResourceObservation
from tidegate.contracts.observations import JobObserved, ObjectGone
from tidegate.errors import TidegateError
from tidegate.jobs.pods import pod_group
from tidegate.jobs.pods.grouping import group_name
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod

Key: TypeAlias = tuple[str, str]
"""Namespace and name of a group."""


class PodGroups:
    """Every managed pod group; grows with the number of pods."""

    def __init__(self, index: JobIndex) -> None:
        self._index = index
        self._pods = dict[Key, dict[str, Pod]]()  # by uid
        self._of = dict[str, Key]()  # a pod's uid to its group
        self._published = dict[Key, JobObserved]()  # the last observations
        self._whole = set[Key]()  # it was queued once
        self._listed = False

    def is_member(self, pod: Pod) -> bool:
        """Return whether a pod belongs to a group that is managed."""
        meta = pod.metadata
        return bool(group_name(meta)) and self._index.asks(pod_group.KIND, meta)

    def present(self) -> Iterator[str]:
        """Yield the uids of the groups that there are."""
        yield from (observation.uid for observation in self._published.values())

    def take(self, pod: Pod) -> Iterator[ResourceObservation]:
        """Remember a pod and yield its group's present observation.

        Raises:
            UndecodableError, NotSupportedError: the group makes no sense.
        """
        meta = pod.metadata
        key = (meta.namespace, group_name(meta))
        self._pods.setdefault(key, {})[meta.uid] = pod
        self._of[meta.uid] = key
        if self._listed:
            yield from self._observed(key, meta.version)

    def forget(self, uid: str, version: int) -> Iterator[ResourceObservation]:
        """Forget a deleted pod; yield its group, or the group's removal with its last pod."""
        key = self._of.pop(uid, None)
        if key is None:
            return
        del self._pods[key][uid]
        if self._pods[key]:
            yield from self._safely(key, version)
            return
        del self._pods[key]
        self._whole.discard(key)
        yield from self._gone(key, version)

    def listed(self, present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        """Forget the pods that a list no longer has, and yield every group as of that list."""
        self._listed = True
        for uid in [uid for uid in self._of if uid not in present]:
            yield from self.forget(uid, version)
        for key in list(self._pods):
            yield from self._safely(key, version)

    def _safely(self, key: Key, version: int) -> Iterator[ResourceObservation]:
        """Yield a group; an inconsistent one keeps its last observation."""
        try:
            yield from self._observed(key, version)
        except TidegateError:
            return

    def _observed(self, key: Key, version: int) -> Iterator[ResourceObservation]:
        pods = list(self._pods[key].values())
        newest = max(version, *(pod.metadata.version for pod in pods))
        observation = pod_group.observe_group(pods, newest, was_whole=key in self._whole)
        before = self._published.get(key)
        if before is not None and before.uid != observation.uid:
            yield from self._gone(key, newest)
        if observation.queue:
            self._whole.add(key)
        self._published[key] = observation
        meta = _meta(pods[0].metadata, observation)
        asking = Asking(kind=pod_group.KIND, meta=meta, alone=observation)
        yield from self._index.put(asking, workload="/".join(key))

    def _gone(self, key: Key, version: int) -> Iterator[ResourceObservation]:
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
        yield from self._index.take_out(observation.uid, workload="/".join(key))


def _meta(first: ObjectMeta, observation: JobObserved) -> ObjectMeta:
    """Return a group's metadata: one of its pods', under its own name and uid."""
    return msgspec.structs.replace(
        first, name=observation.name, uid=observation.uid, resource_version=str(observation.version)
    )
