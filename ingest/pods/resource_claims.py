"""Devices that pods claim by template: what a device class is charged as.

``resources.deviceClassMappings`` maps a device class to a resource. A podset that
claims devices by a ResourceClaimTemplate is published with the amount of that resource. While a
template is not there, or cannot be charged, the job waits behind a gate that names it, or the
device class that is not mapped: no workload gets devices outside quota.

Source: behaviour.md 1.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.core.queueing.admissibility import UNMAPPED
from tidegate.kinds.seen import DeviceRequest, ResourceClaimTemplate
from tidegate.model.podset import PodSet

RESOURCE = "resourceclaimtemplates.resource.k8s.io"
PATH = "/apis/resource.k8s.io/v1/resourceclaimtemplates"


Named: TypeAlias = tuple[str, str]
"""The namespace and name of a template."""
_DIGEST_DIGITS = 16


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

    def take(self, template: ResourceClaimTemplate) -> Named | None:
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

    def joined(self, job: JobObserved) -> JobObserved:
        """Return a job with what its podsets claim, or behind the gates of what is missing."""
        if not claims_devices(job):
            return job
        gates = dict.fromkeys(gate for podset in job.podsets for gate in self._gates(job, podset))
        podsets = tuple(self._charged(job.namespace, podset) for podset in job.podsets)
        return msgspec.structs.replace(job, podsets=podsets, gates=(*job.gates, *gates))

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


def claims_by(job: JobObserved, template: Named) -> bool:
    """Return whether any pods of a job claim devices by a template."""
    namespace, name = template
    return job.namespace == namespace and any(name in podset.claims for podset in job.podsets)
