"""What LocalQueues consumed, as their statuses show it for admission fair sharing."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from tidegate.contracts.decisions import DecisionEvent, LocalQueueUsageSampled
from tidegate.contracts.facts import FactEvent, PolicyConfigured
from tidegate.jobs.kind import Object
from tidegate.kinds.times import stamp
from tidegate.model.quantity import render

_MILLI = 1_000


class Consumption:
    """The last sampled usage of each LocalQueue, by "<namespace>/<name>"."""

    def __init__(self) -> None:
        self._shown = dict[str, Object]()
        self._off = False  # nothing is shared between LocalQueues, so nothing is to be shown

    def learn(self, event: FactEvent | DecisionEvent) -> list[tuple[str, str]]:
        """Take in an event; return the places that it changes."""
        match event:
            case LocalQueueUsageSampled():
                status = {
                    f"{sample.namespace}/{sample.name}": {
                        "consumedResources": _quantities(sample.consumed),
                        "lastUpdate": stamp(event.at_us),
                    }
                    for sample in event.usage
                }
                self._shown.update(status)
                changed = list(status)
            case PolicyConfigured():
                self._off = event.policy.admission_fair_sharing is None
                changed = list(self._shown) if self._off else []
                self._shown = {} if self._off else self._shown
            case _:
                return []
        return [("LocalQueue", key) for key in changed]

    def put(self, key: str, status: Object) -> Object:
        """Return a LocalQueue's status with what is known of its consumption."""
        consumed = self._shown.get(key)
        sharing_before = status.get("fairSharing", {})
        if consumed is not None:
            sharing = {"weightedShare": 0, **sharing_before, "admissionFairSharingStatus": consumed}
            return {**status, "fairSharing": sharing}
        if self._off and sharing_before:
            return {name: value for name, value in status.items() if name != "fairSharing"}
        return status


def _quantities(consumed: Mapping[str, str]) -> Object:
    """Write natural units as Quantities, to a thousandth."""
    amounts: Object = {}
    for resource, text in consumed.items():
        milli = round(Decimal(text) * _MILLI)
        whole = resource != "cpu" and milli % _MILLI == 0
        amounts[resource] = render(resource, milli // _MILLI) if whole else render("cpu", milli)
    return amounts
