"""Pods of elastic jobs: as many run as the Workload that stands for their job now was granted.

A Workload counts only while its job is of the generation that it was written for: else the job may
have shrunk since, and somebody else have the quota by now.

Source: behaviour.md 13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actuator.calls import Calls
from actuator.projection.slices import known
from actuator.ungating.pod_ungater import runs
from tidegate.jobs.batch import batch_job
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workload import Workload
from tidegate.kinds.meta import ObjectMeta, holding
from tidegate.kinds.pods import Pod


class ElasticPods:
    """See ``UngatingRule``."""

    label = names.ELASTIC_POD
    gate = names.ELASTIC_JOB

    def job_of(self, found: Pod) -> str:
        """Return the uid of a pod's controller."""
        owner = found.metadata.controller()
        return "" if owner is None else owner.uid

    async def release(
        self, calls: Calls, standing: Mapping[str, Pod], waiting: Sequence[str]
    ) -> Sequence[tuple[Pod, Object]]:
        """See ``UngatingRule.release``."""
        running = sum(runs(one, self.gate) for one in standing.values())
        first = standing[waiting[0]]
        room = await _granted(calls, self.job_of(first), first.metadata) - running
        return [(standing[name], _ungated(standing[name])) for name in waiting[: max(room, 0)]]


def _ungated(found: Pod) -> Object:
    gates = [one for one in found.spec.scheduling_gates if one.get("name") != names.ELASTIC_JOB]
    return {"spec": {"schedulingGates": list(gates) or None}}


async def _granted(calls: Calls, job: str, pod: ObjectMeta) -> int:
    """Return how many pods the Workload that stands for a job now was granted; 0: none does."""
    path = f"/apis/{names.API_VERSION}/namespaces/{pod.namespace}/workloads"
    page = await calls.page(path, {"labelSelector": f"{names.JOB_UID}={job}"}, Workload)
    generation = await _generation(calls, pod)  # read last: nothing older is compared with it
    return max(
        (
            sum(granted(one).values())
            for one in page.items
            if isinstance(one, Workload) and known(one.metadata.annotations) == generation
        ),
        default=0,
    )


async def _generation(calls: Calls, pod: ObjectMeta) -> int:
    """Return the generation of a pod's job; -1: there is none."""
    owner = pod.controller()
    name = "" if owner is None else owner.name
    found = await calls.read(batch_job.KIND.path(pod.namespace, name))
    return -1 if found is None else int(found["metadata"]["generation"])


def granted(found: Workload) -> dict[str, int]:
    """Return how many pods of each podset a Workload may have now."""
    conditions, admission = found.status.conditions, found.status.admission
    admitted = holding(conditions, "Admitted") and not holding(conditions, "Finished")
    if not admitted or admission is None:
        return {}
    asked = {one.name: one.count for one in found.spec.pod_sets}
    given = {one.name: one.count or 0 for one in admission.pod_set_assignments}
    return {name: min(count, asked.get(name, 0)) for name, count in given.items()}
