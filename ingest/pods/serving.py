"""StatefulSets and LeaderWorkerSets with their pods: published as one job each, or one a group.

An object and its pods come by two watches. A job's stop is published only once the pods'
watch has come as far as the object was when its stop was written on it: until then one of its pods
may run that was not seen to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from ingest.jobs.job_index import JobIndex
from ingest.jobs.ownership import ResourceObservation
from ingest.jobs.scope import QueuedJob
from ingest.pods.departed_pods import must_not_run
from ingest.pods.pod_jobs import Key, Part, key_of, part_of
from tidegate.contracts.observations import ObjectGone
from tidegate.errors import TidegateError
from tidegate.jobs.job_metadata import unmanaged_job
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod_state
from tidegate.jobs.pods.pod import is_gated_for_queue
from tidegate.jobs.registry import SETS
from tidegate.jobs.serving import ordering
from tidegate.jobs.serving.kinds import ServingSet
from tidegate.jobs.serving.members import GROUPS_MAX, job_name, job_uid
from tidegate.jobs.serving.observing import ObservedPods, observe_serving_job
from tidegate.jobs.templates.paths import number_at
from tidegate.kinds.pods import Pod
from tidegate.service.logs import get_log

_log = get_log("serving")


class ServingSets:
    """Every object that is queued through its pods, and the pods; as large as they are many."""

    def __init__(self, kinds: Sequence[JobKind[Any]], index: JobIndex) -> None:
        self._sets = {kind.name: SETS[kind.name] for kind in kinds if kind.name in SETS}
        self._index = index
        self._objects = dict[Key, UntypedObject]()
        self._keys = dict[str, Key]()  # by an object's uid
        self._gone = set[Key]()  # deleted, and its pods are still there
        self._pods = dict[Key, dict[int | None, dict[str, Pod]]]()  # by their job and their uid
        self._of = dict[str, Part]()  # a pod's uid to its job
        self._left = set[str]()  # uids of pods that run and name their job no longer
        self._published = dict[Key, dict[int | None, str]]()  # an object's jobs to their Workloads
        self._newest = dict[Part, int]()  # version
        self._marked = dict[Part, tuple[str, int]]()  # the decision, and the version that had it
        self._floor = dict[str, int]()  # by kind, a lower bound of all later versions
        self._seen = 0  # the version up to which the pods are known
        self._uncertain = set[Part]()
        self._changed = dict[Part, int]()  # jobs whose pods changed, and a pod's version
        self._listed = False  # the pods

    def is_member(self, pod: Pod) -> bool:
        """Return whether a pod belongs to a watched object."""
        return part_of(self._sets, pod.metadata) is not None

    def has_active(self, pod: Pod) -> bool:
        """Return whether a pod was taken that may run: it counts here until it does not."""
        return pod.metadata.uid in self._of and pod_state.is_active(pod)

    def add(self, pod: Pod) -> Iterator[ResourceObservation]:
        """Remember a pod; its job is observed by ``changed_jobs``."""
        uid, part = pod.metadata.uid, part_of(self._sets, pod.metadata)
        former_part = self._of.get(uid, part)
        if self.has_active(pod) and self._is_of_other_set(pod):
            self._left.add(uid)
        if uid in self._left:
            part = former_part
        elif former_part != part:
            self.forget(uid, pod.metadata.version)
        assert part is not None, "it is one of an object's pods"
        key, index = part
        self._pods.setdefault(key, {}).setdefault(index, {})[uid] = pod
        self._of[uid] = part
        self._changed[part] = pod.metadata.version
        if uid in self._left and self._index.namespaces.manages(pod.metadata.namespace):
            yield must_not_run(pod)

    def _is_of_other_set(self, pod: Pod) -> bool:
        key, index = part = self._of[pod.metadata.uid]
        was_marked = is_gated_for_queue(self._pods[key][index][pod.metadata.uid].metadata)
        unmarked = was_marked and not is_gated_for_queue(pod.metadata)
        return unmarked or part_of(self._sets, pod.metadata) != part

    def note_pods_version(self, version: int) -> None:
        """Take the version that the watch of pods has reached: it may complete jobs."""
        self._seen = max(self._seen, version)

    def changed_jobs(self) -> Iterator[ResourceObservation]:
        """Yield the jobs whose pods changed, once for all events: each costs O(pods)."""
        changed, self._changed = self._changed, {}
        version = max(changed.values(), default=self._seen)
        yield from self._republish([*changed, *self._uncertain], version)

    def forget(self, uid: str, version: int) -> None:
        """Forget a pod that is gone; its job is observed by ``changed_jobs``."""
        part = self._of.pop(uid, None)
        if part is not None:
            key, index = part
            self._left.discard(uid)
            self._pods[key][index].pop(uid)
            if not self._pods[key][index]:
                del self._pods[key][index]
            if not self._pods[key]:
                del self._pods[key]
            self._changed[part] = version

    def listed(self, present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        """Forget the pods that a list no longer has, and yield every job as of that list."""
        self._listed, self._seen = True, max(self._seen, version)
        for uid in [uid for uid in self._of if uid not in present]:
            self.forget(uid, version)
        self._changed.clear()
        for key in list(self._objects):
            yield from self._jobs_unless_invalid(key, version)

    def observe(self, kind: JobKind[Any], obj: UntypedObject) -> Iterator[ResourceObservation]:
        """Remember an object, and yield its jobs.

        Raises:
            UndecodableError, NotSupportedError: it makes no sense.
        """
        key = key_of(kind.name, obj.metadata)
        before = self._keys.get(obj.metadata.uid)
        if before is not None and before != key:
            del self._objects[before]
        self._objects[key], self._keys[obj.metadata.uid] = obj, key
        yield from self._index.parent(kind, obj.metadata)
        yield from self._jobs(key, obj.metadata.version)

    def remove(self, uid: str, version: int) -> Iterator[ResourceObservation]:
        """Take in that an object is gone; its jobs stay until their pods are gone as well."""
        key = self._keys.get(uid)
        if key is not None:
            self._gone.add(key)
            self._index.forget_parent(uid)
            yield from self._jobs_unless_invalid(key, version)

    def listed_objects(
        self, kind: JobKind[Any], present: Collection[str], version: int
    ) -> Iterator[ResourceObservation]:
        """Take a list's objects; later observations are newer than that list."""
        self._floor[kind.name] = version + 1
        for uid in [uid for uid, key in self._keys.items() if key[0] == kind.name]:
            if uid not in present:
                yield from self.remove(uid, version)

    def present(self, kind: JobKind[Any], listed: Collection[str]) -> Iterator[str]:
        """Yield the uids of the jobs that there are, and of the objects that are none."""
        keys = {uid: key for uid, key in self._keys.items() if key[0] == kind.name}
        observed = {
            uid: [job_uid(uid, index) for index in self._published.get(key, self._expected(key))]
            for uid, key in keys.items()
        }
        for uid in listed:
            yield from observed.pop(uid, None) or [uid]
        for jobs in observed.values():
            yield from jobs

    def _expected(self, key: Key) -> Sequence[int | None]:
        """Return the jobs that an object will be published as, once its pods are listed."""
        layout = self._sets[key[0]].layout
        try:
            replicas = min(layout.replicas(self._objects[key].as_json()), GROUPS_MAX)
        except TidegateError:
            return ()
        return range(replicas if layout.grouped and not self._listed else 0)

    def _republish(self, parts: Sequence[Part], version: int) -> Iterator[ResourceObservation]:
        changed = dict[Key, set[int | None]]()
        for key, index in parts:
            changed.setdefault(key, set()).add(index)
        for key, indexes in changed.items():
            if key in self._objects and self._listed:
                yield from self._jobs_unless_invalid(key, version, indexes)

    def _jobs_unless_invalid(
        self, key: Key, version: int, changed: Collection[int | None] | None = None
    ) -> Iterator[ResourceObservation]:
        """Yield an object's jobs; an invalid job stays as it was published."""
        try:
            yield from self._jobs(key, version, changed)
        except Exception as error:  # noqa: BLE001 - of one object: the others go on
            if not isinstance(error, TidegateError):
                _log.exception("not observed", kind=key[0], object=key[1:])

    def _jobs(
        self, key: Key, version: int, changed: Collection[int | None] | None = None
    ) -> Iterator[ResourceObservation]:
        """Yield an object's jobs: all, or those that changed, that are new and that are gone."""
        kind, obj = self._sets[key[0]], self._objects[key]
        if not self._index.has_queue(kind.row, obj.metadata):
            yield from self._dropped(key, version, list(self._published.get(key, ())))
            yield kind.row.resource, unmanaged_job(kind.row, obj.metadata)
            return
        if not self._listed:  # half its pods look like one that lost some
            return
        expected, published = self._job_indexes(kind, key), self._published.get(key, {})
        jobs = {
            index: self._job(kind, obj, (key, index), version)
            for index in expected
            if changed is None or index in changed or index not in published
        }
        yield from self._dropped(
            key, version, [index for index in published if index not in expected]
        )
        for index, job in jobs.items():
            self._published.setdefault(key, {})[index] = job.alone.workload
            yield from self._index.put_group_job(job, workload=job.alone.workload)
        if not expected and key in self._gone:
            self._forget_object(key)

    def _job_indexes(self, kind: ServingSet, key: Key) -> dict[int | None, None]:
        """Return in order which jobs an object has: those it asks for, and those with pods."""
        present = self._pods.get(key, {})
        if key in self._gone:
            return dict.fromkeys(sorted(present, key=lambda index: index or 0))
        if not kind.layout.grouped:
            return {None: None}
        replicas = min(kind.layout.replicas(self._objects[key].as_json()), GROUPS_MAX)
        more = sorted(index for index in present if index is not None and index >= replicas)
        return dict.fromkeys([*range(replicas), *more])

    def _job(self, kind: ServingSet, obj: UntypedObject, part: Part, version: int) -> QueuedJob:
        key, index = part
        pods = tuple(self._pods_of(part))
        self._newest[part] = self._version(part, version)
        standing = ObservedPods(
            pods=pods,
            version=self._newest[part],
            is_certain=self._is_certain(part, obj, pods),
            is_deleted=key in self._gone,
        )
        observation = observe_serving_job(kind.row, kind.layout, obj, index, standing)
        meta = msgspec.structs.replace(
            obj.metadata,
            name=job_name(obj.metadata.name, index),
            uid=observation.uid,
            resource_version=str(observation.version),
        )
        return QueuedJob(kind=kind.row, meta=meta, alone=observation)

    def _pods_of(self, part: Part) -> Collection[Pod]:
        key, index = part
        return self._pods.get(key, {}).get(index, {}).values()

    def _version(self, part: Part, version: int) -> int:
        """Return a version that is not below any published version of a job."""
        key, pods = part[0], self._pods_of(part)
        newest_read = self._newest.get(part, 0), self._floor.get(key[0], 0)
        newest = max((pod.metadata.version for pod in pods), default=0)
        return max(version, self._objects[key].metadata.version, newest, *newest_read)

    def _is_certain(self, part: Part, obj: UntypedObject, pods: Sequence[Pod]) -> bool:
        """Return whether all pods are known as they were when the newest decision was written."""
        decision = ordering.decision(obj.metadata.annotations, part[1])
        before = self._marked.get(part)
        if before is None or before[0] != decision:
            self._marked[part] = before = decision, obj.metadata.version
        none = not pods and not number_at(obj.as_json(), ("status", "replicas"))
        certain = not decision or none or self._seen >= before[1]
        (self._uncertain.discard if certain else self._uncertain.add)(part)
        return certain

    def _dropped(
        self, key: Key, version: int, indexes: Sequence[int | None]
    ) -> Iterator[ResourceObservation]:
        resource, obj = self._sets[key[0]].row.resource, self._objects[key]
        for index in indexes:
            uid = job_uid(obj.metadata.uid, index)
            newest = self._version((key, index), version)
            yield from self._index.remove_group_job(uid, workload=self._published[key].pop(index))
            for table in (self._newest, self._marked):
                table.pop((key, index), None)
            self._uncertain.discard((key, index))
            yield (
                resource,
                ObjectGone(
                    namespace=obj.metadata.namespace,
                    name=job_name(obj.metadata.name, index),
                    uid=uid,
                    version=newest,
                    session="",
                    resource=resource,
                ),
            )

    def _forget_object(self, key: Key) -> None:
        self._gone.discard(key)
        obj = self._objects.pop(key)
        self._keys.pop(obj.metadata.uid, None)
        self._published.pop(key, None)
