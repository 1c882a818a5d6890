"""Pods of workloads that a topology places: each is told its domain, and let go.

Where they go is what the ledger said last, as the projection knows it; how they are numbered
stands on their Workload. A pod that was let go towards a node which failed, and which nothing has
scheduled, never will be: it is marked as failed, so that its controller makes another.

Source: behaviour.md 12.5, 12.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from actuator.calls import CACHED, Calls
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.ungating.domains import Numbering, Place, Values, choose
from actuator.ungating.gates import is_behind, runs, waits
from actuator.ungating.pod_ungater import Released, Standing
from tidegate.jobs import workload
from tidegate.jobs.kind import Object, Patch
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload, WorkloadPodSet
from tidegate.kinds.pods import Pod
from tidegate.model.podset import PodSetAssignment
from tidegate.model.topology import TopologyDomain, unpack

TERMINATED, UNSCHEDULABLE = "TerminatedByKueue", "UnschedulableOnAssignedNode"
"""Type and reason of the condition of a pod whose node failed before it was scheduled."""


class TopologyPods:
    """See ``UngatingRule``."""

    selector = names.PODSET
    gate = names.TOPOLOGY_GATE

    def __init__(self, read_model: Callable[[], ReadModel]) -> None:
        """``read_model`` returns what the projection knows."""
        self._read_model = read_model

    def is_used(self) -> bool:
        """See ``UngatingRule.is_used``."""
        return self._read_model().places

    def job_of(self, pod: Pod) -> str:
        """Return the key of the workload that a pod is of; empty: no topology placed it."""
        name = pod.metadata.annotations.get(names.WORKLOAD, "")
        return f"{pod.metadata.namespace}/{name}" if name else ""

    def minds(self, pod: Pod) -> bool:
        """See ``UngatingRule.minds``: it waits, or for a node that may have failed."""
        return not pod.metadata.deleting and (waits(pod, self.gate) or _is_stuck(pod))

    def _shown(self, key: str) -> WorkloadView | None:
        """Return what stands for the pods that name a workload: of an elastic job its newest slice.

        Their template is that of the slice which was started, whichever took over from it since.
        """
        known = self._read_model()
        named = known.workloads.get(key)
        if named is not None and not (named.elastic and named.phase == "finished"):
            return named
        namespace, _, name = key.partition("/")
        chain = (namespace, name if named is None else named.first or name)
        return next((one for one in known.workloads.values() if _is_slice(one, chain)), None)

    async def release(self, calls: Calls, standing: Standing) -> Released | None:
        """See ``UngatingRule.release``."""
        key = self.job_of(next(iter(standing.pods.values())))
        if self._read_model().fills_in:
            return ()  # nobody can tell yet
        shown = self._shown(key)
        if shown is None:
            return None
        if shown.phase != "admitted":
            return ()
        waits = any(is_behind(standing.pods[name], self.gate) for name in standing.waiting)
        numbered = await _numbered(calls, shown.key) if waits else {}
        if numbered is None:
            return ()
        return [
            step
            for given in shown.assignment
            if (place := _place(given, shown, numbered.get(given.name, Numbering())))
            for step in self._steps(given, place, standing)
        ]

    def _steps(
        self, given: PodSetAssignment, place: Place, standing: Standing
    ) -> list[tuple[Pod, Patch]]:
        mine = [one for one in standing.pods.values() if _podset(one) == given.name]
        sent = {name: place.domain_of(_selector(body)) for name, body in standing.sent.items()}
        chosen = choose(mine, place, sent, self.gate)
        steps = [
            (
                standing.pods[name],
                Patch(body=_let_go(standing.pods[name], place, values, self.gate)),
            )
            for name, values in chosen.items()
        ]
        known = {one.values for one in _domains(given)}
        for one in mine:
            own = place.domain_of(one.spec.node_selector)
            if self.minds(one) and runs(one, self.gate) and all(own) and own not in known:
                steps.append((one, _failed(one)))
        return steps


def _is_slice(shown: WorkloadView, chain: tuple[str, str]) -> bool:
    """Tell whether a workload holds quota for an elastic job, by its namespace and first slice."""
    namespace, _, name = shown.key.partition("/")
    return shown.elastic and shown.phase == "admitted" and (namespace, shown.first or name) == chain


def _place(given: PodSetAssignment, shown: WorkloadView, numbering: Numbering) -> Place | None:
    if given.topology is None:
        return None
    return Place(
        levels=given.topology.levels,
        domains=_kept(_domains(given), shown.counts.get(given.name)),
        failed=shown.failed_nodes,
        numbering=numbering,
    )


def _domains(given: PodSetAssignment) -> tuple[TopologyDomain, ...]:
    return () if given.topology is None else unpack(given.topology)


def _kept(domains: Sequence[TopologyDomain], count: int | None) -> tuple[TopologyDomain, ...]:
    """Return the domains that are left to so many pods: a smaller job gives back those of the last.

    ``count`` is None for jobs that are not elastic: they keep all.

    Source: ``tidegate.core.topology.cluster.held_by``, which charges nodes likewise.
    """
    if count is None:
        return tuple(domains)
    kept = list[TopologyDomain]()
    for one in domains:
        pods = min(one.count, count)
        count -= pods
        kept += [replace(one, count=pods)] if pods else []
    return tuple(kept)


async def _numbered(calls: Calls, key: str) -> Mapping[str, Numbering] | None:
    """Return how the pods of each podset are numbered; None: there is no Workload yet."""
    namespace, _, name = key.partition("/")
    path = workload.KIND.path(namespace, name)
    found = calls.recent(path) or await calls.read(path, CACHED) or await calls.read(path)
    if found is None:
        return None
    podsets = read(found, Workload).spec.pod_sets
    return {one.name: _numbering(one, podsets) for one in podsets}


def _numbering(podset: WorkloadPodSet, podsets: Sequence[WorkloadPodSet]) -> Numbering:
    """Return how the pods of a podset are numbered.

    The leader of a group that has no numbering of its own is the first of its workers.
    """
    asked = podset.topology_request
    if asked is None:
        return Numbering()
    led = bool(asked.pod_set_group_name) and any(
        one.name != podset.name
        and one.topology_request is not None
        and one.topology_request.pod_set_group_name == asked.pod_set_group_name
        and not one.topology_request.pod_index_label
        for one in podsets
    )
    groups = asked.sub_group_count or 0
    return Numbering(
        label=asked.pod_index_label or "",
        group_label=(asked.sub_group_index_label or "") if groups else "",
        group_size=podset.count // groups if groups else 0,
        offset=1 if led else 0,
    )


def _let_go(pod: Pod, place: Place, values: Values, gate: str) -> Object:
    gates = [one for one in pod.spec.scheduling_gates if one.get("name") != gate]
    return {"spec": {"schedulingGates": gates or None, "nodeSelector": place.selector(values)}}


def _selector(body: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = body.get("spec", {}).get("nodeSelector", {})
    return found


def _podset(pod: Pod) -> str:
    return pod.metadata.labels.get(names.PODSET, "")


def _is_stuck(pod: Pod) -> bool:
    """Tell whether nothing has scheduled a pod yet."""
    return pod.status.phase in ("", "Pending") and not pod.spec.node_name


def _failed(pod: Pod) -> Patch:
    told = {
        "type": TERMINATED,
        "status": "True",
        "reason": UNSCHEDULABLE,
        "message": "The node that it was to run on has failed.",
    }
    status = {"phase": "Failed", "conditions": [*_conditions(pod), told]}
    return Patch(body={"status": status}, subresource="status")


def _conditions(pod: Pod) -> list[Object]:
    return [
        {
            "type": one.type,
            "status": one.status,
            "reason": one.reason,
            "message": one.message,
            "lastTransitionTime": one.last_transition_time,
        }
        for one in pod.status.conditions
    ]
