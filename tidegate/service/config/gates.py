"""Which of Kueue's feature gates can be set to what here."""

from __future__ import annotations

from tidegate.errors import SettingsError
from tidegate.model.gates import GATES, HEEDED, REMOVED

_WITHOUT_EFFECT = (
    "DeferRayServiceFinalizationForRedisCleanup",
    "KueueDRAIntegrationExtendedResource",
    "KueueDRAIntegrationPartitionableDevices",
    "KueueDRARejectWorkloadsWhenDRADisabled",
    "RemoveFinalizersWithStrictPatch",
    "TASAssignmentsEncodingByHostnamePrefix",
    "TASCacheNodeMatchResults",
    "TASCacheTopologyTree",
    "TASCachingRemainingResources",
    "TLSOptions",
    "ValidateRayAndSparkJobUpdates",
    "VectorizedResourceRequests",
)
"""What these open is not built, or is about the inside of Kueue's own processes."""
_IN_BULK = ("AllAlpha", "AllBeta")
"""Gates of Kubernetes' own that set all others of a stage."""
_NEEDS = {
    "ElasticJobsViaWorkloadSlicesWithTAS": "ElasticJobsViaWorkloadSlices",
    "TASFailedNodeReplacementFailFast": "TASFailedNodeReplacement",
    "TASReplaceNodeOnPodTermination": "TASFailedNodeReplacement",
}
"""An open gate to another that has to be open: of those that may be closed."""


_CLOSED_WITH = {"TASReplaceNodeOnPodTermination": "TASFailedNodeReplacement"}
"""A gate to another: closed alone it would open something that is not built.

Kueue then replaces a node that was not ready for 30 seconds, although pods still run on it.
"""


def check_gates(gates: dict[str, bool]) -> dict[str, bool]:
    """Return the gates that differ from their defaults, in order of their names.

    Raises:
        SettingsError: Kueue has no such gate, or it makes no difference here, or one is open and
            another that it needs is closed, or one is closed that may only be with another.
    """
    differing = {name: value for name, value in sorted(gates.items()) if has_effect(name, on=value)}
    for name, needed in _NEEDS.items():
        if is_open(differing, name) and not is_open(differing, needed):
            raise SettingsError(
                f"featureGates: {name} needs {needed}: open both, or close {name}, too."
            )
    for name, other in _CLOSED_WITH.items():
        if is_open(differing, other) and not is_open(differing, name):
            raise SettingsError(
                f"featureGates: {name} cannot be false with Tidegate unless {other} is, too."
            )
    return differing


def is_open(gates: dict[str, bool], name: str) -> bool:
    """Return whether a gate is on, as the file says or by default."""
    return gates.get(name, GATES[name])


def has_effect(name: str, *, on: bool) -> bool:
    """Return whether a gate with this value differs from its default, and is implemented.

    Raises:
        SettingsError: Kueue has no such gate, or it makes no difference here.
    """
    if REMOVED.get(name) is on:
        return False
    if name in REMOVED:
        raise SettingsError(
            f"featureGates: {name} was removed from Kueue, and cannot be {str(on).lower()}: remove"
            " it from the file."
        )
    if name in _IN_BULK:
        raise SettingsError(f"featureGates: {name} is not supported: name each gate instead.")
    if name not in GATES:
        raise SettingsError(f"featureGates: Kueue has no gate {name}.")
    if on == GATES[name]:
        return False
    if name in HEEDED:
        return True
    if name in _WITHOUT_EFFECT:
        return False
    why = "what it opens is not built" if on else "what it closes cannot be left out"
    raise SettingsError(
        f"featureGates: {name} cannot be {str(on).lower()} with Tidegate: {why}. Remove it from the"
        " file."
    )
