"""Pods of workloads with a topology assignment: each gets its domain and is ungated.

Their domains are the ledger's last assignment, from the read model; how they are numbered
stands on their Workload. A pod that was let go towards a node which failed, and which nothing has
scheduled, never will be: it is marked as failed, so that its controller makes another.

Source: behaviour.md 12.5, 12.6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from actuator.calls import CACHED, Calls
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.ungating.domains import Numbering, PodSetPlacement, Values, choose_domains
from actuator.ungating.pod_ungater import JobPods, PodRelease, Released
from actuator.ungating.pods import gates_without, has_gate, is_gated, is_ungated
from tidegate.jobs import workload
from tidegate.jobs.kind import Object, Patch
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload, WorkloadPodSet
from tidegate.kinds.pods import Pod
from tidegate.model.podset import PodSetAssignment
from tidegate.model.topology import TopologyDomain, first_pods, unpack

INDEX_S = 1.0
Chain: TypeAlias = tuple[str, str]
"""The slices of an elastic job: namespace and name of the first."""
TERMINATED, UNSCHEDULABLE = "TerminatedByKueue", "UnschedulableOnAssignedNode"
"""Type and reason of the condition of a pod whose node failed before it was scheduled."""


class TopologyPods:
    """See ``UngatingRule``."""

    selector = names.PODSET
    gate = names.TOPOLOGY_GATE

    def __init__(self, read_model: Callable[[], ReadModel]) -> None:
        """``read_model`` returns what the projection knows."""
        self._read_model = read_model
        self._slices = dict[Chain, WorkloadView]()  # those that were admitted at a time
        self._slices_s = -INDEX_S  # the loop's time of that

    def on_ungated(self, pod: Pod, patch: Patch) -> None:
        """Take no notice."""

    def is_needed(self) -> bool:
        """See ``UngatingRule.is_needed``."""
        return self._read_model().places

    def job_of(self, pod: Pod) -> str:
        """Return the key of the workload that a pod is of; empty: it was not started."""
        name = pod.metadata.annotations.get(names.WORKLOAD, "")
        return f"{pod.metadata.namespace}/{name}" if name else ""

    def is_relevant(self, pod: Pod) -> bool:
        """See ``UngatingRule.is_relevant``: it waits, or for a node that may have failed."""
        return not pod.metadata.is_deleting and (is_gated(pod, self.gate) or _is_stuck(pod))

    def _view_of(self, key: str) -> WorkloadView | None:
        """Return what stands for the pods that name a workload: of an elastic job its newest slice.

        Their template is that of the slice which was started, whichever took over from it since.
        """
        read_model = self._read_model()
        named = read_model.workloads.get(key)
        if named is not None and not (named.elastic and named.phase == "finished"):
            return named
        namespace, _, name = key.partition("/")
        chain = (namespace, name if named is None else named.first or name)
        view = self._slices.get(chain)
        if view is None or not _has_quota(view, read_model):
            self._list_slices(read_model)
            view = self._slices.get(chain)
        return view if view is not None and _has_quota(view, read_model) else None

    def _list_slices(self, read_model: ReadModel) -> None:
        """List the Workloads of elastic jobs: once a second at most, for any pod may name any."""
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._slices_s + INDEX_S:
            self._slices_s = now_s
            views = read_model.workloads.values()
            self._slices = {
                _slice_chain(view): view for view in views if _has_quota(view, read_model)
            }

    async def ungating_patches(self, calls: Calls, standing: JobPods) -> Released | None:
        """See ``UngatingRule.ungating_patches``."""
        key = self.job_of(next(iter(standing.pods.values())))
        if self._read_model().fills_in:
            return ()  # not known yet
        view = self._view_of(key)
        if view is None:
            return None
        if view.phase != "admitted":
            return ()
        waits = any(has_gate(standing.pods[name], self.gate) for name in standing.waiting)
        numbered = await _numbering_by_podset(calls, view.key) if waits else {}
        if numbered is None:
            return ()
        return [
            step
            for assignment in view.assignment
            if (place := _place(assignment, view, numbered.get(assignment.name, Numbering())))
            for step in self._releases(assignment, place, standing, view.key)
        ]

    def _releases(
        self, assignment: PodSetAssignment, place: PodSetPlacement, standing: JobPods, workload: str
    ) -> list[PodRelease]:
        mine = [pod for pod in standing.pods.values() if _podset(pod) == assignment.name]
        ungated = {name: place.domain_of(_selector(body)) for name, body in standing.sent.items()}
        chosen = choose_domains(mine, place, ungated, self.gate)
        steps = [
            PodRelease(
                standing.pods[name],
                Patch(body=_release_patch(standing.pods[name], place, values, self.gate)),
                workload,
            )
            for name, values in chosen.items()
        ]
        let_go = [pod for pod in mine if self.is_relevant(pod) and is_ungated(pod, self.gate)]
        domains = {domain.values for domain in _domains(assignment)} if let_go else set[Values]()
        for member in let_go:
            own = place.domain_of(member.spec.node_selector)
            if all(own) and own not in domains:
                steps.append(PodRelease(member, _failure_patch(member), workload))
        return steps


def _has_quota(view: WorkloadView, read_model: ReadModel) -> bool:
    """Return whether a workload has quota for an elastic job."""
    is_newest = read_model.workloads.get(view.key) is view
    return view.elastic and view.phase == "admitted" and is_newest


def _slice_chain(view: WorkloadView) -> Chain:
    namespace, _, name = view.key.partition("/")
    return namespace, view.first or name


def _place(
    assignment: PodSetAssignment, view: WorkloadView, numbering: Numbering
) -> PodSetPlacement | None:
    if assignment.topology is None:
        return None
    domains, count = _domains(assignment), view.counts.get(assignment.name)
    return PodSetPlacement(
        levels=assignment.topology.levels,
        domains=domains
        if count is None
        else tuple(first_pods(domains, count)),  # None: not elastic
        failed=view.failed_nodes,
        numbering=numbering,
    )


def _domains(assignment: PodSetAssignment) -> tuple[TopologyDomain, ...]:
    return () if assignment.topology is None else unpack(assignment.topology)


async def _numbering_by_podset(calls: Calls, key: str) -> Mapping[str, Numbering] | None:
    """Return how the pods of each podset are numbered; None: there is no Workload yet."""
    namespace, _, name = key.partition("/")
    path = workload.KIND.path(namespace, name)
    obj = calls.last_written(path) or await calls.read(path, CACHED) or await calls.read(path)
    if obj is None:
        return None
    podsets = read(obj, Workload).spec.pod_sets
    return {podset.name: _numbering(podset, podsets) for podset in podsets}


def _numbering(podset: WorkloadPodSet, podsets: Sequence[WorkloadPodSet]) -> Numbering:
    """Return how the pods of a podset are numbered.

    The leader of a group that has no numbering of its own is the first of its workers.
    """
    request = podset.topology_request
    if request is None:
        return Numbering()
    led = bool(request.pod_set_group_name) and any(
        other.name != podset.name
        and other.topology_request is not None
        and other.topology_request.pod_set_group_name == request.pod_set_group_name
        and not other.topology_request.pod_index_label
        for other in podsets
    )
    groups = max(request.sub_group_count or 0, 0)
    return Numbering(
        label=request.pod_index_label or "",
        group_label=(request.sub_group_index_label or "") if groups else "",
        group_size=podset.count // groups if groups else 0,
        offset=1 if led else 0,
    )


def _release_patch(pod: Pod, place: PodSetPlacement, values: Values, gate: str) -> Object:
    selector = place.selector(values)
    return {"spec": {"schedulingGates": gates_without(pod, gate), "nodeSelector": selector}}


def _selector(body: Object) -> Mapping[str, str]:
    selector: Mapping[str, str] = body.get("spec", {}).get("nodeSelector", {})
    return selector


def _podset(pod: Pod) -> str:
    return pod.metadata.labels.get(names.PODSET, "")


def _is_stuck(pod: Pod) -> bool:
    """Return whether nothing has scheduled a pod yet."""
    return pod.status.phase in ("", "Pending") and not pod.spec.node_name


def _failure_patch(pod: Pod) -> Patch:
    condition = {
        "type": TERMINATED,
        "status": "True",
        "reason": UNSCHEDULABLE,
        "message": "The node that it was to run on has failed.",
    }
    status = {"phase": "Failed", "conditions": [*_failure_conditions(pod), condition]}
    return Patch(body={"status": status}, subresource="status")


def _failure_conditions(pod: Pod) -> list[Object]:
    return [
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": condition.last_transition_time,
        }
        for condition in pod.status.conditions
    ]
