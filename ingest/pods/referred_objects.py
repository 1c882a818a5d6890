"""Objects that jobs and their pods refer to: what describes the pods, and devices they claim.

``resources.deviceClassMappings`` maps a device class to a resource. A podset that claims devices by
a ResourceClaimTemplate is published with the amount of that resource. While a template is not
there, or cannot be charged, the job waits behind a gate that names it, or the device class that is
not mapped: no workload gets devices outside quota.

Source: behaviour.md 1.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.core.queueing.admissibility import UNMAPPED
from tidegate.jobs.job_metadata import is_elastic, managed_job
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.kind import JobKind, Object
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.observed import DeviceRequest, ResourceClaimTemplate
from tidegate.model.podset import PodSet

RESOURCE = "resourceclaimtemplates.resource.k8s.io"
PATH = "/apis/resource.k8s.io/v1/resourceclaimtemplates"
Named: TypeAlias = tuple[str, str]
"""The namespace and name of a template."""
_DIGEST_DIGITS = 16


class Described(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object that is read whole by the kind whose jobs refer to it."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}


class Referred:
    """The existing objects by their paths, and the jobs that refer to them."""

    def __init__(self) -> None:
        self._objects = dict[str, Object]()
        self._uids = dict[str, str]()  # of the objects
        self._paths = dict[str, tuple[str, str]]()  # by uid: collection and path
        self._jobs = dict[str, tuple[JobKind[Any], UntypedObject]]()  # by uid
        self._refers = dict[str, tuple[str, ...]]()  # by a job's uid: paths
        self._by_path = defaultdict[str, dict[str, None]](dict)  # uids of jobs

    def add(
        self, collection: str, obj: Described | UntypedObject
    ) -> Iterator[tuple[JobKind[Any], UntypedObject]]:
        """Remember an object; yield the jobs that refer to it."""
        path = _path(collection, obj.metadata)
        self._paths[obj.metadata.uid], self._uids[path] = (collection, path), obj.metadata.uid
        content = {"metadata": _version(obj.metadata), "spec": obj.spec}
        before, self._objects[path] = self._objects.get(path), content
        if before != self._objects[path]:
            yield from self._referring(path)

    def forget(self, uid: str) -> Iterator[tuple[JobKind[Any], UntypedObject]]:
        """Forget an object that is gone; yield the jobs that refer to it."""
        _, path = self._paths.pop(uid, ("", ""))
        if self._uids.get(path) != uid:  # another has its name
            return
        del self._objects[path], self._uids[path]
        yield from self._referring(path)

    def listed(
        self, collection: str, present: Collection[str]
    ) -> Iterator[tuple[JobKind[Any], UntypedObject]]:
        """Forget the objects that a list no longer has; yield the jobs that refer to one."""
        uids = [uid for uid, (where, _) in self._paths.items() if where == collection]
        for uid in uids:
            if uid not in present:
                yield from self.forget(uid)

    def observe(self, kind: JobKind[Any], obj: Any) -> JobObserved:  # noqa: ANN401 - of the kind's own type
        """Observe a job with the objects that it refers to; errors as in ``JobKind.observe``."""
        if not isinstance(obj, UntypedObject) or not kind.referred_plurals:
            observed: JobObserved = kind.observe(obj)
            return observed
        uid = obj.metadata.uid
        self.forget_job(uid)
        paths = kind.referred_paths(obj.as_json())
        self._jobs[uid], self._refers[uid] = (kind, obj), paths
        for path in paths:
            self._by_path[path][uid] = None
        present = [path for path in paths if path in self._objects]
        if kind.waits_for_referred and len(present) < len(paths):
            return gated_job(kind, obj)
        beside = tuple(self._objects[path] for path in present)
        return kind.observe(msgspec.structs.replace(obj, beside=beside))

    def forget_job(self, uid: str) -> None:
        """Forget a job."""
        if self._jobs.pop(uid, None) is None:
            return
        for path in dict.fromkeys(self._refers.pop(uid)):
            del self._by_path[path][uid]
            if not self._by_path[path]:
                del self._by_path[path]

    def _referring(self, path: str) -> Iterator[tuple[JobKind[Any], UntypedObject]]:
        for uid in list(self._by_path.get(path, ())):
            if uid in self._jobs:  # it may have been deleted since the one before
                yield self._jobs[uid]


def gated_job(kind: JobKind[Any], obj: UntypedObject) -> JobObserved:
    """Return a job behind a gate for each object that it refers to, so that it is known of."""
    alone = managed_job(kind, obj.metadata)
    gates = tuple("/".join(path.split("/")[-2:]) for path in kind.referred_paths(obj.as_json()))
    state = kind.status_of(obj.metadata, obj.as_json())
    return msgspec.structs.replace(
        alone,
        gates=(*alone.gates, *gates),
        elastic=is_elastic(obj.metadata.annotations),
        state=state,
    )


def _version(meta: ObjectMeta) -> Object:
    """Return the metadata of an object that identify the version of its spec."""
    return {"generation": meta.generation, "creationTimestamp": meta.creation_timestamp}


def _path(collection: str, meta: ObjectMeta) -> str:
    """Return the path of one object, from that of its collection over all namespaces."""
    if not meta.namespace:
        return f"{collection}/{meta.name}"
    root, _, plural = collection.rpartition("/")
    return f"{root}/namespaces/{meta.namespace}/{plural}/{meta.name}"


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim by a template is charged, and what it asks for."""

    uid: str  # of the template
    asked: str  # digest of the requests, whatever they are charged as
    devices: Counter[str] = Counter()
    unmapped: tuple[str, ...] = ()  # device classes that stand for no resource
    counted: bool = True  # every request can be counted


class Claims:
    """The claim templates that there are, by their charge."""

    def __init__(self, device_classes: Mapping[str, str]) -> None:
        self._classes = device_classes  # to the resource that each is charged as
        self._charges = dict[Named, Charge]()
        self._keys = dict[str, Named]()  # by uid
        self._named = dict[str, frozenset[Named]]()  # by a job's uid
        self._claimants = defaultdict[Named, dict[str, None]](dict)  # uids of jobs

    def add(self, template: ResourceClaimTemplate) -> Named | None:
        """Remember a template; return its namespace and name if jobs that claim by it change."""
        meta = template.metadata
        self._keys[meta.uid] = key = (meta.namespace, meta.name)
        before = self._charges.get(key)
        self._charges[key] = self._charge(meta.uid, template.spec.spec.devices.requests)
        return None if self._charges[key] == before else key

    def forget(self, uid: str) -> Named | None:
        """Forget a template that is gone; return the same, if it was known."""
        key = self._keys.pop(uid, None)
        if key not in self._charges or self._charges[key].uid != uid:  # another has its name
            return None
        del self._charges[key]
        return key

    def listed(self, present: Collection[str]) -> set[Named]:
        """Forget the templates that a list no longer has; return the same of each."""
        keys = {self.forget(uid) for uid in list(self._keys) if uid not in present}
        return {key for key in keys if key is not None}

    def resolve(self, job: JobObserved) -> JobObserved:
        """Return a job with what its podsets claim, or behind the gates of what is missing."""
        self._note_claims(job)
        if not claims_devices(job):
            return job
        gates = dict.fromkeys(gate for podset in job.podsets for gate in self._gates(job, podset))
        podsets = tuple(self._charged(job.namespace, podset) for podset in job.podsets)
        return msgspec.structs.replace(job, podsets=podsets, gates=(*job.gates, *gates))

    def claimants(self, template: Named) -> list[str]:
        """Return the uids of the jobs that claim by a template; costs what they are."""
        return list(self._claimants.get(template, ()))

    def forget_job(self, uid: str) -> None:
        """Forget a job."""
        for template in self._named.pop(uid, ()):
            del self._claimants[template][uid]
            if not self._claimants[template]:
                del self._claimants[template]

    def _note_claims(self, job: JobObserved) -> None:
        names = (name for podset in job.podsets for name in podset.claims)
        named = frozenset((job.namespace, name) for name in names)
        if named == self._named.get(job.uid, frozenset()):
            return
        self.forget_job(job.uid)
        if named:
            self._named[job.uid] = named
        for template in named:
            self._claimants[template][job.uid] = None

    def _gates(self, job: JobObserved, podset: PodSet) -> Iterator[str]:
        for name in podset.shared_claims:
            yield f"ResourceClaim/{name}"
        for name in podset.claims:
            charge = self._charges.get((job.namespace, name))
            if charge is None or not charge.counted:
                yield f"ResourceClaimTemplate/{name}"
            else:
                yield from (f"{UNMAPPED}{device}" for device in charge.unmapped)

    def _charged(self, namespace: str, podset: PodSet) -> PodSet:
        charges = [self._charges.get((namespace, name)) for name in podset.claims]
        known_charges = [charge for charge in charges if charge is not None]
        total = Counter[str]()
        for charge in known_charges:
            total += charge.devices
        return msgspec.structs.replace(
            podset,
            devices={name: total[name] for name in sorted(total)},
            claimed=_digest([charge.asked for charge in known_charges])
            if len(known_charges) == len(charges)
            else "",
        )

    def _charge(self, uid: str, requests: tuple[DeviceRequest, ...]) -> Charge:
        """Return what one claim is charged; nothing if a request of it cannot be counted."""
        devices, unmapped, digest = Counter[str](), dict[str, None](), _digest(requests)
        for request in requests:
            exactly = request.exactly
            if exactly is None or exactly.allocation_mode == "All":
                return Charge(uid=uid, asked=digest, counted=False)
            resource = self._classes.get(exactly.device_class_name, "")
            if resource:
                devices[resource] += exactly.count
            else:
                unmapped[exactly.device_class_name] = None
        return Charge(uid=uid, asked=digest, devices=devices, unmapped=tuple(unmapped))


def _digest(value: object) -> str:
    """Return a digest of what stands for something that was asked for; empty: of nothing."""
    return hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:_DIGEST_DIGITS] if value else ""


def claims_devices(job: JobObserved) -> bool:
    """Return whether any pods of a job claim devices."""
    return any(podset.claims or podset.shared_claims for podset in job.podsets)
