"""What an elastic job that became smaller keeps of its places: the last pods gave theirs back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tidegate.core.quota.charging import charged_units
from tidegate.core.state.workload import Workload
from tidegate.model.podset import PodSetAssignment
from tidegate.model.topology import TopologyDomain, pack, unpack


def first(domains: Iterable[TopologyDomain], pods: int) -> Iterator[TopologyDomain]:
    """Yield the domains of the first pods, so many of them."""
    for domain in domains:
        if pods <= 0:
            return
        yield domain if domain.count <= pods else replace(domain, count=pods)
        pods -= domain.count


def shrunk(workload: Workload, assignment: PodSetAssignment) -> PodSetAssignment:
    """Return an assignment for the pods that its workload still asks for.

    Of a podset that asks for none it stays as it is, and is charged to nobody.
    """
    count = requested(workload, assignment.name)
    if not workload.elastic or not 0 < count < assignment.count:
        return assignment
    places = assignment.topology
    if places is not None:
        places = pack(places.levels, list(first(unpack(places), count)))
    usage = {name: charged_units(workload, assignment, name) for name in assignment.usage}
    return replace(assignment, count=count, usage=usage, topology=places)


def requested(workload: Workload, name: str) -> int:
    """Return how many pods a workload asks for in a podset; 0: it has none of that name."""
    return next((podset.count for podset in workload.podsets if podset.name == name), 0)
