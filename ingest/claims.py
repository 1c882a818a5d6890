"""Devices that pods claim by template: what a device class is charged as.

``resources.deviceClassMappings`` says which resource stands for a device class. A podset that
claims devices by a ResourceClaimTemplate is told with what that makes of the resource. While a
template is not there, or cannot be charged, the job waits behind a gate that names it.

Source: behaviour.md 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.kinds.seen import DeviceRequest, ResourceClaimTemplate
from tidegate.model.podset import PodSet

RESOURCE = "resourceclaimtemplates.resource.k8s.io"
PATH = "/apis/resource.k8s.io/v1/resourceclaimtemplates"


class Claims:
    """The claim templates that there are, by their charge."""

    def __init__(self, device_classes: Mapping[str, str]) -> None:
        self._classes = device_classes  # to the resource that each is charged as
        self._charges = dict[tuple[str, str], Counter[str]]()  # by namespace and name
        self._keys = dict[str, tuple[str, str]]()  # by uid

    @property
    def used(self) -> bool:
        """Tell whether any device class is charged at all."""
        return bool(self._classes)

    def take(self, found: ResourceClaimTemplate) -> str:
        """Remember a template; return its namespace, whose jobs it may change."""
        meta = found.metadata
        self._keys[meta.uid] = key = (meta.namespace, meta.name)
        charge = self._charge(found.spec.spec.devices.requests)
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

    def joined(self, told: JobObserved) -> JobObserved:
        """Return a job with what its podsets claim, or behind the gates of what is missing."""
        if not self._classes or not any(podset.claims for podset in told.podsets):
            return told
        claimed = dict.fromkeys(name for podset in told.podsets for name in podset.claims)
        missing = [name for name in claimed if (told.namespace, name) not in self._charges]
        gates = tuple(f"ResourceClaimTemplate/{name}" for name in missing)
        podsets = tuple(self._charged(told.namespace, podset) for podset in told.podsets)
        return msgspec.structs.replace(told, podsets=podsets, gates=(*told.gates, *gates))

    def _charged(self, namespace: str, podset: PodSet) -> PodSet:
        total = Counter[str]()
        for name in podset.claims:
            total += self._charges.get((namespace, name), Counter())
        return msgspec.structs.replace(
            podset, devices={name: total[name] for name in sorted(total)}
        )

    def _charge(self, requests: tuple[DeviceRequest, ...]) -> Counter[str] | None:
        """Return what one claim is charged; None if a request of it cannot be counted."""
        charge = Counter[str]()
        for request in requests:
            exactly = request.exactly
            resource = "" if exactly is None else self._classes.get(exactly.device_class_name, "")
            if exactly is None or not resource or exactly.allocation_mode == "All":
                return None
            charge[resource] += exactly.count
        return charge
