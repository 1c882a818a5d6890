"""One job on the embedded API server, and what the scheduler says of it."""

from __future__ import annotations

from tests.actuator.scene import Scene, ref
from tests.parts.stage import JOBS, KUEUE, Object, job, kueue
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    QuotaReserved,
    WorkloadAdmitted,
)
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    LocalQueueDefined,
    WorkloadPriorityClassDefined,
)
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.jobs.job_metadata import workload_key
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

AT_US = 1_772_352_000_000_000
SECOND_US = 1_000_000
ASSIGNED = PodSetAssignment(name="main", count=1, flavors={"cpu": "spot"}, usage={"cpu": 1_500})
QUOTAS = FlavorQuotas(flavor="spot", quotas={"cpu": Quota(nominal=1_000)})
GROUP = ResourceGroup(resources=("cpu",), flavors=(QUOTAS,))
QUEUES = (
    ClusterQueueDefined(
        at_us=AT_US, name="cq", spec=ClusterQueueSpec(cohort="all", groups=(GROUP,))
    ),
    ClusterQueueReadinessChanged(
        at_us=AT_US, cluster_queue="cq", active=True, reason="Ready", message="It can admit."
    ),
    LocalQueueDefined(
        at_us=AT_US, namespace="default", name="main", spec=LocalQueueSpec(cluster_queue="cq")
    ),
    WorkloadPriorityClassDefined(at_us=AT_US, name="high", value=100),
)


class Story(Scene):
    """One job, and what the scheduler says of it."""

    def __init__(self, *, events_max: int = 500_000) -> None:
        super().__init__(with_crds=True, events_max=events_max)
        quota = {"name": "cpu", "nominalQuota": "1"}
        group = {"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [quota]}]}
        spec = {"cohortName": "all", "resourceGroups": [group]}
        self.make(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "cq", **spec))
        queue = kueue("LocalQueue", "main", clusterQueue="cq")
        self.make(f"{KUEUE}/namespaces/default/localqueues", queue)
        self.submit()

    def submit(self) -> None:
        """Make the Job; once it was removed, its namesake."""
        self.made = self.make(JOBS, job())
        self.uid = str(self.made["metadata"]["uid"])
        self.key = workload_key("Job", "batch", "default", "train", self.uid)

    def submitted(self) -> WorkloadSubmitted:
        return WorkloadSubmitted(
            at_us=AT_US,
            workload=self.key,
            uid=self.uid,
            job=ref(self.made),
            queue="main",
            priority_class="high",
        )

    def reserved(self) -> QuotaReserved:
        return QuotaReserved(
            at_us=AT_US + SECOND_US,
            workload=self.key,
            cluster_queue="cq",
            assignment=(ASSIGNED,),
        )

    def admitted(self) -> WorkloadAdmitted:
        return WorkloadAdmitted(
            at_us=AT_US + SECOND_US, workload=self.key, cluster_queue="cq", waited_us=SECOND_US
        )

    @property
    def path(self) -> str:
        namespace, _, name = self.key.partition("/")
        return f"{KUEUE}/namespaces/{namespace}/workloads/{name}"

    def shows(self) -> Object | None:
        response = self.embedded.call("GET", self.path)
        return None if response.status == 404 else self.read(self.path)

    def status(self, path: str) -> Object:
        fields: Object = self.read(path).get("status", {})
        return fields

    def used(self) -> str:
        """Return the CPU that the ClusterQueue shows as used."""
        usage = self.status(f"{KUEUE}/clusterqueues/cq")["flavorsUsage"]
        return str(usage[0]["resources"][0]["total"])

    def condition(self, kind: str) -> tuple[str, str, str]:
        held = ((self.shows() or {}).get("status") or {}).get("conditions", ())
        value = next((condition for condition in held if condition["type"] == kind), None)
        return (
            ("", "", "") if value is None else (value["status"], value["reason"], value["message"])
        )

    def events(self) -> list[tuple[str, str]]:
        value = self.read("/api/v1/namespaces/default/events")["items"]
        return sorted((event["involvedObject"]["kind"], event["reason"]) for event in value)
