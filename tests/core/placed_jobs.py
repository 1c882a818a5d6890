"""A hub with two members whose LocalQueue places jobs, and what is reported of their copies."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from tests.core.member_clusters import MEMBERS, Hub
from tests.core.telling import RUNNING, gone, job
from tidegate.contracts import observations
from tidegate.contracts.codec import type_name
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.observed.clusters import CopySeen
from tidegate.core.state.state import Workload
from tidegate.kinds.names import ACCEPTS_PLACED
from tidegate.model.quota import LocalQueueSpec

BODY = "b" * 64
SUSPENDED = JobState()


@dataclass
class Placing:
    """A hub that was opened, with its LocalQueue changed to place jobs anywhere."""

    hub: Hub = field(default_factory=lambda: Hub().open())
    version: int = 10

    def __post_init__(self) -> None:
        self.place("any")
        for name in MEMBERS:
            self.accept(name)
        self.hub.decide()

    def place(self, placement: str) -> None:
        """Let the LocalQueue say where its jobs run."""
        self.version += 1
        spec = LocalQueueSpec(cluster_queue="cq", placement="any" if placement == "any" else "stay")
        queue = observations.LocalQueueObserved(
            namespace="team", name="main", uid="lq", version=self.version, session="a", spec=spec
        )
        self.hub.bus.tell(queue)

    def accept(self, cluster: str, text: str = "true") -> None:
        """Let a member's Namespace say whether it takes placed jobs."""
        self.version += 1
        space = observations.NamespaceObserved(
            name="team",
            uid="ns",
            version=self.version,
            session="a",
            labels={ACCEPTS_PLACED: text, "other": "x"},
        )
        self.hub.members[cluster].tell(space)

    def submit(self, cluster: str = "east", name: str = "train", **obj: object) -> Workload:
        """Let a placed job be observed at home; return its workload."""
        self.home(cluster, name, **obj)
        uid = f"uid-{name}"
        return self.hub.bus.state.workloads[f"team/job-{uid}{f'@{cluster}' if cluster else ''}"]

    def home(self, cluster: str = "east", name: str = "train", **obj: object) -> list[FactEvent]:
        """Let a placed job be observed at home."""
        stream = self.hub.members[cluster] if cluster else self.hub.bus
        return stream.tell(job(name, **{"body": BODY, **obj}))

    def copy(self, cluster: str, name: str = "train", **obj: object) -> list[FactEvent]:
        """Let a copy be observed."""
        self.version += 1
        origin = str(obj.pop("origin", f"uid-{name}@east"))
        status = str(obj.pop("status", ""))
        seen: JobObserved = replace(
            job(name, uid=f"copy-{name}", version=self.version),
            copy=CopySeen(origin=origin, status=status),
            **{"state": SUSPENDED, **obj},
        )
        return self.hub.members[cluster].tell(seen)

    def copy_gone(self, cluster: str, name: str = "train") -> list[FactEvent]:
        """Let the watch of a member say that a copy is gone."""
        self.version += 1
        return self.hub.members[cluster].tell(gone(name, self.version, uid=f"copy-{name}"))

    def started(self, name: str = "train", home: str = "east", to: str = "west") -> Workload:
        """Let a job be submitted, its copy be created and run."""
        workload = self.submit(home, name)
        self.hub.decide()
        self.copy(to, name, origin=workload.uid)
        self.hub.decide()
        self.copy(to, name, origin=workload.uid, state=RUNNING)
        return workload

    def orders(self) -> list[tuple[str, str]]:
        """Decide; return what was ordered where, of copies."""
        return orders_of(self.hub.decide())


def orders_of(decisions: list[DecisionEvent]) -> list[tuple[str, str]]:
    """Return what was ordered where, of copies and of other jobs."""
    return [
        (type_name(each), each.job.cluster if isinstance(each, StartOrdered) else each.copy.cluster)
        for each in decisions
        if isinstance(each, StartOrdered | CopyOrdered | CopyRemovalOrdered)
    ]
