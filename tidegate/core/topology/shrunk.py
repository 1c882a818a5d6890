"""The placement of an elastic job after a scale-down: its last pods release their nodes."""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.core.quota.charging import charged_units
from tidegate.core.state.workload import Workload
from tidegate.model.podset import PodSetAssignment
from tidegate.model.topology import first_pods, pack, unpack


def shrunk_assignment(workload: Workload, assignment: PodSetAssignment) -> PodSetAssignment:
    """Return an assignment for the pods that its workload still requests.

    The assignment of a podset that requests no pods stays unchanged, without being charged.
    """
    count = requested_pods(workload, assignment.name)
    if not workload.elastic or not 0 < count < assignment.count:
        return assignment
    places = assignment.topology
    if places is not None:
        places = pack(places.levels, list(first_pods(unpack(places), count)))
    usage = {name: charged_units(workload, assignment, name) for name in assignment.usage}
    return replace(assignment, count=count, usage=usage, topology=places)


def requested_pods(workload: Workload, name: str) -> int:
    """Return how many pods a workload requests in a podset; 0: it has no podset of that name."""
    return next((podset.count for podset in workload.podsets if podset.name == name), 0)
