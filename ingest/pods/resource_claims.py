"""Devices that pods claim by template: what a device class is charged as.

``resources.deviceClassMappings`` says which resource stands for a device class. A podset that
claims devices by a ResourceClaimTemplate is told with what that makes of the resource. While a
template is not there, or cannot be charged, the job waits behind a gate that names it, or the
device class that is not mapped: nobody gets devices that no quota counts.

Source: behaviour.md 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.core.queueing.admissibility import UNMAPPED
from tidegate.kinds.seen import DeviceRequest, ResourceClaimTemplate
from tidegate.model.podset import PodSet

RESOURCE = "resourceclaimtemplates.resource.k8s.io"
PATH = "/apis/resource.k8s.io/v1/resourceclaimtemplates"


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim by a template is charged."""

    devices: Counter[str]
    unmapped: tuple[str, ...] = ()  # device classes that stand for no resource


class Claims:
    """The claim templates that there are, by their charge."""

    def __init__(self, device_classes: Mapping[str, str]) -> None:
        self._classes = device_classes  # to the resource that each is charged as
        self._charges = dict[tuple[str, str], Charge]()  # by namespace and name
        self._keys = dict[str, tuple[str, str]]()  # by uid

    def take(self, template: ResourceClaimTemplate) -> str:
        """Remember a template; return its namespace, whose jobs it may change."""
        meta = template.metadata
        self._keys[meta.uid] = key = (meta.namespace, meta.name)
        charge = self._charge(template.spec.spec.devices.requests)
        if charge is None:
            self._charges.pop(key, None)
        else:
            self._charges[key] = charge
        return meta.namespace

    def forget(self, uid: str) -> str:
        """Forget a template that is gone; return its namespace, empty if it was not known."""
        key = self._keys.pop(uid, ("", ""))
        self._charges.pop(key, None)
        return key[0]

    def listed(self, present: Collection[str]) -> set[str]:
        """Forget the templates that a list no longer has; return their namespaces."""
        return {self.forget(uid) for uid in list(self._keys) if uid not in present}

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
            if charge is None:
                yield f"ResourceClaimTemplate/{name}"
            else:
                yield from (f"{UNMAPPED}{one}" for one in charge.unmapped)

    def _charged(self, namespace: str, podset: PodSet) -> PodSet:
        total = Counter[str]()
        for name in podset.claims:
            charge = self._charges.get((namespace, name))
            total += Counter() if charge is None else charge.devices
        return msgspec.structs.replace(
            podset, devices={name: total[name] for name in sorted(total)}
        )

    def _charge(self, requests: tuple[DeviceRequest, ...]) -> Charge | None:
        """Return what one claim is charged; None if a request of it cannot be counted."""
        devices, unmapped = Counter[str](), dict[str, None]()
        for request in requests:
            exactly = request.exactly
            if exactly is None or exactly.allocation_mode == "All":
                return None
            resource = self._classes.get(exactly.device_class_name, "")
            if resource:
                devices[resource] += exactly.count
            else:
                unmapped[exactly.device_class_name] = None
        return Charge(devices=devices, unmapped=tuple(unmapped))


def claims_devices(job: JobObserved) -> bool:
    """Tell whether any pods of a job claim devices."""
    return any(podset.claims or podset.shared_claims for podset in job.podsets)
